"""Large launches try both ways to store, and keep the faster one."""

import numpy as np
import pytest

import headwater as hw
from headwater.runtime import pool, stores


@pytest.fixture(autouse=True)
def untried(monkeypatch, tmp_path):
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(stores, "_known", {})


@pytest.mark.parametrize("faster", [True, False])
def test_the_faster_way_is_kept(faster):
    trial, last = stores.Trial(), False
    assert stores.preferred() is None
    for _ in range(2 * stores.ROUNDS):
        assert not last
        way = trial.streaming()
        last = trial.took(way, 100 if way == faster else 200)
    assert last
    assert stores.preferred() is faster
    stores._known.clear()  # as in another process
    assert stores.preferred() is faster


def test_large_launches_try_both_ways_and_then_no_more(monkeypatch):
    program = hw.compile("kernel void fill(global int *out) { out[get_global_id(0)] = 7; }", device="cpu")
    launch = program.on(hw.device("cpu")).kernels["fill"].prepare((4096,), (64,))
    launch._last_level = 4096
    ways = []
    for _ in range(2 * stores.ROUNDS):
        out = np.zeros(4096, np.int32)
        launch([out], None, None).wait()
        assert (out == 7).all()
        ways.append(launch._free[-1].block[pool.FLAGS] & pool.FLAG_STREAMING)
        launch._cost = 10**9  # on all threads, as a large one
    assert sorted(ways) == [0] * stores.ROUNDS + [1] * stores.ROUNDS
    assert stores.preferred() is not None
    assert launch._trial is None
