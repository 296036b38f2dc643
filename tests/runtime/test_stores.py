"""Large launches try both ways to store, and keep the faster one."""

import time

import numpy as np
import pytest

import headwater as hw
from headwater.runtime import cpu_launch, pool, stores


@pytest.fixture(autouse=True)
def untried(monkeypatch, tmp_path):
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(stores, "_known", {})


@pytest.mark.parametrize("faster", [True, False])
def test_the_faster_way_is_kept(faster):
    trial, last = stores.Trial("one"), False
    assert stores.preferred("one") is None
    for _ in range(2 * stores.ROUNDS):
        assert not last
        way = trial.streaming()
        last = trial.took(way, 100 if way == faster else 200)
    assert last
    assert stores.preferred("one") is faster
    stores._known.clear()  # as in another process
    assert stores.preferred("one") is faster
    assert stores.preferred("another") is None


def test_launches_that_had_to_wait_do_not_tip_the_scales():
    trial, waits = stores.Trial("one"), iter([900, 0, 900, 0])
    while stores.preferred("one") is None:
        way = trial.streaming()
        trial.took(way, 100 + next(waits, 0) if way else 200)
    assert stores.preferred("one") is True


@pytest.mark.parametrize(
    ("size", "sharing", "expected"), [("266240K", "3", 32 << 20), ("32768K", "0000,0000ffff", 32 << 20)]
)
def test_a_virtual_machine_has_a_part_of_its_hosts_cache(monkeypatch, tmp_path, size, sharing, expected):
    files = {"level": "3", "size": size, "shared_cpu_map": sharing}
    for name, text in files.items():
        (tmp_path / "index3").mkdir(exist_ok=True)
        (tmp_path / "index3" / name).write_text(text + "\n")
    monkeypatch.setattr(cpu_launch, "Path", lambda _: tmp_path)
    assert cpu_launch._caches.__wrapped__()[1] == expected


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
    assert stores.preferred(launch.host.library.parent.name) is not None
    assert launch._trial is None


def test_launches_of_one_thread_are_tried_as_well(monkeypatch):
    program = hw.compile("kernel void fill(global int *out) { out[get_global_id(0)] = 8; }", device="cpu")
    launch = program.on(hw.device("cpu")).kernels["fill"].prepare((4096,), (64,))
    launch._last_level, launch._tickets = 4096, 1
    out = np.zeros(4096, np.int32)
    for _ in range(2 * stores.ROUNDS):
        launch([out], None, None).wait()
    assert stores.preferred(launch.host.library.parent.name) is not None


def test_a_coarse_clock_is_left_alone():
    assert stores.clock_for(1e-9) is time.process_time_ns
    assert stores.clock_for(0.0156) is time.perf_counter_ns
