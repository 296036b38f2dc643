"""Large launches try their memory access modes, and keep the fastest one."""

import time

import numpy as np
import pytest

import headwater as hw
from headwater.base import host
from headwater.native import launch_block, pool
from headwater.runtime.cpu import trials


@pytest.fixture(autouse=True)
def untried(monkeypatch, tmp_path):
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(trials, "_winners", {})
    monkeypatch.setattr(trials, "_rests_until", {})
    trials._key.cache_clear()


MODES = (3, 1, 2, 0)


def tried(modes, fastest):
    """Let a trial have a winner."""
    trial, last = trials.Trial("one", modes), False
    while not last:
        mode = trial.mode()
        last = trial.took(mode, 100 if mode == fastest else 200)


def rested():
    """As if some time had gone by."""
    trials._rests_until.clear()


@pytest.mark.parametrize("fastest", MODES)
def test_the_fastest_way_of_two_trials_is_kept(fastest):
    trial, last = trials.Trial("one", MODES), False
    assert trials.preferred("one", MODES) == (None, False)
    for _ in range(len(MODES) * trials.ROUNDS):
        assert not last
        mode = trial.mode()
        last = trial.took(mode, 100 if mode == fastest else 110)
    assert last
    assert trials.preferred("one", MODES) == (fastest, False)  # taken for a while
    rested()
    assert trials.preferred("one", MODES) == (None, False)
    trials._winners.clear()  # as in another process
    tried(MODES, fastest)
    assert trials.preferred("one", MODES) == (fastest, True)
    trials._winners.clear()
    rested()
    assert trials.preferred("one", MODES) == (fastest, True)
    assert trials.preferred("one", (2, 0)) == (None, False)
    assert trials.preferred("another", MODES) == (None, False)


def test_a_trial_that_was_disturbed_is_outvoted():
    tried((1, 0), 0)
    tried((1, 0), 1)
    assert trials.preferred("one", (1, 0)) == (1, False)
    rested()
    tried((1, 0), 1)
    assert trials.preferred("one", (1, 0)) == (1, True)


def test_launches_that_had_to_wait_do_not_tip_the_scales():
    trial, waits, last = trials.Trial("one", (1, 0)), iter([900, 0, 900, 0]), False
    while not last:
        mode = trial.mode()
        last = trial.took(mode, 100 + next(waits, 0) if mode else 200)
    assert trials.preferred("one", (1, 0)) == (1, False)


def test_what_is_far_behind_gets_no_more_launches():
    trial, last, launched = trials.Trial("one", MODES), False, []
    while not last:
        launched.append(trial.mode())
        last = trial.took(launched[-1], {3: 190, 1: 100, 2: 300, 0: 120}[launched[-1]])
    assert [launched.count(mode) for mode in MODES] == [trials.FIRST_ROUNDS, trials.ROUNDS] * 2
    assert trials.preferred("one", MODES) == (1, False)


def test_a_launch_that_was_prepared_for_another_trial_does_not_count():
    trial = trials.Trial("one", (1, 0))
    assert not trial.took(3, 1)
    for _ in range(2 * trials.ROUNDS):
        trial.took(trial.mode(), 100)
    assert trials.preferred("one", (1, 0))[0] in (1, 0)


@pytest.mark.parametrize(
    ("size", "sharing", "expected"), [("266240K", "3", 32 << 20), ("32768K", "0000,0000ffff", 32 << 20)]
)
def test_a_virtual_machine_has_a_part_of_its_hosts_cache(monkeypatch, tmp_path, size, sharing, expected):
    files = {"level": "3", "size": size, "shared_cpu_map": sharing}
    for name, text in files.items():
        (tmp_path / "index3").mkdir(exist_ok=True)
        (tmp_path / "index3" / name).write_text(text + "\n")
    monkeypatch.setattr(host, "Path", lambda _: tmp_path)
    assert host.caches_bytes.__wrapped__()[1] == expected


@pytest.fixture
def close(monkeypatch):
    """No mode is given up early."""
    monkeypatch.setattr(trials, "HOPELESS", np.inf)


