"""Random OpenCL kernels in; disagreements between devices, and between the ways in which the cpu device runs them, out.

Run as ``python -m benchmarks.fuzz_opencl --count 1000 --device vega64``. What a kernel should leave is what the
cpu device leaves with one work-item at a time; with that are compared the layouts that the cpu device chooses and
some that it does not, checked code, PoCL, and the devices that are named. A kernel on which they differ is made smaller
and printed; its seed gives the whole of it (``--show``). Exit status 1 if any two disagree, a kernel does not compile,
or a process dies.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import isolated

if TYPE_CHECKING:
    import numpy as np

    from benchmarks.random_kernels import Case
    from headwater.runtime.devices import DeviceProgram

TIME_LIMIT_SECONDS = 60.0
"""A kernel's longest run: the slowest takes some milliseconds."""
HANG_SECONDS = 300.0
"""After which a kernel's process is ended: the slowest compilation takes some seconds."""
SMALLER_SECONDS = 60.0
"""How long a kernel is made smaller."""
PRINTED = 5
"""How many wrong kernels are made smaller and printed; the others are named."""
CHECKED_EVERY = 4
"""One kernel in so many is also run in checked code, in which none of them may fault."""


def _leaves(
    case: Case, build: Callable[[], DeviceProgram], limit: float | None, check: bool = False
) -> list[np.ndarray]:
    from benchmarks.forced_layouts import run

    arrays = run(build(), "k", case.global_size, case.local_size, case.args, time_limit=limit, check=check)
    return case.results(arrays)


def check(seed: int, layouts: int, *, with_pocl: bool = True, devices: Sequence[str] = ()) -> list[str]:
    """What is wrong with how the kernel of this seed runs: in one lane, as the runtime chooses, in ``layouts`` forced
    layouts picked at random, on PoCL, and on ``devices``."""
    from benchmarks.random_kernels import random_case

    return problems_of(random_case(seed), seed, layouts, with_pocl=with_pocl, devices=devices)


def problems_of(
    case: Case, seed: int, layouts: int, *, with_pocl: bool = True, devices: Sequence[str] = ()
) -> list[str]:
    """The same for a given kernel; ``seed`` picks the layouts."""
    import headwater as hw
    from benchmarks.forced_layouts import LAYOUTS, build, differences, pocl

    picked = random.Random(seed).sample(LAYOUTS[1:], layouts)
    problems: list[str] = []

    def go(
        what: object,
        program: Callable[[], DeviceProgram],
        limit: float | None = TIME_LIMIT_SECONDS,
        check: bool = False,
    ) -> list[np.ndarray] | None:
        try:
            return _leaves(case, program, limit, check)
        except hw.HeadwaterError as error:
            problems.append(f"{what}: {type(error).__name__}: {str(error)[:500]}")
            return None

    expected = go("one lane", lambda: build(case.source, LAYOUTS[0], case.options))
    if expected is None:
        return problems
    for layout in [None, *picked]:
        found = go(layout, lambda layout=layout: build(case.source, layout, case.options))
        if found is not None:
            problems += [f"{layout or 'chosen layout'}: {d}" for d in differences(expected, found)]
    if seed % CHECKED_EVERY == 0:
        found = go("checked code", lambda: build(case.source, None, case.options), check=True)
        if found is not None:
            problems += [f"checked code: {d}" for d in differences(expected, found)]
    for name in devices:
        found = go(name, lambda name=name: hw.device(name).build(case.source, "kernel.cl", case.options))
        if found is not None:
            problems += [f"{name}: {d}" for d in differences(expected, found)]
    device = pocl() if with_pocl and not case.halves else None
    if device is not None:
        found = go("PoCL", lambda: device.build(case.source, "kernel.cl", case.options), None)
        if found is not None and (problem := differences(expected, found)):
            # PoCL has defects of its own: those that its optimiser makes are not ours.
            options = f"{case.options} -cl-opt-disable"
            plain = go("PoCL", lambda: device.build(case.source, "kernel.cl", options), None)
            if plain is None or differences(expected, plain):
                problems += [f"PoCL: {d}" for d in problem]
    return problems


