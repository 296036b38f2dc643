"""Matrix instructions (v_mfma_…) and registers in, registers with the product added out.

AMD, "CDNA2" Instruction Set Architecture Reference Guide, "Matrix Arithmetic Instructions", and AMD's matrix
instruction calculator say which lane and register holds which element.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from headwater.emulate.wave.evaluate_exact import compute
from headwater.emulate.wave.evaluate_numpy import Array
from headwater.emulate.wave.layout import LANES
from headwater.isa.gcn.model import Constant, Instruction, Literal, Register, Source, constant_bits

_NAME = re.compile(r"v_mfma_([a-z]+\d+)_(\d+)x(\d+)x(\d+)(f32|f16|bf16|i8|f64)(_1k)?$")
_ACC = 256


def shape_of(name: str) -> tuple[str, int, int, str, int]:
    """Of an instruction the result's type, rows and columns, depth, the factors' type, and the number of blocks."""
    found = _NAME.match(name)
    assert found is not None, name
    result, m, _, k, factors, one_k = found.groups()
    per_lane = {"f32": 1, "f64": 1, "f16": 4, "i8": 4, "bf16": 4 if one_k else 2}[factors]
    blocks = LANES * per_lane // (int(m) * int(k))
    return result, int(m), int(k), factors, blocks


def multiply(vectors: Array, instruction: Instruction, bits: Callable[[Source], Array]) -> None:
    """D = A B + C for each block; products are added one after the other, each step rounded once."""
    result, m, k, factors, blocks = shape_of(instruction.row.name)
    a = _factor(vectors, instruction, "S0", m, k, factors, blocks)
    b = _factor(vectors, instruction, "S1", m, k, factors, blocks)
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
    vectors: Array, instruction: Instruction, name: str, m: int, k: int, factors: str, blocks: int
) -> dict[tuple[int, int, int], int]:
    """Elements of A (or of B transposed) by block, row and depth, as bits of f32, f64 or as integers."""
    source = instruction.source(name)
    assert source is not None
    per_lane = (
        LANES and {"f32": 1, "f64": 1, "f16": 4, "i8": 4, "bf16": 4 if "_1k" in instruction.row.name else 2}[factors]
    )
    width = {"f32": 32, "f64": 64, "f16": 16, "i8": 8, "bf16": 16}[factors]
    elements: dict[tuple[int, int, int], int] = {}
    for lane in range(LANES):
        group = lane // m
        words = max(1, width * per_lane // 32)
        bits = sum(_element(vectors, source, n, lane, 1) << 32 * n for n in range(words))
        for n in range(per_lane):
            piece = bits >> width * n & (1 << width) - 1
            block, depth = (group % blocks, group // blocks * per_lane + n)
            elements[block, lane % m, depth] = _widened(piece, factors)
    return elements


def _widened(bits: int, factors: str) -> int:
    if factors == "f16":
        return int(np.array([bits], np.uint16).view(np.float16).astype(np.float32).view(np.uint32)[0])
    if factors == "bf16":
        return bits << 16
    if factors == "i8":
        return bits - 256 if bits >> 7 else bits
    return bits


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
