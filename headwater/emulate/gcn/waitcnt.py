"""Input: a kernel's machine code. Output: registers that it uses before the load that fills them has been waited for.

Loads of a kind arrive in the order in which they were issued, and s_waitcnt says how many may still be under way (AMD,
Vega ISA Reference Guide, "Data dependency resolution"); scalar loads arrive in any order, so that only a wait for all
of them helps. A flat instruction goes through memory and through the LDS, and is under way in both counters. AMD's
manuals advise to wait for all behind one; compilers count on each counter's order (gfx803 has no other loads of global
memory by 64-bit addresses), and so does this. For each place of the code, along every path to it, this knows how many
instructions have been issued since each whose wait is still to come.
"""

from __future__ import annotations

import functools
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headwater.chips.gcn_isas import TRAITS
from headwater.emulate.gcn.program import BasicBlock, Program, effects, read_program
from headwater.isa.gcn.printer import text, waitcnt_fields

if TYPE_CHECKING:
    from headwater.emulate.gcn.launched import ObservedGcnLaunch
    from headwater.isa.gcn.model import Instruction
    from headwater.isa.gcn.objects import CodeObject

VM, LGKM = 0, 1
_MOST = 64
"""Beyond the largest count that s_waitcnt can wait for."""

State = Mapping[tuple[int, int], int]
"""By the address of a load that may be under way, and a counter that has not done with it: how many more instructions
have been added to that counter since, at the least."""


@dataclass(frozen=True, slots=True)
class Hazard:
    """The instruction at ``use`` needs ``registers`` ("v3"), which the one at ``load`` may not have filled yet.

    ``from_lds``: only if that one, a flat load, reads the LDS.
    """

    load: int
    use: int
    registers: str
    from_lds: bool = False


@dataclass(frozen=True, slots=True)
class _Load:
    counters: tuple[int, ...]
    in_order: bool
    scalar: int
    vector: int


@functools.lru_cache(maxsize=256)
def hazards(code: CodeObject, kernel: str) -> tuple[Hazard, ...]:
    """All of a kernel, by the address of the use."""
    program = read_program(
        code.instruction,
        code.kernels[kernel].entry,
        code.isa,
        lambda address: code.text_start <= address < code.text_end,
    )
    loads = {i.address: load for b in program.blocks.values() for i in b.instructions if (load := _load(i))}
    found: dict[tuple[int, int], Hazard] = {}
    before: dict[int, State] = {program.entry: {}}
    waiting = {program.entry: None}
    while waiting:
        block = program.blocks[waiting.popitem()[0]]
        state = _through(program, block, before[block.address], loads, found)
        for follower in program.after(block):
            known = before.get(follower.address)
            merged = _merged(known, state)
            if merged != known:
                before[follower.address] = merged
                waiting[follower.address] = None
    return tuple(sorted(found.values(), key=lambda hazard: (hazard.use, hazard.load)))


def _merged(known: State | None, state: State) -> State:
    if known is None:
        return dict(state)
    return {one: min(known.get(one, _MOST), state.get(one, _MOST)) for one in known.keys() | state.keys()}


def _counters(instruction: Instruction) -> tuple[int, ...]:
    """The counters that an instruction adds to."""
    row = instruction.row
    if row.encoding in ("SMEM", "DS") or row.name in ("s_sendmsg", "s_sendmsghalt"):
        return (LGKM,)
    if row.encoding == "FLAT":
        return VM, LGKM
    return (VM,) if row.encoding in ("GLOBAL", "SCRATCH", "MUBUF", "MTBUF", "MIMG") else ()


def _load(instruction: Instruction) -> _Load | None:
    counters = _counters(instruction)
    if not counters or not instruction.dests:
        return None
    e = effects(instruction)
    in_order = instruction.row.encoding != "SMEM"
    return _Load(counters, in_order, e.scalar_write, e.vector_write | e.lanes_write)


def _through(
    program: Program,
    block: BasicBlock,
    before: State,
    loads: Mapping[int, _Load],
    found: dict[tuple[int, int], Hazard],
) -> State:
    """What is under way after a block; hazards in it are added to ``found``."""
    state = dict(before)
    for instruction in block.instructions:
        if instruction.row.name == "s_waitcnt":
            state = _waited(instruction, program.isa, state, loads)
            continue
        counters = _counters(instruction)
        e = effects(_without_index(instruction))
        scalar, vector = e.scalar_read, e.vector_read | e.lanes_read
        if not counters:
            # What arrives later would overwrite it. Loads of one kind do that in order.
            scalar, vector = scalar | e.scalar_write, vector | e.vector_write | e.lanes_write
        for pc, counter in state:
            load = loads[pc]
            if load.scalar & scalar or load.vector & vector:
                names = ", ".join(_names(load.scalar & scalar, "s") + _names(load.vector & vector, "v"))
                from_lds = counter == LGKM and VM in load.counters
                known = found.get((pc, instruction.address))
                if known is None or known.from_lds:
                    found[pc, instruction.address] = Hazard(pc, instruction.address, names, from_lds)
        for one, later in state.items():
            if one[1] in counters:
                state[one] = min(later + 1, _MOST)
        if instruction.address in loads:
            state |= {(instruction.address, counter): 0 for counter in counters}
    return state


def _without_index(instruction: Instruction) -> Instruction:
    """An instruction that adds M0 to a register's number without that: how far the index goes, compilers know, and only
    wait for what is in reach."""
    fields = instruction.fields
    if not fields.get("indexed"):
        return instruction
    return replace(instruction, fields={name: value for name, value in fields.items() if name != "indexed"})


def _waited(instruction: Instruction, isa: str, state: State, loads: Mapping[int, _Load]) -> dict[tuple[int, int], int]:
    vm, _, lgkm = waitcnt_fields(instruction.fields["simm16"], TRAITS[isa])
    disorder = any(not loads[pc].in_order for pc, _ in state)

    def under_way(counter: int, later: int) -> bool:
        if counter == VM:
            return later < vm
        return lgkm > 0 and (disorder or later < lgkm)

    return {one: later for one, later in state.items() if under_way(one[1], later)}


def _names(registers: int, letter: str) -> list[str]:
    return [f"{letter}{n}" for n in range(registers.bit_length()) if registers >> n & 1]


def texts(launch: ObservedGcnLaunch, reads_lds: Container[int]) -> list[str]:
    """What is wrong with the kernel's waits, as sentences. ``reads_lds``: the flat loads that have read the LDS."""
    code = launch.code

    def shown(pc: int) -> str:
        return f"{pc:#x}: {text(code.instruction(pc), code.isa)}"

    return [
        f"{launch.machine_kernel.name} uses {hazard.registers} before the load has been waited for\n"
        f"    {shown(hazard.use)}\n    the load: {shown(hazard.load)}\n"
        "  hint: an s_waitcnt is missing between them, or lets too many be under way"
        for hazard in hazards(code, launch.machine_kernel.name)
        if not hazard.from_lds or hazard.load in reads_lds
    ]
