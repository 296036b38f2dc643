"""Input: analyses. Output: what a notebook shows of them, as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from headwater.analyze.glossary import metrics
from headwater.views import notebook, units
from headwater.views.page import bars, table


def fragment(report: Sequence[Any]) -> str:
    """The analyses side by side, and what might be changed in each."""
    names = list(dict.fromkeys(metric.name for a in report for metric in a.metrics))
    known = metrics()
    rows = []
    for name in names:
        found = [a.metric(name) for a in report]
        title = f"{known[name].title}{f' ({known[name].unit})' if known[name].unit else ''}"
        rows.append([title, *(metric.shown if metric is not None else "" for metric in found)])
    titles = [f"{a.name} on {a.chip.name}" for a in report]
    times = max((a.estimate.seconds for a in report), default=0.0) or 1.0
    parts = [
        notebook.heading(", ".join(dict.fromkeys(a.name for a in report)), "estimated from the code; nothing was run"),
        bars(
            (title, a.estimate.seconds / times, f"{units.seconds(a.estimate.seconds)}, {a.estimate.bound_by}", "")
            for title, a in zip(titles, report, strict=True)
        ),
    ]
    for title, a in zip(titles, report, strict=True):
        advice = "".join(f"<li>{escape(item.do)} <small>{escape(item.because)}</small></li>" for item in a.advice)
        parts.append(
            f"<details><summary>Advice: {escape(title)}</summary><ol>{advice}</ol></details>" if advice else ""
        )
    metrics_table = table(("metric", *titles), rows, range(1, 1 + len(titles)))
    return notebook.fragment(*parts, f"<details><summary>Metrics</summary>{metrics_table}</details>")
