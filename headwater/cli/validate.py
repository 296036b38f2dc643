"""Input: published measurements. Output: what estimates say of them, and how far off they are."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.cli.options import Parser
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.analyze.validation import Result

_USAGE = "[ROW …] [--simulate] [--write FILE] [--json]"
_DESCRIPTION = """\
Compare static estimates with all published measurements of AMD GPUs that Headwater knows, row by row.
"""
_EXAMPLES = """\
examples:
  headwater validate
  headwater validate "stream-*" "*hd5870"
  headwater validate --write docs/accuracy.md
  headwater validate --simulate "perftest-*"         also by the cycle model, which takes longer
"""


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    parser = Parser("validate", _USAGE, _DESCRIPTION, _EXAMPLES)
    parser.add_argument("rows", metavar="ROW", nargs="*", help="only rows whose names fit these patterns")
    parser.add_argument("--simulate", action="store_true", help="also run rows with kernels on the cycle model")
    parser.add_argument(
        "--write", metavar="FILE", help="write a page with all rows to FILE; with --simulate also a picture"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse(words)
    from headwater.analyze import accuracy, validation

    chosen = validation.rows()
    if args.rows:
        chosen = [row for row in chosen if any(fnmatch.fnmatch(row.id, pattern) for pattern in args.rows)]
        if not chosen:
            raise UsageError(f"no row is called {' or '.join(args.rows)}", hint="headwater validate lists all")
    results = [validation.estimate_row(row) for row in chosen]
    if args.simulate:
        results = [validation.simulate(result) for result in results]
    if args.write:
        from headwater.base import writing

        page = Path(args.write)
        drawing = page.with_suffix(".svg")
        files = {page: accuracy.page(results, drawing.name)}
        if args.simulate and (drawn := accuracy.picture(results)):
            files[drawing] = drawn
        writing.write(files)
        print(*files, sep="\n")
        return 0
    if args.json:
        _print_json(results)
    else:
        _print_table(results)
    return 0


def _print_json(results: Sequence[Result]) -> None:
    import json

    rows = [
        {
            "id": r.row.id,
            "group": r.row.group,
            "device": r.row.device,
            "measured": r.row.measured,
            "unit": r.row.unit,
            "kind": r.row.kind,
            "source": r.row.source,
            "estimated": r.estimated,
            "error": r.error,
            "simulated": r.simulated,
            "why": r.why,
        }
        for r in results
    ]
    print(json.dumps(rows, ensure_ascii=False))


def _print_table(results: Sequence[Result]) -> None:
    from headwater.analyze.accuracy import summary
    from headwater.cli.terminal import print_table

    simulated = any(r.simulated is not None for r in results)
    heads = ["row", "measured", "estimated", "error", *(["simulated", "error"] if simulated else []), "unit", "how"]
    rows = []
    for r in results:
        cells = [r.row.id, _number(r.row.measured), _number(r.estimated), _error(r.error)]
        if simulated:
            cells += [_number(r.simulated), _error(r.simulated_error)]
        rows.append([*cells, r.row.unit, r.why])
    print_table(heads, rows, numbers=(1, 2, 3, 4, 5) if simulated else (1, 2, 3))
    print()
    shares = [
        [name, str(count), str(known), _share(middle), _share(mean), _share(within)]
        for name, count, known, middle, mean, within in summary(results)
        if count
    ]
    print_table(["group", "rows", "estimated", "median error", "mean", "within 25%"], shares, numbers=(1, 2, 3, 4, 5))


def _number(value: float | None) -> str:
    if not value:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _error(value: float | None) -> str:
    return "–" if value is None else f"{value:+.0%}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
