"""Input: matrix instructions (v_mfma_…). Output: calls of the support code that multiplies.

They read and write all lanes, whatever EXEC says.
"""

from __future__ import annotations

from typing import Protocol

from headwater.emulate.gcn.reference_matrix import Shape, shape_of
from headwater.emulate.wave.builder import WaveBuilder
from headwater.emulate.wave.layout import FACTORS, LANES
from headwater.emulate.wave.registers import PART, PART_LANES, PARTS, Registers, number
from headwater.isa.gcn.model import Constant, Instruction, Register, constant_bits

ARRAY_REGISTERS = 32
"""Most registers of an operand that is copied."""


class Context(Protocol):
    """What the calls are written by: a translator."""

    uses_matrices: bool

    @property
    def b(self) -> WaveBuilder: ...
    @property
    def regs(self) -> Registers: ...

    def flush(self) -> None:
        """Write the vector code that waits."""


def translate(t: Context, instruction: Instruction) -> None:
    """One matrix instruction. It works on the registers where they lie in the wavefront's frame."""
    t.flush()
    t.uses_matrices = True
    b = t.b
    shape = shape_of(instruction.row)
    dest = instruction.dests[0].register
    a, factor, addend = (_operand(t, instruction, name, shape) for name in ("S0", "S1", "S2"))
    kinds = FACTORS.index(shape.a) | FACTORS.index(shape.b) << 8
    fields = instruction.fields
    if shape.sparse:
        b.declare("declare hidden void @hw_sparse_matrix(i32, i32, i32, i32, ptr, ptr, ptr, ptr)")
        _to_frame(t, dest)
        numbers: tuple[int, ...] = (shape.m, kinds, shape.per_lane, shape.index_bit(fields))
        name, places = "hw_sparse_matrix", [a, factor, t.regs.consecutive(number(dest), dest.dwords), addend]
    else:
        b.declare("declare hidden void @hw_matrix(i32, i32, i32, i32, i32, i32, ptr, ptr, ptr, ptr)")
        name, numbers = "hw_matrix", (shape.m, shape.blocks, kinds, shape.per_lane, *shape.broadcast(fields))
        places = [a, factor, addend, t.regs.consecutive(number(dest), dest.dwords)]
    arguments = [f"i32 {n}" for n in numbers] + [f"ptr {place}" for place in places]
    b.line(f"call void @{name}({', '.join(arguments)})")
    for n in range(dest.dwords):
        t.regs.written(number(dest) + n)


def _operand(t: Context, instruction: Instruction, name: str, shape: Shape) -> str:
    """A pointer to the registers of an operand: those of the frame, or a copy, of a constant in all lanes, of an addend
    or indices that the result overlaps and is not, or with lanes or signs that BLGP changes."""
    source = instruction.source(name)
    assert source is not None
    value, dest = source.value, instruction.dests[0].register
    groups = shape.lane_groups(instruction.fields) if name == "S1" else tuple(range(PARTS))
    negates = shape.negates(instruction.fields, ("S0", "S1", "S2").index(name))
    if not isinstance(value, Register):
        assert isinstance(value, Constant)
        for n in range(dest.dwords):
            word = _word(value, shape.result, n) ^ (1 << 31 if negates and n % 2 else 0)
            for part in range(PARTS):
                t.b.line(f"store {PART} splat (i32 {word}), ptr {_in_copy(t, name, n, part)}, align 64")
    elif negates or groups != tuple(range(PARTS)) or (name == "S2" and value != dest and _overlap(value, dest)):
        for n in range(value.dwords):
            for part in range(PARTS):
                text = t.regs.vector(number(value) + n, groups[part])
                if negates and n % 2:
                    text = t.b.emit(f"xor {PART} {text}, splat (i32 {-1 << 31})")
                t.b.line(f"store {PART} {text}, ptr {_in_copy(t, name, n, part)}, align 64")
    else:
        _to_frame(t, value)
        return t.regs.consecutive(number(value), value.dwords)
    return _in_copy(t, name, 0, 0)


def _overlap(one: Register, other: Register) -> bool:
    return -one.dwords < number(one) - number(other) < other.dwords


def _word(value: Constant, result: str, register: int) -> int:
    bits = constant_bits(value.code, "f64" if result == "f64" else "b32" if result == "i32" else "f32")
    return bits >> (32 * (register % 2) if result == "f64" else 0) & 0xFFFFFFFF


def _in_copy(t: Context, name: str, register: int, part: int) -> str:
    operand = ("S0", "S1", "S2").index(name)
    at = 4 * (LANES * (ARRAY_REGISTERS * operand + register) + PART_LANES * part)
    return t.b.emit(f"getelementptr i8, ptr %matrices, i64 {at}")


def _to_frame(t: Context, register: Register) -> None:
    for n in range(register.dwords):
        t.regs.write_back(number(register) + n)
