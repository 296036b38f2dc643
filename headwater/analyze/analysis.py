"""Input: a kernel, a chip and the assumptions of a launch. Output: everything that can be said without running it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

from headwater.analyze.code import Code
from headwater.analyze.costs import (
    Work,
    addresses_per_cycle,
    work_of_counts,
    work_of_path,
    work_of_step,
    works_of_blocks,
)
from headwater.analyze.domain import Domain, domain
from headwater.analyze.estimate import Estimate, estimate
from headwater.analyze.flow import MODES, Cycle, Mode, Paths, likelihoods
from headwater.analyze.glossary import metrics
from headwater.analyze.launch import DEFAULT_PIXELS, default_size, group_of
from headwater.analyze.patterns import Pattern
from headwater.chips.occupancy import Needs, Occupancy, next_steps, occupancy
from headwater.errors import UsageError
from headwater.views import units

if TYPE_CHECKING:
    from headwater.analyze.advice import Advice
    from headwater.analyze.sources import Built
    from headwater.chips import Chip
    from headwater.chips.whatif import Change

_MOST_COUNT = 1e12


@dataclass(frozen=True)
class Question:
    """What is assumed of a launch.

    ``size``: work-items, x first, None for 1,048,576 (pixels: 1,024 × 1,024); ``group``: of a work-group, None for
    what the kernel demands or 256. ``path``: which way through the kernel; ``hit``: share of bytes read that caches
    serve; ``coalesced``: whether lanes in a row access what lies in a row. ``trips``: iterations of loops by name;
    ``lds_bytes``: of __local arguments. ``transfer_bytes``: over PCI Express, there and back; None: what is read and
    written.
    """

    size: tuple[int, ...] | None = None
    group: tuple[int, ...] | None = None
    path: Mode = "average"
    hit: float = 0.0
    coalesced: bool = True
    trips: Mapping[str, int] = field(default_factory=dict)
    lds_bytes: int = 0
    transfer_bytes: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """A number of the report: ``name`` in the glossary, its value, how it is shown; ``verdict``: "good", "watch",
    "bad" or "" where there is no threshold."""

    name: str
    value: float | str | None
    shown: str
    verdict: str = ""

    @property
    def title(self) -> str:
        """The glossary's heading."""
        return metrics()[self.name].title


@dataclass(frozen=True, slots=True)
class LineCost:
    """What a source line costs: its share of the part that binds, its ``work`` and its steps' indices."""

    line: tuple[str, int] | None
    share: float
    work: Work
    steps: tuple[int, ...]


