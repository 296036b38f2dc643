"""What holds for every replay, on chips and in grids however odd: nothing is lost, and no part is busy for longer than
there is time.

The suite tries a few invented chips. More: ``HEADWATER_EXAMPLES=300 python -m pytest tests/timing/test_laws.py``.
"""

from __future__ import annotations

import json
import math
import os
from contextlib import suppress
from dataclasses import Field, fields, is_dataclass, replace
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import headwater as hw
from headwater import chips
from headwater.chips import Chip
from headwater.errors import UsageError
from headwater.timing import Recorded
from headwater.timing.replay import Counted

EXAMPLES: Final = int(os.environ.get("HEADWATER_EXAMPLES", "3"))
SOURCE: Final = """
kernel void stream(global const float *x, global float *y) { int i = get_global_id(0); y[i] = x[i] * 2; }
kernel void gather(global const int *at, global int *y, int n) {
  int p = get_global_id(0);
  for (int k = 0; k < n; k++) p = at[p];
  y[get_global_id(0)] = p;
}
kernel void tile(global const float *x, global float *y, int n) {
  local float part[256];
  int at = get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_id(2) * get_local_size(1));
  int g = (at + 3 * (get_group_id(0) + get_group_id(1) * get_num_groups(0))) & 4095;
  part[at & 255] = x[g];
  barrier(CLK_LOCAL_MEM_FENCE);
  float s = 0;
  for (int k = 0; k < n; k++) { if (at & 1) s += part[(at * k) & 255]; else s = native_sqrt(s + k); }
  barrier(CLK_LOCAL_MEM_FENCE);
  y[g] = s;
}
kernel void doubles(global double *y, double a) {
  double s = get_global_id(0);
  for (int k = 0; k < 8; k++) s = s * a + 1;
  y[get_global_id(0)] = s / a;
}
kernel void atomics(global int *y) { atomic_add(&y[get_global_id(0) & 7], 1); }
kernel void nothing(global int *y) {}
"""
DEVICES: Final = ("vega64", "hd5870", "mi250x")
# By name: the kernel, the whole, and a work-group.
GRIDS: Final[dict[str, tuple[str, tuple[int, ...], tuple[int, ...]]]] = {
    "stream": ("stream", (8192,), (64,)),
    "one work-item": ("stream", (1,), (1,)),
    "groups of 37": ("stream", (37 * 101,), (37,)),
    "gather": ("gather", (8192,), (256,)),
    "two dimensions": ("tile", (64, 32), (32, 8)),
    "three dimensions": ("tile", (10, 6, 9), (5, 3, 3)),
    "doubles": ("doubles", (1000,), (100,)),
    "atomics": ("atomics", (777,), (7,)),
    "many groups": ("nothing", (20_000,), (1,)),
}


@pytest.fixture(scope="module")
def launches() -> dict[tuple[str, str], Any]:
    """By device and grid."""
    floats, order = np.ones(8192, np.float32), np.random.default_rng(1).permutation(8192).astype(np.int32)
    arguments: dict[str, tuple[Any, ...]] = {
        "stream": (floats, floats.copy()),
        "gather": (order, np.zeros(8192, np.int32), 4),
        "tile": (floats, floats.copy(), 9),
        "doubles": (np.ones(1000), 1.5),
        "atomics": (np.zeros(8, np.int32),),
        "nothing": (np.zeros(8, np.int32),),
    }
    found: dict[tuple[str, str], Any] = {}
    for device in DEVICES:
        program = hw.compile(SOURCE, language="opencl", device=device)
        for name, (kernel, whole, group) in GRIDS.items():
            run = program[kernel][whole, group]
            recorded = Recorded(lambda run=run, kernel=kernel: run(*arguments[kernel], device=device))  # noqa: B023
            found[device, name] = recorded.launches[0]
    return found


def _check(launch: Any, chip: Chip) -> None:
    """Replay the launch, and see that nothing is lost or made up."""
    replayer = launch.replayer
    held, found = replayer.held(chip), replayer.run(chip, replayer.table(chip))
    sums, units = found.sums, chip.compute.compute_units
    groups, cycles = replayer.groups, sums["cycles"]
    assert sums["groups"] == groups
    share, rest = divmod(sums["waves"], groups * replayer.waves_per_group)
    assert rest == 0, "each wavefront ends once"
    most = held.work_groups * replayer.waves_per_group * share * units
    assert found.occupancy.sum() == sums["wave_cycles"] <= cycles * most
    assert found.occupancy.max() <= most * sums["occupancy_step"], "no more wavefronts than find room"
    assert found.spent.sum() * share == sums["wave_cycles"], "all of wavefronts' time is some instruction's"
    assert (found.stalled <= found.spent).all()
    assert sum(found.wave_causes.values()) <= sums["wave_cycles"]
    (_check_gcn if chip.family == "gcn" else _check_vliw)(chip, found, cycles * units)
    numbers = json.loads(json.dumps(launch.report(chip).as_json()))
    assert all(math.isfinite(number) for number in _numbers(numbers))


