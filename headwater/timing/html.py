"""A report passes in; a page that needs nothing else passes out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from headwater.timing.report import Hot, Report

_COLOURS: Final = {
    "issue": "#2a9d8f",
    "dependency": "#8ab17d",
    "fetch": "#b5838d",
    "scalar memory": "#e9c46a",
    "LDS": "#f4a261",
    "vector memory": "#e76f51",
    "barrier": "#6d597a",
    "clause switch": "#8ab17d",
    "fetch queue": "#e9c46a",
    "write": "#e76f51",
    "empty": "#ced4da",
}
_STYLE: Final = """\
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 66em; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; margin-bottom: 0; } h2 { font-size: 1.1em; margin-top: 2em; }
table { border-collapse: collapse; margin-bottom: 1em; }
td, th { padding: .15em .9em .15em 0; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; } .lead { font-size: 1.15em; }
.key { display: inline-block; width: .8em; height: .8em; margin-right: .35em; border-radius: 2px; }
.legend span { margin-right: 1.2em; white-space: nowrap; }
svg { width: 100%; height: auto; } .muted { opacity: .7; }"""


def page(report: Report) -> str:
    """The report as HTML."""
    chip = report.chip
    whole, group = (" × ".join(f"{n:,}" for n in size) for size in (report.global_size, report.local_size))
    state = "" if report.complete else "<p><b>Interrupted: this is a part of the launch.</b></p>"
    title = f"{escape(report.kernel)} on {escape(chip.name)}"
    clock = f"{report.cycles:,} cycles at {chip.compute.clock_mhz:g} MHz"
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>",
        f"<meta name=viewport content='width=device-width'><style>{_STYLE}</style>",
        f"<h1>{title}</h1>",
        f"<p class=muted>{whole} work-items in groups of {group}, {report.wavefronts:,} wavefronts</p>{state}",
        f"<p class=lead><b>{report.microseconds:,.4g} µs</b>, {clock}. {escape(report.bottleneck)}</p>",
        "<h2>Where the SIMDs' time goes</h2>",
        _stack(report),
        "<h2>Units</h2>",
        _bars((unit.name, unit.busy, unit.what) for unit in report.units),
        "<h2>Memory</h2>",
        _table(
            ("way", "GB/s", "possible", "part"),
            (
                (
                    b.name,
                    f"{b.gigabytes_per_second:,.1f}",
                    f"{b.possible:,.0f}",
                    f"{_part(b.gigabytes_per_second, b.possible)}",
                )
                for b in report.bandwidths
            ),
            (1, 2, 3),
        ),
        _table(
            ("cache", "lines looked up", "hits"),
            ((c.name, f"{c.lookups:,}", f"{c.hit_rate:.1%}" if c.lookups else "") for c in report.caches),
            (1, 2),
        ),
        "<h2>Resident wavefronts over time</h2>",
        _plot(report.occupancy_series, report.held.wavefronts * chip.compute.compute_units, "wavefronts"),
        "<h2>Memory traffic over time</h2>",
        _plot([(c, v / 1e9) for c, v in report.traffic_series], report.chip.memory.gigabytes_per_second, "GB/s"),
        "<h2>Source lines</h2>",
        _hot(report.lines_by_cost),
        "<h2>Instructions</h2>",
        _hot(report.instructions_by_cost),
        "</html>",
    ]
    return "\n".join(parts)


def _part(some: float, whole: float) -> str:
    return f"{some / whole:.0%}" if whole else ""


def _stack(report: Report) -> str:
    at, bars, keys = 0.0, [], []
    for name, part in report.causes.items():
        colour = _COLOURS.get(name, "#999")
        if part >= 0.0005:
            bars.append(f"<rect x={at * 1000:.1f} y=0 width={part * 1000:.1f} height=34 fill='{colour}'/>")
            keys.append(f"<span><i class=key style='background:{colour}'></i>{name} {part:.1%}</span>")
        at += part
    return f"<svg viewBox='0 0 1000 34' role=img>{''.join(bars)}</svg><p class=legend>{''.join(keys)}</p>"


def _bars(rows: Iterable[tuple[str, float, str]]) -> str:
    bar = "<rect width=300 height=12 fill='#8883'/><rect width={:.1f} height=12 fill='#2a9d8f'/>"
    cells = "".join(
        f"<tr><td>{escape(name)}<td class=n>{part:.1%}<td><svg viewBox='0 0 300 12' style='width:300px'>"
        f"{bar.format(300 * min(1.0, part))}</svg>"
        f"<td class=muted>{escape(what)}"
        for name, part, what in rows
    )
    return f"<table>{cells}</table>"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int]) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(
            f"<{tag}{' class=n' if n in numbers else ''}>{escape(cell)}" for n, cell in enumerate(cells)
        )

    return f"<table>{row(heads, 'th')}{''.join(row(cells, 'td') for cells in rows)}</table>"


def _plot(points: Sequence[tuple[int, float]], most: float, unit: str) -> str:
    if not points:
        return "<p class=muted>none</p>"
    high = max(most, max(value for _, value in points), 1e-9)
    last = max(points[-1][0], 1)
    step = points[1][0] if len(points) > 1 else last
    width = last + step
    steps = []
    for cycle, value in points:
        left, right, height = cycle / width * 1000, (cycle + step) / width * 1000, 130 - value / high * 120
        steps.append(f"L{left:.1f},{height:.1f} L{right:.1f},{height:.1f}")
    level = 130 - most / high * 120
    legend = f"0 to {width:,} cycles; dashed: {most:,.0f} {unit}, the most that is possible"
    return (
        f"<svg viewBox='0 0 1000 150' role=img><path d='M0,130 {' '.join(steps)} L1000,130 Z' fill='#2a9d8f88'/>"
        f"<line x1=0 x2=1000 y1={level:.1f} y2={level:.1f} stroke='#e76f51' stroke-dasharray='6 4'/>"
        f"<text x=4 y=146 font-size=13 fill='currentColor'>{legend}</text></svg>"
    )


def _hot(rows: Sequence[Hot]) -> str:
    return _table(
        ("time", "waiting", "runs", "where", ""),
        (
            (
                f"{row.share:.1%}",
                f"{row.waiting:.0%}",
                f"{row.count:,}",
                f"{Path(row.where[0]).name}:{row.where[1]}" if row.where else f"{row.address:x}",
                row.text,
            )
            for row in rows
            if row.share >= 0.0005
        ),
        (0, 1, 2),
    )