class Analysis:
    """One kernel on one chip under one question. ``name``: the kernel's, as the source calls it."""

    def __init__(
        self,
        code: Code,
        chip: Chip,
        question: Question,
        *,
        built: Built | None = None,
        changes: Sequence[Change] = (),
        name: str = "",
    ) -> None:
        unknown = [trip for trip in question.trips if trip not in {loop.name for loop in code.loops}]
        if unknown:
            loops = ", ".join(f"{loop.name} (lines {_span(loop.lines)})" for loop in code.loops)
            raise UsageError(
                f"{code.kernel} has no loop {unknown[0]!r} on {chip.name}",
                hint=f"its loops are {loops}" if loops else "it has no loops",
            )
        self.code = code.with_trips(dict(question.trips))
        self.chip = chip
        self.question = question
        self.built = built
        self.changes = tuple(changes)
        self.name = name or code.kernel

    # -- what the code is ----------------------------------------------------------------------------------------------

    @cached_property
    def _paths(self) -> Paths:
        code = self.code
        successors = [
            [after for after in block.successors if code.chances.get((number, after)) != 0]
            for number, block in enumerate(code.blocks)
        ]
        cycles = [Cycle(loop.header, frozenset(loop.blocks), loop.parent) for loop in code.loops]
        writes = [
            any(step.write_bytes and step.space != "scratch" for step in code.steps[block.first : block.last])
            for block in code.blocks
        ]
        accesses = [any(step.space for step in code.steps[block.first : block.last]) for block in code.blocks]
        likely = {**likelihoods(successors, cycles, writes, accesses), **code.chances}
        trips = [max(0, loop.trip - loop.tail) for loop in code.loops]
        # What a run of each block costs, in cycles of the parts that it keeps busy: paths are chosen by it.
        blocks = works_of_blocks(code, self.chip)
        weights = [work.issue_cycles + work.fetch_cycles + work.local_cycles for work in blocks]
        return Paths(successors, cycles, trips, weights, likely)

    @cached_property
    def visits(self) -> Mapping[Mode, list[float]]:
        """How often each block runs on each path."""
        return {mode: self._paths.visits(mode) for mode in MODES}

    @cached_property
    def works(self) -> Mapping[Mode, Work]:
        """A wavefront's work on each path."""
        blocks = works_of_blocks(self.code, self.chip, coalesced=self.question.coalesced)
        return {mode: work_of_path(blocks, self.visits[mode]) for mode in MODES}

    @property
    def work(self) -> Work:
        """A wavefront's work on the path that the question asks for."""
        return self.works[self.question.path]

    @cached_property
    def step_visits(self) -> list[float]:
        """How often each step runs on the question's path."""
        found = [0.0] * len(self.code.steps)
        for block, count in zip(self.code.blocks, self.visits[self.question.path], strict=True):
            for index in range(block.first, block.last):
                found[index] = count
        return found

    # -- how it fits ---------------------------------------------------------------------------------------------------

    @property
    def size(self) -> tuple[int, ...]:
        """The launch's work-items assumed."""
        known = self.code.reqd_group or self.question.group
        return self.question.size or (DEFAULT_PIXELS if self.code.pixel else default_size(known))

    @cached_property
    def group(self) -> tuple[int, ...]:
        """The work-group assumed: the question's, the kernel's own, or 256 work-items."""
        return group_of(self.chip, len(self.size), self.code.reqd_group, self.question.group, self.name)

    @cached_property
    def needs(self) -> Needs:
        """What a compute unit must give the kernel."""
        code = self.code
        lds = code.lds_bytes + self.question.lds_bytes
        group = self.chip.compute.wavefront_size if code.pixel else prod(self.group)
        # AGPRs and VGPRs are allocated alike: gfx908 has as many of either, gfx90a one file for both, whose sum the
        # code object states as its VGPRs.
        return Needs(group, max(1, code.vgprs), code.sgprs, lds, code.stack_entries, code.shared_vgprs)

    @cached_property
    def occupancy(self) -> Occupancy:
        """How many wavefronts fit; LaunchError if none does."""
        return occupancy(self.chip, self.needs)

    @cached_property
    def launch(self) -> Domain:
        """The launch's wavefronts."""
        size = self.size
        group = (*self.group, *(1,) * (len(size) - len(self.group))) if not self.code.pixel else ()
        if not self.code.pixel and prod(group[len(size) :]) > 1:
            size = (*size, *(1,) * (len(group) - len(size)))
        return domain(self.chip, size, group, pixel=self.code.pixel, at_once=self.occupancy.wavefronts_per_simd)

    @property
    def resident(self) -> float:
        """Wavefronts that a SIMD holds, on average."""
        found = self.occupancy
        held = found.wavefronts / self.chip.compute.simds_per_compute_unit
        if self.chip.features is not None:
            compute = self.chip.compute
            held = min(held, self.chip.features.wavefronts / (compute.compute_units * compute.simds_per_compute_unit))
        return held

    @cached_property
    def uses_float64(self) -> bool:
        """Whether there is arithmetic in double precision on the path."""
        return any(step.cost.rate.startswith("float64") and step.cost.flops for step in self.code.steps)

    @cached_property
    def estimate(self) -> Estimate:
        """The launch's time on the question's path."""
        return self.estimates[self.question.path]

    @cached_property
    def estimates(self) -> Mapping[Mode, Estimate]:
        """The launch's time on each path."""
        question = self.question
        return {
            mode: estimate(
                self.chip,
                self.works[mode],
                self.launch,
                resident=self.resident,
                hit=question.hit,
                transfer_bytes=question.transfer_bytes,
                float64=self.uses_float64,
                efficiency=self.chip.stream_efficiency,
            )
            for mode in MODES
        }

    @property
    def alu_fetch_ratio(self) -> float | None:
        """ALU time over fetch time; None without fetches."""
        alu, fetch = self.estimate.term("ALU"), self.estimate.term("fetch")
        assert alu is not None
        assert fetch is not None
        return alu.seconds / fetch.seconds if fetch.seconds else None

    @property
    def balance(self) -> float:
        """ALU instructions that the chip does in the time of one fetch."""
        chip = self.chip
        simds = chip.compute.simds_per_compute_unit
        fetch = chip.compute.wavefront_size / addresses_per_cycle(chip)
        return simds * fetch / chip.compute.turn_cycles

    @property
    def line_use(self) -> float | None:
        """Bytes asked for over those of the cache lines touched; None where no addresses are known."""
        known = [(n, Pattern(*s.pattern)) for n, s in enumerate(self.code.steps) if s.pattern is not None]
        touched = sum(self.step_visits[n] * found.lines for n, found in known)
        return sum(self.step_visits[n] * found.least for n, found in known) / touched if touched else None

    @cached_property
    def lines(self) -> tuple[LineCost, ...]:
        """Every source line's share, the dearest first."""
        coalesced = self.question.coalesced
        lanes = [block.lanes for block in self.code.blocks for _ in range(block.first, block.last)]
        works: dict[tuple[str, int] | None, Work] = {}
        places: dict[tuple[str, int] | None, list[int]] = {}
        for index, step in enumerate(self.code.steps):
            work = works.setdefault(step.line, Work())
            work.add(work_of_step(step, self.chip, coalesced=coalesced, lanes=lanes[index]), self.step_visits[index])
            places.setdefault(step.line, []).append(index)
        measure = {line: self.part(work) for line, work in works.items()}
        whole = sum(measure.values()) or 1.0
        made = [LineCost(line, measure[line] / whole, works[line], tuple(places[line])) for line in works]
        return tuple(sorted(made, key=lambda cost: -cost.share))

    def part(self, work: Work) -> float:
        """What of some work counts for the part that binds, in a unit of its own."""
        bound = self.estimate.bound_by
        if bound in ("memory", "read", "write"):
            return work.read_bytes * (1 - self.question.hit) + work.write_bytes + work.scratch_bytes
        if bound == "latency":
            latencies = self.chip.latencies
            return work.issue_cycles + work.waits * latencies.memory_cycles + work.local_waits * latencies.local_cycles
        name = {
            "ALU": "alu_cycles",
            "fetch": "fetch_cycles",
            "scalar": "scalar_cycles",
            "LDS": "local_cycles",
            "stores": "store_cycles",
        }[bound]
        return float(getattr(work, name))

    # -- what is shown -------------------------------------------------------------------------------------------------

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """Everything that has a number, in the order of the views."""
        return tuple(_metrics(self))

    def metric(self, name: str) -> Metric | None:
        """The metric of that name, if the analysis has it."""
        return next((metric for metric in self.metrics if metric.name == name), None)

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """What might be changed, each with its reason and number."""
        from headwater.analyze.advice import advise

        return tuple(advise(self))

    @cached_property
    def assumptions(self) -> tuple[str, ...]:
        """What the estimate takes for granted, in plain words."""
        return tuple(_assumptions(self))

    def _repr_html_(self) -> str:
        from headwater.analyze.fragment import fragment

        return fragment((self,))

    def as_json(self) -> dict[str, Any]:
        """The analysis as plain values: docs/analyzer.md documents them."""
        return _as_json(self)


