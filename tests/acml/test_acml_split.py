"""Which way a product takes, and products that several ways share."""

import math
import subprocess
import sys
import threading

import numpy as np
import pytest

from headwater import acml
from headwater.acml import costs, split
from headwater.acml.costs import Costs
from headwater.errors import DeviceError, KernelFault, ResourceError, UsageError

pytest.importorskip("scipy")
threadpoolctl = pytest.importorskip("threadpoolctl")


class Slow(split.Way):
    """A way that computes as the processor, and says where it ran."""

    def __init__(self, name, threads=False):
        super().__init__()
        self.name, self.threads = name, threads
        self.rows, self.limits, self.fails = [], [], False

    def product(self, a, kept, out=None):
        if self.fails:
            raise KernelFault("out of memory")
        self.rows.append(len(a))
        self.limits += [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
        return np.matmul(a, kept, out=out)


def known(monkeypatch, **of):
    monkeypatch.setattr(split, "of", lambda way, dtype: of[way.name])
    monkeypatch.setattr(split, "sharing", lambda ways: 1e-5)


FAST = Costs(1e-3, 1e10, ((1e4, 1e9), (1e9, 1e12)))
NEAR = Costs(1e-6, 0.0, ((1e4, 1e9), (1e9, 1e10)))


def test_rates_lie_between_the_measured_ones():
    assert NEAR.rate(1) == 1e9
    assert NEAR.rate(1e12) == 1e10
    assert NEAR.rate(1e4 * 1e5**0.5) == pytest.approx(10**9.5)
    assert FAST.seconds(1e12, 1e10) == pytest.approx(1e-3 + 1 + 1)


def test_small_products_stay_and_large_ones_go_or_are_shared(monkeypatch):
    near, far = Slow("near"), Slow("far")
    known(monkeypatch, near=NEAR, far=FAST)

    def chosen(n):
        return [way.name for way in split.plan(n, n, n, np.dtype(float), [near, far]).chosen]

    assert chosen(16) == ["near"]
    assert chosen(20000) == ["far"]
    known(monkeypatch, near=NEAR, far=Costs(1e-5, 0.0, ((1e4, 1e9), (1e9, 2e10))))
    assert chosen(2000) == ["near", "far"]


@pytest.mark.parametrize("m", [32, 100, 1001])
def test_tiles_of_one_queue_make_the_whole(monkeypatch, m):
    ways = Slow("near"), Slow("far")
    known(monkeypatch, near=NEAR, far=NEAR)
    rng = np.random.default_rng(m)
    a, b = rng.random((m, 30)), rng.random((30, 20))
    made = split.plan(m, 20, 30, a.dtype, ways)
    made.chosen = ways
    assert np.allclose(split.split_product(a, b, made), a @ b)
    assert sum(made.shares.values()) == m == sum(map(sum, (way.rows for way in ways)))
    assert {"near": sum(ways[0].rows), "far": sum(ways[1].rows)} == made.shares


def test_blas_leaves_a_processor_for_each_way_that_needs_one(monkeypatch):
    monkeypatch.setattr(split.os, "cpu_count", lambda: 2)
    ways = Slow("near"), Slow("far", threads=True)
    known(monkeypatch, near=NEAR, far=NEAR)
    a = np.ones((200, 50))
    made = split.plan(200, 50, 50, a.dtype, ways)
    made.chosen = ways
    split.split_product(a, np.ones((50, 50)), made)
    assert set(ways[0].limits) == {1}


def test_a_way_that_fails_raises_and_no_thread_is_left(monkeypatch):
    ways = Slow("near"), Slow("far")
    ways[1].fails = True
    known(monkeypatch, near=NEAR, far=NEAR)
    a = np.ones((4000, 30))
    made = split.plan(4000, 30, 30, a.dtype, ways)
    made.chosen = ways
    before = threading.active_count()
    with pytest.raises(KernelFault, match="out of memory"):
        split.split_product(a, np.ones((30, 30)), made)
    assert threading.active_count() == before


def test_costs_are_measured_once_and_kept(monkeypatch, tmp_path):
    calls = []

    class Counted(Slow):
        def product(self, a, kept, out=None):
            calls.append(len(a))
            return super().product(a, kept, out)

    monkeypatch.setattr(costs, "SIZES", (8, 16))
    way = Counted(f"a way of {tmp_path}")  # of which the cache knows nothing
    first = costs.of(way, np.dtype(np.float32))
    way.costs.clear()  # what the process remembers
    assert calls
    assert len(first.rates) == 2
    calls.clear()
    assert costs.of(way, np.dtype(np.float32)) == first
    assert not calls


def test_explain_tells_of_each_way_and_of_all(monkeypatch):
    monkeypatch.setattr(costs, "SIZES", (16, 64))
    rng = np.random.default_rng(0)
    a, b = rng.random((100, 40), np.float32), rng.random((40, 30), np.float32)
    text = str(acml.explain(acml.matmul, a, b, devices=["processor", "vega64"]))
    lines = [line.split("  ")[0] for line in text.splitlines()]
    assert lines[1] == "processor"
    assert "chosen: processor" in lines  # a simulated chip is slower than the processor that simulates it
    assert "together" in lines
    assert text.splitlines()[-1].startswith("rows together: processor ")
    with pytest.raises(UsageError, match="explain takes matmul or dot"):
        acml.explain(acml.solve, a, b)
    with pytest.raises(UsageError, match="explain takes matmul or dot"):
        acml.explain(acml.fft, a)


def test_simulated_chips_and_the_cpu_device_take_no_part_unless_named():
    names = [way.name for way in split.present()]
    assert names[0] == "processor"
    assert all(not way.threads for way in split.present()[1:])


def test_a_gpu_without_doubles_takes_no_part_in_products_of_them(monkeypatch):
    near, far = Slow("near"), Slow("far")

    def of(way, dtype):
        if way is far and dtype.itemsize == 8:
            raise DeviceError("double precision is not supported")
        return NEAR

    monkeypatch.setattr(split, "present", lambda: (near, far))
    monkeypatch.setattr(split, "of", of)
    split.small.cache_clear()
    assert split.able(np.dtype(np.float32)) == (near, far)
    assert split.able(np.dtype(np.float64)) == (near,)
    assert split.small("d") == math.inf
    assert split.small("f") < math.inf
    a, limits = np.ones((40, 40)), split._limits.copy()
    try:
        assert (split.matmul(a, a) == 40).all()
        assert (acml.matmul(a, a) == 40).all()
        assert far.rows == []
    finally:
        split._limits[:] = limits
        split.small.cache_clear()


def test_sharing_that_hardly_pays_is_left(monkeypatch):
    near, far = Slow("near"), Slow("far")
    known(
        monkeypatch, near=Costs(0, 0.0, ((1.0, 1e10),)), far=Costs(0, 0.0, ((1.0, 1e9),))
    )  # 10/11 of the time at best
    assert len(split.plan(2000, 2000, 2000, np.dtype(float), [near, far]).chosen) == 1
    monkeypatch.setattr(split, "sharing", lambda ways: 100.0)
    known_costs = Costs(0, 0.0, ((1.0, 1e10),))
    monkeypatch.setattr(split, "of", lambda way, dtype: known_costs)
    assert len(split.plan(2000, 2000, 2000, np.dtype(float), [near, far]).chosen) == 1


def test_small_products_do_not_ask(monkeypatch):
    near, far = Slow("near"), Slow("far")
    monkeypatch.setattr(split, "present", lambda: (near, far))
    monkeypatch.setattr(split, "small", lambda kind: 1000.0)
    monkeypatch.setattr(split, "decided", split.lru_cache(split.Choice))
    known(monkeypatch, near=Costs(0, 0.0, ((1.0, 1e6),)), far=FAST)
    assert (acml.matmul(np.ones((9, 9)), np.ones((9, 9))) == 9).all()
    assert not near.rows
    assert not far.rows
    assert (acml.matmul(np.ones((90, 9)), np.ones((9, 9))) == 9).all()
    assert far.rows == [90]


@pytest.fixture
def contest(monkeypatch):
    """Two ways that are predicted to be about as fast."""
    ways = Slow("near"), Slow("far")
    monkeypatch.setattr(split, "present", lambda: ways)
    monkeypatch.setattr(split, "small", lambda kind: 1.0)
    monkeypatch.setattr(split, "decided", split.lru_cache(split.Choice))
    monkeypatch.setattr(split, "_seen", {})
    known(monkeypatch, near=Costs(0, 0.0, ((1.0, 1e7),)), far=Costs(0, 0.0, ((1.0, 2e7),)))
    return ways


def test_first_products_of_a_size_try_the_ways_that_may_be_fastest(contest, monkeypatch):
    near, far = contest
    clock = iter([0, 5, 10, 12, 20, 25, 30, 32.0])  # far takes 5 seconds, near 2
    monkeypatch.setattr(split.time, "perf_counter", lambda: next(clock))
    a = np.ones((10, 10))
    for _ in range(7):
        assert (acml.matmul(a, a) == 10).all()
    assert (len(far.rows), len(near.rows)) == (2, 5)
    made = split.plan(11, 11, 11, a.dtype, contest, split.Choice(11, 11, 11, "d").factors)
    assert made.alone["far"] > made.alone["near"]  # what was measured is known of sizes near it
    assert not split.Choice(100, 11, 11, "d").factors


def test_sizes_of_the_processor_are_remembered_by_the_builtin_function(monkeypatch):
    if acml.matmul is split.matmul:
        pytest.skip("no compiler")
    processor, far = split._processor(), Slow("far")
    monkeypatch.setattr(split, "present", lambda: (processor, far))
    monkeypatch.setattr(split, "small", lambda kind: 1.0)
    monkeypatch.setattr(split, "decided", split.lru_cache(split.Choice))
    monkeypatch.setattr(split, "_seen", {})
    known(monkeypatch, processor=FAST, far=Costs(1.0, 0.0, ((1.0, 1e7),)))
    a, b = np.ones((11, 13), np.float32), np.ones((13, 17), np.float32)
    try:
        assert (acml.matmul(a, b) == 13).all()
        monkeypatch.setattr(split, "decided", None)  # which is not asked again
        assert (acml.matmul(a, b) == 13).all()
        with pytest.raises(TypeError):
            acml.matmul(a.astype(float), b.astype(float))
        with pytest.raises(TypeError):
            acml.matmul(b.T.copy(), a.T.copy())
        with pytest.raises(ValueError, match="mismatch"):
            acml.matmul(a, b[:12])
    finally:
        split._settled[:] = -1
        split._limits[2] = 0


@pytest.mark.parametrize("error", [MemoryError, ResourceError])
def test_memory_that_a_gpu_has_not_is_the_processors(contest, monkeypatch, error):
    _near, far = contest
    calls = []

    def product(a, kept, out=None):
        calls.append(1)
        raise error("no memory")

    monkeypatch.setattr(far, "product", product)
    a = np.ones((10, 10))
    for _ in range(3):
        assert (acml.matmul(a, a) == 10).all()
    assert len(calls) == 1


def test_matmul_is_numpys_for_other_shapes():
    a = np.arange(24.0).reshape(2, 3, 4)
    assert (acml.matmul(a, np.ones(4), devices=["processor", "cpu"]) == a @ np.ones(4)).all()
    assert acml.matmul(np.ones((0, 3)), np.ones((3, 2))).shape == (0, 2)


def test_headwater_does_not_import_the_library_by_itself():
    code = "import sys, headwater, headwater.runtime; sys.exit(any('acml' in name or name == 'scipy' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("devices", [[], (), "cpu"])
def test_devices_are_a_list_of_names(devices):
    with pytest.raises(UsageError, match="devices is a list of names, not "):
        acml.matmul(np.eye(2), np.eye(2), devices=devices)
    with pytest.raises(UsageError, match="devices is a list of names, not "):
        acml.explain(acml.matmul, np.eye(2), np.eye(2), devices=devices)
