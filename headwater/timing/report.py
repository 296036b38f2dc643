"""Input: what a replay counted. Output: an answer to "how long, and why": a `Report`, and its text as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headwater.base import reading, writing
from headwater.timing.counters import counters
from headwater.timing.gains import Gain, sentence as gains_sentence
from headwater.timing.host import Host
from headwater.timing.utilisation import Bandwidth, CacheUse, Described, Unit

if TYPE_CHECKING:
    from headwater.chips import Chip
    from headwater.chips.occupancy import Occupancy
    from headwater.timing.machine import Steps
    from headwater.timing.replay import Counted
    from headwater.views.frame import Framed

BUSY: Final = 0.7
"""A unit that works for this part of the time is what a kernel is bound by."""
MOSTLY: Final = 0.5


@dataclass(frozen=True, slots=True)
class Hot:
    """An instruction or a source line: how often it ran, its part of all wavefronts' time, and how much of that was
    waiting. ``where``: file and line, if the code object tells them."""

    address: int
    text: str
    where: tuple[str, int] | None
    count: int
    share: float
    waiting: float


@dataclass(frozen=True)
class Report:
    """A launch on a chip.

    ``cycles`` of the core clock and ``seconds`` of the kernel alone. ``causes``: for what part of the time the SIMDs
    issued, waited (by cause), or were empty; they sum up to 1. ``wave_causes``: the same for resident wavefronts.
    ``occupancy_series`` and ``traffic_series``: resident wavefronts and bytes a second of memory at ``series_cycles``.
    ``complete``: False if the replay was interrupted: ``flops``, the whole launch's, is 0 then. ``error``: of the
    sampled ``cycles``, as a part; 0 if all work-groups were replayed. ``diagnosis``: what the kernel is bound by;
    ``gains``: what changes would bring, if they were asked for; ``bottleneck`` says both. ``counters``: numbers under
    the names of AMD's profilers (`headwater.timing.counters`). ``happenings`` (`headwater.timing.layout.HAPPENING`):
    what wavefronts did in the compute units ``timeline_units``, the beginning of it if ``timeline_cut``.
    """

    kernel: str
    chip: Chip
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    cycles: int
    seconds: float
    instructions: int
    wavefronts: int
    flops: int
    held: Occupancy
    mean_waves_per_simd: float
    causes: dict[str, float]
    wave_causes: dict[str, float]
    units: tuple[Unit, ...]
    caches: tuple[CacheUse, ...]
    bandwidths: tuple[Bandwidth, ...]
    instructions_by_cost: tuple[Hot, ...]
    lines_by_cost: tuple[Hot, ...]
    occupancy_series: tuple[tuple[int, float], ...]
    traffic_series: tuple[tuple[int, float], ...]
    host: Host
    diagnosis: str
    complete: bool = True
    error: float = 0.0
    gains: tuple[Gain, ...] = ()
    counters: dict[str, float] = field(default_factory=dict)
    happenings: Any = field(default=None, repr=False, compare=False)
    timeline_units: range = field(default=range(0), repr=False, compare=False)
    timeline_cut: bool = field(default=False, repr=False, compare=False)
    texts: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def bottleneck(self) -> str:
        """What the kernel is bound by, and what would help."""
        return " ".join(filter(None, (self.diagnosis, gains_sentence(self.gains))))

    def with_gains(self, gains: Sequence[Gain]) -> Report:
        """The same report with what further changes would bring, the greatest gain first."""
        return replace(self, gains=tuple(sorted((*self.gains, *gains), key=lambda gain: -gain.saved)))

    @property
    def microseconds(self) -> float:
        """Of the kernel alone."""
        return self.seconds * 1e6

    @property
    def gflops(self) -> float:
        """Floating-point operations of the kernel's time, in 10⁹ a second."""
        return self.flops / self.seconds / 1e9 if self.seconds else 0.0

    @property
    def system_gflops(self) -> float:
        """The same over the time with copies and launch."""
        return self.flops / self.host.seconds(self.seconds) / 1e9

    def as_json(self) -> dict[str, Any]:
        """Numbers and texts only; `docs/timing.md` says what they mean."""
        found = {
            name: getattr(self, name)
            for name in (
                *("kernel", "cycles", "seconds", "instructions", "wavefronts", "flops", "gflops", "system_gflops"),
                *("mean_waves_per_simd", "causes", "wave_causes", "bottleneck", "complete", "error", "counters"),
            )
        }
        found["device"] = self.chip.name
        found["global_size"], found["local_size"] = list(self.global_size), list(self.local_size)
        found["occupancy"] = {
            "wavefronts": self.held.wavefronts,
            "slots": self.held.wavefront_slots,
            "limited_by": list(self.held.limited_by),
        }
        for name in ("units", "caches", "bandwidths", "gains"):
            found[name] = [asdict(one) for one in getattr(self, name)]
        found["instructions_by_cost"] = [asdict(one) for one in self.instructions_by_cost]
        found["lines_by_cost"] = [asdict(one) for one in self.lines_by_cost]
        found["occupancy_series"] = [list(point) for point in self.occupancy_series]
        found["traffic_series"] = [list(point) for point in self.traffic_series]
        found["host"] = {**asdict(self.host), "total_seconds": self.host.seconds(self.seconds)}
        return found

    def _repr_html_(self) -> str:
        from headwater.timing.html import fragment

        return fragment(self)

    def save_html(self, path: Path | str) -> None:
        """Write the report as a page that needs nothing else. UsageError if that is not possible."""
        from headwater.timing.html import page

        writing.write({Path(path): page([self])})

    def widget(self, height: int = 640) -> Framed:
        """The page in a frame of so many pixels, for notebooks: the buttons and tables that `save_html` writes."""
        from headwater.timing.html import page
        from headwater.views.frame import Framed

        return Framed(f"{self.kernel} on {self.chip.name}, simulated", page([self]), height)

    def save_timeline(self, path: Path | str) -> None:
        """Write a timeline for ui.perfetto.dev. UsageError if none was asked for, or it cannot be written."""
        from headwater.timing.timeline import text

        writing.write({Path(path): text(self)})

    def __repr__(self) -> str:
        return f"<Report {self}>"

    def __str__(self) -> str:
        return (
            f"{self.kernel} on {self.chip.name}: {self.cycles:,} cycles, {self.microseconds:.4g} µs. {self.bottleneck}"
        )


