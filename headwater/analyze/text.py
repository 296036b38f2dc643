"""Input: a report. Output: the text of a terminal, with or without colours. Rich lays the tables out."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from headwater.analyze.code import KNOWN, OPERATION_SEPARATOR
from headwater.analyze.flow import MODES
from headwater.analyze.glossary import metrics
from headwater.chips.occupancy import next_steps
from headwater.views import units

if TYPE_CHECKING:
    from headwater.analyze.analysis import Analysis
    from headwater.analyze.estimate import Estimate
    from headwater.analyze.report import Report

_STYLES = {"good": "green", "watch": "yellow", "bad": "red", "": ""}
_MARKS = {"good": "✓", "watch": "!", "bad": "✗", "": " "}
_LINES = 16
_BAR = 24
_SIDE_BY_SIDE = 3
_MOST_ADVICE = 3
_WIDEST = 1000


def render(report: Report, *, width: int, colour: bool, source: bool) -> str:
    """The report as text: in full for one analysis, side by side for several."""
    out = _console(width, colour)
    if len(report) == 1:
        _full(out, report[0])
    else:
        _compare(out, report)
    for refused in report.refused:
        out.print(Text(f"  {refused.device} cannot run {refused.kernel}: {refused.error.message}", "red"))
    if source:
        for analysis in report:
            _listing(out, analysis)
    return _text(out)


def render_spreadsheet(found: Sequence[tuple[str, Estimate]], *, width: int, colour: bool) -> str:
    """Estimates of plain counts, one for each chip."""
    out = _console(width, colour)
    for name, estimate in found:
        out.print(Text(f"{name}: {units.seconds(estimate.seconds)}, bound by {estimate.bound_by}", "bold"))
        _parts(out, estimate)
        out.print()
    return _text(out)


def _console(width: int, colour: bool) -> Console:
    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        color_system="truecolor" if colour else None,
        highlight=False,
        emoji=False,
        markup=False,
    )


def _text(out: Console) -> str:
    stream = out.file
    assert isinstance(stream, io.StringIO)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def _whole(out: Console, table: Table) -> None:
    """Print a table no narrower than what cannot be wrapped: numbers do not lose their units."""
    for column in table.columns:
        if column.no_wrap:
            lines = [line for cell in (column.header, *column.cells) for line in str(cell).splitlines()]
            column.min_width = max(map(cell_len, lines), default=0)
    least = table.__rich_measure__(out, out.options.update(width=_WIDEST)).minimum
    out.print(table, width=max(out.width, min(least, _WIDEST)), crop=False)


def _table(heads: Sequence[str], numbers: Sequence[int] = (), title: str = "", wrap: Sequence[int] = ()) -> Table:
    table = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
    )
    for index, head in enumerate(heads):
        table.add_column(
            head, justify="right" if index in numbers else "left", no_wrap=index not in wrap, overflow="fold"
        )
    return table


def _bar(share: float, style: str = "cyan") -> Text:
    eighths = round(max(0.0, min(1.0, share)) * _BAR * 8)
    return Text("█" * (eighths // 8) + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[eighths % 8], style)


# ---- one kernel on one chip ------------------------------------------------------------------------------------------


def _full(out: Console, a: Analysis) -> None:
    found = a.estimate
    out.print(Text.assemble((a.name, "bold"), f" on {a.chip.name} ({a.code.target}): ", *_verdict(found)))
    out.print(Text(f"  {a.assumptions[0]}; {len(a.code.steps):,} instructions in {a.code.code_bytes:,} bytes"))
    out.print()
    _parts(out, found)
    out.print()
    _metrics(out, a)
    out.print()
    _occupancy(out, a)
    out.print()
    _paths(out, a)
    if a.code.loops:
        out.print()
        _loops(out, a)
    out.print()
    _waterfall(out, a)
    out.print()
    _advice(out, a)
    out.print()
    out.print(Text("Assumed", "bold"))
    for line in a.assumptions:
        out.print(Text(f"  {line}"))
    out.print(Text("headwater explain NAME explains a metric or an instruction", "dim"))


def _verdict(found: Estimate) -> list[tuple[str, str]]:
    return [(units.seconds(found.seconds), "bold"), (", bound by ", ""), (found.bound_by, "bold")]


def _parts(out: Console, found: Estimate) -> None:
    table = _table(["part", "time", "", "how it is reckoned"], (1,), "Time of each part of the chip", wrap=(3,))
    for term in (*found.terms, found.transfer):
        bound = term.name == found.bound_by
        share = term.seconds / found.seconds if found.seconds else 0.0
        aside = term is found.transfer
        table.add_row(
            Text(term.name, "bold" if bound else ""),
            Text(units.seconds(term.seconds), "bold" if bound else ""),
            Text("apart") if aside else _bar(share, "red" if bound else "cyan"),
            Text(term.how, "dim"),
        )
    _whole(out, table)
    facts = [f"headroom {units.percent(found.headroom)}"]
    if found.hit_needed is not None:
        facts.append(
            f"with {units.percent(found.hit_needed)} of the reads from caches, memory would not be the longest"
        )
    roof = found.roofline
    if found.flops:
        facts.append(
            f"roofline: {units.number(roof.intensity)} FLOP a byte allow {units.number(roof.attainable_gflops)} of "
            f"{units.number(roof.peak_gflops)} GFLOP/s"
        )
    out.print(Text("  " + "; ".join(facts)))


def _metrics(out: Console, a: Analysis) -> None:
    table = _table(["metric", "value", "", "unit", "threshold"], (1,), "Metrics")
    room = max(30, out.width - 70)
    known = metrics()
    for metric in a.metrics:
        entry = known[metric.name]
        table.add_row(
            Text(metric.name),
            Text(metric.shown, _STYLES[metric.verdict]),
            Text(_MARKS[metric.verdict], _STYLES[metric.verdict]),
            Text(entry.unit, "dim"),
            Text("" if entry.threshold == "None." else _cut(entry.threshold, room), "dim"),
        )
    _whole(out, table)


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 2].rpartition(' ')[0]} …"


def _occupancy(out: Console, a: Analysis) -> None:
    found = a.occupancy
    held = f"{found.wavefronts} of {found.wavefront_slots} wavefronts in a compute unit"
    limits = " and ".join(found.limited_by)
    out.print(
        Text.assemble(("Occupancy ", "bold"), (units.share(found.occupancy), "bold"), f": {held}, limited by {limits}")
    )
    table = _table(["limit", "work-groups", "asked", "given", "of"], (1, 2, 3, 4))
    for limit in found.limits:
        table.add_row(
            limit.resource, str(limit.work_groups), f"{limit.asked:,}", f"{limit.given:,}", f"{limit.capacity:,}"
        )
    _whole(out, table)
    for step in next_steps(found):
        change = f"with at most {step.at_most:,} {step.resource}"
        out.print(Text(f"  {change}: {step.wavefronts} wavefronts, occupancy {units.share(step.occupancy)}"))


def _paths(out: Console, a: Analysis) -> None:
    heads = ["", *MODES]
    table = _table(heads, (1, 2, 3), "Paths: what a wavefront does from entry to end")
    rows: list[tuple[str, list[str]]] = [
        ("time", [units.seconds(a.estimates[m].seconds) for m in MODES]),
        ("bound by", [a.estimates[m].bound_by for m in MODES]),
        ("instructions", [units.number(a.works[m].steps) for m in MODES]),
    ]
    rows += [
        (f"  {name}", [units.number(a.works[m].classes.get(name, 0.0)) for m in MODES])
        for name in a.code.classes
        if any(a.works[m].classes.get(name) for m in MODES)
    ]
    vliw = a.code.is_vliw
    if vliw:
        rows.append(("operations", [units.number(a.works[m].operations) for m in MODES]))
    rows += [
        ("ALU cycles", [units.number(a.works[m].alu_cycles) for m in MODES]),
        ("fetches", [units.number(a.works[m].fetches) for m in MODES]),
        ("writes", [units.number(a.works[m].writes) for m in MODES]),
        ("bytes read", [units.number(a.works[m].read_bytes) for m in MODES]),
        ("bytes written", [units.number(a.works[m].write_bytes) for m in MODES]),
        ("waits for memory", [units.number(a.works[m].waits) for m in MODES]),
    ]
    for name, values in rows:
        table.add_row(name, *values)
    _whole(out, table)


def _loops(out: Console, a: Analysis) -> None:
    table = _table(["loop", "lines", "runs", "known", "why"], (2,), "Loops", wrap=(4,))
    for loop in a.code.loops:
        depth = 0
        at = loop.parent
        while at >= 0:
            depth, at = depth + 1, a.code.loops[at].parent
        lines = f"{loop.lines[0]}–{loop.lines[1]}" if loop.lines else ""
        known = KNOWN[loop.known]
        style = "red" if loop.known == "unknown" else ""
        table.add_row(
            "  " * depth + loop.name, lines, units.number(loop.trip), Text(known, style), Text(loop.why, "dim")
        )
    _whole(out, table)


def _waterfall(out: Console, a: Analysis) -> None:
    heads = ["line", "share", "", "ALU", "fetch", "bytes", "source"]
    table = _table(heads, (1, 3, 4, 5), f"What each source line costs of {a.estimate.bound_by}", wrap=(6,))
    shown = [cost for cost in a.lines if cost.work.steps]
    for cost in shown[:_LINES]:
        moved = cost.work.read_bytes + cost.work.write_bytes
        table.add_row(
            str(cost.line[1]) if cost.line else "",
            units.percent(cost.share),
            _bar(cost.share),
            units.number(cost.work.alu_cycles),
            units.number(cost.work.fetch_cycles),
            units.number(moved),
            Text(source_line(a, cost.line)[:70]),
        )
    _whole(out, table)
    if len(shown) > _LINES:
        rest = sum(cost.share for cost in shown[_LINES:])
        out.print(Text(f"  {len(shown) - _LINES} more lines cost {units.percent(rest)}", "dim"))


def source_line(a: Analysis, line: tuple[str, int] | None) -> str:
    """The text of a source line, "" where it is not known."""
    if line is None:
        return "(no line known)"
    text = a.built.texts.get(line[0], "") if a.built is not None else ""
    lines = text.splitlines()
    return lines[line[1] - 1].strip() if 0 < line[1] <= len(lines) else ""


def _advice(out: Console, a: Analysis) -> None:
    out.print(Text("Advice", "bold"))
    if not a.advice:
        out.print(Text("  none: nothing in the code calls for any"))
    for number, item in enumerate(a.advice, 1):
        gain = f" (that part up to {item.gain:.2g} times as fast)" if item.gain > 1.005 else ""
        out.print(Text.assemble(f"  {number}. ", (item.do, "bold"), gain))
        out.print(Text(f"     {item.because}", "dim"))


# ---- side by side ----------------------------------------------------------------------------------------------------


def heading(a: Analysis, *, alone: bool) -> str:
    """What a column is called: the chip, and the kernel where there are several."""
    return a.chip.name if alone else f"{a.name}, {a.chip.name}"


def differences(a: Analysis, first: Analysis, name: str) -> str:
    """How a metric differs from the first analysis': "" if it does not, a change in per cent where both are numbers."""
    mine, other = a.metric(name), first.metric(name)
    if mine is None or other is None or mine.shown == other.shown:
        return "≠" if (mine is None) != (other is None) else ""
    if mine.value == other.value:
        return ""
    if isinstance(mine.value, (int, float)) and isinstance(other.value, (int, float)) and other.value:
        change = mine.value / other.value - 1
        return f"{change:+.0%}" if abs(change) < 10 else f"×{mine.value / other.value:.3g}"
    return "≠"


