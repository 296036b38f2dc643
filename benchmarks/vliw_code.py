"""Input: OpenCL kernels and, where there are any, LLVM's objects of them. Output: groups, operations and registers of
both, and the compiler's times.

``python -m benchmarks.vliw_code --kernels DIR [--objects DIR] [--device hd5870]``

An object is called as its kernel's file, with LLVM's processor (the chip's target): ``vadd.cypress.o`` of ``vadd.cl``,
as `benchmarks.llvm_r600` makes it. The exit status is 0 if all kernels compile.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import headwater as hw
from headwater import chips
from headwater.chips import Chip
from headwater.errors import HeadwaterError
from headwater.il import from_llvm
from headwater.isa.vliw import image_files
from headwater.isa.vliw.compiler import compile_program
from headwater.isa.vliw.model import Shader

_TIMED_INSTRUCTIONS = 500


@dataclass(frozen=True)
class Size:
    """What a shader comes to."""

    groups: int
    operations: int
    registers: int


def size(shader: Shader, registers: int) -> Size:
    """Count a shader."""
    groups = [group for cf in shader.cf for group in cf.groups]
    return Size(len(groups), sum(len(group.ops) for group in groups), registers)


def ours(path: Path, chip: Chip) -> tuple[Size, float]:
    """The first kernel of a file, compiled, and the seconds that it took from IL."""
    made = from_llvm.kernels(path.read_text(encoding="utf-8"), chip, path.name)
    program = next(iter(made.kernels.values())).program
    start = time.process_time()
    compiled = compile_program(program, chip, path.name)
    return size(compiled.shader, compiled.gprs), time.process_time() - start


def theirs(path: Path) -> Size | None:
    """LLVM's, if it made one that the chip can run."""
    if not path.exists():
        return None
    try:
        found = image_files.read_all(path.read_bytes(), path.name)[0]
        return size(found.shader, found.gprs)
    except HeadwaterError as error:
        print(f"{path.name}: {error.message}")
        return None


def timed(name: str) -> tuple[float, float]:
    """Seconds of the processor for a program of so many instructions, a chain and a tree in turn: when it is compiled,
    and when it comes from the cache."""
    lines = ["il_ps_2_0", "dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__", "dcl_output_generic o0"]
    lines += ["mov r0, vWinCoord0.xyxy"]
    names = ("mad r{0}, r{1}, r{2}, r{1}", "add r{0}, r{1}, r{2}", "mul_ieee r{0}, r{1}, r{2}", "max r{0}, r{1}, r{2}")
    for k in range(1, _TIMED_INSTRUCTIONS):
        lines.append(names[k % 4].format(k % 60, (k - 1) % 60, max(k - 7, 0) % 60))
    lines += [f"mov o0, r{(_TIMED_INSTRUCTIONS - 1) % 60}", "end"]
    text = "\n".join([*lines, f"; {time.time_ns()}", ""])  # not known to the cache
    device = hw.device(name)
    hw.compile("il_ps_2_0\ndcl_output_generic o0\nmov o0, vWinCoord0\nend\n", language="il", device=device)  # imports
    seconds = []
    for _ in range(2):
        start = time.process_time()
        hw.compile(text, language="il", device=device)
        seconds.append(time.process_time() - start)
    return seconds[0], seconds[1]


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vliw_code", description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=Path, required=True, help="a folder of OpenCL C files")
    parser.add_argument("--objects", type=Path, help="a folder with LLVM's objects of them")
    parser.add_argument("--device", default="hd5870", help="the chip (default: hd5870)")
    chosen = parser.parse_args()
    chip = chips.find(chosen.device)
    total = [0] * 6
    failed = 0
    for path in sorted(chosen.kernels.glob("*.cl")):
        other = theirs(chosen.objects / f"{path.stem}.{chip.target}.o") if chosen.objects else None
        try:
            mine, seconds = ours(path, chip)
        except HeadwaterError as error:
            failed += 1
            print(f"{path.stem:24} {' '.join(str(error).split())[:90]}")
            continue
        row = f"{path.stem:24} {mine.groups:5} groups {mine.operations:5} operations {mine.registers:3} registers"
        if other is not None:
            row += (
                f"   LLVM {other.groups:5} {other.operations:5} {other.registers:3}   {mine.groups / other.groups:.2f}"
            )
            for k, value in enumerate((mine.groups, mine.operations, mine.registers)):
                total[k] += value
            for k, value in enumerate((other.groups, other.operations, other.registers), 3):
                total[k] += value
        print(f"{row}   {seconds:.2f} s")
    if total[3]:
        print(
            f"groups {total[0]} of LLVM's {total[3]}: {total[0] / total[3]:.2f}; registers {total[2]} of {total[5]}; ",
            end="",
        )
        print(f"operations a group {total[1] / total[0]:.2f}, LLVM {total[4] / total[3]:.2f}")
    cold, warm = timed(chosen.device)
    print(f"{_TIMED_INSTRUCTIONS} instructions of IL: {cold:.2f} s, from the cache {warm * 1e3:.1f} ms")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
