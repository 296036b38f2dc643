"""Input: a kernel's file, its data and chips. Output: how long the kernel takes on each, and why."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.base.numbers import natural
from headwater.cli.options import Parser, build_options, positive, whole_from_one
from headwater.cli.results import output_file, refuse_overwriting
from headwater.cli.run import add_launch_options, bind_words, compiled_program, write_and_report
from headwater.errors import UsageError
from headwater.views.units import memory_bytes, seconds

if TYPE_CHECKING:
    from headwater.analyze.analysis import Analysis
    from headwater.chips import Chip
    from headwater.cli.launch import TimeLimit
    from headwater.files import Array
    from headwater.jobs.job import Job
    from headwater.timing.report import Hot, Report
    from headwater.timing.system import SystemTimeline

_USAGE = "FILE [ARG …] -d CHIP [-d CHIP …] [--kernel NAME] [--timeline FILE] [--html FILE] [--json] [options]"
_DESCRIPTION = """\
Simulate how many cycles a kernel takes on a chip, and what they are spent on. The kernel is emulated once; the trace of
its wavefronts is then replayed on a model of the chip's compute units, caches and memory.

Arguments are as for headwater run. Several chips give a comparison in columns.
"""
_EXAMPLES = """\
examples:
  headwater simulate matmul.cl --device vega64 random:512x512 random:512x512 --local 16,16
  headwater simulate median.cl --device fiji --kernel medianfilter_rgba photo.jpg --timeline median.json
  headwater simulate scan.cl -d mi50 -d radeon-vii -d mine.toml random:1Mi
  headwater simulate matmul.cl --device vega64 … --sweep compute.compute_units=16:64:4 --sweep clock_mhz=1000,1500
  headwater simulate matmul.cl --device vega64 … --set memory_clock_mhz=1200 --shapes
  headwater simulate saxpy.cl --device hd5870 … --repeat 16 --queues 2 --timeline program.json
"""
Outputs = dict[str, "Array"]
_LINES = 12
_MOST_BOTTLENECKS = 6
"""Of so many chips side by side each has its bottleneck shown."""
_MOST_TIMES = 100_000
_QUICK_INSTRUCTIONS = 1 << 20
"""Wavefronts' instructions of a launch that is replayed in about a tenth of a second."""


def parser() -> Parser:
    """The options of ``headwater simulate``."""
    made = Parser("simulate", _USAGE, _DESCRIPTION, _EXAMPLES)
    add_launch_options(made, simulated=True, several=True)
    made.add_argument(
        "--device", "-d", metavar="CHIP", action="append", default=[], help="a chip; repeat the option to compare chips"
    )
    what = made.add_argument_group("simulation")
    what.add_argument(
        "--sweep",
        metavar="FIGURE=VALUES",
        action="append",
        default=[],
        help="also simulate the first chip with other figures: compute.clock_mhz=800,1000, or clock_mhz=800:1600:9 "
        "(nine values)",
    )
    what.add_argument(
        "--set",
        metavar="FIGURE=VALUE",
        action="append",
        default=[],
        help="also simulate each chip with this figure changed, such as memory_clock_mhz=1200",
    )
    what.add_argument(
        "--gains",
        action="store_true",
        help="say what more of each resource would bring, also for launches that take long to replay",
    )
    what.add_argument(
        "--shapes", action="store_true", help="also try work-groups of other shapes, where results are the same"
    )
    what.add_argument("--timeline", metavar="FILE", help="write a timeline for ui.perfetto.dev")
    what.add_argument(
        "--timeline-units", metavar="N[:M]", help="the timeline is of compute unit N, or of those from N up to M - 1"
    )
    what.add_argument("--html", metavar="FILE", help="write the report as a page")
    what.add_argument(
        "--sample",
        metavar="PART",
        help="replay only this fraction of the work-groups, such as 0.1; the report states the error",
    )
    what.add_argument("--instructions", action="store_true", help="list the most expensive instructions, too")
    what.add_argument("--time-limit", metavar="S", help="stop after S seconds and report the part simulated")
    what.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    program = made.add_argument_group("a program of many launches")
    program.add_argument(
        "--repeat", metavar="N", help="run N times, with copies to and from the chip, on the first chip"
    )
    program.add_argument(
        "--queues", metavar="N", default="1", help="alternate between N queues: with 2, copies overlap kernels"
    )
    program.add_argument("--pageable", action="store_true", help="host memory is not pinned, so it is copied twice")
    return made


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    return _simulate(parser().parse(words))