def _check_gcn(chip: Chip, found: Counted, unit_cycles: int) -> None:
    sums, simd_cycles = found.sums, unit_cycles * chip.compute.simds_per_compute_unit
    assert found.counts.sum() == sums["instructions"]
    assert found.stalled.sum() == sum(found.wave_causes.values())
    assert sum(found.simd_causes.values()) + sums["empty"] == simd_cycles, "SIMDs issue, wait or are empty"
    assert sums["valu_busy"] <= simd_cycles
    assert max(sums["lds_busy"], sums["address_busy"]) <= unit_cycles
    asked = sums["l2_reads"] + sums["l2_writes"]
    assert asked == sums["l2_hits"] + sums["l2_misses"]
    assert sums["bank_bytes"] == 64 * asked or sums["l2_atomics"]
    moved = (sums["fills"] + sums["write_backs"]) * chip.caches.l2_line_bytes
    assert sums["fills"] <= sums["l2_misses"]
    assert sums["channel_bytes"] == found.traffic.sum() == moved, "what the L2 lacks or lets go passes through channels"


def _check_vliw(chip: Chip, found: Counted, unit_cycles: int) -> None:
    sums = found.sums
    assert sum(found.simd_causes.values()) <= unit_cycles
    assert max(sums["alu_busy"], sums["fetch_busy"], sums["export_busy"]) <= unit_cycles
    assert found.traffic.sum() == sums["moved"]


def _numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for one in value.values() for number in _numbers(one)]
    if isinstance(value, list):
        return [number for one in value for number in _numbers(one)]
    return [value] if isinstance(value, float) else []


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("device", DEVICES)
def test_nothing_is_lost(launches: dict[tuple[str, str], Any], device: str, grid: str) -> None:
    _check(launches[device, grid], chips.find(device))


# Figures of which there is as little as there can be.
LEAST: Final = (
    "compute.compute_units=1 compute.shader_engines=1",
    "compute.compute_units=1 compute.wavefronts_per_simd=4 compute.work_groups_per_compute_unit=1",
    "caches.l2_banks=1",
    "memory.bus_bits=8 memory.gigabytes_per_second=0.1",
    "caches.l2_bank_bytes_per_cycle=1 caches.l1_bytes_per_cycle=1",
    "latencies.local_cycles=1 latencies.scalar_cycles=1 latencies.l1_cycles=1 latencies.l2_cycles=1 "  # noqa: ISC004
    "latencies.memory_cycles=1",
)


def _with(chip: Chip, figures: dict[str, float]) -> Chip:
    for name, value in figures.items():
        table, _, figure = name.partition(".")
        chip = replace(chip, **{table: replace(getattr(chip, table), **{figure: value})})
    return chip


@pytest.mark.parametrize("figures", LEAST)
@pytest.mark.parametrize("device", DEVICES)
def test_nothing_is_lost_on_the_least_of_chips(launches: dict[tuple[str, str], Any], device: str, figures: str) -> None:
    numbers = {name: json.loads(value) for name, value in (word.split("=") for word in figures.split())}
    chip = _with(chips.find(device), numbers)
    for grid in ("gather", "two dimensions", "atomics"):
        _check(launches[device, grid], chip)


@pytest.mark.parametrize(
    ("figure", "value"),
    [("rates.transcendental", 1 / 64), ("registers.vgpr_granule", 0), ("compute.clock_mhz", 0)],
)
def test_a_figure_that_cannot_be_is_refused_before_anything_is_reckoned(
    launches: dict[tuple[str, str], Any], figure: str, value: float
) -> None:
    with pytest.raises(UsageError, match=f"{figure} is "):
        launches["mi250x", "two dimensions"].report(_with(chips.find("mi250x"), {figure: value}))


def _figures(chip: Chip) -> list[tuple[str, Field[Any]]]:
    tables = [(part.name, getattr(chip, part.name)) for part in fields(chip)]
    found = [(f"{name}.{f.name}", f) for name, table in tables if is_dataclass(table) for f in fields(table)]
    return [(name, figure) for name, figure in found if "range" in figure.metadata]


@st.composite
def _changes(draw: st.DrawFn, device: str) -> dict[str, float]:
    """Up to four figures at the ends of what they may be, or anywhere between."""
    chip, found = chips.find(device), {}
    for name, figure in draw(st.lists(st.sampled_from(_figures(chip)), min_size=1, max_size=4)):
        limits, table = figure.metadata["range"], name.partition(".")[0]
        whole = isinstance(getattr(getattr(chip, table), figure.name), int)
        between: st.SearchStrategy[float]
        between = st.integers(limits.low, limits.high) if whole else st.floats(limits.low, limits.high)
        found[name] = draw(st.sampled_from((limits.low, limits.high)) | between)
    return found


@pytest.mark.parametrize("device", DEVICES)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data())
def test_a_chip_of_any_figures_is_replayed_or_refused(
    launches: dict[tuple[str, str], Any], device: str, data: st.DataObject
) -> None:
    chip = _with(chips.find(device), data.draw(_changes(device)))
    for grid in GRIDS:
        with suppress(UsageError):  # a figure that cannot be, or a kernel that does not fit
            _check(launches[device, grid], chip)