def spreadsheet(
    chip: Chip, counts: Mapping[str, float], question: Question, *, pixel: bool = False, efficiency: float = 1.0
) -> Estimate:
    """The estimate of plain counts of a work-item (``alu``, ``fetch``, ``read``, ``write``, ``flops``), without
    code; with peak rates, as AMD's, unless ``efficiency`` says what part of the memory's bandwidth is reached."""
    for name, value in counts.items():
        if name not in ("alu", "fetch", "read", "write", "flops"):
            raise UsageError(f"there is no count {name!r}", hint="alu, fetch, read, write (bytes), flops")
        if not 0 <= value <= _MOST_COUNT:
            raise UsageError(f"{name} is 0 to {_MOST_COUNT:g}, not {value:g}")
    group = question.group or (chip.compute.wavefront_size,)
    size = question.size or (DEFAULT_PIXELS if pixel else default_size(question.group))
    launch = domain(chip, size, group, pixel=pixel)
    return estimate(
        chip,
        work_of_counts(chip, counts),
        launch,
        hit=question.hit,
        transfer_bytes=question.transfer_bytes,
        efficiency=efficiency,
    )


def _span(lines: tuple[int, int] | None) -> str:
    if lines is None:
        return "unknown"
    return str(lines[0]) if lines[0] == lines[1] else f"{lines[0]}–{lines[1]}"