def _compare(out: Console, report: Report) -> None:
    names = list(dict.fromkeys(a.name for a in report))
    groups: list[list[Analysis]] = [[a for a in report if a.name == name] for name in names]
    if len(names) > 1 and all(len(group) == 1 for group in groups):
        groups = [list(report)]
    for number, group in enumerate(groups):
        if number:
            out.print()
        alone = len({a.name for a in group}) == 1
        title = group[0].name if alone else group[0].chip.name
        if len(group) <= _SIDE_BY_SIDE:
            _columns(out, group, title, alone)
        else:
            _rows(out, group, title, alone)
        for a in group if len(group) <= _SIDE_BY_SIDE else ():
            advice = [item for item in a.advice if item.metric != "trip"][:_MOST_ADVICE]  # loops are told below
            if advice:
                out.print(Text(f"  {heading(a, alone=alone)}:", "bold"))
            for item in advice:
                out.print(Padding(Text.assemble(item.do, (f" ({item.because})", "dim")), (0, 0, 0, 4)))
        loops = [loop.name for loop in group[0].code.loops if loop.known == "unknown"]
        if loops:
            out.print(
                Text(f"  loops of unknown trip count run once: {', '.join(loops)} (--trip {loops[0]}=N)", "yellow")
            )
    out.print(Text(f"  assumed: {'; '.join(report[0].assumptions[:3])}", "dim"))


