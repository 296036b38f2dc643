"""Chips of several dies: each has an L2 of its own, work-groups are dealt to them, and memory has a cache of its own."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater import chips
from headwater.chips import Chip
from headwater.chips.whatif import changed
from headwater.errors import UsageError
from headwater.timing import Recorded

SOURCE = """
kernel void same(global const float *x, global float *y, int n) {
  float s = 0;
  for (int k = 0; k < n; k++) s += x[k * 256 + get_local_id(0)];
  if (s == 5) y[0] = s;
}
kernel void again(global const float *x, global float *y, int n, int turns) {
  float s = 0;
  for (int t = 0; t < turns; t++)
    for (int k = 0; k < n; k++) s += x[(get_group_id(0) * n + k) * 256 + get_local_id(0)];
  if (s == 5) y[0] = s;
}
"""
SHARED = 256  # KiB that all work-groups read
OWN = 256  # KiB of each of 64 work-groups
GROUPS = 64


@pytest.fixture(scope="module")
def launches() -> dict[str, Any]:
    program = hw.compile(SOURCE, language="opencl", device="mi300x")
    x, y = np.zeros(OWN * GROUPS * 256, np.float32), np.zeros(1, np.float32)
    size = (256 * GROUPS,), (256,)
    runs = {
        "same": partial(program.same[size], x, y, SHARED, device="mi300x"),
        "again": partial(program.again[size], x, y, OWN, 2, device="mi300x"),
    }
    return {name: Recorded(run).launches[0] for name, run in runs.items()}


def _with(*settings: str) -> Chip:
    return changed(chips.find("mi300x"), list(settings))[0]


def _sums(launch: Any, chip: Chip) -> dict[str, int]:
    found: dict[str, int] = launch.replayer.run(chip, launch.replayer.table(chip)).sums
    assert found["groups"] == GROUPS
    return found


def test_each_die_fetches_what_all_read(launches: dict[str, Any]) -> None:
    """Once into each of eight L2s, from the memory-side cache but for the first."""
    lines = SHARED * 1024 // 128
    one, eight = (_sums(launches["same"], _with(f"compute.dies={dies}")) for dies in (1, 8))
    assert lines <= one["fills"] < 1.1 * lines
    assert 8 * lines <= eight["fills"] < 1.1 * 8 * lines
    assert eight["channel_bytes"] < 1.1 * lines * 128


def test_work_groups_are_dealt_to_dies_in_turn(launches: dict[str, Any]) -> None:
    """64 work-groups are eight for each die: with one compute unit a die, eight times one after the other."""
    few = _sums(launches["same"], _with("compute.compute_units=8", "compute.work_groups_per_compute_unit=1"))
    one = _sums(launches["same"], _with("compute.compute_units=64", "compute.work_groups_per_compute_unit=1"))
    assert few["cycles"] > 4 * one["cycles"]


def test_the_memory_side_cache_holds_what_the_second_level_cannot(launches: dict[str, Any]) -> None:
    """16 MiB read twice, with 256 KiB of L2 a die: the second time they come from the memory-side cache."""
    small = ("caches.l2_bytes=2097152", "compute.work_groups_per_compute_unit=1")
    held = _sums(launches["again"], _with(*small))
    without = _sums(launches["again"], _with(*small, "caches.memory_side_bytes=0"))
    once = OWN * GROUPS * 1024
    assert held["side_hits"] * 128 == pytest.approx(once, rel=0.2)
    assert held["channel_bytes"] == pytest.approx(once, rel=0.1)
    assert without["channel_bytes"] == pytest.approx(2 * once, rel=0.2)
    assert without["side_hits"] == without["side_misses"] == 0
    assert held["cycles"] < without["cycles"]


def test_every_byte_of_memory_is_a_miss_of_its_cache(launches: dict[str, Any]) -> None:
    for launch in launches.values():
        sums = _sums(launch, chips.find("mi300x"))
        assert sums["side_hits"] + sums["side_misses"] == sums["fills"] + sums["write_backs"]
        assert sums["channel_bytes"] == 128 * sums["side_misses"]


@pytest.mark.parametrize(
    ("setting", "wrong"),
    [("compute.dies=3", "compute.dies is 3"), ("caches.memory_side_banks=100", "memory_side_banks is 100")],
)
def test_dies_that_cannot_be(launches: dict[str, Any], setting: str, wrong: str) -> None:
    from dataclasses import replace

    chip = chips.find("mi300x")
    table, _, rest = setting.partition(".")
    name, _, value = rest.partition("=")
    chip = replace(chip, **{table: replace(getattr(chip, table), **{name: int(value)})})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=wrong):
        launches["same"].report(chip)
