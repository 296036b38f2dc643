"""Input: a program's blocks. Output: the scalar registers that hold a number known before it runs where each block
begins.

Compilers keep what an instruction cannot hold as a literal in a register (the selectors of v_perm_b32), and set it long
before a loop. LLVM finds that out only where registers are values, and after all that the number spares is written.
"""

from __future__ import annotations

from headwater.emulate.gcn.program import BasicBlock, Program, effects, registers
from headwater.isa.gcn.model import Constant, Instruction, Literal, constant_bits

PLAIN_REGISTERS = 102
"""Scalar registers that are nothing else: VCC, M0 and EXEC come after them."""

Known = dict[int, int]


def known_scalars(program: Program) -> dict[int, Known]:
    """By address of a block: register -> its 32 bits, however control comes there. Only ``s_mov_b32`` makes them."""
    made = {address: _made(block) for address, block in program.blocks.items()}
    before: dict[int, Known] = {program.entry: {}}
    pending = [program.entry]
    while pending:
        block = program.blocks[pending.pop()]
        written, numbers = made[block.address]
        after = {r: bits for r, bits in before[block.address].items() if not written >> r & 1} | numbers
        for following in program.after(block):
            old = before.get(following.address)
            new = after if old is None else {r: bits for r, bits in old.items() if after.get(r) == bits}
            if new != old:
                before[following.address] = new
                pending.append(following.address)
    return before


def _made(block: BasicBlock) -> tuple[int, Known]:
    """What a block writes, as a bit set, and the numbers that it leaves in registers."""
    written, numbers = 0, Known()
    for instruction in block.instructions:
        now = effects(instruction).scalar_write
        written |= now
        for register in registers(now):
            numbers.pop(register, None)
        number = _number(instruction)
        if number is not None:
            numbers[instruction.dests[0].register.index] = number
    return written, numbers


def _number(instruction: Instruction) -> int | None:
    """The bits that an instruction moves to a plain scalar register, if they stand in it."""
    if instruction.row.name != "s_mov_b32" or instruction.dests[0].register.index >= PLAIN_REGISTERS:
        return None
    value = instruction.sources[0].value
    if isinstance(value, Literal):
        return value.bits
    return constant_bits(value.code, "b32") if isinstance(value, Constant) else None
