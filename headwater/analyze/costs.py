"""Input: code, or plain counts, and a chip. Output: the work of one wavefront for each of the chip's parts.

Cycles of GCN's instructions come from `headwater.isa.gcn.cost`. Source for VLIW chips: AMD, Evergreen OpenCL
Programming Guide, "Performance and Optimization".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from headwater.analyze.code import Code, Step
from headwater.analyze.patterns import Pattern
from headwater.chips import Chip
from headwater.chips.gcn_isas import traits_of
from headwater.isa.gcn import cost as gcn_cost


@dataclass(slots=True)
class Work:
    """What one wavefront does, in cycles of each part, and what one of its work-items moves.

    ``alu_cycles`` and ``scalar_cycles``: of its SIMD's turns; ``fetch_cycles``: of its compute unit's address and
    texture units; ``local_cycles``: of the LDS. ``read_bytes``, ``write_bytes``, ``scratch_bytes``: of a work-item, to
    memory. ``store_cycles``: of one channel of a VLIW chip's memory, for a work-item's stores. ``waits``: how often it
    waits for memory, ``local_waits`` for the LDS. ``groups``, ``operations``: ALU
    instructions (groups, on VLIW chips), and operations in them.
    """

    alu_cycles: float = 0.0
    scalar_cycles: float = 0.0
    fetch_cycles: float = 0.0
    local_cycles: float = 0.0
    read_bytes: float = 0.0
    write_bytes: float = 0.0
    scratch_bytes: float = 0.0
    store_cycles: float = 0.0
    flops: float = 0.0
    waits: float = 0.0
    local_waits: float = 0.0
    groups: float = 0.0
    operations: float = 0.0
    fetches: float = 0.0
    writes: float = 0.0
    steps: float = 0.0
    classes: dict[str, float] = field(default_factory=dict)

    def add(self, other: Work, times: float) -> None:
        """Add the other's work, done ``times`` times."""
        for name in _SUMMED:
            amount = getattr(other, name)
            if amount:
                setattr(self, name, getattr(self, name) + times * amount)
        for name, count in other.classes.items():
            self.classes[name] = self.classes.get(name, 0.0) + times * count

    @property
    def issue_cycles(self) -> float:
        """Cycles that the wavefront itself takes if nothing keeps it waiting."""
        return self.alu_cycles + self.scalar_cycles


_SUMMED = tuple(part.name for part in fields(Work) if part.name != "classes")


def addresses_per_cycle(chip: Chip) -> int:
    """Work-items whose addresses a compute unit's fetch units take in a cycle: one for each texture unit. GCN's vector
    memory has four address units, in chips without textures, too."""
    return chip.caches.texture_units_per_compute_unit or 4


def alu_cycles(step: Step, chip: Chip) -> int:
    """Cycles that an ALU instruction, or group, occupies its SIMD. A group takes one turn: the compiler has paid in
    slots for what its operations cost."""
    return chip.compute.turn_cycles if chip.is_vliw else gcn_cost.alu_cycles(step.cost, chip)


def fetch_cycles(step: Step, chip: Chip, *, coalesced: bool) -> float:
    """Cycles of a vector memory instruction in the compute unit's address units."""
    if step.pattern is not None:
        return _known_cycles(step, chip, Pattern(*step.pattern))
    if chip.is_vliw:
        return chip.compute.wavefront_size / addresses_per_cycle(chip)
    return _address_cycles(step, chip)[0 if coalesced else 1]


def _address_cycles(step: Step, chip: Chip) -> gcn_cost.AddressCycles:
    nbytes = (step.read_bytes or step.write_bytes) // max(1, step.accesses)
    return gcn_cost.address_cycles(step.cost, nbytes, traits_of(chip.target).generation)


def _known_cycles(step: Step, chip: Chip, found: Pattern) -> float:
    """The same where addresses are known: a cycle at least for each cache line, and what bank conflicts
    within lines take on chips that have them."""
    linear, other = _address_cycles(step, chip)
    separate = chip.compute.wavefront_size / addresses_per_cycle(chip)
    seen = found.conflicts if chip.caches.l1_bank_conflicts else min(found.conflicts, separate)
    if seen >= separate or linear >= separate:  # else groups of lanes follow each other
        seen = max(seen, other)
    return found.linear * linear + (1 - found.linear) * max(seen, found.lines)


