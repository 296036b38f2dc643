"""Input: published measurements. Output: what static estimates say of each, and how far off they are.

The rows are `benchmarks/validation/*.toml`. A row has ``id``, ``device`` (a chip's name), ``chip`` (tables of figures
that the measured board had otherwise), ``measured``, ``unit``, ``source`` and ``kind`` ("M" measured, "A" the vendor's
arithmetic); and what says how to estimate it: ``kernel`` ("file:function") with ``global``, ``local``, ``arguments``,
``work`` and ``options``; or ``estimate``; or ``silent``, why nothing can be said. `estimates.toml` says by patterns of
ids what estimates of kernels are told: ``hit``, ``coalesced``, ``group``. The cycle model reads the same rows.

A hash of its id says on which side a row is: parameters of the cycle model may be fitted to *open* rows, and the claim
of its accuracy is made on rows *held out*. ``fitted`` names the parameters that were fitted to a row, which is on
neither side then.
"""

from __future__ import annotations

import fnmatch
import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.analyze.analysis import Analysis, Question, spreadsheet
from headwater.analyze.code import Step
from headwater.analyze.costs import fetch_cycles
from headwater.analyze.launch import Given
from headwater.errors import HeadwaterError, UsageError
from headwater.isa.cost import Cost

if TYPE_CHECKING:
    from headwater.chips import Chip

_TIME_SCALE = {"ms": 1e3, "us": 1e6, "µs": 1e6, "s": 1.0}
_PER_SECOND = {"GB/s": 1e9, "GFLOP/s": 1e9, "MLUP/s": 1e6, "MH/s": 1e6}


@dataclass(frozen=True, slots=True)
class Row:
    """A published measurement; ``data`` is its table."""

    id: str
    group: str
    device: str
    measured: float
    unit: str
    kind: str
    source: str
    note: str
    data: Mapping[str, Any]

    @property
    def side(self) -> str:
        """ "held out", "open" or "fitted"."""
        if self.data.get("fitted"):
            return "fitted"
        return "held out" if is_held_out(self.id) else "open"


def is_held_out(row_id: str) -> bool:
    """Whether the rule keeps a row from being fitted to: its id's SHA-256 begins with an odd byte."""
    return hashlib.sha256(row_id.encode()).digest()[0] % 2 == 1


@dataclass(frozen=True, slots=True)
class Result:
    """A row and what was estimated: ``estimated`` None where nothing can be said, ``why``: then the reason, else how.

    ``bound_by``: the part that the estimate says binds. ``simulated``: the cycle model's value, if it was asked for.
    """

    row: Row
    estimated: float | None
    why: str
    bound_by: str = ""
    simulated: float | None = None

    @property
    def error(self) -> float | None:
        """Estimated over measured, less one; None where there is no estimate."""
        return self.estimated / self.row.measured - 1 if self.estimated is not None and self.row.measured else None

    @property
    def simulated_error(self) -> float | None:
        """The cycle model's value over the measured one, less one."""
        return self.simulated / self.row.measured - 1 if self.simulated is not None and self.row.measured else None

    @property
    def speed_factor(self) -> float | None:
        """How many times as fast as the chip the model is: over 1 where its rate is higher or its time shorter."""
        if not self.simulated or not self.row.measured:
            return None
        ratio = self.simulated / self.row.measured
        return ratio if self.row.unit in _PER_SECOND else 1 / ratio


def folder() -> Path:
    """Where the rows are: UsageError if this installation lacks them."""
    from headwater.data import benchmark

    try:
        return benchmark("validation/published.toml").parent
    except FileNotFoundError as error:
        raise UsageError(f"{error}", hint="install headwater from its wheel, or run in a checkout") from None


def rows() -> list[Row]:
    """Every row of every file, by file and order."""
    place = folder()
    patterns = _patterns(place)
    found = []
    for path in sorted(place.glob("*.toml")):
        for data in tomllib.loads(path.read_text(encoding="utf-8")).get("row", ()):
            pattern = (
                next((p for p in patterns if fnmatch.fnmatch(data["id"], p["match"])), {}) if "kernel" in data else {}
            )
            merged = {**pattern, **data}
            found.append(
                Row(
                    data["id"],
                    merged.get("group", "others"),
                    data.get("device", ""),
                    float(data["measured"]),
                    data["unit"],
                    data.get("kind", "M"),
                    data["source"],
                    data.get("note", ""),
                    merged,
                )
            )
    return found


