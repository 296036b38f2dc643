"""A kernel's machine code in; registers that it uses before the load that fills them has been waited for, out.

Loads of a kind arrive in the order in which they were issued, and s_waitcnt says how many may still be under way (AMD,
Vega ISA Reference Guide, "Data dependency resolution"); scalar loads arrive in any order, so that only a wait for all
of them helps. For each place of the code, along every path to it, this knows how many loads and stores have been issued
since each load whose wait is still to come.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.emulate.program import BasicBlock, Program, effects, read_program
from headwater.isa.gcn.decode import decode
from headwater.isa.gcn.printer import text, waitcnt_fields

if TYPE_CHECKING:
    from headwater.isa.gcn.model import Instruction
    from headwater.isa.gcn.objects import CodeObject
    from headwater.runtime.simulated_launch import SimulatedLaunch

VM, LGKM = 0, 1
_MOST = 64
"""Beyond the largest count that s_waitcnt can wait for."""

State = Mapping[int, int]
"""By the address of a load that may be under way: how many more of its kind have been issued since, at the least."""


@dataclass(frozen=True, slots=True)
class Hazard:
    """The instruction at ``use`` needs ``registers`` ("v3"), which the one at ``load`` may not have filled yet."""

    load: int
    use: int
    registers: str


@dataclass(frozen=True, slots=True)
class _Load:
    counter: int
    in_order: bool
    scalar: int
    vector: int


@functools.lru_cache(maxsize=256)
def hazards(code: CodeObject, kernel: str) -> tuple[Hazard, ...]:
    """All of a kernel, by the address of the use."""
    image = code.image()
    program = read_program(
        lambda address: decode(image, address, code.isa),
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
    return {pc: min(known.get(pc, _MOST), state.get(pc, _MOST)) for pc in known.keys() | state.keys()}


def _counter(instruction: Instruction) -> int | None:
    """The counter that an instruction adds to."""
    row = instruction.row
    if row.encoding in ("SMEM", "DS") or row.name.startswith("s_sendmsg"):
        return LGKM
    return VM if row.encoding in ("FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF", "MIMG") else None


def _load(instruction: Instruction) -> _Load | None:
    counter = _counter(instruction)
    if counter is None or not instruction.dests:
        return None
    e = effects(instruction)
    in_order = instruction.row.encoding != "SMEM"
    return _Load(counter, in_order, e.scalar_write, e.vector_write | e.lanes_write)


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
        counter = _counter(instruction)
        e = effects(instruction)
        scalar, vector = e.scalar_read, e.vector_read | e.lanes_read
        if counter is None:
            # What arrives later would overwrite it. Loads of one kind do that in order.
            scalar, vector = scalar | e.scalar_write, vector | e.vector_write | e.lanes_write
        for pc in state:
            load = loads[pc]
            if load.scalar & scalar or load.vector & vector:
                names = _names(load.scalar & scalar, "s") + _names(load.vector & vector, "v")
                found.setdefault((pc, instruction.address), Hazard(pc, instruction.address, ", ".join(names)))
        if counter is not None:
            for pc, later in state.items():
                if loads[pc].counter == counter:
                    state[pc] = min(later + 1, _MOST)
            if instruction.address in loads:
                state[instruction.address] = 0
    return state


def _waited(instruction: Instruction, isa: str, state: State, loads: Mapping[int, _Load]) -> dict[int, int]:
    vm, _, lgkm = waitcnt_fields(instruction.fields["simm16"], isa)
    disorder = any(not loads[pc].in_order for pc in state)

    def under_way(pc: int, later: int) -> bool:
        if loads[pc].counter == VM:
            return later < vm
        return lgkm > 0 and (disorder or later < lgkm)

    return {pc: later for pc, later in state.items() if under_way(pc, later)}


def _names(registers: int, letter: str) -> list[str]:
    return [f"{letter}{n}" for n in range(registers.bit_length()) if registers >> n & 1]


def texts(launch: SimulatedLaunch) -> list[str]:
    """What is wrong with the kernel's waits, as sentences."""
    code, image = launch.code, launch.code.image()

    def shown(pc: int) -> str:
        return f"{pc:#x}: {text(decode(image, pc, code.isa), code.isa)}"

    return [
        f"{launch.machine_kernel.name} uses {hazard.registers} before the load has been waited for\n"
        f"    {shown(hazard.use)}\n    the load: {shown(hazard.load)}\n"
        "  hint: an s_waitcnt is missing between them, or lets too many be under way"
        for hazard in hazards(code, launch.machine_kernel.name)
    ]