def _units(text: str, chip: Chip) -> range:
    """Compute units of a chip, as --timeline-units writes them."""
    first, colon, last = text.partition(":")
    begin, end = natural(first), natural(last) if colon else None
    units = range(begin or 0, (begin or 0) + 1 if end is None else end)
    count = chip.compute.compute_units
    if begin is None or (colon and end is None) or not units or units.stop > count:
        raise UsageError(
            f"--timeline-units: {text!r:.60} are no compute units of {chip.name}",
            hint=f"write 4, or 4:8 for 4 to 7; there are {count}, counted from 0",
        )
    return units


def _simulate(args: argparse.Namespace) -> int:
    from headwater.timing.simulate import Recorded, simulated

    path = Path(args.file)
    refuse_overwriting([args.html, args.timeline, *map(output_file, args.outputs)], [path])
    chips = [simulated(name) for name in args.device or [None]]  # what is missing is compiled during what follows

    from headwater.chips.recording import recorded_figures
    from headwater.chips.whatif import changed
    from headwater.cli.launch import TimeLimit, printf_on_stderr
    from headwater.cli.progress import progress
    from headwater.jobs.job import Job, choose_kernel
    from headwater.timing.sweep import sweep, variants
    from headwater.timing.system import repeated

    sample = _part(args.sample)
    limit = TimeLimit(positive(args.time_limit, "--time-limit"))
    times = whole_from_one(args.repeat, "--repeat") if args.repeat is not None else 0
    if times > _MOST_TIMES:
        raise UsageError(f"--repeat {times:,}: each launch is simulated, {_MOST_TIMES:,} at most")
    queues = whole_from_one(args.queues, "--queues")
    if not times and (queues > 1 or args.pageable):
        raise UsageError("--queues and --pageable are of a program of many launches", hint="say --repeat N, too")
    others = variants(chips[0].chip, args.sweep) if args.sweep else []  # type: ignore[attr-defined]
    for one in chips if args.set else ():
        changed(one.chip, args.set)  # type: ignore[attr-defined] # what there is not is said now
    if args.timeline_units is not None and (times or not args.timeline):
        raise UsageError("--timeline-units are of a launch's timeline", hint="say --timeline FILE, and no --repeat")
    shown: bool | range = True
    if args.timeline_units is not None:
        shown = _units(args.timeline_units, chips[0].chip)  # type: ignore[attr-defined]
    alone = len(chips) == 1 and not others and not args.set
    if (args.shapes or args.gains) and not alone:
        raise UsageError("--gains and --shapes are of one chip", hint="leave --sweep, --set and other chips out")
    recorded: dict[str, Recorded] = {}
    ran: list[tuple[Job, Outputs]] = []
    reports: list[Report] = []
    for device in chips:
        chip: Any = device.chip  # type: ignore[attr-defined]
        key = repr(recorded_figures(chip))  # one emulation serves all chips that are alike in these
        if key not in recorded:
            with progress(f"compiling {path.name} for {device.name}"):
                program = compiled_program(args, device)
            name = choose_kernel(program, args.kernel, path)
            job = Job(program, name, *bind_words(program, name, args))

            def run(job: Job = job, device: Any = device) -> None:
                job.time_limit = limit.begin()
                running = progress(f"running {job.kernel.name} on {device.name}")
                with printf_on_stderr(args.json), running as watcher:
                    outputs, _ = job.run(device, watcher)
                if device is chips[0]:
                    ran.append((job, outputs))
                    write_and_report(job, outputs)

            recorded[key] = Recorded(run)
            if not recorded[key].launches:
                raise UsageError("no kernel was launched, so there is nothing to simulate")
        timeline = shown if args.timeline and device is chips[0] else False
        with ProgressLine(f"simulating {device.name}") as show:
            going = limit.ending(show)
            reports += recorded[key].reports(chip, timeline=timeline, sample=sample, progress=going)
            if alone:
                both = zip(recorded[key].launches, reports, strict=True)
                reports = [
                    launch.with_gains(one, sample=sample) if args.gains or _is_quick(one, limit) else one
                    for launch, one in both
                ]
            if args.set and reports[-1].complete:
                reports += recorded[key].reports(changed(chip, args.set)[0], sample=sample, progress=going)
        if device is chips[0]:
            first = reports[: len(recorded[key].launches)]
            going = limit.ending(None)
            swept = sweep(recorded[key], others, sample=sample, progress=going) if reports[-1].complete else []
            reports += [report for one in swept for report in one]
        if not reports[-1].complete:
            break
    if args.shapes and reports[0].complete:
        reports[0] = _tried_shapes(reports[0], *ran[0], chips[0], sample)
    analysis = _analyzed(reports[0], ran[0][0], args) if alone and reports[0].complete else None
    whole = repeated(reports[0].chip, first, times, queues, pinned=not args.pageable) if times else None
    _write(args, reports, whole)
    if args.json:
        import json

        found: dict[str, Any] = {"launches": [report.as_json() for report in reports]}
        if analysis is not None:
            from headwater.analyze.differences import differences

            estimate = analysis.estimate
            found["analysis"] = {
                "seconds": estimate.seconds,
                "bound_by": estimate.bound_by,
                "differences": list(differences(analysis, reports[0])),
            }
        if whole is not None:
            found["program"] = whole.as_json()
        print(json.dumps(found))
        return _status(reports, limit)
    if alone:
        for report in reports:
            _print(report, args.instructions, limit)
        if analysis is not None:
            from headwater.analyze.differences import sentence

            print(sentence(analysis, reports[0]))
    else:
        _compare(reports)
    if whole is not None:
        _print_program(whole, times, queues)
    return _status(reports, limit)