def test_large_launches_try_both_ways_and_then_no_more(close):
    program = hw.compile("kernel void fill(global int *out) { out[get_global_id(0)] = 7; }", device="cpu")
    launch = program.on(hw.device("cpu")).kernels["fill"].prepare((4096,), (64,))
    launch.access_modes.own_caches = launch.access_modes.least_bytes = 1024
    launch.access_modes.last_level = 4096
    modes = []
    for _ in range(2 * trials.ROUNDS):
        out = np.zeros(4096, np.int32)
        launch([out], None, None).wait()
        assert (out == 7).all()
        modes.append(launch.host.free[-1].block[launch_block.FLAGS] & launch_block.FLAG_STREAMING)
        launch._cost = 10**9  # on all threads, as a large one
    assert sorted(modes) == [0] * trials.ROUNDS + [1] * trials.ROUNDS
    assert trials.preferred(launch.code.library.parent.name, (1, 0))[0] is not None
    assert launch.access_modes.trial is None


def test_launches_that_read_try_to_prefetch(close):
    source = "kernel void twice(global int *x) { size_t i = get_global_id(0); x[i] = 2 * x[i]; }"
    program = hw.compile(source, device="cpu")
    launch = program.on(hw.device("cpu")).kernels["twice"].prepare((4096,), (64,))
    launch.access_modes.own_caches = launch.access_modes.least_bytes = 1024
    launch.access_modes.last_level = 4096
    modes = []
    for _ in range(2 * trials.ROUNDS):
        x = np.arange(4096, dtype=np.int32)
        launch([x], None, None).wait()
        assert (x == 2 * np.arange(4096)).all()
        modes.append(int(launch.host.free[-1].block[launch_block.FLAGS]))
    assert sorted(modes) == [0] * trials.ROUNDS + [launch_block.FLAG_AHEAD] * trials.ROUNDS
    assert launch.access_modes.trial is None
    launch.access_modes.last_level = 1 << 20
    launch([np.zeros(4096, np.int32)], None, None).wait()
    flags = launch.host.free[-1].block[launch_block.FLAGS]
    assert flags == launch_block.FLAG_AHEAD  # beyond the cores' own caches, but not large
    launch.access_modes.own_caches = launch.access_modes.least_bytes = 1 << 20
    launch([np.zeros(4096, np.int32)], None, None).wait()
    assert launch.host.free[-1].block[launch_block.FLAGS] == 0


def test_launches_of_one_thread_are_tried_as_well(close):
    program = hw.compile("kernel void fill(global int *out) { out[get_global_id(0)] = 8; }", device="cpu")
    launch = program.on(hw.device("cpu")).kernels["fill"].prepare((4096,), (64,))
    launch.access_modes.own_caches = launch.access_modes.least_bytes = 1024
    launch.access_modes.last_level, launch.threads = 4096, 1
    out = np.zeros(4096, np.int32)
    for _ in range(2 * trials.ROUNDS):
        launch([out], None, None).wait()
    assert trials.preferred(launch.code.library.parent.name, (1, 0))[0] is not None


def test_a_coarse_clock_is_left_alone(monkeypatch):
    monkeypatch.setattr(time, "perf_counter_ns", lambda: 123)
    assert trials.clock_for(0.0156, threads=True)(False) == 123
    monkeypatch.setattr(time, "process_time_ns", lambda: 456)
    assert trials.clock_for(1e-9, threads=False)(True) == 456


@pytest.mark.skipif(not hasattr(time, "pthread_getcpuclockid"), reason="threads have no clocks here")
def test_the_clock_tells_what_the_pools_threads_and_the_leader_took(monkeypatch):
    own = pool.Pool(2)
    monkeypatch.setattr(trials, "pool", lambda: own)
    own._busy = 1
    own._grow()
    while not own._clocks:
        time.sleep(0.001)
    clock = trials.clock_for(1e-9, threads=True)
    before, led = clock(False), clock(True)
    assert led - before >= time.thread_time_ns() // 2 > 0  # this thread's own time, of which the pool has none
    assert 0 <= clock(False) - before < time.thread_time_ns()
