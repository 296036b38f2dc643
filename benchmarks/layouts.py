"""What the layout of work-items is worth: kernels of the suite under forced layouts, and which one is chosen.

    python -m benchmarks.layouts [--kernels matmul_naive,spmv] [--layouts 16x1,16x4y] [--rounds 7] [--json FILE]

A layout is lanes x rows; rows follow each other along x, or along y where a "y" stands behind; 16x8/2 runs loops that
may be parted by strips of two rows, where 16x8 chooses how many. Each launch of a kernel is timed by itself, its
layouts in turn in one run, in milliseconds of the process's own processor time, all threads together: other load on the
machine hardly counts. Medians are printed, the chosen layout has an asterisk, and results are compared with its
results.

Then come the factors that docs/decisions.md gives for how a chunk is chosen, and for loops over a strided index that
run without masks until a lane leaves: the same kernels compiled without that.
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

if __package__:  # the suite's modules are imported as the scripts beside it import them
    sys.path.insert(0, str(Path(__file__).resolve().parent))
from forced_layouts import forced
from suite import CASES
from suite.case import Case, Data, Launch, Local
from suite.nbody import GROUP as NBODY_GROUP

import headwater as hw
from headwater.opencl import host
from headwater.opencl.host import HostModule
from headwater.runtime.cpu.device import cpu_device, cpu_program
from headwater.vectorise.layout import Layout
from headwater.vectorise.plan.launch_layout import MASKED_ROWS, MAX_ROWS, choose_group, vector_lanes

LANES, ROWS = (1, 4, 8, 16, 32, 64), (1, 2, 4, 8, 16)
SLOW_SECONDS = 0.5
"""What takes longer than this is sampled three times only."""


@dataclass(frozen=True)
class Claim:
    """A factor of docs/decisions.md: how much faster ``fast`` is than ``slow``, each a side's name (see `_sides`)."""

    text: str
    case: str
    kernel: str
    slow: str
    fast: str


def _claims(base: int) -> tuple[Claim, ...]:
    """``base``: the lanes of one vector register."""
    return (
        Claim("naive matrix product: chosen, over one row", "matmul_naive", "naive", f"{base}x1", "chosen"),
        Claim(
            "naive matrix product: chosen, over one vector of lanes",
            "matmul_naive",
            "naive",
            f"{base}x{MAX_ROWS}y",
            "chosen",
        ),
        Claim("tiled matrix product: a work-group as one chunk, over four", "matmul_tiled", "tiled", "16x4y", "16x16y"),
        Claim(
            f"Mandelbrot: {MASKED_ROWS} rows with masks, over {MAX_ROWS}",
            "mandelbrot",
            "mandelbrot",
            f"{base}x{MAX_ROWS}",
            f"{base}x{MASKED_ROWS}",
        ),
        Claim(
            "n-body: loop by strips of rows, over all rows together",
            "nbody",
            "step_bodies",
            f"{base}x{NBODY_GROUP // base}/{NBODY_GROUP // base}",
            "chosen",
        ),
        Claim("sparse matrix product: one by one, over gathers", "spmv", "spmv", f"{base}x1", "1x1"),
        Claim("reduction: loop without masks, over masks", "reduction", "sum", "masks", "chosen"),
        Claim("histogram: loop without masks, over masks", "histogram", "histogram", "masks", "chosen"),
    )


class WithMasks(HostModule):
    """A module whose loops over a strided index have masks from their first trip on. Compiled in this process."""

    def _build(self, *args: Any) -> dict[str, bytes]:
        from headwater.native import worker
        from headwater.opencl import codegen
        from headwater.vectorise.plan import chunk_plan

        def call(name: str, *call_args: Any, **named: Any) -> Any:
            return getattr(codegen, name.partition(":")[2])(*call_args, **named)

        with (
            mock.patch.object(chunk_plan, "ordered_exits", return_value={}),
            mock.patch.object(worker.WORKER, "call", call),
        ):
            return super()._build(*args)


def with_masks(module: HostModule) -> HostModule:
    """The same compiled module without unmasked loops; nothing that was made for one is used for another."""
    clone = copy.copy(module)
    clone.__class__ = WithMasks
    clone._built = {}
    clone.key = f"{module.key} masks"
    return clone