def _patterns(place: Path) -> list[dict[str, Any]]:
    path = place / "estimates.toml"
    found: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["estimate"] if path.is_file() else []
    return found


def chip_of(row: Row) -> Chip:
    """The chip of a row, with the board's own figures."""
    from headwater import chips

    chip = chips.find(row.device)
    for table, figures in row.data.get("chip", {}).items():
        chip = replace(chip, **{table: replace(getattr(chip, table), **figures)})
    return chip


def estimate_row(row: Row) -> Result:
    """What the estimate says of a row, in its unit."""
    if "silent" in row.data:
        return Result(row, None, row.data["silent"])
    try:
        if "kernel" in row.data and "estimate" not in row.data:
            return _of_kernel(row)
        return _WAYS[row.data["estimate"]["by"]](row, row.data["estimate"])
    except HeadwaterError as error:
        return Result(row, None, error.message)


def _of_kernel(row: Row) -> Result:
    analysis = _analysis(row, row.data["kernel"])
    seconds = analysis.estimate.seconds
    work = float(row.data["work"])
    value = (
        work / seconds / _PER_SECOND[row.unit] if row.unit in _PER_SECOND else seconds * _TIME_SCALE.get(row.unit, 0.0)
    )
    if row.unit == "cycles":
        # Of many wavefronts, the time for each of `work`; of one, what it waits.
        steps = work + float(row.data.get("warm_steps", 0))
        value = seconds * analysis.chip.compute.clock_mhz * 1e6 / steps
    return Result(
        row, value, f"{row.data['kernel']}, bound by {analysis.estimate.bound_by}", analysis.estimate.bound_by
    )


def _analysis(row: Row, kernel: str) -> Analysis:
    from headwater.analyze.sources import build, read

    file, _, function = kernel.partition(":")
    chip = chip_of(row)
    source = read(folder() / "kernels" / file, row.data.get("options", ""))
    names = build(source, chip).code(function).arguments
    values = dict(zip((name for name, _ in names), row.data.get("arguments", ()), strict=False))
    known = {name: value for name, value in values.items() if isinstance(value, int)}
    size = tuple(row.data.get("global", (1 << 20,)))
    group = tuple(row.data.get("local", ())) or None
    built = build(source, chip, Given(known, size, group))
    question = Question(
        size, group, hit=float(row.data.get("hit", 0.0)), coalesced=bool(row.data.get("coalesced", True))
    )
    return Analysis(built.code(function), chip, question, built=built)


def _peak(row: Row, settings: Mapping[str, Any]) -> Result:
    chip = chip_of(row)
    compute, caches = chip.compute, chip.caches
    hertz = compute.clock_mhz * 1e6
    units = compute.compute_units
    value = {
        "float32": chip.float32_gflops,
        "float64": chip.float64_gflops,
        "float16": chip.float32_gflops * chip.rates.float16,
        **{f"matrix {kind}": rate * units * hertz / 1e9 for kind, rate in chip.rates.matrix.items()},
        "memory": chip.memory.gigabytes_per_second,
        "lds": units * chip.local_memory.bytes_per_cycle * hertz / 1e9,
        "lds write": units * chip.local_memory.bytes_per_cycle * hertz / 2e9,
        "l1": units * caches.l1_bytes_per_cycle * hertz / 1e9,
        "l2": caches.l2_banks * caches.l2_bank_bytes_per_cycle * hertz / 1e9,
    }[settings["what"]]
    names = {"lds": "LDS", "lds write": "LDS, half for addresses", "l1": "vector L1 caches", "l2": "L2"}
    return Result(row, value, f"the chip's peak: {names.get(settings['what'], settings['what'])}", settings["what"])


