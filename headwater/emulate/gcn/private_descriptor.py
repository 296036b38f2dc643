"""Input: a program, and the scalar registers in which its kernel gets the descriptor of private memory. Output: whether
buffer instructions that use them surely access that."""

from __future__ import annotations

from headwater.emulate.gcn.program import Program
from headwater.isa.gcn.model import INDEX_DEST, Constant, Instruction, Register

_ZERO = Constant(128)


def is_kept(program: Program, first: int) -> bool:
    """Whether the four registers from ``first`` on describe private memory wherever a program reads them.

    A descriptor's swizzle bit says so, the highest of the second register. Compilers add the wavefront's offset to the
    base where the kernel begins, by s_add_u32 and s_addc_u32, whose carry stays in the 16 bits that the base has of the
    second register (``hw_entry`` in support.c puts an address of this machine there). Whatever else may write that
    register makes it unknown. Copies of the descriptor, which LLVM makes for gfx8, are not followed.
    """
    if program.entry in program.targets:
        return False
    for block in program.blocks.values():
        if program.entry in block.successors:
            return False
        for instruction in block.instructions:
            for dest in instruction.dests:
                if _may_be(dest.register, instruction, first + 1) and not (
                    block.address == program.entry and _adds_carry(instruction, first + 1)
                ):
                    return False
    return True


def _may_be(register: Register, instruction: Instruction, index: int) -> bool:
    if register.file != "s":
        return False
    if instruction.fields.get("indexed", 0) & INDEX_DEST:  # M0 says which
        return True
    return register.index <= index < register.index + register.dwords


def _adds_carry(instruction: Instruction, index: int) -> bool:
    values = [source.value for source in instruction.sources]
    return instruction.row.name == "s_addc_u32" and Register("s", index, 1) in values and _ZERO in values
