"""Input: machine code. Raises an error if it has loops that wait for other work-groups.

How often such a loop runs follows from when the others write, and emulation runs them at other times than the chip
would: a replay would tell a wrong time. A loop is taken to wait if what a load that goes past the L1 (GLC: an atomic or
volatile one) brings decides whether it goes on, while the load's operands stay the same. Atomic instructions that count
bring something else each time and are no loads in this sense; locks are made of the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.emulate.gcn.program import BasicBlock, Program
    from headwater.isa.gcn.model import Instruction
    from headwater.isa.gcn.objects import CodeObject

_COUNTING = ("add", "sub", "inc_wrap", "dec_wrap", "other")


class Spinning(UsageError):
    """A kernel's time cannot be determined from a trace, as it waits for other work-groups."""


def refuse_spinning(code: CodeObject, kernel: str) -> None:
    """Spinning, with the source line, if the kernel waits for other work-groups in a loop."""
    from headwater.isa.gcn.decode import decode_all

    entry = code.kernels[kernel].entry
    end = code.kernels[kernel].code_end
    image = code.image()
    # Most kernels have no such load at all, and need no look at their loops.
    if not any(_waits(i) for i in decode_all(image, code.isa, entry, end)):
        return
    load = spinning_load(code, kernel)
    if load is None:
        return
    line = code.line_of(load.address)
    where = f" in line {line[1]} of {line[0]}" if line is not None and line[1] else f" at {load.address:#x}"
    raise Spinning(
        f"{kernel} waits{where} for what other work-groups write: how long depends on when they run, "
        "which a replay does not know",
        hint="split the kernel where it waits; a launch waits for the one before it",
    )


def _waits(instruction: Instruction) -> bool:
    from headwater.emulate.gcn.program import meaning

    row = instruction.row
    return (
        bool(instruction.fields.get("glc", 0))
        and bool(instruction.dests)
        and meaning(instruction).update not in _COUNTING
        and row.encoding in ("FLAT", "GLOBAL", "MUBUF", "SMEM")
    )


def spinning_load(code: CodeObject, kernel: str) -> Instruction | None:
    """The load by which a loop of the kernel waits for others; None if there is none."""
    from headwater.emulate.gcn.program import read_program

    program = read_program(
        code.instruction,
        code.kernels[kernel].entry,
        code.isa,
        lambda address: code.text_start <= address < code.text_end,
    )
    for block in program.blocks.values():
        for load in filter(_waits, block.instructions):
            body = _loop_of(program, block)
            if body and _decides(body, load):
                return load
    return None


def _loop_of(program: Program, block: BasicBlock) -> list[BasicBlock]:
    """All blocks on ways from the block back to it."""
    after = {b.address: [f.address for f in program.after(b)] for b in program.blocks.values()}
    before: dict[int, list[int]] = {}
    for address, followers in after.items():
        for follower in followers:
            before.setdefault(follower, []).append(address)

    def reached(start: list[int], ways: dict[int, list[int]]) -> set[int]:
        seen: set[int] = set()
        waiting = list(start)
        while waiting:
            address = waiting.pop()
            if address not in seen:
                seen.add(address)
                waiting += ways.get(address, [])
        return seen

    both = reached(after[block.address], after) & reached(before.get(block.address, []), before)
    return [program.blocks[address] for address in sorted(both)] if block.address in both else []


def _decides(body: list[BasicBlock], load: Instruction) -> bool:
    """Whether the loaded value decides about a branch of the loop, at an address that the loop does not change."""
    from headwater.emulate.gcn.program import effects, flow

    instructions = [i for block in body for i in block.instructions]
    facts = [(i, effects(i)) for i in instructions]
    own = effects(load)
    scalar_address, vector_address = own.scalar_read & ~(3 << 126), own.vector_read
    if "atomic" in load.row.flags:  # what it exchanges may lie where it returns what was there: made anew each time
        vector_address &= ~own.vector_write
    scalar = vector = 0
    for _, e in facts:
        scalar, vector = scalar | e.scalar_write, vector | e.vector_write | e.lanes_write
    for instruction, e in facts:
        always_the_same = not (e.scalar_read & ~(3 << 126) & scalar or (e.vector_read | e.lanes_read) & vector)
        if instruction is load or always_the_same:
            continue
        if e.scalar_write & scalar_address or (e.vector_write | e.lanes_write) & vector_address:
            return False
    scalar, vector = own.scalar_write, own.vector_write | own.lanes_write
    changed = True
    while changed:
        changed = False
        for _, e in facts:
            reads = e.scalar_read & ~(3 << 126) & scalar or (e.vector_read | e.lanes_read) & vector
            more_scalar, more_vector = e.scalar_write & ~scalar, (e.vector_write | e.lanes_write) & ~vector
            if reads and (more_scalar or more_vector):
                scalar, vector, changed = scalar | more_scalar, vector | more_vector, True
    return any(flow(i) == "branch" and e.scalar_read & scalar for i, e in facts)
