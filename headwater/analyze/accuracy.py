"""Rows of published measurements with what was estimated and simulated pass in; the accuracy page and its picture pass
out."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headwater.analyze.validation import Result

_INTRODUCTION = """\
# How accurate estimates are

Made by `headwater validate --simulate --write docs/accuracy.md`: what static analysis says of published measurements
of AMD GPUs, next to them. Every row of `benchmarks/validation/` is here, the bad ones and those of which nothing can
be said included. *Error* is estimated over measured, less one: for rates +60 % says that the estimate promises more
than was measured, for times and cycles −40 % does.

An estimate is what the busiest part of the chip needs at least; of its memory's bandwidth it takes the part that the
chip's file says is reached, which is fitted to some of the copies here, and on VLIW chips what channels take of stores
of single dwords, fitted to HD 5870's copies and to what SHOC writes. It knows the addresses that the launch decides,
not those that data do; no conflicts of channels, no refresh, no rows of DRAM, no cache between the nearest one and
memory, nothing of drivers and launches; clocks are the maker's. So rates come out too high and times too low, and by
how much is what this page tells. Peaks are estimates too: of a kernel with nothing else in its way. Rows of kind A are
the vendor's own arithmetic, which must come out exactly.
"""


def summary(results: Sequence[Result]) -> list[tuple[str, int, int, float | None, float | None, float | None]]:
    """For each group and at last for all measured rows: name, rows, estimated ones, median and mean of the errors'
    size, and the part of them within 25 %."""
    groups = list(dict.fromkeys(result.row.group for result in results))
    made = []
    for name in [*groups, "all measured", "the vendor's arithmetic"]:
        if name == "all measured":
            chosen = [r for r in results if r.row.kind != "A"]
        elif name == "the vendor's arithmetic":
            chosen = [r for r in results if r.row.kind == "A"]
        else:
            chosen = [r for r in results if r.row.group == name]
        errors = [abs(r.error) for r in chosen if r.error is not None]
        within = sum(e <= 0.25 for e in errors) / len(errors) if errors else None
        mean = sum(errors) / len(errors) if errors else None
        made.append((name, len(chosen), len(errors), median(errors) if errors else None, mean, within))
    return made


def page(results: Sequence[Result], picture_name: str = "accuracy.svg") -> str:
    """docs/accuracy.md, which shows the picture beside it if there are simulated values."""
    simulated = any(result.simulated is not None for result in results)
    out = [_INTRODUCTION, "## Summary", ""]
    out += ["| group | rows | estimated | median error | mean error | within 25 % |", "|---|--:|--:|--:|--:|--:|"]
    for name, count, known, middle, mean, within in summary(results):
        out.append(f"| {name} | {count} | {known} | {_percent(middle)} | {_percent(mean)} | {_percent(within)} |")
    if simulated:
        out += ["", *_simulated(results, picture_name)]
    for group in dict.fromkeys(result.row.group for result in results):
        out += ["", f"## {group[0].upper()}{group[1:]}", ""]
        extra = " simulated | error |" if simulated else ""
        out.append(f"| row | chip | measured | estimated | error |{extra} how | source |")
        out.append(f"|---|---|--:|--:|--:|{'--:|--:|' if simulated else ''}---|---|")
        for result in results:
            if result.row.group == group:
                out.append(_line(result, simulated))
    return "\n".join(out) + "\n"


def _simulated(results: Sequence[Result], picture: str) -> list[str]:
    """What is said of the cycle model: errors and correlations, of fitted rows apart."""
    every = [result for result in results if result.simulated_error is not None]
    fitted = [result for result in every if result.row.data.get("fitted")]
    plain = [result for result in every if not result.row.data.get("fitted")]
    rows = [("not fitted", plain), ("fitted (*)", fitted), ("all", every)]
    groups = dict.fromkeys(result.row.group for result in plain)
    rows += [(f"not fitted: {name}", [r for r in plain if r.row.group == name]) for name in groups]
    for family in ("vliw", "gcn"):
        rows.append((f"not fitted: {family.upper()} chips", [r for r in plain if _family(r) == family]))
    out = ["## Simulated", "", _SIMULATED.format(picture=picture), ""]
    out += ["| rows | number | median error | mean error | within 25 % | Kendall's τ | Pearson's r |"]
    out += ["|---|--:|--:|--:|--:|--:|--:|"]
    for name, chosen in rows:
        if not chosen:
            continue
        errors = [abs(result.simulated_error or 0.0) for result in chosen]
        tau, r = correlation([(o.row.unit, o.row.measured, o.simulated or 0.0) for o in chosen])
        numbers = [_percent(median(errors)), _percent(sum(errors) / len(errors))]
        numbers += [_percent(sum(error <= 0.25 for error in errors) / len(errors)), _plain(tau), _plain(r)]
        out.append(f"| {name} | {len(chosen)} | {' | '.join(numbers)} |")
    return out


_SIMULATED = """\
*Simulated* is what the cycle model says of rows with kernels; * marks rows that a parameter was fitted to. Kendall's τ
and Pearson's r (of logarithms) compare rows of one unit with each other only: bandwidths are above cycles by their unit
alone.

