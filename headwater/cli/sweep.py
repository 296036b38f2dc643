"""Input: a plan. Output: a directory with a row for each of its points, and tables made of it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.cli.options import Parser, positive, whole_from_one
from headwater.errors import UsageError
from headwater.views.units import seconds

if TYPE_CHECKING:
    from headwater.sweep.run import State
    from headwater.sweep.store import Store
    from headwater.sweep.table import Table

_USAGE = "PLAN --results DIR [options]\n       headwater sweep status|export|diff DIR …"
_DESCRIPTION = """\
Simulate kernels × chips × figures × sizes × build options, as a plan (TOML) says, on all processors, on a Dask cluster,
or as parts of a job array. A launch is recorded once and replayed for each chip. Results are rows in a directory: what
it has is not computed again, so that a sweep that was stopped, or whose plan has grown, continues.

  headwater sweep status DIR         how many rows there are, and what failed
  headwater sweep export DIR -o FILE the table as .csv, .npz, .npy, .json or .parquet; .html has plots
  headwater sweep diff DIR DIR       what two directories differ in; exit code 1 if they do
"""
_EXAMPLES = """\
examples:
  headwater sweep plan.toml --dry-run
  headwater sweep plan.toml --results results --export table.csv
  headwater sweep plan.toml --results results --shard 3/8          # in a job array: eight of these
  headwater sweep plan.toml --results results --dask tcp://head:8786
  headwater sweep tune.toml --results results --minimise seconds --each n
  headwater sweep tune.toml --results results --minimise seconds --trials 40

