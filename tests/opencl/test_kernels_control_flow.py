"""Work-items that part, in every layout, against the same algorithm in Python."""

import numpy as np
import pytest
from kernel_runs import LAYOUTS, differences, on_pocl, verify

FILE = "control_flow.cl"
N = 101


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def zeros(n=N, dtype=np.int32):
    return np.zeros(n, dtype)


def scalar(function, *arrays):
    """The function of one work-item, called for each."""
    return np.array([function(i, *(int(a[i]) for a in arrays)) for i in range(len(arrays[0]))])


def wrap(x):
    return (x + 2**31) % 2**32 - 2**31


def same_on_pocl(kernel, size, args, found):
    other = on_pocl(FILE, kernel, size, None, args)
    assert other is None or differences(found, other) == []


def test_break_and_continue(rng):
    n = 20
    a = rng.integers(-5, 40, (N, n)).astype(np.int32)
    a[rng.integers(0, N, 20), rng.integers(0, n, 20)] = 2000
    found = verify(FILE, "break_and_continue", (N,), None, [a, zeros(), n], layouts=LAYOUTS)[1]

    def work_item(row):
        s = 0
        for v in row.tolist():
            if v < 0:
                continue
            if v > 1000:
                break
            for k in range(v):
                if k ^ v == 7:
                    break
                if k & 1:
                    continue
                s += k
                if s > 3000:
                    return s
            s ^= v
        return s

    assert (found == [work_item(row) for row in a]).all()


def test_leave_counted_loop(rng):
    a = rng.integers(-5, 1040, (N, 20)).astype(np.int32)
    found = verify(FILE, "leave_counted_loop", (N,), None, [a, zeros(), 20], layouts=LAYOUTS)[1]
    for row, s in zip(a, found, strict=True):
        end = np.argmax(row > 1000) if (row > 1000).any() else 20
        assert s == np.bitwise_xor.reduce(row[:end], initial=0)


def test_values_of_the_last_trip_are_kept_for_each_work_item(rng):
    a = rng.integers(0, 20, 12).astype(np.int32)
    found = verify(FILE, "last_before_leaving", (N,), None, [a, zeros(), 12], layouts=LAYOUTS)[1]

    def work_item(i):
        v = square = j = trips = 0
        for j in range(13):
            if j == 12:
                break
            v = int(a[j]) + i
            square = v * v
            if square % 13 == 5:
                break
            trips += 1
        return wrap(v * 1000000 + square % 1000 * 1000 + j * 10 + (trips == j))

    assert (found == [work_item(i) for i in range(N)]).all()


def test_several_exits(rng):
    a = rng.integers(0, 60000, N).astype(np.int32)
    found = verify(FILE, "several_exits", (N,), None, [a, zeros(), 9], layouts=LAYOUTS)[1]

    def work_item(i, x):
        j = 0
        while True:
            x = x * 5 + 1 & 0xFFFF
            if x % 11 == 3:
                return (1100 + j) * 100000 + x
            if j > 3 and x % 7 == 1:
                return (200 + j) * 100000 + x
            if j == 9:
                return 300 * 100000 + x
            if x % 29 == 0:
                return -x
            j += 1

    assert (found == scalar(work_item, a)).all()


def test_collatz(rng):
    a = rng.integers(1, 5000, N).astype(np.uint32)
    found = verify(FILE, "collatz", (N,), None, [a, zeros(dtype=np.uint32)], layouts=LAYOUTS)[1]

    def steps(i, x):
        count = 0
        while x != 1:
            x = 3 * x + 1 if x & 1 else x // 2
            count += 1
        return count

    assert (found == scalar(steps, a)).all()


def test_switch_on_data(rng):
    op = rng.integers(-1, 11, N).astype(np.int32)
    x = rng.integers(1, 100, N).astype(np.float32)
    found = verify(FILE, "switch_on_data", (N,), None, [op, x], layouts=LAYOUTS)[1]
    cases = {0: x + 1, 1: x * 2, 2: (x - 3) ** 2, 3: x * x, 4: np.sqrt(x), 5: 1 / x, 9: x}
    expected = np.zeros_like(x)
    for value, result in cases.items():
        expected = np.where(op == value, result, expected)
    assert (found == expected).all()


@pytest.mark.parametrize("op", [0, 1, 2, 3, 4])
def test_switch_on_argument(op):
    a, i = np.arange(N, dtype=np.int32), np.arange(N)
    (found,) = verify(FILE, "switch_on_argument", (N,), None, [a, op])
    expected = [a + 7, a * 3 ** (i & 3), np.where(i & 1, a, -a), -a, np.full(N, N)][op]
    assert (found == expected).all()


@pytest.mark.parametrize(
    ("kernel", "high", "extra"),
    [
        ("interpreter", 0, 31),
        ("irreducible", 200, None),
        ("jumps", 5000, None),
        ("nested_loops", 60, None),
        ("returns", 99, None),
    ],
)
def test_jumps_of_every_kind(rng, kernel, high, extra):
    """Against PoCL, where there is one; all layouts agree in any case."""
    if extra is not None:
        args = [rng.integers(0, 256, extra).astype(np.uint8), zeros(), extra]
    else:
        args = [rng.integers(0, high, N).astype(np.int32), zeros()]
    found = verify(FILE, kernel, (N,), None, args, layouts=LAYOUTS)
    assert len(np.unique(found[1])) > 5
    same_on_pocl(kernel, (N,), [a if isinstance(a, np.ndarray) else np.int32(a) for a in args], found)


