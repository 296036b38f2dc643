"""Input: an analysis. Output: what might be changed, each with its reason and its number.

Advice says what follows from the code and the chip's figures. Where a gain depends on what only a run can show, it
says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from headwater.analyze.costs import fetch_cycles
from headwater.analyze.patterns import LINE_BYTES, Pattern
from headwater.chips.occupancy import next_steps, occupancy
from headwater.errors import LaunchError
from headwater.views import units

if TYPE_CHECKING:
    from headwater.analyze.analysis import Analysis


@dataclass(frozen=True, slots=True)
class Advice:
    """``name`` of the rule; ``do``: what to change; ``because``: the reason with its numbers; ``metric``: the
    glossary's entry that explains it; ``gain``: how many times as fast the part that it is about becomes, 0 if that
    is unknown."""

    name: str
    do: str
    because: str
    metric: str
    gain: float = 0.0


def advise(a: Analysis) -> Iterator[Advice]:
    """All advice for an analysis, what concerns the part that binds first."""
    found = [item for rule in _RULES for item in rule(a)]
    bound = a.estimate.bound_by
    about = {
        "latency": ("occupancy", "fill", "latency"),
        "memory": ("bandwidth", "hit"),
        "fetch": ("line_use", "alu_fetch_ratio"),
    }
    yield from sorted(found, key=lambda item: (item.metric != "trip", item.metric not in about.get(bound, ())))


def _unknown_loops(a: Analysis) -> Iterator[Advice]:
    unknown = [loop for loop in a.code.loops if loop.known == "unknown"]
    if unknown:
        names = " ".join(f"--trip {loop.name}=N" for loop in unknown)
        yield Advice(
            "unknown loops",
            f"say how often {'they run' if len(unknown) > 1 else 'it runs'}: {names}, or --arg NAME=VALUE for the "
            "argument "
            "that decides",
            f"{len(unknown)} of {len(a.code.loops)} loops count once because their trip counts are not known: "
            f"{unknown[0].name}, {unknown[0].why}",
            "trip",
        )


def _group_size(a: Analysis) -> Iterator[Advice]:
    wavefront = a.chip.compute.wavefront_size
    size = prod(a.group)
    if not a.code.pixel and size % wavefront:
        better = -(-size // wavefront) * wavefront
        idle = better - size
        yield Advice(
            "group size",
            f"make the work-group a multiple of {wavefront} work-items: {better} instead of {size}",
            f"{idle} of {wavefront} lanes of its last wavefront are idle, {idle / better:.0%} of all lanes",
            "lane_efficiency",
            better / size,
        )


def _pixels(a: Analysis) -> Iterator[Advice]:
    launch = a.launch
    if a.code.pixel and launch.lane_efficiency < 0.95:
        yield Advice(
            "quads",
            "give the domain even width and height",
            f"threads come in quads of 2 × 2: {units.times(launch.size)} uses {launch.lane_efficiency:.0%} of their "
            "lanes",
            "lane_efficiency",
            1 / launch.lane_efficiency,
        )


def _domain(a: Analysis) -> Iterator[Advice]:
    launch = a.launch
    if launch.items < launch.hiding_items:
        which = "part of the chip is idle" if launch.items < launch.minimum_items else "too few wavefronts hide latency"
        yield Advice(
            "domain",
            f"launch at least {launch.hiding_items:,} work-items at once",
            f"{launch.items:,} are fewer than that; {which}; the minimum is {launch.minimum_items:,} (one wavefront"
            f"{' pair' if a.chip.is_vliw else ''} a SIMD)",
            "fill",
        )
    elif launch.tail_efficiency < 0.9:
        yield Advice(
            "last round",
            "choose the domain so that the last round of wavefronts is nearly complete",
            f"the last round of {launch.wavefronts:,} wavefronts is so incomplete that SIMDs are idle for "
            f"{1 - launch.tail_efficiency:.0%} of the time",
            "tail_efficiency",
            1 / launch.tail_efficiency,
        )


def _occupancy(a: Analysis) -> Iterator[Advice]:
    now = a.occupancy
    helps = a.estimate.bound_by == "latency"
    for step in next_steps(now):
        have = {"LDS": a.needs.lds_bytes, "SGPRs": a.needs.sgprs, "stack": a.needs.stack}.get(
            step.resource, a.needs.vgprs
        )
        unit = "bytes of LDS a work-group" if step.resource == "LDS" else step.resource
        wish = "a smaller batch or tile in local memory: " if step.resource == "LDS" else ""
        effect = (
            "waiting for memory limits the kernel, so more wavefronts would help"
            if helps
            else f"{a.estimate.bound_by} limits the kernel, so this may not make it faster"
        )
        yield Advice(
            "occupancy step",
            f"{wish}at most {step.at_most:,} {unit} instead of {have:,}",
            f"occupancy would be {units.share(step.occupancy)} instead of {units.share(now.occupancy)} "
            f"({step.wavefronts} wavefronts in a compute unit instead of {now.wavefronts}); {effect}",
            "occupancy",
        )
    if "work-groups" in now.limited_by and now.occupancy < 1:
        yield Advice(
            "work-groups",
            f"make work-groups larger than {prod(a.group)} work-items",
            f"a compute unit holds {now.work_groups} work-groups, which are {now.wavefronts} of {now.wavefront_slots} "
            "wavefronts",
            "occupancy",
        )


def _cliff(a: Analysis) -> Iterator[Advice]:
    needs = a.needs
    granule = a.chip.registers.vgpr_granule
    given = -(-needs.vgprs // granule) * granule
    try:
        after = occupancy(a.chip, replace(needs, vgprs=given + 1))
    except LaunchError:
        return
    if after.wavefronts < a.occupancy.wavefronts:
        spare = given - needs.vgprs
        name = "GPR" if a.chip.is_vliw else "VGPR"
        yield Advice(
            "register cliff",
            f"do not use {given + 1} {name}s or more",
            f"{needs.vgprs} of them are used; at {given + 1}, {spare + 1} more, occupancy falls from "
            f"{units.share(a.occupancy.occupancy)} to {units.share(after.occupancy)}",
            "gprs" if a.chip.is_vliw else "vgprs",
        )


def _scratch(a: Analysis) -> Iterator[Advice]:
    accesses = sum(a.step_visits[n] for n, step in enumerate(a.code.steps) if step.space == "scratch")
    if a.code.scratch_bytes:
        yield Advice(
            "scratch",
            "use fewer live variables, or index private arrays with constants only",
            f"{a.code.scratch_bytes:,} bytes of each work-item's private memory are in scratch memory; the path "
            f"accesses them {units.number(accesses)} times",
            "scratch_bytes",
        )


def _vector_fetches(a: Analysis) -> Iterator[Advice]:
    """Loads of neighbours by the same address registers, which one wider load could do."""
    loads = _neighbours(a)
    if loads:
        first = a.code.steps[loads[0][0]]
        count = sum(len(run) for run in loads)
        where = f" in line {first.line[1]}" if first.line else ""
        yield Advice(
            "vector fetch",
            "load vectors: float4 for four consecutive floats",
            f"{count} loads of {first.read_bytes} bytes{where} use the same base address with consecutive offsets; "
            f"{len(loads)} loads of up to 16 bytes can replace them",
            "alu_fetch_ratio",
            count / len(loads),
        )


def _neighbours(a: Analysis) -> list[list[int]]:
    """Runs of at least two such loads."""
    found: list[list[int]] = []
    for block in a.code.blocks:
        known: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for index in range(block.first, block.last):
            step = a.code.steps[index]
            if step.space == "memory" and step.read_bytes in (4, 8) and not step.atomic and step.base:
                known.setdefault((step.base, step.read_bytes), []).append((step.offset, index))
        for (_, size), places in known.items():
            places.sort()
            run = [places[0]]
            for place in places[1:]:
                if place[0] == run[-1][0] + size and (len(run) + 1) * size <= 16:
                    run.append(place)
                else:
                    found += [[index for _, index in run]] if len(run) > 1 else []
                    run = [place]
            found += [[index for _, index in run]] if len(run) > 1 else []
    return found


def _wider(a: Analysis) -> Iterator[Advice]:
    """Every access moves four bytes or less: several elements in a work-item would use the paths to memory better."""
    moves = [s for s in a.code.steps if s.space == "memory" and (s.read_bytes or s.write_bytes) and not s.atomic]
    if not moves or a.estimate.bound_by not in ("memory", "fetch", "latency", "read", "write", "stores"):
        return
    widest = max(max(step.read_bytes, step.write_bytes) for step in moves)
    if widest > 4:
        return
    vliw = a.chip.is_vliw
    extra = ""
    if vliw and (packing := a.metric("packing")) is not None and isinstance(packing.value, float):
        extra = f", and four elements at a time would use more of the slots, of which {packing.value:.0%} are used"
    yield Advice(
        "float4",
        "work on four neighbouring elements in each work-item, as float4",
        f"all {len(moves)} memory instructions move at most {widest} bytes for each work-item; an access of 16 bytes "
        f"moves four times as much for one address{extra}",
        "bandwidth" if a.estimate.bound_by == "memory" else "alu_fetch_ratio",
    )


def _strides(a: Analysis) -> Iterator[Advice]:
    """Accesses whose lanes lie so far apart that a wavefront touches many cache lines."""
    found: list[tuple[float, int, Pattern]] = []
    saved = 0.0
    for index, step in enumerate(a.code.steps):
        if step.pattern is None or not a.step_visits[index]:
            continue
        pattern = Pattern(*step.pattern)
        costs = fetch_cycles(step, a.chip, coalesced=True)
        best = fetch_cycles(replace(step, pattern=None), a.chip, coalesced=True)
        if pattern.lines >= 2 * max(1.0, pattern.least) and costs > best:
            found.append((a.step_visits[index] * (costs - best), index, pattern))
            saved += found[-1][0]
    if found:
        _, index, pattern = max(found)
        step = a.code.steps[index]
        where = f" in line {step.line[1]}" if step.line else ""
        which = f"the {'load' if step.read_bytes else 'store'}{where}"
        more = f", and {len(found) - 1} more like it" if len(found) > 1 else ""
        whole = a.work.fetch_cycles
        yield Advice(
            "strides",
            "let neighbouring work-items access neighbouring elements, or copy the data through local memory",
            f"{which} touches {units.number(round(pattern.lines, 1))} cache lines of {LINE_BYTES} bytes a wavefront, "
            f"where {units.number(round(max(1.0, pattern.least), 1))} would be enough{more}; address units take "
            f"{units.number(round(fetch_cycles(step, a.chip, coalesced=True), 1))} cycles for it instead of "
            f"{units.number(fetch_cycles(replace(step, pattern=None), a.chip, coalesced=True))}",
            "line_use",
            whole / (whole - saved) if whole > saved else 0.0,
        )


def _reuse(a: Analysis) -> Iterator[Advice]:
    found = a.estimate
    if found.bound_by in ("memory", "read") and found.hit_needed is not None and found.read_bytes > found.write_bytes:
        yield Advice(
            "reuse",
            "if work-items read the same data, keep it in local memory, or state the cache hit rate with --hit",
            f"{units.data_bytes(found.read_bytes)} are read; if caches served {found.hit_needed:.0%} of it, "
            "memory would not be the limit",
            "hit",
        )


def _doubles(a: Analysis) -> Iterator[Advice]:
    doubles = a.metric("float64")
    rate = a.chip.rates.float64_fma
    if doubles is not None and not a.chip.is_vliw and rate < 0.25 and a.estimate.bound_by == "ALU":
        yield Advice(
            "double precision",
            "use float where its precision is sufficient",
            f"{doubles.shown} instructions in double precision run at 1/{1 / rate:.0f} of the rate on {a.chip.name}",
            "float64",
        )


def _instruction_cache(a: Analysis) -> Iterator[Advice]:
    cache = a.chip.caches.instruction_bytes
    if a.code.code_bytes > cache:
        yield Advice(
            "code size",
            "unroll less",
            f"{a.code.code_bytes:,} bytes of code do not fit the instruction cache of {cache:,}",
            "code_bytes",
        )


def _packing(a: Analysis) -> Iterator[Advice]:
    packing = a.metric("packing")
    if packing is not None and packing.verdict == "watch" and a.estimate.bound_by == "ALU":
        assert isinstance(packing.value, float)
        width = a.chip.compute.vliw_width
        yield Advice(
            "packing",
            "give the compiler independent operations: vectors, or several elements in a work-item",
            f"ALU groups have {packing.value * width:.2g} operations in {width} slots",
            "packing",
            0.9 / packing.value if packing.value else 0.0,
        )


def _fetch_bound(a: Analysis) -> Iterator[Advice]:
    ratio = a.alu_fetch_ratio
    if a.estimate.bound_by == "fetch" and ratio is not None:
        yield Advice(
            "fetches",
            "load less often: vectors, values kept in registers or local memory",
            f"fetch units need {1 / ratio if ratio else 0:.3g} times as long as the ALUs "
            f"({units.number(a.work.fetches)} fetches "
            f"for {units.number(a.work.groups)} ALU instructions; the chip's balance is {units.number(a.balance)} to "
            "one)",
            "alu_fetch_ratio",
        )


_RULES = (
    _unknown_loops,
    _group_size,
    _pixels,
    _domain,
    _scratch,
    _fetch_bound,
    _packing,
    _vector_fetches,
    _strides,
    _wider,
    _reuse,
    _doubles,
    _occupancy,
    _cliff,
    _instruction_cache,
)
