"""Vectors and matrices on the cpu device, in every layout, against NumPy."""

import numpy as np
import pytest
from kernel_runs import LAYOUTS, NON_UNIFORM, Layout, verify

FILE = "linear_algebra.cl"
RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def same_data_whatever_ran_before():
    RNG.bit_generator.state = np.random.default_rng(5).bit_generator.state


def integers(*shape, high=10):
    """Floats whose sums and products are exact."""
    return RNG.integers(0, high, shape).astype(np.float32)


@pytest.mark.parametrize(("size", "group"), [(1, None), (64, 64), (100, 100), (1000, None), (77, 7), (70001, None)])
def test_vadd(size, group):
    a, b = integers(size), integers(size)
    _, _, c = verify(FILE, "vadd", (size,), group and (group,), [a, b, np.zeros_like(a)], layouts=LAYOUTS)
    assert (c == a + b).all()


def test_vadd_in_groups_that_do_not_divide():
    a, b = integers(1001), integers(1001)
    c = verify(FILE, "vadd", (1001,), (64,), [a, b, np.zeros_like(a)], layouts=LAYOUTS, options=NON_UNIFORM)[2]
    assert (c == a + b).all()


def test_daxpy():
    x, y = RNG.random(333), RNG.random(333)
    found = verify(FILE, "daxpy", (333,), None, [2.5, x, y])[1]
    np.testing.assert_allclose(found, 2.5 * x + y, rtol=1e-15)


@pytest.mark.parametrize("layout", [Layout(16, 4), Layout(8, 2, 1, 0), None])
def test_matmul(layout):
    a, b = integers(37, 37), integers(37, 37)
    c = verify(FILE, "matmul", (37, 37), None, [a, b, np.zeros_like(a), 37], layouts=[layout])[2]
    assert (c == a @ b).all()


def test_matmul_tiled():
    a, b = integers(48, 48), integers(48, 48)
    c = verify(FILE, "matmul_tiled", (48, 48), (16, 16), [a, b, np.zeros_like(a), 48], layouts=LAYOUTS)[2]
    assert (c == a @ b).all()


def test_matmul_double():
    a, b = integers(19, 19).astype(float), integers(19, 19).astype(float)
    c = verify(FILE, "matmul_double", (19, 19), None, [a, b, np.zeros_like(a), 19])[2]
    assert (c == a @ b).all()


def test_transpose():
    a = integers(32, 48)
    out = verify(FILE, "transpose", (48, 32), (16, 16), [a, np.zeros((48, 32), np.float32), 48, 32], layouts=LAYOUTS)[1]
    assert (out == a.T).all()


def test_gaussian_elimination_step():
    size, t = 23, 4
    m, a, b = integers(size, size), integers(size, size), integers(size)
    _, found, right = verify(FILE, "gaussian", (size, size), None, [m, a, b, size, t])
    expected, expected_right = a.copy(), b.copy()
    expected[t + 1 :, t:] -= m[t + 1 :, t : t + 1] * a[t, t:]
    expected_right[t + 1 :] -= m[t + 1 :, t] * b[t]
    assert (found == expected).all()
    assert (right == expected_right).all()


def test_lud():
    from headwater.runtime import Local

    m = RNG.random((16, 16)).astype(np.float32) + 16 * np.eye(16, dtype=np.float32)
    found = verify(FILE, "lud", (16,), (16,), [m, Local(16 * 16 * 4), 16, 0], close=1e-5)[0]
    lower, upper = np.tril(found, -1) + np.eye(16), np.triu(found)
    np.testing.assert_allclose(lower @ upper, m, rtol=2e-5, atol=2e-5)


def test_spmv():
    counts = RNG.integers(0, 20, 101)
    rows = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    columns = RNG.integers(0, 50, rows[-1]).astype(np.int32)
    values, x = integers(rows[-1]), integers(50)
    y = verify(FILE, "spmv", (128,), (32,), [values, columns, rows, x, np.zeros(101, np.float32), 101], layouts=5)[4]
    assert (y == np.add.reduceat(np.append(values * x[columns], 0), rows[:-1]) * (counts > 0)).all()


def test_floyd():
    d = RNG.integers(1, 1000, (21, 21)).astype(np.uint32)
    np.fill_diagonal(d, 0)
    found = verify(FILE, "floyd", (21, 21), None, [d, 21, 6])[0]
    assert (found == np.minimum(d, d[:, 6:7] + d[6])).all()
