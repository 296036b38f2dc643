#!/usr/bin/env python3
"""Heat spreading over a photograph's brightness by a HIP kernel: shared memory, shuffles, a chip that is not there."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image

import headwater as hw
from headwater.data import photograph

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support import options, save_picture, start, timed

HERE = Path(__file__).resolve().parent
BLOCK = (32, 8)


def spread(plate: np.ndarray, steps: int, rate: float, device: str | None = None) -> np.ndarray:
    """The plate (float32, rows by columns) after so many steps of heat.hip."""
    kernel = hw.compile(HERE / "heat.hip").heat
    height, width = plate.shape
    now, after = plate.copy(), np.empty_like(plate)
    threads = tuple(-(-size // block) * block for size, block in zip((width, height), BLOCK, strict=True))
    shared = 4 * (BLOCK[0] + 2) * (BLOCK[1] + 2)
    for _ in range(steps):
        kernel[threads, BLOCK](after, now, width, height, rate, lds=shared, device=device)
        now, after = after, now
    return now


def total(values: np.ndarray, device: str | None = None) -> float:
    """The sum of float32 values by heat.hip."""
    found = np.zeros(1, np.float32)
    hw.compile(HERE / "heat.hip").total[(64 * 256,), (256,)](found, values, values.size, device=device)
    return float(found[0])


def main() -> None:
    parser = options(__doc__, "heat.png")
    parser.add_argument("--steps", type=int, default=50, help="steps of time (default: %(default)s)")
    arguments = parser.parse_args()
    plate = np.asarray(Image.open(photograph()).convert("L"), np.float32)
    result, seconds = timed(lambda: spread(plate, arguments.steps, 0.2, arguments.device))
    height, width = plate.shape
    print(f"{arguments.steps} steps on {width} x {height}: {seconds * 1e3:.1f} ms")
    before, after = (total(part, arguments.device) / plate.size for part in (plate, result))
    print(f"mean brightness {before:.3f} before, {after:.3f} after: heat is neither made nor lost")
    save_picture(arguments.output, result.clip(0, 255).astype(np.uint8))


if __name__ == "__main__":
    start(main)