SHOC's rows run what its generator makes for each chip, five work-groups of 256 a compute unit, with fewer turns, and
take the best of several sizes of work-groups, as SHOC does. What nothing published explains is left as it is. Strided
accesses of SHOC (work-items 4 KiB apart) are slower on the chips than here, as each goes to another row of DRAM, which
is not modelled: HD 7970 and HD 5670 both write a dword every 7.5 ns of each 32-bit channel. The local memory of FirePro
W9100 is written at a quarter of what the same kernel reaches on HD 7970 per compute unit and clock, which can hardly be
the hardware. HD 5670's 300 ns to DRAM contradict the 300 to 600 cycles of the same guide, of which the chip's file has
500; and the chase here goes through two clause switches and an ALU clause besides, 108 cycles. R9 Nano's reduction by
sub-groups runs this library's code for them, 82 % of the time in issue; AMD's is not published. The rows of 4 and 8 KiB
of MI100's caches wait where the benchmark's compiler, unlike the one here, may have more loads under way. Four planes
of the finite differences fill MI250X's L2 to the brim: on the chip 65 % of its lookups hit, and each plane was fetched
almost twice, here 80 %; what it chooses to let go is not known.

![simulated over measured values of all rows with kernels]({picture})"""


def _family(result: Result) -> str:
    from headwater import chips

    return chips.find(result.row.device).family


def correlation(points: Sequence[tuple[str, float, float]]) -> tuple[float | None, float | None]:
    """Kendall's τ-b and Pearson's r of the logarithms of (unit, one value, other value), within units. None where too
    little is there, or one side is the same everywhere."""
    agree = differ = same_left = same_right = 0
    for n, (unit, left, right) in enumerate(points):
        for other, left_too, right_too in points[:n]:
            if other != unit:
                continue
            sign = ((left > left_too) - (left < left_too)) * ((right > right_too) - (right < right_too))
            agree, differ = agree + (sign > 0), differ + (sign < 0)
            same_left += left == left_too and right != right_too
            same_right += right == right_too and left != left_too
    pairs = agree + differ
    below = sqrt((pairs + same_left) * (pairs + same_right))
    tau = (agree - differ) / below if below else None
    logs = {unit: [(log(a), log(b)) for u, a, b in points if u == unit and a > 0 < b] for unit, _, _ in points}
    centred = []
    for values in filter(None, logs.values()):
        means = [sum(side) / len(values) for side in zip(*values, strict=True)]
        centred += [(a - means[0], b - means[1]) for a, b in values]
    spread = sqrt(sum(a * a for a, _ in centred) * sum(b * b for _, b in centred))
    return tau, sum(a * b for a, b in centred) / spread if spread else None


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def picture(results: Sequence[Result]) -> str:
    """Simulated over measured values, as SVG that stands for itself; "" where nothing was simulated."""
    from headwater.views.svg import scatter

    points = [
        (result.row.measured, result.simulated, result.row.unit, bool(result.row.data.get("fitted")), result.row.id)
        for result in results
        if result.simulated is not None and result.simulated > 0 and result.row.measured > 0
    ]
    return scatter(points, "measured", "simulated") if points else ""


def _line(result: Result, simulated: bool) -> str:
    row = result.row
    measured = f"{_number(row.measured)} {row.unit}" if row.measured else "–"
    told = result.why + (f". {row.note[0].upper()}{row.note[1:]}" if row.note else "")
    kind = " (A)" if row.kind == "A" else ""
    cells = [
        row.id,
        row.device or "–",
        measured,
        _number(result.estimated) if result.estimated is not None else "–",
        _signed(result.error),
    ]
    if simulated:
        mark = " *" if result.simulated is not None and row.data.get("fitted") else ""
        cells.append(_number(result.simulated) + mark if result.simulated is not None else "–")
        cells.append(_signed(result.simulated_error))
    cells += [told.replace("|", "/"), row.source.replace("|", "/") + kind]
    return f"| {' | '.join(cells)} |"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}".replace("%", " %")


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.0%}".replace("%", " %").replace("-", "−")