def _metrics(a: Analysis) -> list[Metric]:
    code, work, found = a.code, a.work, a.estimate
    vliw = code.is_vliw
    ratio = a.alu_fetch_ratio
    fill = a.launch.items / a.launch.minimum_items
    rows = [
        Metric("seconds", found.seconds, units.seconds(found.seconds)),
        Metric("bound_by", found.bound_by, found.bound_by, "watch" if found.bound_by == "latency" else ""),
        Metric("headroom", found.headroom, units.percent(found.headroom)),
        Metric("gflops", found.gflops, units.number(found.gflops)),
        Metric("bandwidth", found.gigabytes_per_second, units.number(found.gigabytes_per_second)),
        Metric("occupancy", a.occupancy.occupancy, units.share(a.occupancy.occupancy), _verdict_occupancy(a)),
        Metric("wavefronts", a.resident, units.number(a.resident), "bad" if a.resident < 2 else ""),
        Metric("gprs" if vliw else "vgprs", code.vgprs, str(code.vgprs)),
    ]
    if not vliw:
        live = max((step.live for step in code.steps), default=0)
        rows += [Metric("live_vgprs", live, str(live)), Metric("sgprs", code.sgprs, str(code.sgprs))]
    else:
        rows.append(Metric("stack_entries", code.stack_entries, str(code.stack_entries)))
    cache = a.chip.caches.instruction_bytes
    rows += [
        Metric("lds_bytes", a.needs.lds_bytes, f"{a.needs.lds_bytes:,}"),
        Metric("scratch_bytes", code.scratch_bytes, f"{code.scratch_bytes:,}", "bad" if code.scratch_bytes else "good"),
        Metric("code_bytes", code.code_bytes, f"{code.code_bytes:,}", "watch" if code.code_bytes > cache else "good"),
        Metric("instructions", work.steps, units.number(work.steps)),
    ]
    if work.fetches:
        per = work.groups / work.fetches
        rows.append(Metric("alu_per_fetch", per, f"{units.number(per)} (balance {units.number(a.balance)})"))
    if ratio is not None:
        rows.append(Metric("alu_fetch_ratio", ratio, units.number(ratio), "watch" if ratio < 1 else "good"))
    if vliw and work.groups:
        packing = work.operations / (work.groups * a.chip.compute.vliw_width)
        rows.append(Metric("packing", packing, units.percent(packing), "good" if packing >= 0.7 else "watch"))
        clauses = _clauses(a)
        rows.append(Metric("clauses", clauses, units.number(clauses)))
        if bursts := [step.slots for step in code.steps if step.kind == "write"]:
            burst = sum(bursts) / len(bursts)
            rows.append(Metric("burst", burst, units.number(burst)))
    doubles = sum(a.step_visits[n] for n, step in enumerate(code.steps) if step.cost.rate.startswith("float64"))
    slow = sum(a.step_visits[n] for n, step in enumerate(code.steps) if step.cost.rate == "transcendental")
    if doubles:
        costly = a.chip.rates.float64_fma < 0.25 and not vliw
        rows.append(Metric("float64", doubles, units.number(doubles), "watch" if costly else ""))
    if slow:
        rows.append(Metric("transcendental", slow, units.number(slow)))
    if not vliw:
        scalar = sum(a.step_visits[n] for n, s in enumerate(code.steps) if s.kind == "SMEM" and s.read_bytes)
        rows.append(Metric("scalar_loads", scalar, units.number(scalar)))
    if (use := a.line_use) is not None:
        rows.append(Metric("line_use", use, units.percent(use), "good" if use >= 0.5 else "watch"))
    lanes, tail = a.launch.lane_efficiency, a.launch.tail_efficiency
    roof = found.roofline
    rows += [
        Metric("intensity", roof.intensity, f"{units.number(roof.intensity)} (ridge {units.number(roof.ridge)})"),
        Metric("lane_efficiency", lanes, units.percent(lanes), "good" if lanes > 0.99 else "watch"),
        Metric("tail_efficiency", tail, units.percent(tail), "good" if tail >= 0.9 else "watch"),
        Metric("fill", fill, units.number(fill), "bad" if fill < 1 else "watch" if fill < 2 else "good"),
        Metric("pcie", found.transfer.seconds, units.seconds(found.transfer.seconds)),
    ]
    return rows


