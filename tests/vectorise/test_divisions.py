"""Integer divisions of lanes by one number and by a number of each: exact at every edge, and harmless where undefined."""

import numpy as np
import pytest

from benchmarks.forced_layouts import build, run
from headwater.vectorise.layout import Layout

TYPES = {
    "char": np.int8, "uchar": np.uint8, "short": np.int16, "ushort": np.uint16,
    "int": np.int32, "uint": np.uint32, "long": np.int64, "ulong": np.uint64,
}  # fmt: skip
SOURCE = """
kernel void by_one(global const TYPE *a, global TYPE *q, global TYPE *r, TYPE b)
{
    int i = get_global_id(0);
    q[i] = a[i] / b;
    r[i] = a[i] % b;
}
kernel void by_each(global const TYPE *a, global const TYPE *b, global TYPE *q, global TYPE *r)
{
    int i = get_global_id(0);
    q[i] = a[i] / b[i];
    r[i] = a[i] % b[i];
}
"""


def divisors(dtype):
    info = np.iinfo(dtype)
    edges = {1, 2, 3, 5, 7, 10, 100, 641, 1000, 4095, 4096, 46341, 65535, 65537, 10**9 + 7, info.max, info.max - 1}
    edges |= {info.max // 2, info.max // 2 + 1, info.max // 3}
    edges |= {-1, -2, -3, -7, -1000, -46341, info.min, info.min + 1} if info.min else set()
    return sorted(b for b in edges if info.min <= b <= info.max)


def dividends(dtype, b):
    """Numbers around multiples of ``b``, small and large, and any."""
    info, rng = np.iinfo(dtype), np.random.default_rng(abs(b) % 9973)
    most = info.max // abs(b)
    times = [
        0,
        1,
        2,
        3,
        most // 2,
        most - 1,
        most,
        *(int(k) for k in rng.integers(0, most, 60, np.uint64, endpoint=True)),
    ]
    near = [s * (k * abs(b) + d) for k in times for d in (-1, 0, 1) for s in (1, -1)]
    some = rng.integers(info.min, info.max, 100, dtype, endpoint=True).tolist()
    numbers = [a for a in (*near, *some, info.min, info.max) if info.min <= a <= info.max]
    return [a for a in numbers if not (a == info.min < 0 and b == -1)]


def truncated(a, b):
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


@pytest.mark.parametrize("layout", [Layout(1), Layout(4), Layout(16, 2, 0, 0), Layout(64)], ids=str)
@pytest.mark.parametrize("kind", TYPES)
def test_quotients_and_rests_are_exact(kind, layout):
    dtype = TYPES[kind]
    program = build(SOURCE.replace("TYPE", kind), layout)
    every, of_each = [], []
    for b in divisors(dtype):
        numbers = dividends(dtype, b)
        a = np.array(numbers, dtype)
        _, q, r = run(program, "by_one", a.shape, None, [a, np.zeros_like(a), np.zeros_like(a), dtype(b)])
        wanted = [truncated(n, b) for n in numbers]
        assert q.tolist() == wanted, b
        assert r.tolist() == [n - t * b for n, t in zip(numbers, wanted, strict=True)], b
        every += numbers
        of_each += [b] * len(numbers)
    a, b = np.array(every, dtype), np.array(of_each, dtype)
    _, _, q, r = run(program, "by_each", a.shape, None, [a, b, np.zeros_like(a), np.zeros_like(a)])
    wanted = [truncated(n, d) for n, d in zip(every, of_each, strict=True)]
    assert q.tolist() == wanted
    assert r.tolist() == [n - t * d for n, t, d in zip(every, wanted, of_each, strict=True)]


@pytest.mark.parametrize("layout", [Layout(1), Layout(16, 2, 0, 0)], ids=str)
@pytest.mark.parametrize("kind", TYPES)
def test_undefined_divisions_do_no_harm(kind, layout):
    dtype = TYPES[kind]
    program = build(SOURCE.replace("TYPE", kind), layout)
    a = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 5] * 20, dtype)
    for b in (0, -1) if np.iinfo(dtype).min else (0,):
        run(program, "by_one", a.shape, None, [a, np.zeros_like(a), np.zeros_like(a), dtype(b)])
        run(program, "by_each", a.shape, None, [a, np.full_like(a, b), np.zeros_like(a), np.zeros_like(a)])
