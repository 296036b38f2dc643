"""Input: published measurements, with their estimates and simulations. Output: the accuracy page and its picture."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt
from statistics import median
from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headwater.analyze.validation import Result

_INTRODUCTION = """\
# How accurate estimates are

For readers who want to know how far to trust the estimates of [the analyzer](analyzer.md) and the cycles of [the cycle
model](timing.md). `headwater validate --simulate --write docs/accuracy.md` generates this page. It compares both with
published measurements of AMD GPUs. It contains every row of `benchmarks/validation/`, including the bad ones and those
that cannot be estimated.

*Error* is estimated divided by measured, minus 1. For rates, +60 % means that the estimate is higher than the
measurement; for times and cycles, −40 % means that the estimate is shorter than the measurement.

An estimate is the shortest time in which the busiest part of the chip can do its work. It assumes the fraction of the
memory bandwidth that a long copy reaches with the board's kind of DRAM, after refresh and bus turnarounds. On VLIW
chips it also uses the rate at which memory channels accept single dwords, which is fitted to copies on HD 5870 and to
SHOC's writes. It uses addresses that follow from the launch, but not those that depend on data. It ignores channel
conflicts, DRAM rows, caches other than the first, drivers, and launch overhead, and assumes the vendor's clock rates.
Estimated rates are therefore usually too high and times too low. A peak is the estimate of a kernel that is limited by
one unit only. Rows marked (A) are the vendor's own calculations, which must be reproduced exactly.
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
        rows = [result for result in results if result.row.group == group]
        out.append(f"| row | chip | measured | estimated | error |{' simulated | error |' if simulated else ''}")
        out.append(f"|---|---|--:|--:|--:|{'--:|--:|' if simulated else ''}")
        out += [_line(result, simulated) for result in rows]
        out += ["", *notes([(r.row.id, _how(r), r.row.source + (" (A)" if r.row.kind == "A" else "")) for r in rows])]
    return "\n".join(out) + "\n"


def _simulated(results: Sequence[Result], picture: str) -> list[str]:
    """What is said of the cycle model: errors and correlations by side of the split, mechanism and family."""
    every = [result for result in results if result.simulated_error is not None]
    held, opened, fitted = ([r for r in every if r.row.side == side] for side in ("held out", "open", "fitted"))
    rows = [("**held out**", held), ("open", opened), ("fitted (*)", fitted), ("all", every)]
    groups = dict.fromkeys(result.row.group for result in held)
    rows += [(f"held out: {name}", [r for r in held if r.row.group == name]) for name in groups]
    for family in ("vliw", "gcn"):
        rows.append((f"held out: {family.upper()} chips", [r for r in held if _family(r) == family]))
    out = ["## Simulated", "", _SIMULATED.format(picture=picture), ""]
    out += ["| rows | median error | mean error | within 25 % | speed | Kendall's τ | Pearson's r |"]
    out += ["|---|--:|--:|--:|--:|--:|--:|"]
    for name, chosen in rows:
        if not chosen:
            continue
        errors = [abs(result.simulated_error or 0.0) for result in chosen]
        tau, r = correlation([(o.row.unit, o.row.measured, o.simulated or 0.0) for o in chosen])
        numbers = [_percent(median(errors)), _percent(sum(errors) / len(errors))]
        numbers += [f"{sum(error <= 0.25 for error in errors)} of {len(errors)}", *map(_plain, (bias(chosen), tau, r))]
        out.append(f"| {name} | {' | '.join(numbers)} |")
    return out


def bias(results: Sequence[Result]) -> float | None:
    """The geometric mean of how many times as fast as the chips the cycle model is; None without results."""
    logs = [log(factor) for result in results if (factor := result.speed_factor) is not None]
    return exp(sum(logs) / len(logs)) if logs else None