def _verdict_occupancy(a: Analysis) -> str:
    """Low occupancy is a fault only where waiting is what the launch's time goes into."""
    if a.estimate.bound_by == "latency" and a.occupancy.occupancy < 1:
        return "bad"
    return "good"


def _clauses(a: Analysis) -> float:
    runs: dict[int, float] = {}
    for index, step in enumerate(a.code.steps):
        if step.clause >= 0:
            runs[step.clause] = max(runs.get(step.clause, 0.0), a.step_visits[index])
    return sum(runs.values())


def _assumptions(a: Analysis) -> list[str]:
    q = a.question
    size = units.times(a.size)
    shape = "pixels" if a.code.pixel else f"work-items in work-groups of {units.times(a.group)}"
    said = "" if q.group is not None or a.code.pixel or a.code.reqd_group else " (--local changes that)"
    rows = [
        f"{size} {shape}{said}",
        f"the {q.path} path through the kernel",
        f"{units.percent(q.hit)} of the bytes read come from caches: "
        + ("every load goes to memory, an upper bound (--hit changes that)" if q.hit == 0 else "as given"),
        _accesses(a),
        f"memory moves {units.percent(a.chip.stream_efficiency)} of its peak, as copies do",
    ]
    for loop in a.code.loops:
        lines = f"line {_span(loop.lines)}" if loop.lines else "no line known"
        if loop.known == "unknown":
            rows.append(f"loop {loop.name} ({lines}) runs once: {loop.why}; --trip {loop.name}=N says how often")
        elif loop.known == "given":
            rows.append(f"loop {loop.name} ({lines}) runs {units.number(loop.trip)} times, as given")
        elif loop.known == "launch":
            rows.append(f"loop {loop.name} ({lines}) runs {units.number(loop.trip)} times in this launch: {loop.why}")
        else:
            rows.append(f"loop {loop.name} ({lines}) runs {units.number(loop.trip)} times: {loop.why}")
    if a.code.dynamic_lds and not q.lds_bytes:
        rows.append("__local arguments take no LDS (--lds says how much)")
    rows += a.code.notes
    return rows


