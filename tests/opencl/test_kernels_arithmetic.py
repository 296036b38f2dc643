"""Integers and floats in kernels, in every layout, against NumPy."""

import numpy as np
import pytest
from kernel_runs import LAYOUTS, verify

FILE = "arithmetic.cl"
N = 101


@pytest.fixture
def rng():
    return np.random.default_rng(13)


def any_bits(rng, count, dtype):
    return rng.integers(0, 256, count * np.dtype(dtype).itemsize).astype(np.uint8).view(dtype)


def towards_zero(a, b):
    return (abs(a.astype(object)) // abs(b.astype(object))) * np.where((a < 0) != (b < 0), -1, 1)


def test_division(rng):
    a, b = any_bits(rng, N, np.int32), any_bits(rng, N, np.int32)
    b[::3] %= 100
    b[b == 0] = 7
    empty = np.zeros(N, np.int32)
    _, _, q, r, u = verify(FILE, "divide", (N,), None, [a, b, empty, empty, empty.view(np.uint32)], layouts=LAYOUTS)
    expected = towards_zero(a, b)
    assert (q == expected).all()
    assert (r == a.astype(object) - expected * b).all()
    ua, ub = a.view(np.uint32), b.view(np.uint32)
    assert (u == ua // ub + ua % 7).all()


def test_division_never_traps(rng):
    a, b = any_bits(rng, N, np.int32), rng.integers(-1, 2, N).astype(np.int32)
    a[::2] = -(2**31)
    c = any_bits(rng, N, np.int64)
    c[::3] = -(2**63)
    for layout in LAYOUTS:
        o, wide = np.zeros(N, np.int32), np.zeros(N, np.int64)
        *_, o, wide = verify(FILE, "divide_by_anything", (N,), None, [a, b, c, o, wide], layouts=[layout], chips=False)
        fine = b == 1
        assert (o[fine] == a[fine]).all()


def test_division_of_small_integers(rng):
    a, b = (any_bits(rng, 400, np.int8) for _ in range(2))
    c, d = (any_bits(rng, 400, np.uint16) for _ in range(2))
    b[b == 0] = 5
    d[d == 0] = 5
    a[a == -128] = -127
    args = [a, b, np.zeros_like(a), c, d, np.zeros_like(c)]
    _, _, q, _, _, r = verify(FILE, "divide_small", (400,), None, args, layouts=LAYOUTS)
    assert (q == towards_zero(a, b)).all()
    assert (r == c % d).all()


def test_division_of_long_integers(rng):
    a, b = (any_bits(rng, N, np.int64) for _ in range(2))
    b[::4] = 0
    b[::5] >>= 50
    _, _, q, r = verify(
        FILE, "divide_long", (N,), None, [a, b, np.zeros_like(a), np.zeros(N, np.uint64)], layouts=LAYOUTS
    )
    with np.errstate(divide="ignore"):
        assert (q == np.where(b == 0, 0, towards_zero(a, np.where(b == 0, 1, b)))).all()
    assert (r == a.view(np.uint64) % (b.view(np.uint64) | np.uint64(1))).all()


def test_shifts_count_modulo_the_width(rng):
    a, by = any_bits(rng, N, np.int32), rng.integers(0, 70, N).astype(np.int32)
    args = [a, by, np.zeros(N, np.int32), np.zeros(N, np.uint32), np.zeros(N, np.int64), np.zeros(N, np.uint8)]
    _, _, o, u, wide, c = verify(FILE, "shifts", (N,), None, args, layouts=LAYOUTS)
    assert (o == a >> (by & 31)).all()
    assert (u == a.view(np.uint32) << (by & 31).astype(np.uint32)).all()
    assert (wide == a.astype(np.int64) << (by & 63)).all()
    assert (c == a.astype(np.uint8) >> (by & 7)).all()


def test_hash(rng):
    data = any_bits(rng, N, np.uint64)
    seed = np.uint64(0x1234567)
    found = verify(FILE, "hash", (N,), None, [data, np.zeros_like(data), seed], layouts=LAYOUTS)[1]
    h = (seed ^ data) * np.uint64(0x9E3779B97F4A7C15)
    h ^= h >> np.uint64(32)
    h = (h << np.uint64(27)) | (h >> np.uint64(37))
    h = h * np.uint64(0xC2B2AE3D27D4EB4F) + (data >> np.uint64(3))
    h ^= h >> np.uint64(29)
    assert (found == np.where(h % np.uint64(1000003) == 0, 0, h)).all()


def rotate(x, by):
    return (x << np.uint32(by)) | (x >> np.uint32(32 - by))


def test_md5_rounds(rng):
    data = any_bits(rng, 37 * 16, np.uint32)
    found = verify(FILE, "md5", (37,), None, [data, np.zeros((37, 4), np.uint32)], layouts=LAYOUTS)[1]
    w = data.reshape(37, 16).T
    a, b, c, d = (np.full(37, v, np.uint32) for v in (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476))

    def step(f, a, b, c, d, x, s, t):
        return rotate(a + f(b, c, d) + x + np.uint32(t), s) + b

    def f(x, y, z):
        return (x & y) | (~x & z)

    def g(x, y, z):
        return (x & z) | (y & ~z)

    for i in range(0, 16, 4):
        a = step(f, a, b, c, d, w[i], 7, 0xD76AA478)
        d = step(f, d, a, b, c, w[i + 1], 12, 0xE8C7B756)
        c = step(f, c, d, a, b, w[i + 2], 17, 0x242070DB)
        b = step(f, b, c, d, a, w[i + 3], 22, 0xC1BDCEEE)
    for i in range(0, 16, 4):
        a = step(g, a, b, c, d, w[(i * 5 + 1) & 15], 5, 0xF61E2562)
        d = step(g, d, a, b, c, w[(i * 5 + 6) & 15], 9, 0xC040B340)
        c = step(g, c, d, a, b, w[(i * 5 + 11) & 15], 14, 0x265E5A51)
        b = step(g, b, c, d, a, w[(i * 5) & 15], 20, 0xE9B6C7AA)
    assert (found == np.stack([a, b, c, d], 1)).all()


def test_aes_rounds(rng):
    state, keys, table = any_bits(rng, 96 * 4, np.uint32), any_bits(rng, 20, np.uint32), any_bits(rng, 256, np.uint32)
    args = [state, np.zeros_like(state), keys, table, 5]
    found = verify(FILE, "aes", (96,), (32,), args, layouts=LAYOUTS)[1].reshape(96, 4)
    keys = keys.reshape(5, 4)
    s = state.reshape(96, 4) ^ keys[0]
    for r in range(1, 5):
        s = np.stack(
            [
                table[s[:, k] >> 24]
                ^ rotate(table[s[:, (k + 1) % 4] >> 16 & 255], 24)
                ^ rotate(table[s[:, (k + 2) % 4] >> 8 & 255], 16)
                ^ rotate(table[s[:, (k + 3) % 4] & 255], 8)
                for k in range(4)
            ],
            1,
        )
        s ^= keys[r]
    box = np.zeros(256, np.uint32)
    box[:10] = np.arange(1, 11)
    s[:, 0] ^= box[s[:, 1] & 255]
    assert (found == s).all()


def test_random_numbers(rng):
    state = any_bits(rng, N * 4, np.uint32)
    found, o = verify(FILE, "random_numbers", (N,), None, [state, np.zeros(N, np.float32), 10], layouts=LAYOUTS)
    x, y, z, w = state.reshape(N, 4).T.copy()
    count = np.zeros(N)
    for _ in range(10):
        t = x ^ (x << np.uint32(11))
        x, y, z = y, z, w
        w = w ^ (w >> np.uint32(19)) ^ t ^ (t >> np.uint32(8))
        u = w.astype(np.float32) * np.float32(2.3283064e-10)
        count += u * u < 0.5
    assert (found.reshape(N, 4) == np.stack([x, y, z, w], 1)).all()
    assert (o == count).all()


def test_special_floats():
    values = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3.4e38, 1e-30], np.float32)
    x, y = (v.ravel() for v in np.meshgrid(values, values))
    args = [x, y, np.zeros(x.size, np.int32), np.zeros_like(x)]
    _, _, o, f = verify(FILE, "special_floats", (x.size,), None, args, layouts=LAYOUTS, chips=False)
    tests = [x < y, x > y, x == y, x != y, x <= y, np.isnan(x), np.isinf(y)]
    bits = sum(t.astype(int) << k for k, t in enumerate(tests))
    # The sign of a NaN is open, and so is bit 7.
    assert ((o & 0x37F) == (bits | ((x < y) | (x > y)).astype(int) << 8 | (~(x < y)).astype(int) << 9) & 0x37F).all()
    assert ((o >> 7 & 1)[~np.isnan(x)] == np.signbit(x)[~np.isnan(x)]).all()
    with np.errstate(all="ignore"):
        expected = np.where(x > y, x * y, x + y)
    np.testing.assert_array_equal(f, expected)


def test_vector_logic(rng):
    a, b = (rng.integers(0, 60, (N, 4)).astype(np.int32) for _ in range(2))
    a[::7], b[::5] = 0, 30
    _, _, o, p = verify(
        FILE, "vector_logic", (N,), None, [a, b, np.zeros_like(a), np.zeros(N, np.int32)], layouts=LAYOUTS
    )
    assert (o == np.where(a < b, a, b * 2) - (a == b) - (a == 0)).all()
    assert (p == (a > 50).any(1) * 2 + (b > 20).all(1)).all()
