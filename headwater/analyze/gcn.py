"""Input: a kernel of a GCN code object. Output: what its machine code is made of, as `Code`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.analyze.code import Block, Code, Loop, Step
from headwater.analyze.flow import Cycle, find_loops
from headwater.analyze.launch import Array, Given
from headwater.analyze.patterns import pattern
from headwater.analyze.register_values import Lanes
from headwater.analyze.trips import Trips
from headwater.chips.gcn_isas import TRAITS
from headwater.emulate.gcn.program import live_before_each, meaning, read_program
from headwater.isa.gcn.listing import label_at, labelled
from headwater.isa.gcn.model import Register
from headwater.isa.gcn.printer import waitcnt_fields
from headwater.isa.semantics.types import BITS, TYPE_BITS

if TYPE_CHECKING:
    from headwater.chips import Chip
    from headwater.isa.gcn.model import Instruction
    from headwater.isa.gcn.objects import CodeObject, KernelObject

_MOST_LGKMCNT = 15
_VECTOR_BITS = (1 << 256) - 1


def gcn_code(code: CodeObject, kernel: KernelObject, chip: Chip, given: Given) -> Code:
    """Analyze a kernel. ``given``: of the launch on ``chip``, to tell trip counts and branches by.

    Raises DecodeError or CodeObjectError for what is no machine code.
    """
    program = read_program(
        code.instruction,
        kernel.entry,
        code.isa,
        lambda address: code.text_start <= address < code.text_end,
    )
    blocks = list(program.blocks.values())
    index = {block.address: n for n, block in enumerate(blocks)}
    order = [index[program.entry], *(n for n in range(len(blocks)) if n != index[program.entry])]
    place = {old: new for new, old in enumerate(order)}
    steps: list[Step] = []
    waits: dict[int, dict[str, int]] = {}
    made: list[Block] = []
    notes: list[str] = []
    targets = {i.target for block in blocks for i in block.instructions if i.target is not None}
    for number in order:
        block = blocks[number]
        first = len(steps)
        live = live_before_each(program, block)
        versions: dict[tuple[str, int], int] = {}
        for instruction, (_, active, inactive) in zip(block.instructions, live, strict=False):
            base = _base(instruction, versions)
            count = ((active | inactive) & _VECTOR_BITS).bit_count()
            found = code.line_of(instruction.address)
            label = label_at(instruction.address) if instruction.address in targets else ""
            steps.append(_step(instruction, code.isa, count, found[:2] if found else None, label, base))
            if instruction.row.name == "s_waitcnt":
                waits[instruction.address] = _allowed(instruction, code.isa)
        after = tuple(place[index[f.address]] for f in program.after(block))
        made.append(Block(first, len(steps), after))
        if block.end == "indirect":
            notes.append(f"it jumps to computed addresses at {block.instructions[-1].address:#x}")
        if block.problem:
            notes.append(f"{block.problem}, at {block.address:#x}")
    steps = _with_waits(steps, waits)
    cycles = find_loops([block.successors for block in made])
    lanes = Lanes(kernel, code.target, given.arguments, given.launch(chip, kernel.reqd_group_size))
    own = [Cycle(order[c.header], frozenset(order[b] for b in c.blocks), c.parent) for c in cycles]
    trips = Trips(program, own, lanes)
    steps = [_patterned(step, trips.accesses) for step in steps]
    made = [replace(block, lanes=trips.lanes_of(order[n])) for n, block in enumerate(made)]
    chances = {(place[a], place[b]): chance for (a, b), chance in trips.chances.items()}
    return Code(
        kernel=kernel.name,
        family="gcn",
        target=code.target,
        vgprs=kernel.vgpr_count,
        sgprs=kernel.sgpr_count,
        agprs=kernel.agpr_count,
        lds_bytes=kernel.group_segment_bytes,
        scratch_bytes=kernel.private_segment_bytes,
        code_bytes=sum(i.size_bytes for block in blocks for i in block.instructions),
        steps=tuple(steps),
        blocks=tuple(made),
        loops=_loops(made, steps, cycles, trips),
        chances=chances,
        reqd_group=kernel.reqd_group_size,
        dynamic_lds=any(a.value_kind == "dynamic_shared_pointer" for a in kernel.args),
        arguments=tuple((a.name, a.type_name) for a in kernel.args if not a.value_kind.startswith("hidden_")),
        notes=tuple(notes),
    )


def _patterned(step: Step, accesses: Mapping[int, tuple[Array, Array]]) -> Step:
    if step.space != "memory" or step.address not in accesses:
        return step
    low, active = accesses[step.address]
    found = pattern(low, active, (step.read_bytes or step.write_bytes) // max(1, step.accesses))
    return replace(step, pattern=found) if found is not None else step


def _base(instruction: Instruction, versions: dict[tuple[str, int], int]) -> str:
    """The registers that an access's address is made of, with how often each was written in the block before it."""
    parts = []
    for source in instruction.sources_of("address"):
        if isinstance(source.value, Register):
            register = source.value
            parts += [
                f"{register.file}{n}.{versions.get((register.file, n), 0)}"
                for n in range(register.index, register.index + register.dwords)
            ]
    for dest in instruction.dests:
        for n in range(dest.register.index, dest.register.index + dest.register.dwords):
            versions[dest.register.file, n] = versions.get((dest.register.file, n), 0) + 1
    return " ".join(parts)


