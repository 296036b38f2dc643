"""Work-items that depend on each other: barriers, local memory and atomics, in every layout, against NumPy."""

import numpy as np
import pytest
from kernel_runs import LAYOUTS, verify

from headwater.runtime import Local

FILE = "data_parallel.cl"


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.mark.parametrize("group", [1, 16, 64, 256])
def test_reduce(rng, group):
    data = rng.integers(0, 100, 5001).astype(np.float32)
    out = verify(FILE, "reduce", (4 * group,), (group,), [data, np.zeros(4, np.float32), Local(4 * group), 5001])[1]
    assert out.sum() == data.sum()


def test_scan(rng):
    data = rng.integers(0, 100, 256).astype(np.int32)
    out = verify(FILE, "scan", (128,), (128,), [data, np.zeros(256, np.int32), Local(1024), 256], layouts=LAYOUTS)[1]
    assert (out == np.cumsum(data) - data).all()


def test_histogram(rng):
    data = rng.integers(0, 256, 10007).astype(np.uint8)
    bins = verify(FILE, "histogram", (4 * 96,), (96,), [data, np.zeros(256, np.uint32), 10007])[1]
    assert (bins == np.bincount(data, minlength=256)).all()


def test_bitonic_sort(rng):
    data = rng.integers(0, 1 << 32, 256).astype(np.uint32)
    found = data
    for stage in range(8):
        for step in range(stage + 1):
            (found,) = verify(FILE, "bitonic", (128,), None, [found, stage, step, 1])
    assert (found == np.sort(data)).all()


def test_global_atomics():
    n = 77
    a, b = np.array([5, 3, 0, 1000, 50], np.int32), np.array([7, 0, 2**32 - 1, 5, 10, 3], np.uint32)

    def settled(results):
        """What does not depend on the order of the work-items: at a[1] one exchange succeeds, or more that follow it;
        sums seen grow by each work-item's number."""
        a, b, sums = results
        grown = np.diff(np.sort(np.append(sums, a[0])))
        return [np.concatenate([a[:1], [4 <= a[1] <= n], a[2:]]), b, np.sort(grown)]

    found_a, found_b, grown = verify(
        FILE,
        "atomics",
        (n,),
        (7,),
        [a, b, np.zeros(n, np.int32)],
        layouts=LAYOUTS,
        results=settled,
    )
    i = np.arange(n)
    assert found_a[:2].tolist() == [5 + i.sum(), True]
    assert found_a[2:].tolist() == [77, 1000 - 2 * n, min(50, 100 - (n - 1))]
    flipped = np.bitwise_xor.reduce((i * 2654435761 % 2**32).astype(np.uint32)) ^ np.uint32(5)
    assert found_b.tolist() == [n - 1, 2**32 - 1, 0xFFF00000, flipped, 10 + n, (3 - n) % 2**32]
    assert (grown == i).all()


def test_floats_added_by_compare_and_exchange(rng):
    data = rng.integers(0, 50, 1003).astype(np.float32)
    sums = verify(FILE, "add_floats", (1003,), None, [data, np.zeros(5, np.uint32), 5], layouts=LAYOUTS)[1]
    expected = [data[k::5].sum() for k in range(5)]
    assert sums.view(np.float32).tolist() == expected


@pytest.mark.parametrize("group", [16, 33, 128])
def test_local_atomics(rng, group):
    data = rng.integers(0, 1000, 3 * group).astype(np.int32)
    args = [data, np.zeros(15, np.int32), np.zeros(3 * group, np.uint32)]
    _, out, ranks = verify(FILE, "local_atomics", (3 * group,), (group,), args)
    expected = []
    for part in data.reshape(3, group):
        bits = np.bitwise_or.reduce(np.uint32(1) << (part & 31).astype(np.uint32))
        expected += [part.sum(), part.min(), part.max(), bits.view(np.int32), group]
    assert out.tolist() == expected
    assert ranks.all()