def _is_quick(report: Report, limit: TimeLimit) -> bool:
    """Whether a launch is replayed on ten more chips without being asked for."""
    return report.instructions <= _QUICK_INSTRUCTIONS and limit.seconds is None


def _analyzed(report: Report, job: Job, args: argparse.Namespace) -> Analysis | None:
    """What the analyzer says of the launch, with its sizes and whole numbers; None of what it does not take."""
    from headwater.analyze.entry import analyze
    from headwater.errors import HeadwaterError

    values = job.binding.values
    numbers = {
        slot.name: int(values[slot.name])
        for slot in job.slots
        if slot.role == "value" and getattr(values.get(slot.name), "dtype", None) is not None
        and values[slot.name].ndim == 0 and values[slot.name].dtype.kind in "iu"
    }  # fmt: skip
    try:
        found = analyze(
            args.file, device=report.chip, kernel=job.kernel.name, size=report.global_size, group=report.local_size,
            arguments=numbers, language=args.language or "", options=build_options(args),
        )  # fmt: skip
    except HeadwaterError:
        return None
    return found.analyses[0]


def _tried_shapes(report: Report, job: Job, outputs: Outputs, device: Any, sample: float | None) -> Report:
    """The report with what work-groups of other shapes take: those in which the kernel gives the same results."""
    import copy
    from dataclasses import replace

    import numpy as np

    from headwater.errors import HeadwaterError
    from headwater.timing.gains import of_shapes, shapes
    from headwater.timing.simulate import Recorded

    if not job.binding.global_size:
        raise UsageError("--shapes is for OpenCL C and HIP", hint="what streams and domains are run in is the chip's")
    others = []
    for shape in shapes(report.global_size, report.local_size):
        other = copy.copy(job)
        other.binding = replace(job.binding, local_size=shape)
        found: list[Outputs] = []
        try:
            recorded = Recorded(lambda other=other, found=found: found.append(other.run(device)[0]))  # type: ignore[misc]
        except HeadwaterError:  # a kernel may be made for one shape
            continue
        if all(np.array_equal(found[0][name], outputs[name], equal_nan=True) for name in outputs):
            one = recorded.launches[0].report(device.chip, sample=sample)
            others.append((one.local_size, one.seconds))
    return report.with_gains(of_shapes(report.seconds, others))


def _status(reports: Sequence[Report], limit: TimeLimit) -> int:
    """The exit code; a word on standard error if time was up."""
    if all(report.complete for report in reports):
        return 0
    if not limit.is_over:
        return 130
    print(
        f"headwater: error: the simulation was stopped: it took longer than its time limit of {limit.seconds:g} s\n"
        "  hint: what it has simulated so far is a part; give it more time, or --sample 0.1",
        file=sys.stderr,
    )
    return 2


def _part(word: str | None) -> float | None:
    if word is None:
        return None
    try:
        return float(word)
    except ValueError:
        raise UsageError(f"--sample wants a part such as 0.1, not {word!r}") from None