_SIMULATED = """\
*Simulated* is the cycle model's result for rows with kernels; * marks rows to which a parameter was fitted. A rule
divides the other rows: a row is *held out* if the SHA-256 of its id begins with an odd byte, else it is *open*.
Parameters may be fitted to open rows only, and the errors of rows that are held out measure the model's accuracy. Rows
to which a parameter was fitted before this rule existed are marked as fitted, even if the rule would hold them out.
*Speed* is the geometric mean of the chip's time divided by the model's; 1 means no bias. Kendall's τ and Pearson's r
(of logarithms) only compare rows of the same unit.

Rows of SHOC's memory benchmarks run the kernels that its generator creates for each chip, with fewer iterations and
five work-groups of 256 work-items for each compute unit, and take the best of several work-group sizes, as SHOC does.
Rows of its applications run equivalent kernels on parts of its data. Most of SHOC's times are measured from a launch's
submission to its end, so the board's delay before the start (SHOC's QueueDelay) is added; times of the stencil include
copies. Sparse matrices are random, as in SHOC. Where SHOC reads images, VLIW chips run IL, because their texture units
tile images; on GCN chips buffers replace images, since both use the same cache. Benchmarks that run a kernel once
before they measure it, such as gpu-latency, do so here. The latencies of CDNA chips come from gpu-latency's tables.
Rows `chase-*` are the other lines of these tables, from which no latency was taken; they test the sizes of caches
rather than their latencies. Known differences that no publication explains remain:

- HD 7970 was measured with a driver from its first months, which is assumed to use
  [pages of 4 KiB](decisions.md#pages-of-4-kib-are-a-boards-not-a-chips). Its reductions are still slower than in the
  model, and three of its four products of matrices are faster.
- FirePro W9100 multiplies ELLPACK-R at half of the rate of HD 7970, the smaller chip, in single precision, and at three
  quarters of it in double precision, by the same kernel.
- Copies by work-groups of 1 × 64 on HD 5870 are slower than any order of its banks explains that also fits SHOC's
  random reads (MD).
- SHA-256 in straight lines is 15 % slower on VLIW chips than hdminer's IL. Its stream cores issue for 98 % of the time,
  so that our code has more groups. It waits for instructions for 0.3 % of the time at most, and twice the instruction
  cache, or more blocks fetched ahead, change its time by less than 0.1 %.
- In SHOC's products of matrices on HD 5870 and HD 5670 our code reads local memory by one dword an operation, 16 of
  the 21 groups of 16 multiply-additions (gemm_nn). The instruction LDS_READ2_RET reads two; our compiler pairs few.
- No row on VLIW chips reads constants at random indices or computes sines: no published measurement of either is known
  here.
- FirePro W9100 does SHOC's strided reads 23 times as fast as the model, which takes its channels to be chosen by plain
  bits of the address. AMD describes that for HD 77XX to 79XX only.
- FirePro W9100 writes local memory at a quarter of the rate of HD 7970, per compute unit and clock, in the same kernel.
  The hardware hardly explains that.
- HD 5670's 300 ns to DRAM contradict the 300 to 600 cycles of the same guide (the chip's file says 500). The pointer
  chase here also executes two clause switches and an ALU clause, 108 cycles.
- R9 Nano's reduction by sub-groups runs this library's code for sub-groups, which spends 82 % of the time in issue.
  AMD's code is not published.
- The rows of MI100's caches with 4 and 8 KiB wait for memory, where the benchmark's compiler may have kept more loads
  in flight than Headwater's does.
- Four planes of the finite differences fill MI250X's L2 completely. On the chip 65 % of its lookups hit, so each plane
  was fetched almost twice; in the model, with random replacement, 74 % hit. The chip's policy is not published.

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
    return f"| {' | '.join(cells)} |"


def _how(result: Result) -> str:
    note = result.row.note
    return result.why + (f". {note[0].upper()}{note[1:]}" if note else "")


def notes(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    """The list below a group's table, of (row, how it was estimated, source): an item for each source, in it one for
    each way, with the rows' names; lines of at most 120 columns."""
    by_source: dict[str, dict[str, list[str]]] = {}
    for name, how, source in rows:
        by_source.setdefault(source, {}).setdefault(how, []).append(name)
    lines = []
    for source, ways in by_source.items():
        lines += _item("- ", f"{source}:")
        for how, names in ways.items():
            lines += _item("  - ", f"*{', '.join(names)}*: {how}")
    return lines


def _item(mark: str, text: str) -> list[str]:
    return wrap(mark + text, 120, subsequent_indent=" " * len(mark), break_long_words=False, break_on_hyphens=False)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}".replace("%", " %")


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.0%}".replace("%", " %").replace("-", "−")
