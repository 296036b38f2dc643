#!/usr/bin/env python3
"""A Vega that need not be there: its machine code filters a photograph, is taken apart, changed, put together and run.

The commands that it runs are those of the shell; the files stay beside the picture.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
from PIL import Image

import headwater as hw
from headwater.cli import main as headwater
from headwater.data import photograph

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support import options, save_picture, start, timed

HERE = Path(__file__).resolve().parent
MEDIAN = HERE.parent / "median" / "median.cl"
SUM = re.compile(r"(v_fma_f32 v\d+, \w+, v\d+), (v\d+)")


def median(rgba: np.ndarray, device: str) -> np.ndarray:
    """The median filter of examples/median, on (height, width, 4) bytes."""
    pixels = np.ascontiguousarray(rgba).view("<u4")[..., 0]
    result = np.empty_like(pixels)
    height, width = pixels.shape
    kernel = hw.compile(MEDIAN).medianfilter_rgba
    kernel[(width, height), None](pixels, result, width, height, device=device).wait()
    return result.view(np.uint8).reshape(rgba.shape)


def command(*words: str) -> None:
    """Run and show one command of headwater."""
    print("$ headwater", *words)
    if headwater(words):
        raise SystemExit(f"headwater {words[0]} failed")


def edited(folder: Path, device: str) -> Path:
    """saxpy compiled for ``device``, disassembled, its sum made a difference, and assembled: the code object's file."""
    first, text, second = folder / "saxpy.hsaco", folder / "saxpy.s", folder / "difference.hsaco"
    command("compile", str(HERE / "saxpy.cl"), "--device", device, "-o", str(first))
    command("disasm", str(first), "--format", "asm", "-o", str(text))
    code = text.read_text()
    changed, count = SUM.subn(r"\1, -\2", code)
    if count != 1:
        raise SystemExit(f"expected one v_fma_f32 in {text}, and found {count}: choose a chip from gfx900 on")
    before, after = (SUM.search(code), re.search(SUM.pattern.replace(", (", ", (-"), changed))
    print(f"  {before[0]}\n  becomes\n  {after[0]}")
    text.write_text(changed)
    command("asm", str(text), "-o", str(second))
    return second


def saxpy(program: str | Path, x: np.ndarray, y: np.ndarray, a: float, device: str) -> np.ndarray:
    """What the program, a source or a code object, makes of y."""
    result = y.copy()
    hw.compile(program).saxpy[(x.size,), (64,)](x, result, a, device=device).wait()
    return result


def main() -> None:
    parser = options(__doc__, "gcn_median.png")
    parser.set_defaults(device="vega64")
    arguments = parser.parse_args()
    folder = arguments.output.parent
    folder.mkdir(parents=True, exist_ok=True)

    rgba = np.asarray(Image.open(photograph()).convert("RGBA"))
    result, seconds = timed(lambda: median(rgba, arguments.device))
    verdict = "the same as" if np.array_equal(result, median(rgba, "cpu")) else "DIFFERENT from"
    print(f"median filter by the machine code of {arguments.device}: {seconds * 1e3:.0f} ms, {verdict} the CPU's")
    save_picture(arguments.output, result[..., :3])

    x, y = np.arange(256, dtype=np.float32), np.full(256, 100, np.float32)
    program = edited(folder, arguments.device)
    print("2 x + y:", saxpy(HERE / "saxpy.cl", x, y, 2, arguments.device)[:5], "…")
    print("changed:", saxpy(program, x, y, 2, arguments.device)[:5], "…")


if __name__ == "__main__":
    start(main)