def _counts(row: Row, settings: Mapping[str, Any]) -> Result:
    chip = chip_of(row)
    size = tuple(settings.get("size", (1 << 20,)))
    counts = settings["counts"]
    reached = chip.stream_efficiency if row.kind == "M" else 1.0  # the vendor's own arithmetic divides by peaks
    found = spreadsheet(chip, counts, Question(size, hit=float(settings.get("hit", 0.0))), efficiency=reached)
    part = settings.get("part")
    term = found.term(part) if part else None
    seconds = term.seconds if term is not None else found.seconds
    items = prod(size)
    bound = part or found.bound_by
    if row.unit in _TIME_SCALE:
        value = seconds * _TIME_SCALE[row.unit]
    elif settings.get("items"):
        value = items / seconds / _PER_SECOND[row.unit]
    elif row.unit == "GB/s":
        value = items * (counts.get("read", 0) + counts.get("write", 0)) / seconds / 1e9
    else:
        value = items * counts.get("flops", 0) / seconds / 1e9
    return Result(row, value, "counts of a work-item: " + ", ".join(f"{n} {v:g}" for n, v in counts.items()), bound)


def _cost(row: Row, settings: Mapping[str, Any]) -> Result:
    chip = chip_of(row)
    if settings["what"] == "scalar load":
        return Result(row, 4.0 / chip.compute.simds_per_compute_unit * 4, "a turn of each SIMD", "scalar")
    size = int(settings["what"].split()[1])
    step = Step(0, "load", "VMEM", Cost("VMEM", "load"), space="memory", read_bytes=size, accesses=1)
    coalesced = bool(settings.get("coalesced", True))
    return Result(row, fetch_cycles(step, chip, coalesced=coalesced), "cycles of the address units", "fetch")


def _rule(row: Row, settings: Mapping[str, Any]) -> Result:
    # An even and an odd wavefront take turns of four cycles: a result is there when its wavefront's turn comes again.
    chip = chip_of(row)
    return Result(row, 2 * chip.compute.wavefront_size / chip.compute.lanes_per_simd, "turns of two wavefronts", "ALU")


def _occupancy(row: Row, settings: Mapping[str, Any]) -> Result:
    chip = chip_of(row)
    compute = chip.compute
    slots = compute.compute_units * compute.simds_per_compute_unit * compute.wavefronts_per_simd
    # Each wavefront has one load of 16 bytes a work-item and one store under way, as the benchmark's triad of doubles.
    in_flight = settings["occupancy"] * slots * compute.wavefront_size * 16
    rate = in_flight / (chip.latencies.memory_cycles / (compute.clock_mhz * 1e6)) / 1e9
    value = min(rate, chip.memory.gigabytes_per_second * chip.stream_efficiency)
    return Result(row, value, "16 bytes of each work-item under way for the memory's latency", "latency")


def _instructions(row: Row, settings: Mapping[str, Any]) -> Result:
    analysis = _analysis(row, settings["kernel"])
    return Result(row, analysis.work.steps, f"{settings['kernel']}, as compiled here", "")


def _ratio(row: Row, settings: Mapping[str, Any]) -> Result:
    """How many times as fast the second of two kernels is."""
    from headwater.analyze.sources import build, read
    from headwater.data import example

    chip = chip_of(row)
    built = build(read(example(settings["example"])), chip)
    seconds = [
        Analysis(built.code(name), chip, Question(tuple(size), path=settings.get("path", "average"))).estimate.seconds
        for name, size in zip(settings["kernels"], settings["sizes"], strict=True)
    ]
    return Result(row, seconds[0] / seconds[1], f"{' against '.join(reversed(settings['kernels']))}, as compiled here")


_WAYS = {
    "ratio": _ratio,
    "peak": _peak,
    "counts": _counts,
    "cost": _cost,
    "rule": _rule,
    "occupancy": _occupancy,
    "instructions": _instructions,
}


def simulate(result: Result) -> Result:
    """The result with what the cycle model says, where the row has a kernel that it can run."""
    if "kernel" not in result.row.data:
        return result
    from headwater.timing.validation import simulate_row

    try:
        value, _ = simulate_row(result.row.data, folder() / "kernels")
    except HeadwaterError as error:
        return replace(result, why=f"{result.why}; not simulated: {error.message}")
    return replace(result, simulated=value)
