"""Matrix instructions (v_mfma_…) in; calls of the support code that multiplies, out.

They read and write all lanes, whatever EXEC says.
"""

from __future__ import annotations

from typing import Protocol

from headwater.emulate.gcn.reference_matrix import shape_of
from headwater.emulate.wave.builder import Builder
from headwater.emulate.wave.layout import FACTORS, LANES
from headwater.emulate.wave.registers import PART, PART_LANES, PARTS, Registers, number
from headwater.isa.gcn.model import Constant, Instruction, Register, Value, constant_bits

_FACTOR_REGISTERS, RESULT_REGISTERS = 4, 32
ARRAY_REGISTERS = 2 * _FACTOR_REGISTERS + RESULT_REGISTERS
"""Registers that a call takes: A, B, then C. Where A is sparse, the last of A's are the indices."""
_INDEX = _FACTOR_REGISTERS - 1


class Context(Protocol):
    """What the calls are written by: a translator."""

    uses_matrices: bool

    @property
    def b(self) -> Builder: ...
    @property
    def regs(self) -> Registers: ...

    def flush(self) -> None:
        """Write the vector code that waits."""


def translate(t: Context, instruction: Instruction) -> None:
    """One matrix instruction."""
    t.flush()
    t.uses_matrices = True
    b = t.b
    shape = shape_of(instruction.row.name)
    dest = instruction.dests[0].register
    for name, at in (
        ("S0", 0),
        ("S1", _FACTOR_REGISTERS),
        ("S2", 2 * _FACTOR_REGISTERS if not shape.sparse else _INDEX),
    ):
        source = instruction.source(name)
        assert source is not None
        _store(t, source.value, at, dest.dwords, shape.result)
    places = [_place(t, at, 0) for at in (0, _FACTOR_REGISTERS, 2 * _FACTOR_REGISTERS)]
    kinds = FACTORS.index(shape.a) | FACTORS.index(shape.b) << 8
    fields = instruction.fields
    if shape.sparse:
        _store(t, dest, 2 * _FACTOR_REGISTERS, dest.dwords, shape.result)
        b.declare("declare hidden void @hw_sparse_matrix(i32, i32, i32, i32, ptr, ptr, ptr, ptr)")
        numbers: tuple[int, ...] = (shape.m, kinds, shape.per_lane, shape.index_bit(fields))
        name, places = "hw_sparse_matrix", [*places, _place(t, _INDEX, 0)]
    else:
        b.declare("declare hidden void @hw_matrix(i32, i32, i32, i32, i32, i32, i32, ptr, ptr, ptr)")
        broadcast = (fields.get("cbsz", 0), fields.get("abid", 0)) if shape.result != "f64" else (0, 0)
        name, numbers = "hw_matrix", (shape.m, shape.k, shape.blocks, kinds, shape.per_lane, *broadcast)
    arguments = [f"i32 {n}" for n in numbers] + [f"ptr {place}" for place in places]
    b.line(f"call void @{name}({', '.join(arguments)})")
    for n in range(dest.dwords):
        for part in range(PARTS):
            value = b.emit(f"load {PART}, ptr {_place(t, 2 * _FACTOR_REGISTERS + n, part)}, align 64")
            t.regs.set_vector(number(dest) + n, part, value)


def _place(t: Context, register: int, part: int) -> str:
    return t.b.emit(f"getelementptr i8, ptr %matrices, i64 {4 * (LANES * register + PART_LANES * part)}")


def _store(t: Context, value: Value, at: int, dwords: int, result: str) -> None:
    """Put registers into the array, a constant into all lanes."""
    count = value.dwords if isinstance(value, Register) else dwords
    for n in range(count):
        for part in range(PARTS):
            if isinstance(value, Register):
                text = t.regs.vector(number(value) + n, part)
            else:
                assert isinstance(value, Constant)
                bits = constant_bits(value.code, "f64" if result == "f64" else "b32" if result == "i32" else "f32")
                word = bits >> (32 * (n % 2) if result == "f64" else 0) & 0xFFFFFFFF
                text = f"splat (i32 {word})"
            t.b.line(f"store {PART} {text}, ptr {_place(t, at + n, part)}, align 64")
