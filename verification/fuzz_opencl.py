"""Input: random OpenCL kernels. Output: disagreements between devices, and between the ways in which the cpu device
runs them.

Run as ``python -m verification.fuzz_opencl --count 1000 --device vega64 --jobs 16``. What a kernel should leave is what
the cpu device leaves with one work-item at a time; with that are compared the layouts that the cpu device chooses and
some that it does not, checked code, PoCL, and the devices that are named (``--only-devices``: these alone, with the
layout that the cpu device chooses, which takes half the time). VLIW chips may leave 0 for floats below the normal
range, which they do not have. Kernels on which they differ are named by their seeds, and the first of them made smaller
and printed; a seed gives the whole of its kernel (``--show``). Exit status 1 if any two disagree, a kernel does not
compile, or a process dies.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from verification import isolated

if TYPE_CHECKING:
    import numpy as np

    from headwater.runtime.interface import DeviceProgram
    from verification.random_kernels import Case

TIME_LIMIT_SECONDS = 60.0
"""A kernel's longest run: the slowest takes some milliseconds."""
HANG_SECONDS = 300.0
"""After which a kernel's process is ended: the slowest compilation takes some seconds."""
SMALLER_SECONDS = 120.0
"""How long a kernel is made smaller."""
SMALLER = 5
"""How many wrong kernels are made smaller and printed."""
BATCH = 25
"""Kernels per process, at most: fewer than is best for one, so that several end at about the same time."""
CHECKED_EVERY = 4
"""One kernel in so many is also run in checked code, in which none of them may fault."""


def _leaves(
    case: Case, build: Callable[[], DeviceProgram], limit: float | None, check: bool = False
) -> list[np.ndarray]:
    from benchmarks.forced_layouts import run

    arrays = run(build(), "k", case.global_size, case.local_size, case.args, time_limit=limit, check=check)
    return case.results(arrays)


@dataclass(frozen=True)
class Against:
    """What a kernel is run on. ``layouts``: how many forced layouts, picked at random; ``only_devices``: none, and the
    cpu device as it chooses, once; ``plain``: kernels without local memory, barriers and atomics."""

    layouts: int = 2
    pocl: bool = True
    devices: tuple[str, ...] = ()
    only_devices: bool = False
    plain: bool = False


def check(seed: int, against: Against) -> list[str]:
    """What is wrong with how the kernel of this seed runs."""
    from verification.random_kernels import random_case

    return problems_of(random_case(seed, against.plain), seed, against)


def problems_of(case: Case, seed: int, against: Against) -> list[str]:
    """The same for a given kernel; ``seed`` picks the layouts."""
    import headwater as hw
    from benchmarks.forced_layouts import LAYOUTS, build, differences, pocl
    from headwater.runtime.vliw.device import VliwDevice

    picked = random.Random(seed).sample(LAYOUTS[1:], min(against.layouts, len(LAYOUTS) - 1))
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

    if against.only_devices:
        expected = go("chosen layout", lambda: build(case.source, None, case.options))
    else:
        expected = go("one lane", lambda: build(case.source, LAYOUTS[0], case.options))
    if expected is None:
        return problems
    for layout in () if against.only_devices else (None, *picked):
        found = go(layout, lambda layout=layout: build(case.source, layout, case.options))
        if found is not None:
            problems += [f"{layout or 'chosen layout'}: {d}" for d in differences(expected, found)]
    if seed % CHECKED_EVERY == 0 and not against.only_devices:
        found = go("checked code", lambda: build(case.source, None, case.options), check=True)
        if found is not None:
            problems += [f"checked code: {d}" for d in differences(expected, found)]
    for name in against.devices:
        found = go(name, lambda name=name: hw.device(name).build(case.source, "kernel.cl", case.options))
        if found is not None:
            vliw = isinstance(hw.device(name), VliwDevice)
            problems += [f"{name}: {d}" for d in differences(expected, found, flushed=vliw)]
    device = pocl() if against.pocl and not case.halves else None
    if device is not None:
        found = go("PoCL", lambda: device.build(case.source, "kernel.cl", case.options), None)
        if found is not None and (problem := differences(expected, found)):
            # PoCL has defects of its own: those that its optimiser makes are not ours.
            options = f"{case.options} -cl-opt-disable"
            plain = go("PoCL", lambda: device.build(case.source, "kernel.cl", options), None)
            if plain is None or differences(expected, plain):
                problems += [f"PoCL: {d}" for d in problem]
    return problems


def _look(source: str, seed: int, against: Against) -> list[str]:
    from verification.random_kernels import random_case

    case = dataclasses.replace(random_case(seed, against.plain), source=source)
    return problems_of(case, seed, against)


def _kinds(problems: list[str] | isolated.Died) -> set[str]:
    """What kinds of disagreement these are: a smaller kernel must show one of them."""
    if isinstance(problems, isolated.Died):
        return {problems.reason}
    if any("SourceError" in p for p in problems):
        return set()  # what is left is no kernel
    # "vega64: 3 of 64 differ, …" or "vega64: InternalError: …"
    return {p.split(":")[0] if " differ, " in p else ":".join(p.split(":")[:2]) for p in problems}