def _accesses(a: Analysis) -> str:
    steps = [s for s in a.code.steps if s.space == "memory" and (s.read_bytes or s.write_bytes)]
    known = sum(step.pattern is not None for step in steps)
    rest = "lanes in a row access memory in a row" if a.question.coalesced else "lanes access memory at random"
    if not known:
        return rest
    if known == len(steps):
        return "all addresses follow from the launch"
    return f"the addresses of {known} of {len(steps)} memory accesses follow from the launch; in the others {rest}"


def _as_json(a: Analysis) -> dict[str, Any]:
    found, code = a.estimate, a.code
    roof = asdict(found.roofline)
    entries = metrics()
    return {
        "kernel": a.name,
        "symbol": code.kernel,
        "device": a.chip.name,
        "target": code.target,
        "family": code.family,
        "changes": [asdict(change) for change in a.changes],
        "metrics": {
            m.name: {"value": _finite(m.value), "shown": m.shown, "verdict": m.verdict, "unit": entries[m.name].unit}
            for m in a.metrics
        },
        "occupancy": {
            "occupancy": a.occupancy.occupancy,
            "wavefronts": a.occupancy.wavefronts,
            "wavefront_slots": a.occupancy.wavefront_slots,
            "work_groups": a.occupancy.work_groups,
            "limited_by": list(a.occupancy.limited_by),
            "limits": [asdict(limit) for limit in a.occupancy.limits],
            "next_steps": [asdict(step) for step in next_steps(a.occupancy)],
            "needs": asdict(a.needs),
        },
        "launch": asdict(a.launch),
        "estimate": {
            "seconds": found.seconds,
            "bound_by": found.bound_by,
            "headroom": found.headroom,
            "terms": [asdict(term) for term in found.terms],
            "transfer": asdict(found.transfer),
            "hit": found.hit,
            "hit_needed": found.hit_needed,
            "read_bytes": found.read_bytes,
            "write_bytes": found.write_bytes,
            "flops": found.flops,
            "roofline": {name: _finite(value) for name, value in roof.items()},
        },
        "paths": {
            mode: {
                "seconds": a.estimates[mode].seconds,
                "bound_by": a.estimates[mode].bound_by,
                **{name: round(value, 3) for name, value in asdict(a.works[mode]).items() if name != "classes"},
                "classes": {name: round(count, 3) for name, count in a.works[mode].classes.items()},
            }
            for mode in MODES
        },
        "loops": [
            {
                "name": loop.name,
                "trip": loop.trip,
                "known": loop.known,
                "why": loop.why,
                "lines": list(loop.lines) if loop.lines else None,
                "parent": code.loops[loop.parent].name if loop.parent >= 0 else None,
            }
            for loop in code.loops
        ],
        "lines": [
            {
                "file": cost.line[0] if cost.line else None,
                "line": cost.line[1] if cost.line else None,
                "share": round(cost.share, 6),
                "alu_cycles": round(cost.work.alu_cycles, 3),
                "fetch_cycles": round(cost.work.fetch_cycles, 3),
                "read_bytes": round(cost.work.read_bytes, 3),
                "write_bytes": round(cost.work.write_bytes, 3),
                "instructions": round(cost.work.steps, 3),
            }
            for cost in a.lines
        ],
        "code": [
            {
                "address": step.address,
                "text": step.text,
                "class": step.kind,
                "runs": round(a.step_visits[index], 3),
                "line": list(step.line) if step.line else None,
                "live_registers": step.live,
                "cache_lines": round(step.pattern[0], 3) if step.pattern is not None else None,
            }
            for index, step in enumerate(code.steps)
        ],
        "advice": [asdict(advice) for advice in a.advice],
        "assumptions": list(a.assumptions),
    }


def _finite(value: float | str | None) -> float | str | None:
    return None if isinstance(value, float) and value in (float("inf"), float("-inf")) else value