def test_irreducible(rng):
    a = rng.integers(0, 200, N).astype(np.int32)

    def work_item(i, x):
        n, second = 0, x & 1
        while True:
            if not second:
                x, n = x * 3 + 1, n + 1
                if n > 20:
                    break
            x, n, second = x // 2 + 5, n + 2, 0
            if x % 3:
                continue
            if not (x % 5 and n < 30):
                break
            second = 1
        return wrap(x * 100 + n)

    assert (verify(FILE, "irreducible", (N,), None, [a, zeros()])[1] == scalar(work_item, a)).all()


@pytest.mark.parametrize("trips", [1, 5, 8])
def test_uniform_loop_in_divergent_if(rng, trips):
    a = rng.integers(0, 50, N).astype(np.int32)
    table = rng.integers(0, 50, 8).astype(np.int32)
    found = verify(FILE, "uniform_loop_in_divergent_if", (N,), None, [a, table, zeros(), trips], layouts=LAYOUTS)[2]

    def work_item(i, v):
        if v % 3 == 0:
            return int(table[:trips].sum()) * v
        if v % 3 == 1:
            s = 0
            for k in reversed(range(trips)):
                s ^= int(table[k]) + k
            return s + int(table[v & 7])
        return 0

    assert (found == scalar(work_item, a)).all()


def test_index_that_wraps_around_in_idle_work_items(rng):
    a = rng.integers(0, 100, N).astype(np.int32)
    # The arrays lie between others that must not be read: their neighbours would give other sums.
    found = verify(FILE, "unsigned_wrap", (N,), None, [a, zeros()], layouts=LAYOUTS)[1]
    expected = np.zeros(N, np.int32)
    expected[1:] += a[:-1]
    expected[5:] += 3 * a[:-5]
    expected[:-1] -= a[1:]
    assert (found == expected).all()


@pytest.mark.parametrize("limit", [0, 1, 7, 40, 200])
def test_unsigned_difference(rng, limit):
    a = rng.integers(0, 100, N).astype(np.int32)
    found = verify(FILE, "unsigned_difference", (N,), None, [a, zeros(), limit], layouts=LAYOUTS)[1]
    expected = np.full(N, -1)
    if limit < N:
        expected[limit:] = a[: N - limit]
    assert (found == expected).all()


@pytest.mark.parametrize("start", [0, 50, 2**32 - 1, 2**32 - 37, 2**31 - 20])
def test_index_that_wraps_around(rng, start):
    a = rng.integers(0, 100, N).astype(np.int32)
    found = verify(FILE, "wrapping_index", (N,), None, [a, zeros(), start, N], layouts=LAYOUTS)[1]
    at = (start + np.arange(N)) % 2**32
    assert (found == np.where(at < N, a[at % N], -1)).all()


def test_mandelbrot():
    w, h, most = 33, 21, 60
    args = [zeros(w * h), np.float32(-2), np.float32(-1), np.float32(0.1), w, most]
    # Nothing is contracted, which devices do in ways of their own: points at the edge would differ.
    found = verify(FILE, "mandelbrot", (w, h), None, args, layouts=LAYOUTS)[0].reshape(h, w)
    c = (-2 + 0.1 * np.arange(w)) + 1j * (-1 + 0.1 * np.arange(h))[:, None]
    z, count = np.zeros_like(c), np.zeros((h, w), int)
    with np.errstate(all="ignore"):
        for _ in range(most):
            inside = abs(z) < 2
            count += inside
            z = np.where(inside, z * z + c, z)
    assert (found == count).mean() > 0.95


def test_guarded_loads(rng):
    following = rng.integers(-30, N + 30, N).astype(np.int32)
    found = verify(FILE, "guarded_loads", (N,), None, [following, zeros(), N], layouts=LAYOUTS)[1]

    def work_item(i, _):
        at, hops = i, 0
        while 0 <= at < N and following[at] >= 0 and hops < 100:
            at = int(following[at])
            hops += 1
        return hops * 1000 + at

    assert (found == scalar(work_item, following)).all()


def test_lanes_that_leave_two_loops_at_once(rng):
    values = (rng.random(N + 9) * 3).astype(np.float32)
    values[::4] = 60
    found = verify(FILE, "goes_on_within_and_without", (N,), None, [values, zeros(dtype=np.float32)], layouts=LAYOUTS)[
        1
    ]
    sums = values[:N].copy()
    for turn in range(3):
        again = (values[5 : N + 5] <= 1) & ((turn == 0) | (values[9 : N + 9] >= 50))
        sums = np.where(again, sums + values[7 : N + 7], sums)
    assert (found == sums).all()


@pytest.mark.parametrize("m", [1, 5])
def test_lanes_that_leave_together_a_loop_that_others_left(rng, m):
    values = rng.integers(0, 80, N).astype(np.int32)
    found = verify(FILE, "leaves_together_what_others_left", (N,), None, [values, zeros(), m], layouts=LAYOUTS)[1]
    turns = np.where(values < 40, 6, 1) * (((np.arange(N) ^ values[0]) & 4) != 0) * (m <= 2)
    sums = np.zeros(N, np.int64)
    for turn in range(6):
        sums = np.where(turn < turns, sums * 7 + values, sums)
    assert (found == sums.astype(np.int32)).all()
