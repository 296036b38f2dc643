"""Random OpenCL kernels in; every disagreement between the cpu device's ways of running them, and PoCL, out.

Run as ``python -m benchmarks.fuzz_opencl --count 1000 --seed 0``. Exit status 1 if any two disagree, a kernel does not
compile, or a process dies.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from headwater.runtime.devices import DeviceProgram

TIME_LIMIT_SECONDS = 60.0
"""A kernel's longest run: the slowest takes some milliseconds."""
HANG_SECONDS = 300.0
"""After which a kernel's process is ended: the slowest compilation takes some seconds."""
POCL_DEFECTS = frozenset((10357, 10469))
"""Kernels that PoCL 3.0 runs wrong: in 10357, bins[7] is 963 + 4 * 7 + 16 * 30 * 48 by hand; 10469 ran in Python."""
CHECKED_EVERY = 4
"""One kernel in so many is also run in checked code, in which none of them may fault."""
BATCH = 50
"""Kernels per process; PoCL and LLVM keep memory for each."""


def check(seed: int, layouts: int, *, with_pocl: bool = True) -> list[str]:
    """What is wrong with how the kernel of this seed runs: in one lane, as the runtime chooses, in ``layouts`` forced
    layouts picked at random, and on PoCL."""
    from benchmarks.forced_layouts import LAYOUTS, build, differences, pocl, run
    from benchmarks.random_kernels import random_case
    from headwater.errors import HeadwaterError

    case = random_case(seed)
    picked = random.Random(seed).sample(LAYOUTS[1:], layouts)
    problems = []

    def go(what: object, program: Callable[[], DeviceProgram], checked: bool = False) -> list[np.ndarray] | None:
        try:
            arrays = run(program(), "k", case.global_size, case.local_size, case.args, time_limit=limit, check=checked)
            return case.results(arrays)
        except HeadwaterError as error:
            problems.append(f"{what}: {type(error).__name__}: {str(error)[:500]}")
            return None

    limit: float | None = TIME_LIMIT_SECONDS
    expected = go("one lane", lambda: build(case.source, LAYOUTS[0]))
    if expected is None:
        return problems
    for layout in [None, *picked]:
        found = go(layout, lambda layout=layout: build(case.source, layout))
        if found is not None:
            problems += [f"{layout or 'chosen layout'}: {d}" for d in differences(expected, found)]
    if seed % CHECKED_EVERY == 0:
        found = go("checked code", lambda: build(case.source), checked=True)
        if found is not None:
            problems += [f"checked code: {d}" for d in differences(expected, found)]
    device = pocl() if with_pocl and seed not in POCL_DEFECTS else None
    if device is not None:
        limit = None
        found = go("PoCL", lambda: device.build(case.source, "kernel.cl"))
        if found is not None and (problem := differences(expected, found)):
            # PoCL has defects of its own: those that its optimiser makes are not ours.
            plain = go("PoCL", lambda: device.build(case.source, "kernel.cl", "-cl-opt-disable"))
            if plain is None or differences(expected, plain):
                problems += [f"PoCL: {d}" for d in problem]
    return problems


def _serve(seeds: range, layouts: int, with_pocl: bool, folder: str, pipe: Connection) -> None:
    os.environ["HEADWATER_CACHE_DIR"] = folder
    os.environ["POCL_KERNEL_CACHE"] = "0"
    os.environ["XDG_CACHE_HOME"] = folder
    for seed in seeds:
        pipe.send((seed, None))
        pipe.send((seed, check(seed, layouts, with_pocl=with_pocl)))


def fuzz(seeds: range, layouts: int, *, with_pocl: bool) -> dict[int, list[str]]:
    """What is wrong with each of the kernels, by seed; nothing for those that are right."""
    found: dict[int, list[str]] = {}
    at, began, done = seeds.start, time.monotonic(), 0
    while at < seeds.stop:
        end = min(at + BATCH, seeds.stop)
        ours, theirs = multiprocessing.get_context("spawn").Pipe()
        with tempfile.TemporaryDirectory() as folder:
            arguments = (range(at, end), layouts, with_pocl, folder, theirs)
            process = multiprocessing.get_context("spawn").Process(target=_serve, args=arguments)
            process.start()
            theirs.close()
            current = at
            hangs = False
            while True:
                try:
                    if not ours.poll(HANG_SECONDS):
                        hangs = True
                        process.kill()
                        break
                    seed, problems = ours.recv()
                except EOFError:
                    break
                current = seed
                if problems is None:
                    continue
                done += 1
                at = seed + 1
                if problems:
                    found[seed] = problems
                    _report(seed, problems)
            process.join()
            if at < end:  # it died in the middle of one
                how = f"took longer than {HANG_SECONDS:g} s" if hangs else f"ended with status {process.exitcode}"
                found[current] = [f"the process {how}"]
                _report(current, found[current])
                at = current + 1
        rate = done / (time.monotonic() - began)
        print(f"{at - seeds.start} kernels, {len(found)} wrong, {rate:.1f} a second", file=sys.stderr, flush=True)
    return found


def _report(seed: int, problems: list[str]) -> None:
    print(f"seed {seed}:", *problems, sep="\n  ", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz_opencl", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="how many kernels (default 1000)")
    parser.add_argument(
        "--seed", type=int, default=0, help="the first kernel's seed; the next ones count on (default 0)"
    )
    parser.add_argument("--layouts", type=int, default=2, help="forced layouts for each kernel (default 2)")
    parser.add_argument("--no-pocl", action="store_true", help="do not compare with PoCL")
    parser.add_argument("--show", action="store_true", help="print the kernel of --seed and leave")
    options = parser.parse_args()
    if options.show:
        from benchmarks.random_kernels import random_case

        case = random_case(options.seed)
        print(f"// global size {case.global_size}, group size {case.local_size}\n{case.source}")
        return 0
    os.chdir(Path(__file__).resolve().parents[1])
    seeds = range(options.seed, options.seed + options.count)
    found = fuzz(seeds, options.layouts, with_pocl=not options.no_pocl)
    print(f"{options.count} kernels, {len(found)} wrong" + (f": {' '.join(map(str, found))}" if found else ""))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