def layout_name(layout: Layout) -> str:
    """``16x4y/2``: lanes, rows, along which dimension rows lie if not along x, and the rows of a strip if forced."""
    along = "y" if layout.rows > 1 and layout.row_dim == 1 else ""
    return f"{layout.lanes}x{layout.rows}{along}" + (f"/{layout.strip}" if layout.strip else "")


def parse_layout(text: str) -> Layout:
    """The layout of such a name; ValueError for anything else."""
    shape, slash, strip = text.partition("/")
    lanes, _, rows = shape.removesuffix("y").partition("x")
    row_dim = 1 if shape.endswith("y") or rows == "1" else 0
    made = Layout(int(lanes), int(rows), 0, row_dim, int(strip) if slash else 0)
    if (
        made.lanes not in LANES
        or made.rows not in ROWS
        or (slash and made.strip not in ROWS[: ROWS.index(made.rows) + 1])
    ):
        raise ValueError(text)
    return made


def layouts_within(group: Sequence[int], dims: Iterable[int]) -> list[Layout]:
    """The layouts whose chunks are no larger than the work-group."""
    found = []
    for lanes in LANES:
        for rows in ROWS:
            if lanes * rows <= group[0]:
                found.append(Layout(lanes, rows, 0, 1 if rows == 1 else 0))
            if rows > 1 and lanes <= group[0] and rows <= group[1] and 1 in dims:
                found.append(Layout(lanes, rows, 0, 1))
    return found


def _prepared(case: Case, module: HostModule, launch: Launch) -> Callable[[Sequence[Any]], Any]:
    program = cpu_program(cpu_device(), module, None, case.source.read_text(), str(case.source), case.options)
    return program.kernels[launch.kernel].prepare(launch.global_size, launch.local_size)


def _group(module: HostModule, launch: Launch) -> tuple[int, int, int]:
    if launch.local_size is None:
        return choose_group(module.facts(launch.kernel), _whole(launch))
    return (*launch.local_size, 1, 1)[:3]


def _whole(launch: Launch) -> tuple[int, int, int]:
    return (*launch.global_size, 1, 1)[:3]