def _causes(counted: Counted, simd_cycles: int) -> dict[str, float]:
    """Parts of the SIMDs' time."""
    total = max(1, simd_cycles)
    parts = {name: cycles / total for name, cycles in counted.simd_causes.items() if name != "start"}
    parts["empty"] = max(0.0, 1 - sum(parts.values()))
    return parts


def sentence(described: Described, causes: dict[str, float], held: Occupancy, wavefronts: int) -> str:
    """The bottleneck, in one sentence."""
    most = max(described.units, key=lambda unit: unit.busy)
    slots = held.chip.compute.compute_units * held.wavefront_slots
    if most.busy >= BUSY:
        return f"Bound by the {most.name}, busy {most.busy:.0%} of the time: {described.remedies[most.name]}."
    if causes["empty"] >= MOSTLY:
        return (
            f"The chip is empty for {causes['empty']:.0%} of the time: {wavefronts:,} wavefronts cannot fill "
            f"{slots:,} places; give it more work-items."
        )
    waits = {name: causes[name] for name in described.waits}
    worst = max(waits, key=lambda name: waits[name])
    if waits[worst] >= causes["issue"]:
        few = held.wavefronts_per_simd
        limit = " and ".join(held.limited_by)
        more = (
            f"only {few} wavefronts a SIMD are resident, because of {limit}"
            if few < 5
            else f"the {most.name} is busiest, {most.busy:.0%}"
        )
        return f"Bound by latency: SIMDs wait {described.waits[worst]} for {waits[worst]:.0%} of the time; {more}."
    return (
        f"No unit is full: SIMDs issue for {causes['issue']:.0%} of the time, the {most.name} is busiest "
        f"({most.busy:.0%}), and the longest wait is {described.waits[worst]} ({waits[worst]:.0%})."
    )


_HOT: Final = 40


