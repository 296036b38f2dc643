"""Input: reports. Output: one self-contained page with all of them, in columns and one by one."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from headwater.chips.whatif import figures
from headwater.timing import layout, vliw_layout
from headwater.views import notebook, svg, units
from headwater.views.page import bars, document, one_by_one, stack, table

if TYPE_CHECKING:
    from headwater.timing.report import Hot, Report

WAIT_COLOURS: Final = {
    name: number
    for number, name in enumerate(
        dict.fromkeys([*(name for _, name in (*layout.CAUSES, *vliw_layout.CAUSES) if name != "start"), "empty"])
    )
}
"""The colour of each wait, the same on all pages."""
_CURVE: Final = 4
"""Values of a figure from which on times are shown as a curve."""
_MOST_SHOWN: Final = 16
"""Reports that are shown in full, some 30 KB each: of sweeps the table has the others."""
_FOOT: Final = (
    "Made by headwater simulate. docs/timing.md of Headwater says what is modelled, docs/accuracy.md how true it is."
)


def page(reports: Sequence[Report]) -> str:
    """The reports, at least one, as HTML."""
    first = reports[0]
    kernels = list(dict.fromkeys(report.kernel for report in reports))
    names = [report.chip.name if len(kernels) == 1 else f"{report.kernel} on {report.chip.name}" for report in reports]
    heading = f"{first.kernel} on {first.chip.name}" if len(reports) == 1 else ", ".join(kernels)
    whole, group = (" × ".join(f"{n:,}" for n in size) for size in (first.global_size, first.local_size))
    parts = [_side_by_side(reports, names)] if len(reports) > 1 else []
    parts.append(one_by_one(names[:_MOST_SHOWN], [_one(report) for report in reports[:_MOST_SHOWN]]))
    return document(f"{heading}: simulation", heading, f"{whole} work-items in groups of {group}", parts, _FOOT)


def _side_by_side(reports: Sequence[Report], names: Sequence[str]) -> str:
    longest = max(report.seconds for report in reports) or 1.0
    rows = []
    for name, report in zip(names, reports, strict=True):
        busiest = max(report.units, key=lambda unit: unit.busy)
        cells = [name, f"{report.cycles:,}", units.seconds(report.seconds), f"{report.gflops:,.1f}"]
        rows.append([*cells, f"{busiest.name} {busiest.busy:.0%}", f"{report.mean_waves_per_simd:.1f}"])
    heads = ("chip", "cycles", "time", "GFLOP/s", "busiest unit", "wavefronts a SIMD")
    times = [(n, r.seconds / longest, units.seconds(r.seconds), "") for n, r in zip(names, reports, strict=True)]
    curve = _curves(reports)
    return f"<h2>Side by side</h2>{table(heads, rows, (1, 2, 3, 5))}<h3>Time</h3>{curve or bars(times)}"


def _curves(reports: Sequence[Report]) -> str:
    """Time over the figure in which most of the chips differ, a curve for each combination of the others; "" unless
    there are `_CURVE` values of it at least."""
    known = [figures(report.chip) for report in reports]
    names = list(dict.fromkeys(known[0].values()))
    values = {
        place: [getattr(getattr(report.chip, place[0]), place[1], None) for report in reports]
        for place in names
        if all(place in of.values() for of in known)
    }
    differing = {place: row for place, row in values.items() if len(set(row)) > 1}
    if not differing:
        return ""
    across = max(differing, key=lambda place: len(set(differing[place])))
    if len(set(differing[across])) < _CURVE:
        return ""
    # What follows from the figure, as bandwidth from a clock, makes no curve of its own.
    others = [
        place
        for place, row in differing.items()
        if place != across and len(set(zip(differing[across], row, strict=True))) > len(set(differing[across]))
    ]
    found: dict[str, list[tuple[float, float]]] = {}
    for number, report in enumerate(reports):
        name = ", ".join(f"{place[1]} {differing[place][number]:g}" for place in others)
        at: Any = differing[across][number]
        found.setdefault(name or report.kernel, []).append((float(at), report.seconds))
    curves = [(name, sorted(set(points))) for name, points in found.items()]
    return f'<div class="scroll">{svg.curves(curves, f"{across[0]}.{across[1]}", units.seconds)}</div>'


def _one(report: Report) -> str:
    chip = report.chip
    state = "" if report.complete else "<p><b>Interrupted: this is a part of the launch.</b></p>"
    clock = f"{report.cycles:,} cycles at {chip.compute.clock_mhz:g} MHz, {report.wavefronts:,} wavefronts"
    flows = [
        (b.name, f"{b.gigabytes_per_second:,.1f}", f"{b.possible:,.0f}", _share(b.gigabytes_per_second, b.possible))
        for b in report.bandwidths
    ]
    caches = [(c.name, f"{c.lookups:,}", f"{c.hit_rate:.1%}" if c.lookups else "") for c in report.caches]
    parts = [
        f"<h2>{escape(report.kernel)} on {escape(chip.name)} <small>{escape(chip.target)}</small></h2>",
        f'{state}<p class="verdict"><b>{units.seconds(report.seconds)}</b>: {escape(report.bottleneck)}</p>',
        f"<p class=soft>{clock}</p>",
        "<h3>Where the SIMDs' time goes</h3>",
        causes(report),
        "<h3>Units</h3>",
        bars((unit.name, unit.busy, f"{unit.busy:.1%} {unit.what}", "") for unit in report.units),
        '<div class="grid2"><div><h3>Bandwidth</h3>',
        table(("way", "GB/s", "possible", "part"), flows, (1, 2, 3)),
        "</div><div><h3>Caches</h3>",
        table(("cache", "lines looked up", "hits"), caches, (1, 2)),
        "</div></div><h3>Resident wavefronts over time</h3>",
        _plot(report.occupancy_series, report.held.wavefronts * chip.compute.compute_units, "wavefronts"),
        "<h3>Memory traffic over time</h3>",
        _plot([(c, v / 1e9) for c, v in report.traffic_series], chip.memory.gigabytes_per_second, "GB/s"),
        "<h3>Source lines</h3>",
        _hot(report.lines_by_cost),
        "<h3>Instructions</h3>",
        _hot(report.instructions_by_cost),
    ]
    return "".join(parts)


def causes(report: Report) -> str:
    """Where the SIMDs' time goes, each wait in a colour that it has in every report."""
    return stack([(name, part) for name, part in report.causes.items() if part >= 0.0005], WAIT_COLOURS)


