"""Input: checkouts of public benchmark suites. Output: whether devices agree on the answers of their kernels.

Run as ``python -m verification.suites --checkout DIR --device cpu --device opencl:Portable``, where DIR holds folders
``gpu-rodinia`` (yuhc/gpu-rodinia), ``shoc`` (vetter/shoc) and ``PolyBench-ACC`` (cavazos-lab/PolyBench-ACC), or some of
them. Exit status 1 if a program fails or any two answers differ.
"""

from __future__ import annotations

import argparse
import functools
import sys
from pathlib import Path

from verification import isolated
from verification.suites import CASES
from verification.suites.run import Outcome, compare

PROGRAM_SECONDS = 300.0
"""After which a program is ended: it does not come back."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m verification.suites", description=__doc__.splitlines()[0])
    parser.add_argument("--checkout", type=Path, required=True, help="the folder that holds the suites' checkouts")
    parser.add_argument("--device", action="append", help="a device to compare; several times (default cpu)")
    parser.add_argument("--only", default="", help="only programs with this in their name")
    parser.add_argument("--check", action="store_true", help="run in checked code, on devices that have it")
    parser.add_argument(
        "--program-seconds",
        type=float,
        default=PROGRAM_SECONDS,
        help=f"a program's limit (default {PROGRAM_SECONDS:g})",
    )
    parser.add_argument("--list", action="store_true", help="list the programs and leave")
    options = parser.parse_args()
    devices = options.device or ["cpu"]
    cases = [case for case in CASES if options.only in case.name]
    if options.list:
        for case in cases:
            print(f"{case.name}: {', '.join(case.kernels)}")
        return 0
    present = [case for case in cases if (options.checkout / case.file).is_file()]
    for case in cases:
        if case not in present:
            print(f"{case.name}: {options.checkout / case.file} is missing")
    function = functools.partial(compare, checkout=options.checkout.resolve(), devices=devices, check=options.check)
    failed: list[str] = []
    for name, outcome in isolated.each(function, [case.name for case in present], options.program_seconds):
        if isinstance(outcome, isolated.Died):
            outcome = Outcome([outcome.reason])
        times = "".join(f"  {device} {seconds:.2f} s" for device, seconds in outcome.seconds.items())
        print(f"{name:32} {'WRONG' if outcome.problems else 'ok':5}{times}", flush=True)
        for problem in outcome.problems + outcome.notes:
            print(f"  {problem}", flush=True)
        if outcome.problems:
            failed.append(name)
    kernels = sum(len(case.kernels) for case in present)
    right = sum(len(case.kernels) for case in present if case.name not in failed)
    print(
        f"{len(present)} programs with {kernels} kernels on {', '.join(devices)}; {right} kernels right, "
        f"{len(failed)} programs wrong{': ' + ' '.join(failed) if failed else ''}"
    )
    return 1 if failed or len(present) < len(cases) else 0


if __name__ == "__main__":
    sys.exit(main())