def _allowed(instruction: Instruction, isa: str) -> dict[str, int]:
    """By space, how many accesses may be outstanding behind an s_waitcnt, where it says so."""
    traits = TRAITS[isa]
    vm, _, lgkm = waitcnt_fields(instruction.fields["simm16"], traits)
    allowed = {"memory": vm} if vm < traits.most_vmcnt else {}
    return allowed | ({"local": lgkm, "scalar": lgkm} if lgkm < _MOST_LGKMCNT else {})


def _with_waits(steps: list[Step], waits: Mapping[int, Mapping[str, int]]) -> list[Step]:
    """The steps, with those marked where a wavefront waits for memory: at an s_waitcnt, whose `_allowed` are by its
    address in ``waits``, with more accesses outstanding."""
    outstanding = {"memory": 0, "local": 0, "scalar": 0}
    made = []
    for step in steps:
        if step.address in waits:
            reached = {space: most for space, most in waits[step.address].items() if outstanding[space] > most}
            outstanding |= reached
            made.append(replace(step, waits=next(iter(reached), "")))
            continue
        if step.read_bytes:
            place = {"memory": "memory", "scratch": "memory", "scalar": "scalar"}.get(step.space, "local")
            outstanding[place] += 1
        made.append(step)
    return made


def _loops(blocks: list[Block], steps: list[Step], cycles: Sequence[Cycle], trips: Trips) -> tuple[Loop, ...]:
    by_address = sorted(range(len(cycles)), key=lambda n: steps[blocks[cycles[n].header].first].address)
    name = {number: f"L{place + 1}" for place, number in enumerate(by_address)}
    made = []
    for number, cycle in enumerate(cycles):
        found = trips.found[number]
        lines = sorted(
            line[1]
            for b in cycle.blocks
            for step in steps[blocks[b].first : blocks[b].last]
            if (line := step.line) is not None
        )
        made.append(
            Loop(
                name[number],
                cycle.header,
                tuple(sorted(cycle.blocks)),
                cycle.parent,
                found.count if found.count is not None else 1,
                "unknown" if found.count is None else "launch" if found.launch else "proved",
                found.why,
                (lines[0], lines[-1]) if lines else None,
            )
        )
    return tuple(made)


def _step(instruction: Instruction, isa: str, live: int, line: tuple[str, int] | None, label: str, base: str) -> Step:
    row = instruction.row
    cost = row.cost
    space, read, write, accesses = _memory(instruction)
    return Step(
        address=instruction.address,
        text=labelled(instruction, isa),
        kind=cost.unit,
        cost=cost,
        space=space,
        read_bytes=read,
        write_bytes=write,
        accesses=accesses,
        atomic="atomic" in row.flags,
        live=live,
        line=line,
        label=label,
        base=base if space == "memory" else "",
        offset=instruction.fields.get("offset", 0),
    )


def _memory(instruction: Instruction) -> tuple[str, int, int, int]:
    """Space, bytes read and written by a work-item (a scalar access: by the wavefront), addresses given."""
    row = instruction.row
    if not row.flags & {"load", "store", "atomic", "gather"}:
        return "", 0, 0, 0
    if row.cost.unit == "SMEM":
        space = "scalar"
    elif row.cost.unit == "LDS":
        space = "global share" if instruction.fields.get("gds") else "local"
    else:
        private = row.encoding == "SCRATCH" or _is_stack(instruction)
        space = "scratch" if private else "memory"
    sizes = [BITS[access.type] // 8 for access in meaning(instruction).accesses]
    moved = sum(sizes) or _data_bytes(instruction)
    if "atomic" in row.flags:
        data = max(4, min(moved, 8))
        return space, data, data, 1
    accesses = max(1, len(sizes))
    return (space, moved, 0, accesses) if "load" in row.flags else (space, 0, moved, accesses)


def _is_stack(instruction: Instruction) -> bool:
    """Before gfx9's scratch instructions, private memory is a swizzled buffer whose descriptor stands in the first
    four scalar registers (LLVM, AMDGPUUsage, "Private Segment Buffer")."""
    base = instruction.source("RSRC")
    return (
        instruction.row.encoding == "MUBUF"
        and base is not None
        and getattr(base.value, "index", -1) == 0
        and (bool(instruction.fields.get("offen")) or instruction.source("ADDR") is None)
    )


def _data_bytes(instruction: Instruction) -> int:
    """Of an access whose meaning does not say a size (formats, images): that of its registers."""
    kinds = [dest.type for dest in instruction.dests] + [source.type for source in instruction.sources_of("data")]
    return TYPE_BITS.get(kinds[0], 32) // 8 if kinds else 4