docs/sweep.md describes plans.
"""
_SHOWN = 8
"""Rows, and messages of rows that failed, that are printed."""
_OTHERS = ("status", "export", "diff")


def parser(name: str = "") -> Parser:
    """The options of ``headwater sweep``, or of one of its other commands."""
    if name:
        return _other_parser(name)
    made = Parser("sweep", _USAGE, _DESCRIPTION, _EXAMPLES)
    made.add_argument("plan", metavar="PLAN", help="the plan, a TOML file; or status, export, diff")
    made.add_argument("--results", "-r", metavar="DIR", help="where rows are kept; made if there is none")
    made.add_argument("--dry-run", action="store_true", help="count points, try a few and estimate the time")
    made.add_argument("--retry", action="store_true", help="compute points again that failed")
    made.add_argument(
        "--export", "-o", metavar="FILE", help="write the table: .csv, .npz, .npy, .json or .parquet; .html has plots"
    )
    made.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    search = made.add_argument_group("searching")
    search.add_argument(
        "--minimise",
        metavar="FIGURE",
        help="find the least of a figure, such as seconds, for each chip: all points are replayed in part, a third of "
        "them further, a ninth whole",
    )
    search.add_argument(
        "--each", metavar="NAME", action="append", default=[], help="find it for each of these values of the plan, too"
    )
    search.add_argument(
        "--trials",
        metavar="N",
        help="try N points for each chip, chosen one after the other by what was found before (pip install "
        "headwater[optuna])",
    )
    where = made.add_argument_group("where it is computed")
    where.add_argument("--workers", "-n", metavar="N", help="processes (default: one for each processor)")
    where.add_argument("--shard", metavar="I/N", help="only part I, from 1 on, of N, as in a job array")
    where.add_argument("--dask", metavar="ADDRESS", help='a Dask scheduler such as tcp://head:8786, or "local"')
    return made


def _other_parser(name: str) -> Parser:
    usage = "DIR DIR [options]" if name == "diff" else "DIR [options]"
    made = Parser(f"sweep {name}", usage, f"See headwater sweep --help about headwater sweep {name}.", "")
    made.add_argument("results", metavar="DIR", nargs=2 if name == "diff" else 1, help="a sweep's results")
    if name == "export":
        made.add_argument(
            "--output", "-o", metavar="FILE", required=True, help=".csv, .npz, .npy, .json, .parquet; .html has plots"
        )
        made.add_argument("--record", metavar="WHAT", action="append", default=[], help="time, bound, occupancy, …")
        made.add_argument(
            "--old", action="store_true", help="also rows of other models and code, with a column that says so"
        )
    elif name == "diff":
        made.add_argument("--column", metavar="NAME", default="seconds", help="what is compared (default: seconds)")
        made.add_argument("--tolerance", metavar="T", default="0", help="as a part of the first (default: 0)")
        made.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    else:
        made.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    return made


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    if words and words[0] in _OTHERS:
        args = parser(words[0]).parse(words[1:])
        return {"status": _status, "export": _export, "diff": _diff}[words[0]](args)
    return _sweep(parser().parse(words))


def _sweep(args: argparse.Namespace) -> int:
    from headwater.sweep import entry, plan as plans
    from headwater.sweep.store import Store
    from headwater.sweep.table import table

    workers = None if args.workers is None else whole_from_one(args.workers, "--workers")
    part = _part(args.shard)
    made = plans.read(args.plan)
    if args.dry_run:
        return _estimated(args, made, workers)
    if args.results is None:
        raise UsageError("no directory for the results is given", hint="--results DIR")
    if args.export:
        _refuse_format(args.export)
    if args.minimise and (part is not None or args.retry):
        raise UsageError("a search is not computed in parts, and computes nothing again: leave --shard and --retry out")
    if args.each and not args.minimise:
        raise UsageError("--each says for what --minimise finds the least", hint="add --minimise seconds")
    if args.trials is not None and not args.minimise:
        raise UsageError("--trials says how many points --minimise tries", hint="add --minimise seconds")
    trials = None if args.trials is None else whole_from_one(args.trials, "--trials")
    line = SweepProgress()
    best: list[dict[str, Any]] = []
    try:
        with line:
            options: dict[str, Any] = {"workers": workers, "dask": args.dask, "progress": line.show}
            if args.minimise:
                best, state = entry.minimise(
                    made, args.results, args.minimise, each=args.each, trials=trials, **options
                )
            else:
                state = entry.run(made, Store(args.results, create=True), part=part, retry=args.retry, **options)
    except KeyboardInterrupt:
        if line.state is not None:
            stored = line.state.found + line.state.done
            print(
                f"headwater: {stored:,} of {line.state.points:,} points are stored in {args.results}; the same command "
                "continues",
                file=sys.stderr,
            )
        raise
    for note in state.notes:
        print(f"headwater: warning: {note}", file=sys.stderr)
    found = table(Store(args.results), made.record)
    if args.export:
        found.save(args.export)
    if args.json:
        import json

        print(json.dumps(_counted(state) | ({"best": best} if args.minimise else {})))
    elif args.minimise:
        _print_minima(args.minimise, best, state)
    else:
        _print(state, found)
    if args.export:
        print(f"wrote {args.export}: {len(found):,} rows", file=sys.stderr)
    return 0


def _refuse_format(name: str) -> None:
    from headwater.base.writing import refuse_place
    from headwater.sweep.table import SUFFIXES

    refuse_place(Path(name))
    if Path(name).suffix.lower() not in SUFFIXES:
        raise UsageError(f"{name}: tables are written as {', '.join(SUFFIXES)}")


def _part(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    from headwater.base.numbers import natural

    head, _, tail = text.partition("/")
    number, count = natural(head), natural(tail)
    if not number or not count or number > count:
        raise UsageError(f"--shard takes I/N, from 1/N to N/N, not {text!r}", hint="--shard 3/8")
    return number, count


def _estimated(args: argparse.Namespace, plan: Any, workers: int | None) -> int:
    from headwater.sweep.entry import processors
    from headwater.sweep.estimate import estimate
    from headwater.sweep.store import Store

    store = Store(args.results) if args.results is not None and Path(args.results).exists() else None
    found = estimate(plan, workers or processors(), store)
    if args.json:
        import json

        print(json.dumps(asdict(found)))
        return 0
    stored = f", of which {found.stored:,} are stored" if store is not None else ""
    print(f"{found.points:,} points{stored}, of {found.jobs:,} launches that are recorded once each")
    print(f"about {_span(found.seconds)} on {found.workers} workers, as {found.tried} of the launches took here")
    for error in found.errors:
        print(f"fails: {error}")
    return 0


def _counted(state: State) -> dict[str, Any]:
    return {
        "points": state.points,
        "stored_before": state.found,
        "computed": state.done,
        "failed": state.failed,
        "notes": state.notes,
    }


def _span(span_s: float) -> str:
    if span_s < 100:
        return f"{span_s:.0f} s"
    minutes = span_s / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"


def _print_minima(column: str, best: list[dict[str, Any]], state: State) -> None:
    from headwater.cli.terminal import print_table

    print(f"{state.done + state.found:,} replays, {state.found:,} of them stored before, {state.failed:,} failed")
    keys = list(best[0]["at"]) if best else []
    rows = [[*(_cell(row["at"].get(name)) for name in keys), _cell(row["found"][column])] for row in best]
    if rows:
        print_table([*keys, column], rows, title="Least", numbers=tuple(range(len(keys) + 1)))


def _print(state: State, found: Table) -> None:
    print(
        f"{state.points:,} points: {state.done:,} computed, {state.found:,} stored before"
        + (f"; {state.failed:,} failed" if state.failed else "")
    )
    _print_best(found)
    _print_failed(found)


def _print_best(found: Table) -> None:
    from headwater.cli.terminal import print_table

    if not len(found) or "seconds" not in found.columns:
        return
    keys = [name for name in list(found.columns)[: found.keys] if len(set(map(str, found.columns[name]))) > 1]
    times = [(time_s, n) for n, time_s in enumerate(found["seconds"]) if time_s is not None]
    rows = [
        [*(_cell(found.columns[name][n]) for name in keys), seconds(time_s, 4)] for time_s, n in sorted(times)[:_SHOWN]
    ]
    if rows:
        title = "Fastest" if len(times) > _SHOWN else ""
        print_table([*keys, "time"], rows, title=title, numbers=tuple(range(len(keys) + 1)))


def _print_failed(found: Table) -> None:
    errors = [(error, n) for n, error in enumerate(found.columns.get("error", ())) if error]
    points_of: dict[str, list[int]] = {}
    for error, n in errors:
        points_of.setdefault(error, []).append(n)
    for error, numbers in list(points_of.items())[:_SHOWN]:
        place = ", ".join(
            f"{name} {_cell(found.columns[name][numbers[0]])}" for name in list(found.columns)[: found.keys]
        )
        more = f" and {len(numbers) - 1:,} more" if len(numbers) > 1 else ""
        print(f"failed: {place}{more}: {error}")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value)


class SweepProgress:
    """A line on a terminal with how far a sweep is, how fast and for how long."""

    def __init__(self) -> None:
        self.state: State | None = None
        self._shown = 0.0

    def __enter__(self) -> SweepProgress:
        return self

    def show(self, state: State) -> None:
        """Called some times a second."""
        self.state = state
        now = time.monotonic()
        if not sys.stderr.isatty() or now - self._shown < 0.2:
            return
        self._shown = now
        text = f"{state.found + state.done:,} of {state.points:,} points"
        text += f", {state.failed:,} failed" if state.failed else ""
        text += f", {state.rate:.1f} a second" if state.rate else ""
        text += f", {_span(state.remaining_s)} left" if state.remaining_s is not None else ""
        print(f"\r\x1b[K{text} ", end="", file=sys.stderr, flush=True)

    def __exit__(self, *error: object) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


# ---- what is in a store


def _opened(name: str) -> Store:
    from headwater.sweep.store import Store

    store = Store(name)
    for one in store.damaged:
        print(f"headwater: warning: {one}; the next run computes it again", file=sys.stderr)
    return store


def _status(args: argparse.Namespace) -> int:
    from headwater.sweep.table import table

    store = _opened(args.results[0])
    counts = store.counts()
    if args.json:
        import json

        print(json.dumps(asdict(counts)))
        return 0
    shown = {
        "done": counts.done,
        "failed": counts.failed,
        "made by another version of the model": counts.stale,
        "made for other code or arguments": counts.superseded,
        "damaged": counts.damaged,
    }
    for what, number in shown.items():
        if number or what == "done":
            print(f"{number:,} {what}")
    if counts.failed:
        _print_failed(table(store))
    return 0


def _export(args: argparse.Namespace) -> int:
    from headwater.sweep.plan import RECORDS
    from headwater.sweep.table import table

    _refuse_format(args.output)
    for name in args.record:
        if name not in RECORDS:
            raise UsageError(f"there is nothing recorded as {name!r}", hint=f"there are {', '.join(RECORDS)}")
    found = table(_opened(args.results[0]), args.record, old=args.old)
    found.save(args.output)
    print(f"wrote {args.output}: {len(found):,} rows, {len(found.columns)} columns", file=sys.stderr)
    return 0


def _diff(args: argparse.Namespace) -> int:
    from headwater.sweep.table import compared, table

    tolerance = positive(args.tolerance, "--tolerance", zero=True) or 0.0
    first, second = (table(_opened(name)) for name in args.results)
    found = compared(first, second, args.column, tolerance)
    if args.json:
        import json

        print(json.dumps(asdict(found)))
        return int(bool(found))
    for name, rows in zip(args.results, (found.only_first, found.only_second), strict=True):
        if rows:
            print(f"only in {name}: {len(rows):,} points, the first {_place(rows[0])}")
    for at, before, after in found.changed[:_SHOWN]:
        both = isinstance(before, (int, float)) and isinstance(after, (int, float)) and before
        ratio = f", {after / before:.4g} times" if both else ""
        print(f"{_place(at)}: {args.column} {_cell(before)}, then {_cell(after)}{ratio}")
    if len(found.changed) > _SHOWN:
        print(f"… and {len(found.changed) - _SHOWN:,} more")
    print(f"{found.same:,} points are the same, {len(found.changed):,} differ")
    return int(bool(found))


def _place(at: dict[str, Any]) -> str:
    return ", ".join(f"{name} {_cell(value)}" for name, value in at.items())
