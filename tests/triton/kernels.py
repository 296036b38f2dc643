"""Triton kernels of the tests; `make_objects.py` compiles them to what lies in ``objects/``."""

import triton
import triton.language as tl


@triton.jit
def scaled_sum(x, y, out, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + factor * tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def beyond(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at + n))


@triton.jit
def row_softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=-float("inf"))
    grown = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, grown / tl.sum(grown, axis=0), mask=inside)


@triton.jit
def product(a, b, out, n, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    depth = tl.arange(0, DEPTH)
    sums = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, n, DEPTH):
        left = tl.load(a + rows[:, None] * n + start + depth[None, :])
        right = tl.load(b + (start + depth[:, None]) * n + columns[None, :])
        sums += tl.dot(left, right)
    tl.store(out + rows[:, None] * n + columns[None, :], sums)


@triton.jit
def first_of_each(addresses, out):
    which = tl.program_id(0)
    there = tl.load(addresses + which).to(tl.pointer_type(tl.float32))
    tl.store(out + which, tl.load(there))


# Name -> signature, constants, wavefronts, processors.
KERNELS = {
    "scaled_sum": (
        {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "factor": "fp32", "BLOCK": "constexpr"},
        {"BLOCK": 256},
        4,
        ("gfx906", "gfx908", "gfx90a", "gfx942"),
    ),
    "beyond": ({"x": "*fp32", "out": "*fp32", "n": "i64", "BLOCK": "constexpr"}, {"BLOCK": 64}, 1, ("gfx90a",)),
    "row_softmax": (
        {"x": "*fp32", "out": "*fp32", "columns": "i32", "BLOCK": "constexpr"},
        {"BLOCK": 512},
        4,
        ("gfx906", "gfx90a", "gfx942"),
    ),
    "product": (
        {"a": "*fp16", "b": "*fp16", "out": "*fp32", "n": "i32", "BLOCK": "constexpr", "DEPTH": "constexpr"},
        {"BLOCK": 32, "DEPTH": 16},
        4,
        ("gfx908", "gfx90a", "gfx942"),
    ),
    "first_of_each": ({"addresses": "*i64", "out": "*fp32"}, {}, 1, ("gfx90a",)),
}