def measure(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median milliseconds of processor time of each side, the sides in turn."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds):
        for name, run in runs.items():
            if number >= 3 and times[name][-1] > SLOW_SECONDS * 1e3:
                continue
            start = time.process_time()
            run()
            spent = time.process_time() - start
            repeats = max(1, min(100, round(0.02 / max(spent, 1e-6))))
            start = time.process_time()
            for _ in range(repeats):
                run()
            times[name].append((time.process_time() - start) / repeats * 1e3)
    return {name: statistics.median(values) for name, values in times.items()}


def sides(case: Case, launch: Launch, module: HostModule, wanted: Sequence[Layout]) -> dict[str, HostModule]:
    """What to compare: ``chosen``, the forced layouts, and ``masks`` where it makes a difference."""
    group = _group(module, launch)
    layouts = layouts_within(group, module.facts(launch.kernel).dims)
    kept = [layout for layout in wanted if replace(layout, strip=0) in layouts] if wanted else layouts
    made: dict[str, HostModule] = {"chosen": module}
    made |= {layout_name(layout): forced(module, layout) for layout in kept}
    return made


def run_launch(
    case: Case, data: Data, launch: Launch, modules: dict[str, HostModule], rounds: int
) -> tuple[dict[str, float], list[str]]:
    """Milliseconds of each side, and the sides that gave other results than the first."""
    written = [a for a in launch.args if isinstance(a, str)]
    before = {name: data[name].copy() for name in written}
    args = _arguments(data, launch)
    runs: dict[str, Callable[[], Any]] = {}
    expected: dict[str, np.ndarray] = {}
    first = _before(case, data, launch)
    wrong = []
    for name, module in modules.items():
        prepared = _prepared(case, module, launch)
        for key, value in before.items():
            data[key][...] = value

        def run(prepared: Callable[[Sequence[Any]], Any] = prepared) -> None:
            first()
            prepared(args)

        run()
        if not expected:
            expected = {key: data[key].copy() for key in written}
        elif not all(np.allclose(data[key], expected[key], rtol=1e-3, atol=1e-3) for key in written):
            wrong.append(name)
        runs[name] = run
    return measure(runs, rounds), wrong


def _before(case: Case, data: Data, launch: Launch) -> Callable[[], None]:
    """What other kernels the case launches before this one, which may leave no room for it to run twice: a prefix sum
    numbers its blocks in memory. It takes next to no time, and is timed with it."""
    module = host.load(case.source.read_text(), str(case.source), case.options)
    calls = []
    for earlier in case.launches(data):
        if earlier.kernel == launch.kernel:
            break
        calls.append((_prepared(case, module, earlier), _arguments(data, earlier)))

    def run() -> None:
        for prepared, args in calls:
            prepared(args)

    return run


def _arguments(data: Data, launch: Launch) -> list[Any]:
    return [data[a] if isinstance(a, str) else hw.Local(a.nbytes) if isinstance(a, Local) else a for a in launch.args]


def sweep(name: str, wanted: Sequence[Layout], quick: bool, rounds: int) -> list[dict[str, Any]]:
    """One case: for each kernel that it launches, its layouts' times."""
    case = CASES[name]
    module = host.load(case.source.read_text(), str(case.source), case.options)
    data = case.make(quick)
    found = []
    seen = set()
    for launch in case.launches(data):
        if launch.kernel in seen:
            continue
        seen.add(launch.kernel)
        group = _group(module, launch)
        times, wrong = run_launch(case, data, launch, sides(case, launch, module, wanted), rounds)
        chosen = layout_name(module.layout(launch.kernel, group, _whole(launch)))
        found.append(
            {"case": name, "kernel": launch.kernel, "group": group, "chosen": chosen, "ms": times, "wrong": wrong}
        )
    return found


def check_claims(quick: bool, rounds: int) -> list[dict[str, Any]]:
    """The factors of docs/decisions.md as they are here."""
    found = []
    for claim in _claims(_base_lanes()):
        case = CASES[claim.case]
        module = host.load(case.source.read_text(), str(case.source), case.options)
        data = case.make(quick)
        launch = next(item for item in case.launches(data) if item.kernel == claim.kernel)
        modules = {}
        for side in (claim.fast, claim.slow):
            if side == "chosen":
                modules[side] = module
            else:
                modules[side] = with_masks(module) if side == "masks" else forced(module, parse_layout(side))
        times, wrong = run_launch(case, data, launch, modules, rounds)
        found.append({**asdict(claim), "ms": times, "factor": times[claim.slow] / times[claim.fast], "wrong": wrong})
    return found


def _base_lanes() -> int:
    case = CASES["matmul_naive"]
    return vector_lanes(host.load(case.source.read_text(), str(case.source), case.options)._vector_bytes)


def _print_sweep(row: dict[str, Any]) -> None:
    print(f"{row['case']}, kernel {row['kernel']}, groups of {' x '.join(map(str, row['group']))}")
    times = dict(row["ms"])
    own = times.pop("chosen")
    best = min(times.values(), default=own)
    print(f"  chosen: {row['chosen']:<8} {own:10.3f} ms, {own / best:.2f} of the best")
    for name, value in sorted(times.items(), key=lambda item: item[1]):
        marks = " *" if name == row["chosen"] else ""
        marks += "  WRONG RESULTS" if name in row["wrong"] else ""
        print(f"    {name:<14} {value:10.3f} ms  {value / own:6.2f}{marks}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", help="cases of the suite to sweep, with commas; 'none' for the factors alone")
    parser.add_argument("--layouts", help="layouts to force, with commas (default: all that fit)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="small data: tests the command, its times mean nothing")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    names = list(dict.fromkeys(claim.case for claim in _claims(_base_lanes())))
    if options.kernels:
        names = [] if options.kernels == "none" else options.kernels.split(",")
    unknown = [name for name in names if name not in CASES]
    if unknown:
        parser.error(f"no kernel {unknown[0]!r} in the suite; it has {', '.join(CASES)}")
    try:
        wanted = [parse_layout(text) for text in options.layouts.split(",")] if options.layouts else []
    except ValueError as error:
        parser.error(
            f"{error} is no layout: write lanes x rows like 16x4, 16x4y or 16x4/2, powers of two up to 64 and 16"
        )
    swept = []
    for name in names:
        for row in sweep(name, wanted, options.quick, options.rounds):
            _print_sweep(row)
            swept.append(row)
    claims = check_claims(options.quick, options.rounds)
    print("\nfactors of docs/decisions.md, here")
    for claim in claims:
        print(f"  {claim['text']:<70} {claim['factor']:6.2f}")
    if options.json:
        Path(options.json).write_text(json.dumps({"sweep": swept, "factors": claims}, indent=1))
    return 1 if any(row["wrong"] for row in [*swept, *claims]) else 0


if __name__ == "__main__":
    sys.exit(main())
