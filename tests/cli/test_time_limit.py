"""``--time-limit`` of ``headwater simulate`` and ``headwater stats``: what ran so far is told, as a part."""

import json

import numpy as np
import pytest

import headwater as hw
from headwater.cli.launch import TimeLimit

_ENDLESS = "kernel void spin(global int *a) { while (((volatile global int *)a)[1] >= 0) a[0]++; }"
_LONG = """kernel void walk(global int *a) {
  int x = a[get_global_id(0)];
  for (int i = 0; i < 1000; i++) x = x * 3 + i;
  a[get_global_id(0)] = x;
}"""


@pytest.fixture
def kernels(folder):
    (folder / "spin.cl").write_text(_ENDLESS)
    (folder / "walk.cl").write_text(_LONG)


@pytest.mark.parametrize("device", ["vega64", "hd5870"])
def test_stats_of_the_part_that_ran(headwater, kernels, device):
    words = f"stats spin.cl a=ones:64 --global 64 --device {device} --time-limit 0.3".split()
    done = headwater(*words)
    assert done.code == 2
    assert done.out.startswith("STOPPED: of the last launch, what follows is a part.\nspin on ")
    assert "longer than its time limit of 0.3 s" in done.err
    done = headwater(*words, "--json")
    assert done.code == 2
    found = json.loads(done.out)
    assert found["complete"] is False
    assert found["launches"][0]["total"]["count"] > 1000


def test_a_simulation_that_does_not_get_to_its_replay_is_an_error(headwater, kernels):
    done = headwater(*"simulate spin.cl a=ones:64 --global 64 --device vega64 --time-limit 0.3".split())
    assert (done.code, done.out) == (2, "")
    assert "longer than its time limit of 0.3 s" in done.err


@pytest.mark.parametrize("more", ["", "--json", "--sweep clock_mhz=800,900"])
def test_a_simulation_reports_what_it_replayed(headwater, kernels, monkeypatch, more):
    monkeypatch.setattr(TimeLimit, "is_over", True)
    done = headwater(*f"simulate walk.cl a=ones:64Ki --global 65536 --device vega64 --time-limit 60 {more}".split())
    assert done.code == 2
    assert "it took longer than its time limit of 60 s" in done.err
    if more == "--json":
        assert json.loads(done.out)["launches"][0]["complete"] is False
    else:
        assert done.out.startswith("STOPPED: ")


def test_enough_time_changes_nothing(headwater, kernels):
    done = headwater(*"simulate walk.cl a=ones:64 --global 64 --device vega64 --time-limit 60 --json".split())
    assert done.code == 0
    assert json.loads(done.out)["launches"][0]["complete"] is True
    done = headwater(*"stats walk.cl a=ones:64 --global 64 --device vega64 --time-limit 60 --json".split())
    assert (done.code, json.loads(done.out)["complete"]) == (0, True)


@pytest.mark.parametrize("command", ["simulate", "stats"])
def test_a_limit_is_a_number_above_0(headwater, kernels, command):
    done = headwater(*f"{command} walk.cl a=ones:64 --device vega64 --time-limit 0".split())
    assert done.code == 2
    assert "--time-limit takes a number greater than 0, not '0'" in done.err


@pytest.mark.parametrize("device", ["hd5870", "vega64"])
def test_a_lock_within_a_wavefront_is_named_as_what_may_keep_it(device):
    source = """kernel void k(global int *lock, global int *a) {
  while (atomic_cmpxchg(lock, 0, 1) != 0) ;
  a[0] += 1;
  atomic_xchg(lock, 0);
}"""
    made = hw.compile(source, device=device)
    lock, a = np.zeros(1, np.int32), np.zeros(1, np.int32)
    with pytest.raises(hw.KernelFault, match="run in lockstep, so the one that has the lock waits"):
        made.k[(64,), (64,)](lock, a, device=device, time_limit=0.2)
