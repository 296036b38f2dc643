"""Input: a checkout of multi2sim-upv/multi2sim-tests. Output: whether the binaries that AMD's OpenCL 1.x driver made
for Cypress read as they do there and give the right answers.

``python -m verification.amd_binaries --checkout DIR [--device hd5870]``

``evg-asm-vector-add`` has a binary and its disassembly, from there on called the vendor's; ``evg-emu-matrix-mul``
another binary. Both run here on the emulated chip, as the driver made them and as Headwater compiles their sources, in
several sizes, and are held to NumPy's sums and products. Of the texts, groups' numbers behind PV and PS are left out:
that disassembler writes none. The exit status is 0 if all is well.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import numpy as np

import headwater as hw
from headwater.isa.vliw.image_files import read
from headwater.isa.vliw.printer import text as text_of

_OPTIONS = {".bin": "", ".cl": "-D__read_only= -D__write_only="}
"""AMD's compiler took these words before pointers, where OpenCL C has them for images only."""
SUM, PRODUCT = "evg-asm-vector-add/vector-add", "evg-emu-matrix-mul/matrix-mul"


def lines(text: str) -> list[str]:
    """A disassembly's lines, from the first clause to the last, with one blank between words."""
    found = [" ".join(line.split()) for line in re.sub(r"\b(P[VS])\d+", r"\1", text).splitlines()]
    first = next((k for k, line in enumerate(found) if line.startswith("00 ")), len(found))
    return [line for line in found[first:] if line and line != "END_OF_PROGRAM" and not line.isdigit()]


def text_fault(folder: Path) -> str:
    """The first line of the vendor's disassembly that differs from ours, "" if none does."""
    binary = (folder / f"{SUM}.bin").read_bytes()
    # The expected text is a regular expression.
    wanted = lines(re.sub(r"\\(.)", r"\1", (folder / SUM).with_name("test.out").read_text()))
    got = lines(text_of(read(binary, target="cypress").shader))
    if not wanted:
        return "there is no text to compare with"
    for there, here in zip(wanted, got, strict=False):
        if there != here:
            return f"{there!r} is {here!r} here"
    return "" if len(wanted) == len(got) else f"{len(wanted)} lines there, {len(got)} here"


def sums_fault(program: hw.Program, device: str) -> str:
    """What is wrong with sums of vectors."""
    rng = np.random.default_rng(1)
    for size, group, offset in ((1, 1, 0), (64, 64, 0), (1000, 50, 0), (4096, 256, 0), (640, 64, 128)):
        a, b = rng.integers(-(2**31), 2**31, (2, size + offset), np.int32)
        total = np.zeros_like(a)
        program.vector_add[(size,), (group,)](a, b, total, device=device, offset=(offset,)).wait()
        wanted = np.where(np.arange(size + offset) < offset, 0, a + b)
        if not np.array_equal(total, wanted):
            return f"{np.sum(total != wanted)} of {size} sums are wrong, by groups of {group}, from {offset} on"
    return ""


def product_fault(program: hw.Program, device: str) -> str:
    """What is wrong with squares of matrices, which the kernel computes whatever B is."""
    rng = np.random.default_rng(2)
    for size, group in ((50, 10), (64, 16), (8, 1), (48, 8)):
        a = rng.integers(-1000, 1000, (size, size), np.int32)
        product = np.zeros_like(a)
        blocks = hw.Local(4 * group * group), hw.Local(4 * group * group)
        program.matrix_mul[(size, size), (group, group)](a, a, product, *blocks, device=device).wait()
        if not np.array_equal(product, a @ a):
            return f"{np.sum(product != a @ a)} of {size * size} elements are wrong, by groups of {group} x {group}"
    return ""


def main() -> int:
    """Print a line for each comparison; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m verification.amd_binaries", description=__doc__.splitlines()[0])
    parser.add_argument("--checkout", type=Path, required=True, help="a checkout of multi2sim-upv/multi2sim-tests")
    parser.add_argument("--device", default="hd5870", help="an Evergreen chip (default: %(default)s)")
    chosen = parser.parse_args()
    folder = chosen.checkout / "local-tests" / "test-auto"
    if not (folder / f"{SUM}.bin").exists():
        print(f"error: {folder / SUM}.bin does not exist", file=sys.stderr)
        return 2
    results = {"disassembly of vector-add": text_fault(folder)}
    for path, fault in ((SUM, sums_fault), (PRODUCT, product_fault)):
        for ending, options in _OPTIONS.items():
            name = Path(path).name + ending
            try:
                program = hw.compile(folder / f"{path}{ending}", options=options, device=chosen.device)
                results[f"answers of {name}"] = fault(program, chosen.device)
            except hw.HeadwaterError as error:
                results[f"answers of {name}"] = " ".join(str(error).split())
    for what, note in results.items():
        print(f"{what:36} {note or 'agrees'}")
    return 1 if any(results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
