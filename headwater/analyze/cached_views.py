"""Input: files, chips and options of an analysis. Output: its views, from the disk cache if nothing has changed.

Nothing heavy is imported where they are found there: showing a report again costs little more than starting Python.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.base import cache, reading
from headwater.base.freshness import code_state, digests, fresh
from headwater.errors import UsageError
from headwater.sources import chosen, is_text

if TYPE_CHECKING:
    from headwater.analyze.report import Report

_FORMAT = "report 1"


def views(
    files: Sequence[str],
    devices: Sequence[str],
    options: Mapping[str, Any],
    wanted: Sequence[str],
    *,
    width: int,
    colour: bool,
    source: bool,
) -> tuple[dict[str, str], str]:
    """The views ("text", "json", "html") of a report, and the compiler's warnings. Raises what `analyze` raises."""
    contents = [_digest(path) for path in (*files, *(name for name in devices if name.endswith(".toml")))]
    key = cache.key(
        _FORMAT,
        code_state(__name__),
        json.dumps([list(files), list(devices), dict(options), contents, width, colour, source, os.getcwd(), *wanted]),
    )
    key, known = fresh(key, _read)
    if known is not None:
        entry, about = known
        return {view: (entry / f"report.{view}").read_text(encoding="utf-8") for view in wanted}, about["warnings"]
    from headwater.native.worker import WORKER

    # It has LLVM to load, while this process loads its own modules.
    if any(Path(name).suffix in (".cl", ".br") for name in files):
        WORKER.start("opencl.codegen_gcn")
    from headwater.analyze.entry import analyze

    report = analyze(list(files), device=list(devices), **options)
    made = {view: _view(report, view, width, colour, source) for view in wanted}
    about = {"warnings": report.warnings, "includes": _includes(report)}
    stored = {f"report.{view}": text.encode("utf-8", "surrogateescape") for view, text in made.items()}
    cache.put(key, {"about.json": json.dumps(about).encode(), **stored})
    return made, report.warnings


def _view(report: Report, view: str, width: int, colour: bool, source: bool) -> str:
    if view == "json":
        return json.dumps(report.as_json()) + "\n"
    return report.html() if view == "html" else report.text(width=width, colour=colour, source=source)


def _read(entry: Path) -> tuple[dict[str, str], tuple[Path, dict[str, Any]]]:
    about = json.loads((entry / "about.json").read_bytes())
    return about["includes"], (entry, about)


def _includes(report: Report) -> dict[str, str]:
    return digests(path for analysis in report if analysis.built is not None for path in analysis.built.includes)


def _digest(path: str) -> str:
    if is_text(path):
        return cache.key(path)
    try:
        return cache.key(reading.contents(chosen(path)[0]))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
