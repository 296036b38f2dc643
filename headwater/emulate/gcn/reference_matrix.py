"""Matrix instructions (v_mfma_…) and registers in, registers with the product added out.

AMD, "CDNA2" Instruction Set Architecture Reference Guide, "Matrix Arithmetic Instructions", and AMD's matrix
instruction calculator say which lane and register holds which element.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from headwater.emulate.wave.evaluate_exact import compute
from headwater.emulate.wave.evaluate_numpy import Array
from headwater.emulate.wave.layout import LANES
from headwater.isa.gcn.model import Constant, Instruction, Literal, Register, Source, constant_bits

_NAME = re.compile(
    r"v_s?mfmac?_(?P<result>[a-z]+\d+)_(?P<m>\d+)x\d+x(?P<k>\d+)_?(?:(?P<blocks>\d+)b_)?"
    r"(?P<a>f32|f16|bf16|i8|f64|xf32|fp8|bf8)(?:_(?P<b>fp8|bf8))?(?P<one_k>_1k)?$"
)
_ACC = 256
_WIDTHS = {"f32": 32, "f64": 64, "f16": 16, "i8": 8, "bf16": 16, "xf32": 32, "fp8": 8, "bf8": 8}
"""Bits of a factor."""


class Shape(NamedTuple):
    """A matrix instruction: the result's type, its rows and columns (``m``), the depth ``k``, both factors' types, how
    many ``blocks`` are multiplied, and how many factors a lane has of A. ``sparse``: A has two factors for each four of
    B, of which a lane has twice as many."""

    result: str
    m: int
    k: int
    a: str
    b: str
    blocks: int
    per_lane: int
    sparse: bool = False

    def index_bit(self, fields: Mapping[str, int]) -> int:
        """Where the indices of a sparse A begin in their register: ABID chooses among as many sets as fit, if CBSZ is 0
        (AMD, "CDNA3" Instruction Set Architecture Reference Guide, "Sparse Matrix")."""
        bits = 2 * self.per_lane
        return fields["abid"] % (32 // bits) * bits if not fields["cbsz"] else 0


@cache
def shape_of(name: str) -> Shape:
    """What the name of an instruction says: those up to gfx90a leave the number of blocks out."""
    found = _NAME.match(name)
    assert found is not None, name
    result, a, b = found["result"], found["a"], found["b"] or found["a"]
    m, k = int(found["m"]), int(found["k"])
    if name.endswith(f"x{k}{a}{found['one_k'] or ''}"):
        per_lane = {"f32": 1, "f64": 1, "f16": 4, "i8": 4, "bf16": 4 if found["one_k"] else 2}[a]
        return Shape(result, m, k, a, b, LANES * per_lane // (m * k), per_lane)
    if name.startswith("v_smfmac"):
        return Shape(result, m, k, a, b, 1, m * k // 2 // LANES, sparse=True)
    blocks = int(found["blocks"] or 1)
    return Shape(result, m, k, a, b, blocks, m * k * blocks // LANES)


def multiply(vectors: Array, instruction: Instruction, bits: Callable[[Source], Array]) -> None:
    """D = A B + C for each block; products are added one after the other, each step rounded once."""
    shape = shape_of(instruction.row.name)
    if shape.sparse:
        _multiply_sparse(vectors, instruction, shape)
        return
    result, m, k, blocks = shape.result, shape.m, shape.k, shape.blocks
    a = _factor(vectors, instruction, "S0", shape, shape.a)
    b = _factor(vectors, instruction, "S1", shape, shape.b)
    del bits
    fields = instruction.fields
    broadcast, chosen = fields.get("cbsz", 0), fields.get("abid", 0)
    source, dest = instruction.source("S2"), instruction.dest("D")
    assert source is not None
    assert dest is not None
    first = dest.register.index + (_ACC if dest.register.file == "a" else 0)
    words = 2 if result == "f64" else 1
    total: dict[tuple[int, int, int], int] = {}
    for block in range(blocks):
        of_a = block if not broadcast else (block & ~((1 << broadcast) - 1)) + chosen
        for i in range(m):
            for j in range(m):
                lane, register = place(m, blocks, result, block, i, j)
                value = _element(vectors, source, register, lane, words)
                for depth in range(k):
                    value = _step(result, a[of_a, i, depth], b[block, j, depth], value)
                total[lane, register, block] = value
    for (lane, register, _), value in total.items():
        for n in range(words):
            vectors[first + words * register + n, lane] = value >> 32 * n & 0xFFFFFFFF


def _multiply_sparse(vectors: Array, instruction: Instruction, shape: Shape) -> None:
    """D = A B + D for an A of which two bits for each factor say where it is among four."""
    a = _factor(vectors, instruction, "S0", shape, shape.a)
    b = _factor(vectors, instruction, "S1", shape._replace(per_lane=2 * shape.per_lane), shape.b)
    index, dest = instruction.source("S2"), instruction.dest("D")
    assert index is not None
    assert dest is not None
    first = dest.register.index + (_ACC if dest.register.file == "a" else 0)
    bit = shape.index_bit(instruction.fields)
    for i in range(shape.m):
        for j in range(shape.m):
            lane, register = place(shape.m, 1, shape.result, 0, i, j)
            value = int(vectors[first + register, lane])
            for n in range(shape.k // 2):
                group, of_lane = divmod(n, shape.per_lane)
                chosen = _element(vectors, index, 0, group * shape.m + i, 1) >> bit + 2 * of_lane & 3
                value = _step(shape.result, a[0, i, n], b[0, j, n // 2 * 4 + chosen], value)
            vectors[first + register, lane] = value


def place(m: int, blocks: int, result: str, block: int, i: int, j: int) -> tuple[int, int]:
    """The lane and the register (of the result's size) that hold element (i, j) of a block of the result."""
    if result == "f64":
        return (j + 16 * (i % 4), i // 4) if m == 16 else (j + 4 * block + 16 * i, 0)
    if m == 4:
        return j + 4 * block, i
    groups = LANES // m
    per_block = m * m // LANES
    return j + m * (i // 4 % groups), per_block * block + i // (4 * groups) * 4 + i % 4


def _factor(
    vectors: Array, instruction: Instruction, name: str, shape: Shape, kind: str
) -> dict[tuple[int, int, int], int]:
    """Elements of A (or of B transposed) by block, row and depth, as bits of f32, f64 or as integers."""
    source = instruction.source(name)
    assert source is not None
    width, per_lane = _WIDTHS[kind], shape.per_lane
    elements: dict[tuple[int, int, int], int] = {}
    for lane in range(LANES):
        group = lane // shape.m
        words = max(1, width * per_lane // 32)
        bits = sum(_element(vectors, source, n, lane, 1) << 32 * n for n in range(words))
        for n in range(per_lane):
            piece = bits >> width * n & (1 << width) - 1
            block, depth = (group % shape.blocks, group // shape.blocks * per_lane + n)
            elements[block, lane % shape.m, depth] = _widened(piece, kind)
    return elements


def _widened(bits: int, factors: str) -> int:
    if factors == "f16":
        return int(np.array([bits], np.uint16).view(np.float16).astype(np.float32).view(np.uint32)[0])
    if factors == "bf16":
        return bits << 16
    if factors == "i8":
        return bits - 256 if bits >> 7 else bits
    if factors in ("fp8", "bf8"):
        return _widened_byte(bits, *((3, 8) if factors == "fp8" else (2, 16)))
    if factors == "xf32":
        return bits & 0xFFFFE000  # sources: `to_xf32` of support.c
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


def _element(vectors: Array, source: Source, register: int, lane: int, words: int) -> int:
    value = source.value
    if isinstance(value, Constant):
        return constant_bits(value.code, "f64" if words == 2 else "b32" if "i" in source.type else "f32")
    if isinstance(value, Literal):
        return value.bits
    assert isinstance(value, Register)
    first = value.index + (_ACC if value.file == "a" else 0) + words * register
    return sum(int(vectors[first + n, lane]) << 32 * n for n in range(words))


def _step(result: str, a: int, b: int, c: int) -> int:
    if result == "i32":
        return (c + a * b) & 0xFFFFFFFF
    return compute("fma", [a, b, c], result, 0)