class ProgressLine:
    """A line with how far a replay is, on a terminal."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown = False

    def __enter__(self) -> Callable[[float], None] | None:
        return self._show if sys.stderr.isatty() else None

    def _show(self, part: float) -> None:
        print(f"\r{self._what}: {part:.0%} ", end="", file=sys.stderr, flush=True)
        self._shown = True

    def __exit__(self, *error: object) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _write(args: argparse.Namespace, reports: Sequence[Report], program: SystemTimeline | None) -> None:
    """The files that were asked for; a timeline is of the first launch on the first chip, or of the whole program."""
    if args.timeline:
        (program or reports[0]).save_timeline(args.timeline)
        print(f"wrote {args.timeline}", file=sys.stderr)
    if args.html:
        from headwater.base import writing
        from headwater.timing.html import page

        writing.write({Path(args.html): page(reports)})
        print(f"wrote {args.html}", file=sys.stderr)


# ---- text ------------------------------------------------------------------------------------------------------------


def _print(report: Report, instructions: bool, limit: TimeLimit) -> None:
    from headwater.cli.terminal import print_table

    whole, group = (" × ".join(f"{n:,}" for n in size) for size in (report.global_size, report.local_size))
    waves = f"{report.wavefronts:,} wavefronts, {report.mean_waves_per_simd:.1f} a SIMD"
    if not report.complete:
        print(f"{'STOPPED' if limit.is_over else 'INTERRUPTED'}: what follows is a part of the launch.")
    print(f"{report.kernel} on {report.chip.name}: {whole} work-items in groups of {group}, {waves}")
    error = f", sampled, ± {report.error:.1%}" if report.error else ""
    print(f"{report.cycles:,} cycles, {seconds(report.seconds, 4)}{error}", end="")
    print(f", {report.gflops:,.1f} GFLOP/s" if report.flops else "")
    print(report.bottleneck)
    print()
    if report.gains:
        gains = [[gain.what, seconds(gain.seconds, 4), f"{gain.saved:+.1%}"] for gain in report.gains]
        print_table(["what if", "time", "saved"], gains, numbers=(1, 2))
        print()
    rows = [[name, f"{part:.1%}"] for name, part in report.causes.items() if part >= 0.0005]
    print_table(["SIMDs' time", "part"], rows, numbers=(1,))
    print()
    print_table(["unit", "busy", ""], [[u.name, f"{u.busy:.1%}", u.what] for u in report.units], numbers=(1,))
    print()
    flows = [[b.name, f"{b.gigabytes_per_second:,.1f}", f"{b.possible:,.0f}"] for b in report.bandwidths]
    print_table(["bandwidth", "GB/s", "possible"], flows, numbers=(1, 2))
    print()
    caches = [[c.name, f"{c.lookups:,}", f"{c.hit_rate:.1%}"] for c in report.caches if c.lookups]
    print_table(["cache", "lines looked up", "hits"], caches, numbers=(1, 2))
    if report.lines_by_cost:
        print()
        _print_hot(report.lines_by_cost, "Source lines")
    if instructions or not report.lines_by_cost:
        print()
        _print_hot(report.instructions_by_cost, "Instructions")
    print()
    host = report.host
    print(
        f"With copies of {memory_bytes(host.bytes_in)} there and {memory_bytes(host.bytes_out)} back, and the launch: "
        f"{seconds(host.seconds(report.seconds), 4)}"
        + (f", {report.system_gflops:,.1f} GFLOP/s" if report.flops else "")
    )


def _print_program(program: SystemTimeline, times: int, queues: int) -> None:
    from headwater.cli.terminal import print_table

    print()
    speeds = f": {program.system_gflops:,.1f} GFLOP/s, of the kernels alone {program.kernel_gflops:,.1f}"
    where = "one queue" if queues == 1 else f"{queues} queues"
    print(
        f"{times:,} times in {where}, with copies: {seconds(program.seconds, 4)}, of which kernels ran "
        f"{seconds(program.kernel_seconds, 4)}" + (speeds if program.flops else "")
    )
    rows = [[name, f"{part:.1%}"] for name, part in sorted(program.busy().items(), key=lambda row: -row[1])]
    print_table(["part", "busy"], rows, numbers=(1,))


def _print_hot(rows: Sequence[Hot], title: str) -> None:
    from headwater.cli.terminal import print_table

    cells = [
        [
            f"{row.share:.1%}",
            f"{row.waiting:.0%}",
            f"{row.count:,}",
            f"{Path(row.where[0]).name}:{row.where[1]}" if row.where else f"{row.address:x}",
            row.text[:70],
        ]
        for row in rows[:_LINES]
    ]
    print_table(["time", "waiting", "runs", "where", ""], cells, title=title, numbers=(0, 1, 2))


def _compare(reports: Sequence[Report]) -> None:
    from headwater.cli.terminal import print_table

    if not all(report.complete for report in reports):
        print("STOPPED: what a chip simulated last is a part of the launch.")
    rows = []
    for report in reports:
        busiest = max(report.units, key=lambda unit: unit.busy)
        speed = f"{report.gflops:,.0f}" if report.flops else ""
        cells = [report.chip.name, f"{report.cycles:,}", seconds(report.seconds, 4), speed]
        rows.append([*cells, f"{busiest.name} {busiest.busy:.0%}", f"{report.mean_waves_per_simd:.1f}"])
    heads = ["chip", "cycles", "time", "GFLOP/s", "busiest unit", "waves/SIMD"]
    print_table(heads, rows, title=reports[0].kernel, numbers=(1, 2, 3, 5))
    if len(reports) <= _MOST_BOTTLENECKS:
        print()
        for report in reports:
            print(f"{report.chip.name}: {report.bottleneck}")