def local_cycles(step: Step, chip: Chip) -> float:
    """Cycles of the LDS without bank conflicts. On VLIW chips: what it moves, 128 bytes a cycle; addresses share the
    way in with the data that is written."""
    if not chip.is_vliw:
        return step.cost.number
    wavefront = chip.compute.wavefront_size
    into = step.write_bytes + 4 * step.accesses if step.write_bytes else 0
    return wavefront * max(into, step.read_bytes) / chip.local_memory.bytes_per_cycle


def store_cycles(step: Step) -> float:
    """Cycles of one channel of a VLIW chip's memory for what a work-item stores: a channel takes less of stores of
    single dwords than memory could write (`headwater.timing.vliw_rules` has the measurements)."""
    from headwater.timing.vliw_rules import PORT_BYTES_PER_CYCLE, WIDE_PORT

    wide = step.write_bytes > 4 * step.slots
    return step.write_bytes / (PORT_BYTES_PER_CYCLE * (WIDE_PORT if wide else 1))


def work_of_step(step: Step, chip: Chip, *, coalesced: bool = True, lanes: float = 1.0) -> Work:
    """What a wavefront does where it issues one step once, for that share of its ``lanes``."""
    work = Work(steps=1.0, classes={step.kind: 1.0})
    if step.kind in ("VALU", "ALU"):
        work.alu_cycles = alu_cycles(step, chip)
        work.groups, work.operations, work.flops = 1.0, step.slots, step.cost.flops * lanes
    elif step.kind in ("SALU", "SMEM", "branch"):
        work.scalar_cycles = gcn_cost.scalar_cycles(step.cost, chip)
    if step.space in ("local", "global share"):
        work.local_cycles = local_cycles(step, chip)
    elif step.space in ("memory", "scratch", "constant") and step.kind not in ("SMEM", "ALU"):
        if step.kind != "write":
            work.fetch_cycles = fetch_cycles(step, chip, coalesced=coalesced)
        work.fetches = 1.0 if step.read_bytes else 0.0
        work.writes = 1.0 if step.write_bytes else 0.0
        if step.space == "scratch":
            work.scratch_bytes = (step.read_bytes + step.write_bytes) * lanes
        else:
            if chip.is_vliw and step.write_bytes and step.accesses:
                work.store_cycles = store_cycles(step) * lanes
            once = step.pattern[-1] if step.pattern is not None and not step.atomic else 1.0
            work.read_bytes, work.write_bytes = step.read_bytes * lanes * once, step.write_bytes * lanes
    work.waits = 1.0 if step.waits == "memory" else 0.0
    work.local_waits = 1.0 if step.waits in ("local", "scalar") else 0.0
    return work


def works_of_blocks(code: Code, chip: Chip, *, coalesced: bool = True) -> list[Work]:
    """What a wavefront does in one run of each block."""
    works = []
    for block in code.blocks:
        work = Work()
        for step in code.steps[block.first : block.last]:
            work.add(work_of_step(step, chip, coalesced=coalesced, lanes=block.lanes), 1.0)
        works.append(work)
    return works


def work_of_path(works: Sequence[Work], visits: Sequence[float]) -> Work:
    """What a wavefront does on a path, given the blocks' work and how often each runs."""
    whole = Work()
    for work, count in zip(works, visits, strict=True):
        if count:
            whole.add(work, count)
    return whole


def work_of_counts(chip: Chip, counts: Mapping[str, float]) -> Work:
    """What plain counts of a work-item come to: ``alu`` instructions, ``fetch`` instructions, ``read`` and ``write``
    bytes (AMD, Technical Overview, ATI Stream Computing, 3.2)."""
    turn = chip.compute.turn_cycles
    units = addresses_per_cycle(chip)
    alu, fetch = counts.get("alu", 0.0), counts.get("fetch", 0.0)
    return Work(
        alu_cycles=alu * turn,
        fetch_cycles=fetch * chip.compute.wavefront_size / units,
        read_bytes=counts.get("read", 0.0),
        write_bytes=counts.get("write", 0.0),
        groups=alu,
        operations=alu * chip.compute.vliw_width,
        fetches=fetch,
        writes=1.0 if counts.get("write") else 0.0,
        flops=counts.get("flops", 0.0),
    )
