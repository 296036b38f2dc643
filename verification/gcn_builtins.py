"""Input: targets. Output: what LLVM cannot compile of all built-ins, and of our own kernels, for them.

python -m verification.gcn_builtins gfx600 gfx906        scalars and vectors of 4
python -m verification.gcn_builtins --all-widths gfx906  every width; LLVM takes an hour
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "opencl"))

from builtin_calls import GROUPS  # noqa: E402  it lies among the tests

from headwater.errors import HeadwaterError  # noqa: E402
from headwater.opencl import gcn  # noqa: E402

STATEMENTS = 64  # of one program, in kernels of 8: LLVM takes long for a thousand in one


def programs(source: str, *, all_widths: bool) -> Iterator[str]:
    """The one kernel of a group of built-ins as programs of many small ones."""
    head, _, body = source.partition("{\n")
    before, _, parameters = head.rpartition("kernel void k(")
    lines = body.strip().removesuffix("}").strip().splitlines()
    if not all_widths:
        lines = [line for line in lines if not re.search(r"\b[a-z]+(2|3|8|16)\b", line)]
    for start in range(0, len(lines), STATEMENTS):
        kernels = [
            f"kernel void k{at}({parameters}{{\n" + "\n".join(lines[at : at + 8]) + "\n}\n"
            for at in range(start, min(start + STATEMENTS, len(lines)), 8)
        ]
        yield before + "".join(kernels)


def main() -> int:
    """Compile everything; the exit code says whether something failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="+", metavar="TARGET")
    parser.add_argument("--all-widths", action="store_true")
    options = parser.parse_args()
    failures = 0
    for target in options.targets:
        for group, (source, flags) in GROUPS.items():
            begun = time.monotonic()
            for number, program in enumerate(programs(source(), all_widths=options.all_widths)):
                try:
                    gcn.compile_code_object(program, f"{group}.{number}.cl", flags, target, emit="obj")
                except HeadwaterError as error:
                    failures += 1
                    print(f"{target} {group}.{number}: {error}", flush=True)
            print(f"{target} {group}: {time.monotonic() - begun:.1f} s", flush=True)
    print(f"{failures} failures")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