def smaller(
    case: Case, seed: int, problems: list[str] | isolated.Died, look: Callable[[str], list[str]], jobs: int = 1
) -> str:
    """The kernel of this seed without the statements that its disagreement does not need, as OpenCL C."""
    wanted = _kinds(problems)
    until = time.monotonic() + SMALLER_SECONDS
    lines = case.source.splitlines()
    shrinking = bool(wanted)
    while shrinking and time.monotonic() < until:
        shrinking = False
        trials = {"\n".join(lines[:first] + lines[last:]) + "\n": None for first, last in _statements(lines)}
        for source, found in isolated.each(look, list(trials), HANG_SECONDS, BATCH, jobs):
            if wanted & _kinds(found):
                lines = source.splitlines()
                shrinking = True
            if shrinking or time.monotonic() > until:
                break
    sizes = f"global size {case.global_size}, group size {case.local_size}, options {case.options}"
    return f"// seed {seed}, {sizes}\n" + "\n".join(lines)


_NEEDED = re.compile(r"\b(?:array\[q\]|counts\[q\]|shared\[lid\]) = |\bbarrier\(|\bdigest = 0u")
"""What leaves memory undefined, or races, when it is left out."""


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
                if depth == 0 and not line.startswith(("#", "kernel", "typedef")) and not _NEEDED.search(line):
                    ranges.append((first, last + 1))
                break
    return iter(sorted(ranges, key=lambda r: r[0] - r[1]))


@dataclass
class Tally:
    """What became of the kernels: ``wrong``: by seed, what is; ``done``: how many were run."""

    done: int = 0
    wrong: dict[int, list[str] | isolated.Died] = field(default_factory=dict)
    seconds: float = 0.0

    def __str__(self) -> str:
        kinds = Counter(kind for problems in self.wrong.values() for kind in _kinds(problems))
        parts = [f"{self.done} kernels in {self.seconds:.0f} s, {len(self.wrong)} wrong"]
        parts += [f"  {count} by {kind}" for kind, count in kinds.most_common()]
        if self.wrong:
            parts.append("  seeds " + " ".join(map(str, sorted(self.wrong))))
        return "\n".join(parts)


def fuzz(seeds: Sequence[int], against: Against, *, jobs: int = 1, seconds: float | None = None) -> Tally:
    """Run the kernels of these seeds in ``jobs`` processes at a time, until all are done or the time is up."""
    tally = Tally()
    began = time.monotonic()
    look = functools.partial(check, against=against)
    threads = 1 if jobs > 1 else 0
    batch = max(1, min(BATCH, len(seeds) // (2 * jobs)))
    for seed, problems in isolated.each(look, seeds, HANG_SECONDS, batch, jobs, threads):
        tally.done += 1
        tally.seconds = time.monotonic() - began
        if problems:
            tally.wrong[seed] = problems
            lines = [problems.reason] if isinstance(problems, isolated.Died) else problems
            print(f"seed {seed}:", *lines, sep="\n  ", flush=True)
        if tally.done % 100 == 0:
            rate = tally.done / tally.seconds
            print(f"{tally.done} kernels, {len(tally.wrong)} wrong, {rate:.1f} a second", file=sys.stderr, flush=True)
        if seconds is not None and tally.seconds > seconds:
            break
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m verification.fuzz_opencl", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--count", type=int, default=1000, help="how many kernels (default 1000)")
    add("--seed", type=int, default=0, help="the first kernel's seed; the next ones count on (default 0)")
    add("--seeds", type=int, nargs="+", help="these seeds instead")
    add("--layouts", type=int, default=2, help="forced layouts for each kernel (default 2)")
    add("--device", action="append", default=[], help="another device to compare; several times")
    add("--only-devices", action="store_true", help="compare these with the layout that the cpu device chooses only")
    add("--plain", action="store_true", help="kernels without local memory, barriers and atomics, for R600 and R700")
    add("--no-pocl", action="store_true", help="do not compare with PoCL")
    add("--jobs", type=int, default=1, help="processes at a time, each with a thread for kernels (default 1, with all)")
    add("--seconds", type=float, help="end after so long, whatever has been done")
    add("--smaller", type=int, default=SMALLER, help=f"make so many wrong kernels smaller (default {SMALLER})")
    add("--show", action="store_true", help="print the kernel of --seed and leave")
    options = parser.parse_args()
    from verification.random_kernels import random_case

    if options.show:
        case = random_case(options.seed, options.plain)
        print(f"// global size {case.global_size}, group size {case.local_size}, {case.options}\n{case.source}")
        return 0
    os.chdir(Path(__file__).resolve().parents[1])
    seeds = options.seeds or range(options.seed, options.seed + options.count)
    against = Against(options.layouts, not options.no_pocl, tuple(options.device), options.only_devices, options.plain)
    tally = fuzz(seeds, against, jobs=options.jobs, seconds=options.seconds)
    print(tally, flush=True)
    for seed, problems in [*tally.wrong.items()][: options.smaller]:
        look = functools.partial(_look, seed=seed, against=against)
        print(smaller(random_case(seed, options.plain), seed, problems, look, options.jobs), flush=True)
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