def smaller(seed: int, layouts: int, *, with_pocl: bool, devices: Sequence[str]) -> str:
    """The kernel of this seed without the statements that its disagreement does not need, as OpenCL C."""
    from benchmarks.random_kernels import random_case

    def kind(problem: str) -> str:
        return problem.split(":")[0]

    case = random_case(seed)
    look = functools.partial(problems_of, seed=seed, layouts=layouts, with_pocl=with_pocl, devices=devices)
    wanted = {kind(p) for p in look(case) if " differ, " in p}
    until = time.monotonic() + SMALLER_SECONDS
    lines = case.source.splitlines()
    while wanted:
        before = len(lines)
        for first, last in _statements(lines):
            if time.monotonic() > until:
                break
            fewer = lines[:first] + lines[last:]
            trial = dataclasses.replace(case, source="\n".join(fewer) + "\n")
            found = look(trial)
            if wanted & {kind(p) for p in found if " differ, " in p} and not any("SourceError" in p for p in found):
                lines = fewer
                break
        if len(lines) == before:
            break
    sizes = f"global size {case.global_size}, group size {case.local_size}, options {case.options}"
    return f"// seed {seed}, {sizes}\n" + "\n".join(lines)


def _statements(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Ranges of lines that may be left out together, long ones first: whole statements."""
    ranges = []
    for first, line in enumerate(lines):
        depth = 0
        for last in range(first, len(lines)):
            text = lines[last].strip()
            depth += text.count("{") - text.count("}")
            if text.startswith("}") and last == first:
                break
            if depth <= 0:
                if depth == 0 and not line.startswith(("#", "kernel", "typedef")):
                    ranges.append((first, last + 1))
                break
    return iter(sorted(ranges, key=lambda r: r[0] - r[1]))


def fuzz(seeds: range, layouts: int, *, with_pocl: bool, devices: Sequence[str] = ()) -> dict[int, list[str]]:
    """What is wrong with each of the kernels, by seed; nothing for those that are right."""
    found: dict[int, list[str]] = {}
    began = time.monotonic()
    look = functools.partial(check, layouts=layouts, with_pocl=with_pocl, devices=tuple(devices))
    for done, (seed, problems) in enumerate(isolated.each(look, seeds, HANG_SECONDS), 1):
        if isinstance(problems, isolated.Died):
            problems = [problems.reason]
        if problems:
            found[seed] = problems
            print(f"seed {seed}:", *problems, sep="\n  ", flush=True)
            if len(found) <= PRINTED:
                reduce = functools.partial(smaller, layouts=layouts, with_pocl=with_pocl, devices=tuple(devices))
                for _, text in isolated.each(reduce, [seed], HANG_SECONDS):
                    print(text.reason if isinstance(text, isolated.Died) else text, flush=True)
        if done % isolated.BATCH == 0 or done == len(seeds):
            rate = done / (time.monotonic() - began)
            print(f"{done} kernels, {len(found)} wrong, {rate:.1f} a second", file=sys.stderr, flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz_opencl", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="how many kernels (default 1000)")
    parser.add_argument(
        "--seed", type=int, default=0, help="the first kernel's seed; the next ones count on (default 0)"
    )
    parser.add_argument("--layouts", type=int, default=2, help="forced layouts for each kernel (default 2)")
    parser.add_argument("--device", action="append", default=[], help="another device to compare; several times")
    parser.add_argument("--no-pocl", action="store_true", help="do not compare with PoCL")
    parser.add_argument("--show", action="store_true", help="print the kernel of --seed and leave")
    options = parser.parse_args()
    if options.show:
        from benchmarks.random_kernels import random_case

        case = random_case(options.seed)
        print(f"// global size {case.global_size}, group size {case.local_size}, {case.options}\n{case.source}")
        return 0
    os.chdir(Path(__file__).resolve().parents[1])
    seeds = range(options.seed, options.seed + options.count)
    found = fuzz(seeds, options.layouts, with_pocl=not options.no_pocl, devices=options.device)
    print(f"{options.count} kernels, {len(found)} wrong" + (f": {' '.join(map(str, found))}" if found else ""))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