def _columns(out: Console, group: Sequence[Analysis], title: str, alone: bool) -> None:
    heads = ["metric", *(heading(a, alone=alone) for a in group)]
    table = _table(heads, range(1, len(heads)), title)
    for name in _all_metrics(group):
        cells = []
        for a in group:
            metric = a.metric(name)
            change = differences(a, group[0], name)
            style = _STYLES[metric.verdict] if metric else ""
            cell = Text(metric.shown if metric else "–", f"{style} bold".strip() if change else style)
            if a is not group[0]:
                cell.append(f" {change:>6}" if change else " " * 7, "magenta")
            cells.append(cell)
        table.add_row(name, *cells)
    _whole(out, table)


def _all_metrics(group: Iterable[Analysis]) -> list[str]:
    names: dict[str, None] = {}
    for a in group:
        names.update(dict.fromkeys(metric.name for metric in a.metrics))
    order = list(metrics())
    first = ["seconds", "bound_by", "headroom", "gflops", "bandwidth"]
    return [*(n for n in first if n in names), *(n for n in order if n in names and n not in first)]


def _rows(out: Console, group: Sequence[Analysis], title: str, alone: bool) -> None:
    heads = [
        "chip" if alone else "kernel, chip",
        "time",
        "bound by",
        "headroom",
        "occupancy",
        "limited by",
        "regs",
        "A:F",
    ]
    heads += ["GFLOP/s", "GB/s", "fill"]
    table = _table(heads, (1, 3, 4, 6, 7, 8, 9, 10), title)
    best = min(a.estimate.seconds for a in group)
    for a in group:

        def cell(name: str, a: Analysis = a) -> Text:
            metric = a.metric(name)
            return Text(metric.shown.partition(" (")[0] if metric else "–", _STYLES[metric.verdict] if metric else "")

        fastest = a.estimate.seconds == best
        table.add_row(
            Text(heading(a, alone=alone), "bold" if fastest else ""),
            Text(units.seconds(a.estimate.seconds), "bold green" if fastest else ""),
            cell("bound_by"),
            cell("headroom"),
            cell("occupancy"),
            Text("\n".join(a.occupancy.limited_by)),
            cell("gprs") if a.code.is_vliw else cell("vgprs"),
            cell("alu_fetch_ratio"),
            cell("gflops"),
            cell("bandwidth"),
            cell("fill"),
        )
    _whole(out, table)


# ---- source and machine code -----------------------------------------------------------------------------------------


def _listing(out: Console, a: Analysis) -> None:
    out.print()
    via = " ↔ ".join([*(a.built.via if a.built else ()), a.code.target])
    out.print(Text(f"{a.name} on {a.chip.name}: {via}", "bold"))
    out.print(Text(f"{'address':>8} {'runs':>7} {'live':>4}", "dim"))
    place: tuple[str, int] | None = None
    through: tuple[str, int] | None = None
    for index, step in enumerate(a.code.steps):
        if step.line != place and step.line is not None:
            place = step.line
            out.print(Text(f"{place[1]:>5}  {source_line(a, place)}", "bold cyan"))
        if step.via != through and step.via is not None:
            through = step.via
            out.print(Text(f"{'':7}{through[1]:>5}  {source_line(a, through)}", "cyan"))
        if step.label:
            out.print(Text(f"{step.label}:", "yellow"))
        runs = units.number(a.step_visits[index])
        first, *others = step.text.split(OPERATION_SEPARATOR)
        out.print(Text.assemble((f"{step.address:8x} {runs:>7} {step.live or '':>4}  ", "dim"), first))
        for text in others:
            out.print(Text(f"{'':23}{text}"))
