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
SMALLER_SECONDS = 120.0
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


def _look(source: str, seed: int, layouts: int, with_pocl: bool, devices: Sequence[str]) -> list[str]:
    from benchmarks.random_kernels import random_case

    case = dataclasses.replace(random_case(seed), source=source)
    return problems_of(case, seed, layouts, with_pocl=with_pocl, devices=devices)


def _kinds(problems: list[str] | isolated.Died) -> set[str]:
    """What kinds of disagreement these are: a smaller kernel must show one of them."""
    if isinstance(problems, isolated.Died):
        return {problems.reason}
    if any("SourceError" in p for p in problems):
        return set()  # what is left is no kernel
    # "vega64: 3 of 64 differ, …" or "vega64: InternalError: …"
    return {p.split(":")[0] if " differ, " in p else ":".join(p.split(":")[:2]) for p in problems}


def smaller(seed: int, problems: list[str] | isolated.Died, look: Callable[[str], list[str]]) -> str:
    """The kernel of this seed without the statements that its disagreement does not need, as OpenCL C."""
    from benchmarks.random_kernels import random_case

    case = random_case(seed)
    wanted = _kinds(problems)
    until = time.monotonic() + SMALLER_SECONDS
    lines = case.source.splitlines()
    shrinking = bool(wanted)
    while shrinking and time.monotonic() < until:
        shrinking = False
        trials = {"\n".join(lines[:first] + lines[last:]) + "\n": None for first, last in _statements(lines)}
        for source, found in isolated.each(look, list(trials), HANG_SECONDS):
            if wanted & _kinds(found):
                lines = source.splitlines()
                shrinking = True
            if shrinking or time.monotonic() > until:
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
    settings = {"layouts": layouts, "with_pocl": with_pocl, "devices": tuple(devices)}
    look = functools.partial(check, **settings)
    for done, (seed, problems) in enumerate(isolated.each(look, seeds, HANG_SECONDS), 1):
        if problems:
            found[seed] = [problems.reason] if isinstance(problems, isolated.Died) else problems
            print(f"seed {seed}:", *found[seed], sep="\n  ", flush=True)
            if len(found) <= PRINTED:
                print(smaller(seed, problems, functools.partial(_look, seed=seed, **settings)), flush=True)
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
