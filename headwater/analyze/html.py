"""Input: a report. Output: one self-contained HTML page, charts and matching lines of source and machine code in it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.analyze.code import KNOWN, OPERATION_SEPARATOR
from headwater.analyze.flow import MODES
from headwater.analyze.glossary import metrics
from headwater.analyze.text import differences, heading
from headwater.chips.occupancy import curve, next_steps
from headwater.views import svg, units
from headwater.views.page import bars, document, one_by_one, stack, table

if TYPE_CHECKING:
    from headwater.analyze.analysis import Analysis
    from headwater.analyze.report import Report

_MOST_LINES = 6000
_FOOT = (
    "Made by headwater analyze. Estimates are lower bounds under the assumptions that are shown; docs/accuracy.md of "
    "Headwater compares them with published measurements."
)


def page(report: Report) -> str:
    """The whole page."""
    alone = len({a.name for a in report}) == 1
    one_chip = len({a.chip.name for a in report}) == 1
    titles = [a.name if one_chip and not alone else heading(a, alone=alone) for a in report]
    first = report[0]
    title = first.name if alone else ", ".join(dict.fromkeys(a.name for a in report))
    parts = [
        f"<p>{escape(refused.device)} cannot run {escape(refused.kernel)}: {escape(refused.error.message)}</p>"
        for refused in report.refused
    ]
    if len(report) > 1:
        parts += [_side_by_side(report, titles), _all_times(report, titles)]
    parts.append(one_by_one(titles, [_one(a) for a in report]))
    return document(
        f"{title}: analysis", title, f"{first.assumptions[0]}; derived from the code; nothing was run", parts, _FOOT
    )


def _side_by_side(report: Report, titles: Sequence[str]) -> str:
    names: dict[str, None] = {}
    for a in report:
        names.update(dict.fromkeys(metric.name for metric in a.metrics))
    best = min(a.estimate.seconds for a in report)
    known = metrics()
    heads = "".join(f"<th class=n>{escape(name)}</th>" for name in titles)
    rows = []
    for name in names:
        cells = []
        for a in report:
            metric = a.metric(name)
            change = differences(a, report[0], name) if a is not report[0] else ""
            kinds = ["n", metric.verdict if metric else "", "differs" if change else ""]
            if name == "seconds" and a.estimate.seconds == best:
                kinds.append("fastest")
            shown = escape(metric.shown.partition(" (")[0]) if metric else "–"
            note = f'<span class="change">{escape(change)}</span>' if change else ""
            cells.append(f'<td class="{" ".join(filter(None, kinds))}">{shown}{note}</td>')
        entry = known[name]
        tip = escape(f"{entry.definition} Threshold: {entry.threshold} {entry.consequence}", quote=True)
        unit = f" <small>{escape(entry.unit)}</small>" if entry.unit else ""
        rows.append(f'<tr><td title="{tip}">{escape(entry.title)}{unit}</td>{"".join(cells)}</tr>')
    limits = "".join(f"<td class='n wrap'>{escape(', '.join(a.occupancy.limited_by))}</td>" for a in report)
    rows.append(f"<tr><td>Occupancy limited by</td>{limits}</tr>")
    return (
        "<h2>Side by side</h2><p class=soft>Shaded cells differ from the first column; hold the pointer over a name "
        "for what "
        f'it means.</p><div class="scroll"><table><tr><th>metric</th>{heads}</tr>{"".join(rows)}</table></div>'
    )


def _all_times(report: Report, titles: Sequence[str]) -> str:
    times = max(a.estimate.seconds for a in report)
    rows = [
        (name, a.estimate.seconds / times, f"{units.seconds(a.estimate.seconds)}, {a.estimate.bound_by}", "")
        for name, a in zip(titles, report, strict=True)
    ]
    return f"<h3>Estimated time</h3>{bars(rows)}"


def _one(a: Analysis) -> str:
    found = a.estimate
    headroom = units.percent(found.headroom)
    verdict = f"<b>{units.seconds(found.seconds)}</b>, bound by <b>{escape(found.bound_by)}</b>"
    parts = [
        f"<h2>{escape(a.name)} on {escape(a.chip.name)} <small>{escape(a.code.target)}</small></h2>",
        f'<p class="verdict">{verdict}</p>',
        f'<p class="soft">headroom {headroom}: what the time falls by if only that part were infinitely fast</p>',
        "<h3>Time of each part of the chip</h3>",
        _times(a),
        "<h3>Advice</h3>",
        _advice(a),
        '<div class="grid2"><div><h3>Metrics <small>open one for what it means</small></h3>',
        _metrics(a),
        "</div><div><h3>Paths: what a wavefront does from entry to end</h3>",
        _paths(a),
        "<h3>Instruction mix</h3>",
        stack([(n, a.work.classes[n]) for n in a.code.classes if a.work.classes.get(n)]),
        _loops(a),
        "</div></div>",
        "<h3>Occupancy</h3>",
        _occupancy(a),
        "<h3>Roofline</h3>",
        f'<div class="scroll">{_roofline(a)}</div>',
        _views(a),
        "<h3>Assumed</h3><ul>",
        *(f"<li>{escape(line)}</li>" for line in a.assumptions),
        "</ul>",
    ]
    return "".join(parts)


def _times(a: Analysis) -> str:
    found = a.estimate
    rows = [
        (
            term.name,
            term.seconds / found.seconds if found.seconds else 0.0,
            units.seconds(term.seconds),
            "bound" if term.name == found.bound_by else "",
        )
        for term in found.terms
    ]
    parts = [
        (
            term.name,
            units.seconds(term.seconds),
            term.how + ("; not part of the time" if term is found.transfer else ""),
        )
        for term in (*found.terms, found.transfer)
    ]
    reckoned = table(("part", "time", ""), parts, (1,))
    return f"{bars(rows)}<details><summary class=soft>how each is reckoned</summary>{reckoned}</details>"


def _advice(a: Analysis) -> str:
    if not a.advice:
        return "<p>None: nothing in the code calls for any.</p>"
    rows = []
    for item in a.advice:
        gain = f" <small>that part up to {item.gain:.2g} times as fast</small>" if item.gain > 1.005 else ""
        rows.append(f"<li><b>{escape(item.do)}</b>{gain}<br><span>{escape(item.because)}</span></li>")
    return f'<ol class="advice">{"".join(rows)}</ol>'


def _metrics(a: Analysis) -> str:
    rows = []
    for metric in a.metrics:
        entry = metrics()[metric.name]
        threshold = "" if entry.threshold == "None." else f"<p><b>Threshold</b> {escape(entry.threshold)}</p>"
        rows.append(
            f'<details class="metric"><summary><b>{escape(entry.title)}</b><span class="v {metric.verdict}">'
            f"{escape(metric.shown)}</span><small>{escape(entry.unit)}</small></summary><p>{escape(entry.definition)}</p>"
            f"{threshold}<p><b>Consequence</b> {escape(entry.consequence)}</p><p><small>{escape(metric.name)}: "
            f"{escape(entry.source)}</small></p></details>"
        )
    return "".join(rows)


def _paths(a: Analysis) -> str:
    rows = [("time", [units.seconds(a.estimates[m].seconds) for m in MODES])]
    rows.append(("bound by", [a.estimates[m].bound_by for m in MODES]))
    rows.append(("instructions", [units.number(a.works[m].steps) for m in MODES]))
    for name in a.code.classes:
        if any(a.works[m].classes.get(name) for m in MODES):
            rows.append((f"· {name}", [units.number(a.works[m].classes.get(name, 0.0)) for m in MODES]))
    for name, part in (
        ("ALU cycles", "alu_cycles"),
        ("fetch cycles", "fetch_cycles"),
        ("LDS cycles", "local_cycles"),
        ("bytes read", "read_bytes"),
        ("bytes written", "write_bytes"),
        ("waits for memory", "waits"),
    ):
        rows.append((name, [units.number(getattr(a.works[m], part)) for m in MODES]))
    return table(("", *MODES), [(name, *values) for name, values in rows], range(1, 1 + len(MODES)))


def _loops(a: Analysis) -> str:
    if not a.code.loops:
        return ""
    rows = [
        (
            loop.name,
            f"{loop.lines[0]}–{loop.lines[1]}" if loop.lines else "",
            units.number(loop.trip),
            KNOWN[loop.known],
            loop.why,
        )
        for loop in a.code.loops
    ]
    return f"<h3>Loops</h3>{table(('loop', 'lines', 'runs', 'known', 'why'), rows, (2,))}"


def _occupancy(a: Analysis) -> str:
    found, chip, needs = a.occupancy, a.chip, a.needs
    vliw = a.code.is_vliw
    name = "GPRs of a work-item" if vliw else "VGPRs of a work-item"
    most = chip.registers.vgprs_per_wavefront
    wavefront = chip.compute.wavefront_size
    charts = [
        svg.staircase(
            curve(chip, needs, "vgprs", range(1, most + 1)),
            (needs.vgprs, found.occupancy),
            name,
            title="occupancy over registers",
        )
    ]
    if not a.code.pixel:
        sizes = range(wavefront, chip.compute.work_group_size + 1, wavefront)
        charts.append(
            svg.staircase(curve(chip, needs, "group", sizes), (needs.group, found.occupancy), "work-items of a group")
        )
    most_lds = chip.local_memory.work_group_bytes
    if most_lds:
        step = max(chip.local_memory.granule_bytes, most_lds // 256)
        points = curve(chip, needs, "lds_bytes", range(step, most_lds + 1, step))
        charts.append(svg.staircase(points, (needs.lds_bytes, found.occupancy), "bytes of LDS of a work-group"))
    held = (
        f"{found.work_groups} work-groups, {found.wavefronts} of {found.wavefront_slots} wavefronts in a compute unit"
    )
    rows = [
        (limit.resource, *(f"{n:,}" for n in (limit.work_groups, limit.asked, limit.given, limit.capacity)))
        for limit in found.limits
    ]
    limits = table(("limit", "work-groups", "asked", "given", "of"), rows, range(1, 5))
    steps = "".join(
        f"<li>with at most {step.at_most:,} {step.resource}: {step.wavefronts} wavefronts, occupancy "
        f"{units.share(step.occupancy)}</li>"
        for step in next_steps(found)
    )
    return (
        f"<p><b>{units.share(found.occupancy)}</b>: {held}, limited by {escape(' and '.join(found.limited_by))}</p>"
        f'<div class="charts">{"".join(charts)}<div>{limits}{f"<ul>{steps}</ul>" if steps else ""}</div></div>'
    )


def _roofline(a: Analysis) -> str:
    roof = a.estimate.roofline
    if not a.estimate.flops or not a.estimate.read_bytes + a.estimate.write_bytes:
        return "<p class=soft>The kernel does no floating-point arithmetic, or moves no data, on this path.</p>"
    return svg.roofline([(a.name, roof.intensity, a.estimate.gflops)], roof.peak_gflops, roof.bandwidth, roof.ridge)


# ---- texts -----------------------------------------------------------------------------------------------------------


def _views(a: Analysis) -> str:
    texts = dict(a.built.texts) if a.built is not None else {}
    share = {cost.line: cost.share for cost in a.lines}
    columns = []
    names = list(texts)
    via = {step.via: step.line for step in a.code.steps if step.via is not None}
    used = {step.line for step in a.code.steps} | set(via)
    for number, name in enumerate(names):
        if not texts[name] or not any(place is not None and place[0] == name for place in used):
            continue
        rows = []
        for line, text in enumerate(texts[name].splitlines()[:_MOST_LINES], 1):
            place = (name, line)
            key = via.get(place, place) if number else place
            attribute = f' data-l="{escape(f"{key[0]}:{key[1]}", quote=True)}"' if place in used and key else ""
            heat = share.get(place, 0.0)
            mark = (
                f'<span class="heat" style="--s:{min(100, 100 * heat):.0f}%" title="{heat:.1%}"></span>'
                if number == 0
                else ""
            )
            rows.append(f"<code{attribute}><i class=no>{line}</i>{mark}{escape(text)}</code>")
        language = a.built.via[min(number, len(a.built.via) - 1)] if a.built is not None and a.built.via else "source"
        columns.append(f"<div><h4>{escape(language)}: {escape(Path(name).name)}</h4>{''.join(rows)}</div>")
    rows = []
    for index, step in enumerate(a.code.steps[:_MOST_LINES]):
        if step.label:
            rows.append(f'<code class="label">{escape(step.label)}:</code>')
        attribute = f' data-l="{escape(f"{step.line[0]}:{step.line[1]}", quote=True)}"' if step.line else ""
        first, *others = step.text.split(OPERATION_SEPARATOR)
        rows.append(
            f"<code{attribute}><i class=at>{step.address:x}</i><i class=runs>{units.number(a.step_visits[index])}</i>"
            f"<i class=live>{step.live or ''}</i>{escape(first)}</code>"
        )
        empty = "<i class=at></i><i class=runs></i><i class=live></i>"
        rows += [f"<code{attribute}>{empty}{escape(text)}</code>" for text in others]
    live = "" if a.code.is_vliw else "live registers"
    columns.append(
        f"<div><h4>{escape(a.code.target)}: address, runs{', ' + live if live else ''}</h4>{''.join(rows)}</div>"
    )
    return (
        "<h3>Source and machine code <small>point at a line to see what belongs to it, click to bring it into view; "
        "bars are the "
        f'line\'s share of {escape(a.estimate.bound_by)}</small></h3><div class="views">{"".join(columns)}</div>'
    )