def _hot(
    counted: Counted, table: Steps, texts: Sequence[str], lines: Sequence[tuple[str, int] | None]
) -> tuple[tuple[Hot, ...], tuple[Hot, ...]]:
    """Instructions and source lines, the most expensive first."""
    spent, stalled, counts = (a.astype(float) for a in (counted.spent, counted.stalled, counted.counts))
    total = max(float(spent.sum()), 1.0)
    by_line: dict[tuple[str, int], list[float]] = {}
    rows = []
    for n, address in enumerate(table.addresses):
        if counts[n] == 0:
            continue
        waiting = stalled[n] / spent[n] if spent[n] else 0.0
        rows.append(Hot(address, texts[n], lines[n], int(counts[n]), float(spent[n] / total), float(waiting)))
        where = lines[n]
        if where is not None:
            sums = by_line.setdefault(where, [0.0, 0.0, 0.0])
            for at, value in enumerate((counts[n], spent[n], stalled[n])):
                sums[at] += value
    source = [
        Hot(0, _source(where), where, int(count), cycles / total, wait / cycles if cycles else 0.0)
        for where, (count, cycles, wait) in by_line.items()
    ]
    rows.sort(key=lambda row: (-row.share, row.address))
    source.sort(key=lambda row: (-row.share, row.where or ("", 0)))
    return tuple(rows[:_HOT]), tuple(source[:_HOT])


def _source(where: tuple[str, int]) -> str:
    lines, line = reading.lines(where[0]), where[1]
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def _series(values: np.ndarray[Any, Any], step: int, cycles: int, scale: float) -> tuple[tuple[int, float], ...]:
    """Points of (cycle, value a cycle × ``scale``)."""
    count = min(len(values), -(-cycles // max(step, 1)))
    return tuple((n * step, float(values[n]) * scale / max(1, min(step, cycles - n * step))) for n in range(count))


def _describe(counted: Counted, chip: Chip, cycles: int) -> Described:
    if chip.is_vliw:
        from headwater.timing.vliw_report import described
    else:
        from headwater.timing.gcn_report import described
    return described(counted, chip, cycles)


@dataclass(frozen=True, slots=True)
class Replayed:
    """A launch that has been replayed: what is known of it before a report is made. ``held``: its occupancy; ``texts``
    and ``lines``: of each instruction of ``table``, its text and its place in the source."""

    chip: Chip
    held: Occupancy
    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    table: Steps
    texts: Sequence[str]
    lines: Sequence[tuple[str, int] | None]
    flops: int
    host: Host


def build(
    launch: Replayed,
    counted: Counted,
    *,
    cycles: int | None = None,
    error: float = 0.0,
    timeline_units: range = range(0),
) -> Report:
    """Put a report together. ``cycles``: of the whole launch, if less than that was replayed."""
    chip = launch.chip
    sums, compute = counted.sums, chip.compute
    replayed = max(1, sums["cycles"])
    whole = replayed if cycles is None else cycles
    clock = compute.clock_mhz * 1e6
    simds = compute.compute_units * compute.simds_per_compute_unit
    causes = _causes(counted, replayed * simds)
    waves = max(1, sums["wave_cycles"])
    wave_causes = {name: n / waves for name, n in counted.wave_causes.items() if name != "start"}
    wave_causes["turn of others"] = wave_causes.pop("issue")
    wave_causes["running"] = max(0.0, 1 - sum(wave_causes.values()))
    described = _describe(counted, chip, replayed)
    instructions, by_line = _hot(counted, launch.table, launch.texts, launch.lines)
    return Report(
        kernel=launch.kernel,
        chip=chip,
        global_size=launch.global_size,
        local_size=launch.local_size,
        cycles=whole,
        seconds=whole / clock,
        instructions=sums["instructions"],
        wavefronts=sums["waves"],
        flops=launch.flops,
        held=launch.held,
        mean_waves_per_simd=sums["wave_cycles"] / (replayed * simds),
        causes=causes,
        wave_causes=wave_causes,
        units=described.units,
        caches=described.caches,
        bandwidths=described.bandwidths,
        instructions_by_cost=instructions,
        lines_by_cost=by_line,
        occupancy_series=_series(counted.occupancy, sums["occupancy_step"], replayed, 1.0),
        traffic_series=_series(counted.traffic, sums["traffic_step"], replayed, clock),
        host=launch.host,
        diagnosis=sentence(described, causes, launch.held, sums["waves"]),
        complete=counted.complete,
        error=error,
        counters=counters(counted, launch.table.ops, chip, described.units, causes),
        happenings=counted.happenings,
        timeline_units=timeline_units,
        timeline_cut=bool(counted.happened.sum() > len(counted.happenings)),
        texts=tuple(launch.texts),
    )
