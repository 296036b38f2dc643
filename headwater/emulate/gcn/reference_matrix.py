"""Input: matrix instructions (v_mfma_…) and registers. Output: registers with the product added.

AMD, "CDNA2" Instruction Set Architecture Reference Guide, "Matrix Arithmetic Instructions", and AMD's matrix
instruction calculator say which lane and register holds which element.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from headwater.emulate.wave.evaluate_numpy import Array, fused
from headwater.emulate.wave.layout import LANES
from headwater.emulate.wave.registers import number
from headwater.isa.gcn.model import Constant, Instruction, Register, Row, Source, constant_bits
from headwater.isa.gcn.semantics import semantics

_TYPE = re.compile(r"(?:v(?P<count>\d+))?(?P<element>\w+)")
_MOST_REGISTERS = 32
_WIDTHS = {"f32": 32, "f64": 64, "f16": 16, "i8": 8, "bf16": 16, "xf32": 32, "fp8": 8, "bf8": 8}
"""Bits of a factor."""

_LANE_GROUPS = (
    (0, 1, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3), (1, 2, 3, 0), (0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3),
)  # fmt: skip
"""By BLGP: as they are, 32 lanes for all, the others, each the next ones', 16 lanes for all (AMD, "AMD Instinct MI100"
Instruction Set Architecture Reference Guide, "BLGP")."""


class Shape(NamedTuple):
    """A matrix instruction: the result's type, its rows and columns (``m``), the depth ``k``, both factors' types, how
    many ``blocks`` are multiplied, and how many factors a lane has of A. ``sparse``: A has two factors for each four of
    B, of which a lane has twice as many. ``blgp``: what the field BLGP chooses, B's lanes ("lanes") or the operands'
    signs ("signs"), as AMD's matrix instruction calculator says."""

    result: str
    m: int
    k: int
    a: str
    b: str
    blocks: int
    per_lane: int
    sparse: bool = False
    blgp: str = ""

    def lane_groups(self, fields: Mapping[str, int]) -> tuple[int, ...]:
        """Which 16 lanes of B stand for each 16 lanes in turn."""
        return _LANE_GROUPS[fields["blgp"] if self.blgp == "lanes" else 0]

    def negates(self, fields: Mapping[str, int], operand: int) -> bool:
        """Whether A (0), B (1) or C (2) is negated."""
        return self.blgp == "signs" and bool(fields["blgp"] >> operand & 1)

    def index_bit(self, fields: Mapping[str, int]) -> int:
        """Where the indices of a sparse A begin in their register: ABID chooses among as many sets as fit, if CBSZ is 0
        (AMD, "CDNA3" Instruction Set Architecture Reference Guide, "Sparse Matrix")."""
        bits = 2 * self.per_lane
        return fields["abid"] % (32 // bits) * bits if not fields["cbsz"] else 0

    def broadcast(self, fields: Mapping[str, int]) -> tuple[int, int]:
        """How many blocks have one A, as a power of two, and which of these it is: CBSZ and ABID, as far as there are
        blocks."""
        if self.result == "f64":
            return 0, 0
        size = min(fields.get("cbsz", 0), self.blocks.bit_length() - 1)
        return size, fields.get("abid", 0) & (1 << size) - 1


def shape_of(row: Row) -> Shape:
    """What a row's operands, flags and semantics say."""
    return row.once("matrix shape", _shape)


def _shape(row: Row) -> Shape:
    effect = semantics(row).effect("mfma")
    assert effect is not None, row.name
    m = effect.args[0].bits
    (registers, result), (per_lane, a), (_, b) = (_elements(row, name) for name in ("D", "S0", "S1"))
    sparse = "smfmac" in row.flags
    blocks = registers * LANES // m**2
    k = per_lane * LANES * (2 if sparse else 1) // (m * blocks)
    blgp = next((what for what in ("lanes", "signs") if f"blgp_{what}" in row.flags), "")
    reduced = effect.text  # the format that factors are rounded to, where it is not that of the registers
    return Shape(result, m, k, reduced or a, reduced or b, blocks, per_lane, sparse, blgp)


def _elements(row: Row, operand: str) -> tuple[int, str]:
    """How many elements of an operand a lane has, and their type."""
    found = _TYPE.fullmatch(next(spec.type for spec in row.operands if spec.name == operand))
    assert found is not None
    return int(found["count"] or 1), found["element"]


def multiply(vectors: Array, instruction: Instruction) -> None:
    """D = A B + C for each block; products are added one after the other, each step rounded once."""
    shape = shape_of(instruction.row)
    a = _factor(vectors, instruction, "S0", shape, shape.a)
    dest, addend = instruction.dest("D"), instruction.source("S2")
    assert dest is not None
    assert addend is not None
    places = _places(shape)
    if shape.sparse:
        total = _registers(vectors, dest.register, shape.result)[places]
        for x, y in _sparse_pairs(vectors, instruction, shape, a):
            total = _step(shape.result, x, y, total)
    else:
        b = _factor(vectors, instruction, "S1", shape, shape.b)
        total = _operand(vectors, addend, shape.result)[places]
        if shape.negates(instruction.fields, 2):
            total ^= np.uint64(1 << 63)
        broadcast, chosen = shape.broadcast(instruction.fields)
        if broadcast:
            a = a[[(block & ~((1 << broadcast) - 1)) + chosen for block in range(shape.blocks)]]
        for depth in range(shape.k):
            total = _step(shape.result, a[:, :, depth, None], b[:, None, :, depth], total)
    result = np.zeros((shape.m * shape.m * shape.blocks // LANES, LANES), total.dtype)
    result[places] = total
    words = 2 if shape.result == "f64" else 1
    first = number(dest.register)
    for n in range(words):
        rows = result >> np.array(32 * n, result.dtype) if n else result
        vectors[first + n : first + words * len(result) : words] = rows & np.array(0xFFFFFFFF, result.dtype)


def _sparse_pairs(vectors: Array, instruction: Instruction, shape: Shape, a: Array) -> Iterator[tuple[Array, Array]]:
    """Factors that meet, one after the other. A has two for each four of B; two bits for each say which of the four it
    meets."""
    b = _factor(vectors, instruction, "S1", shape._replace(per_lane=2 * shape.per_lane), shape.b)
    index = instruction.source("S2")
    assert index is not None
    lanes = _operand(vectors, index, "i32")[0] >> np.uint32(shape.index_bit(instruction.fields))
    for n in range(shape.k // 2):
        group, of_lane = divmod(n, shape.per_lane)
        chosen = lanes[group * shape.m : (group + 1) * shape.m] >> np.uint32(2 * of_lane) & np.uint32(3)
        yield a[:, :, n, None], b[:, :, n // 2 * 4 + chosen].transpose(0, 2, 1)


def _places(shape: Shape) -> tuple[Array, Array]:
    """Registers and lanes of the results, by block, row and column."""
    each = [
        place(shape.m, shape.blocks, shape.result, block, i, j)
        for block in range(shape.blocks)
        for i in range(shape.m)
        for j in range(shape.m)
    ]
    lanes, registers = np.array(each).T.reshape(2, shape.blocks, shape.m, shape.m)
    return registers, lanes


def place(m: int, blocks: int, result: str, block: int, i: int, j: int) -> tuple[int, int]:
    """The lane and the register (of the result's size) that hold element (i, j) of a block of the result."""
    if result == "f64":
        return (j + 16 * (i % 4), i // 4) if m == 16 else (j + 4 * block + 16 * i, 0)
    if m == 4:
        return j + 4 * block, i
    groups = LANES // m
    per_block = m * m // LANES
    return j + m * (i // 4 % groups), per_block * block + i // (4 * groups) * 4 + i % 4


def _factor(vectors: Array, instruction: Instruction, name: str, shape: Shape, kind: str) -> Array:
    """Elements of A (or of B transposed) by block, row and depth, as bits of f32, f64 or as integers."""
    source = instruction.source(name)
    assert source is not None
    width, per_lane = _WIDTHS[kind], shape.per_lane
    words = _operand(vectors, source, "f64" if kind == "f64" else "i32" if kind == "i8" else "f32")
    if name == "S1":
        groups = shape.lane_groups(instruction.fields)
        words = np.concatenate([words[:, 16 * group : 16 * group + 16] for group in groups], axis=1)
    if shape.negates(instruction.fields, int(name == "S1")):
        words = words ^ np.uint64(1 << 63)
    elements = np.zeros((shape.blocks, shape.m, shape.k), words.dtype)
    for n in range(per_lane):
        pieces = words[width * n // 32] if width < 64 else words[0]
        if width < 32:
            pieces = pieces >> np.uint32(width * n % 32) & np.uint32((1 << width) - 1)
        values = _widened(pieces, kind)
        for group in range(LANES // shape.m):
            block, depth = group % shape.blocks, group // shape.blocks * per_lane + n
            elements[block, :, depth] = values[group * shape.m : (group + 1) * shape.m]
    return elements


def _widened(bits: Array, kind: str) -> Array:
    if kind == "f16":
        return bits.astype(np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
    if kind == "bf16":
        return bits << np.uint32(16)
    if kind == "i8":
        return bits.astype(np.uint8).view(np.int8).astype(np.int32).view(np.uint32)
    if kind in ("fp8", "bf8"):
        return np.array([_widened_byte(int(one), *((3, 8) if kind == "fp8" else (2, 16))) for one in bits], np.uint32)
    if kind == "xf32":
        return bits & np.uint32(0xFFFFE000)  # sources: `to_xf32` of matrices.h
    return bits


def _widened_byte(bits: int, fraction_bits: int, bias: int) -> int:
    """A float of eight bits without infinities, whose negative zero is the one NaN, as bits of f32."""
    if bits == 0x80:
        return 0x7FC00000
    exponent, fraction = bits >> fraction_bits & (0x7F >> fraction_bits), bits & (1 << fraction_bits) - 1
    size = (
        fraction * 2.0 ** (1 - bias) if exponent == 0 else ((1 << fraction_bits) + fraction) * 2.0 ** (exponent - bias)
    )
    value = size / (1 << fraction_bits)
    return int(np.array([-value if bits >> 7 else value], np.float32).view(np.uint32)[0])


def _operand(vectors: Array, source: Source, type_: str) -> Array:
    """The registers of a source of float or integer results, a constant in as many as there are."""
    value = source.value
    if isinstance(value, Register):
        return _registers(vectors, value, type_)
    assert isinstance(value, Constant)
    bits = constant_bits(value.code, "b32" if type_ == "i32" else type_)
    return np.full((_MOST_REGISTERS, LANES), bits, np.uint64 if type_ == "f64" else np.uint32)


def _registers(vectors: Array, register: Register, type_: str) -> Array:
    first = number(register)
    rows = np.ascontiguousarray(vectors[first : first + register.dwords].astype(np.uint32))
    if type_ != "f64":
        return rows
    return rows[0::2].astype(np.uint64) | rows[1::2].astype(np.uint64) << np.uint64(32)


def _step(result: str, a: Array, b: Array, c: Array) -> Array:
    if result == "i32":
        return a * b + c
    return fused(np.broadcast_arrays(a, b, c), result)
