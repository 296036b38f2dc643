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


large_product = product


@triton.jit
def attention(q, k, v, out, n, scale, ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDTH: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    width = tl.arange(0, WIDTH)
    asked = tl.load(q + rows[:, None] * WIDTH + width[None, :])
    highest = tl.full((ROWS,), -float("inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    sums = tl.zeros((ROWS, WIDTH), tl.float32)
    for start in range(0, n, COLUMNS):
        columns = start + tl.arange(0, COLUMNS)
        scores = scale * tl.dot(asked, tl.load(k + columns[None, :] * WIDTH + width[:, None]))
        new = tl.maximum(highest, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        less = tl.exp(highest - new)
        total = total * less + tl.sum(weights, axis=1)
        values = tl.load(v + columns[:, None] * WIDTH + width[None, :])
        sums = sums * less[:, None] + tl.dot(weights.to(tl.float16), values)
        highest = new
    tl.store(out + rows[:, None] * WIDTH + width[None, :], sums / total[:, None])


# A kernel that reports from the device.


@triton.jit
def dump(x, most, N: tl.constexpr):
    """A block's values, and an assertion."""
    at = tl.arange(0, N)
    value = tl.load(x + at)
    tl.device_print("value", value)
    tl.device_print("group", tl.program_id(0))
    tl.device_assert(value < most, "too large")


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
    "large_product": (
        {"a": "*fp16", "b": "*fp16", "out": "*fp32", "n": "i32", "BLOCK": "constexpr", "DEPTH": "constexpr"},
        {"BLOCK": 128, "DEPTH": 32},
        4,
        ("gfx90a", "gfx942"),
    ),
    "attention": (
        {
            "q": "*fp16",
            "k": "*fp16",
            "v": "*fp16",
            "out": "*fp32",
            "n": "i32",
            "scale": "fp32",
            "ROWS": "constexpr",
            "COLUMNS": "constexpr",
            "WIDTH": "constexpr",
        },
        {"ROWS": 128, "COLUMNS": 64, "WIDTH": 64},
        4,
        ("gfx90a", "gfx942"),
    ),
    "dump": ({"x": "*fp32", "most": "fp32", "N": "constexpr"}, {"N": 64}, 1, ("gfx90a",)),
    "first_of_each": ({"addresses": "*i64", "out": "*fp32"}, {}, 1, ("gfx90a",)),
}