def test_nbody(rng):
    n = 96
    p, v = rng.random((n, 4)).astype(np.float32), rng.random((n, 4)).astype(np.float32)
    dt, eps = np.float32(0.01), np.float32(0.1)
    args = [p, v, np.zeros_like(p), n, dt, eps, Local(32 * 16)]
    _, found_v, found = verify(FILE, "nbody", (n,), (32,), args, close=1e-4)
    r = p[None].astype(float) - p[:, None]
    d = (r[..., :3] ** 2).sum(-1) + eps
    a = (p[None, :, 3] / d**1.5)[..., None] * r
    a = a.sum(1)
    expected = p + v * dt + a * 0.5 * dt * dt
    np.testing.assert_allclose(found_v, v + a * dt, rtol=1e-4)
    np.testing.assert_allclose(found[:, :3], expected[:, :3], rtol=1e-4)
    assert (found[:, 3] == p[:, 3]).all()


GROUPS = [(1,), (7,), (100,), (64,), (5, 3), (16, 16), (1, 64), (64, 1), (4, 4, 4), (1, 1, 9), (2, 3, 5), (255,)]


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_ring(rng, group):
    """Barriers in a loop, for groups of many chunks and of sizes that no chunk divides."""
    groups = (3, 2, 1)[: len(group)]
    a = rng.integers(0, 100, int(np.prod(group) * np.prod(groups))).astype(np.int32)
    whole = tuple(g * n for g, n in zip(group, groups, strict=True))
    found = verify(FILE, "ring", whole, group, [a, 4])[0]
    x = a.reshape(-1, int(np.prod(group)))
    with np.errstate(over="ignore"):
        for _ in range(4):
            sent, trips = x.copy(), x & 3
            for j in range(3):
                x = np.where(j < (trips if j == 0 else turns(x, trips, j)), x * np.int32(3) + np.int32(j), x)
                trips = turns(x, trips, j)
            x = x ^ np.roll(sent, -1, axis=1)
    assert (found == x.ravel()).all()


def turns(x, trips, j):
    """How often the loop that tests ``x & 3`` anew before each turn still wants to go on after turn ``j``."""
    return np.where(trips > j, x & 3, trips)


def test_work_items_that_left_are_not_waited_for(rng):
    a = rng.integers(1, 100, 128).astype(np.int32)
    (found,) = verify(FILE, "leave_before_barrier", (128,), (64,), [a, 100], layouts=LAYOUTS)
    expected = a.copy()
    for g, last in ((0, 64), (64, 36)):
        for k in range(last):
            after = g + (k + 1) % 64
            expected[g + k] = a[after] if after < 100 else a[g + k]
    assert (found == expected).all()


def test_values_across_barriers(rng):
    n, group = 150, 50
    data = rng.integers(0, 60, n).astype(np.int32)
    out = verify(
        FILE, "across_barrier", (n,), (group,), [data, np.zeros((n, 4), np.float32), Local(group)], layouts=LAYOUTS
    )[1]
    for i in range(n):
        own, at = int(data[i]), i // group * group
        other = int(data[at + (i - at - 1) % group])
        mine = [own * k for k in range(5)]
        mine[other % 5] += 1000
        y = 1 + (mine[(i - at + other) % 5] if own & 1 else 0)
        assert out[i].tolist() == [own, y, own + own, 3]


@pytest.mark.parametrize("group", [8, 17, 128])
def test_groups_decide_about_barriers(rng, group):
    n = 4 * group
    data = rng.integers(1, 1000, n).astype(np.int32)
    out = verify(FILE, "group_decides", (n,), (group,), [data, np.zeros(n, np.int32)], layouts=LAYOUTS)[1]
    lanes = np.arange(group)
    for g in range(4):
        x = data[g * group : (g + 1) * group].astype(np.int64)
        if g & 1:
            x = x + x[::-1]
        for k in range(g + 1):
            cell = x + k
            if cell[0] % 7 == 0:
                break
            x = cell[(lanes * 3 + k) % group]
        assert (out[g * group : (g + 1) * group] == x).all()