def fragment(report: Report) -> str:
    """What a notebook shows of a report."""
    whole, group = (" × ".join(f"{n:,}" for n in size) for size in (report.global_size, report.local_size))
    sizes = f"{whole} work-items in groups of {group}, {report.cycles:,} cycles"
    gains = [(gain.what, units.seconds(gain.seconds), f"{gain.saved:+.1%}") for gain in report.gains]
    return notebook.fragment(
        notebook.heading(f"{report.kernel} on {report.chip.name}: {units.seconds(report.seconds)}", sizes),
        f"<p>{escape(report.bottleneck)}</p>",
        causes(report),
        bars((unit.name, unit.busy, f"{unit.busy:.1%}", "") for unit in report.units),
        table(("what if", "time", "saved"), gains, (1, 2)) if gains else "",
    )


def _share(some: float, whole: float) -> str:
    return f"{some / whole:.0%}" if whole else ""


def _plot(points: Sequence[tuple[int, float]], most: float, unit: str) -> str:
    if not points:
        return "<p class=soft>none</p>"
    last = points[-1][0] + (points[1][0] if len(points) > 1 else 0)
    said = f"0 to {last:,} cycles; dashed: {most:,.0f} {unit}, the most that is possible"
    return f"{svg.series(points, most, said)}<p class=legend>{said}</p>"


def _hot(rows: Sequence[Hot]) -> str:
    cells = [
        (
            f"{row.share:.1%}",
            f"{row.waiting:.0%}",
            f"{row.count:,}",
            f"{Path(row.where[0]).name}:{row.where[1]}" if row.where else f"{row.address:#x}",
            row.text,
        )
        for row in rows
        if row.share >= 0.0005
    ]
    return table(("time", "waiting", "runs", "where", ""), cells, (0, 1, 2), code=4)
