"""A chip's file with one number changed: the answer moves the way that it should, or not at all."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater import chips
from headwater.timing import Recorded

STREAM = "kernel void stream(global const float *x, global float *y) { int i = get_global_id(0); y[i] = x[i]; }"
SOURCE = (
    STREAM
    + """
kernel void again(global const float *x, global float *y, int size, int n) {
  float s = 0;
  for (int k = 0; k < n; k++) s += x[(get_global_id(0) + k * 1024) & (size - 1)];
  y[get_global_id(0)] = s;
}
kernel void tile(global const float *x, global float *y, int n) {
  local float part[2048];
  int at = get_local_id(0);
  for (int k = 0; k < 8; k++) part[at + 256 * k] = x[at + 256 * k];
  barrier(CLK_LOCAL_MEM_FENCE);
  float s = 0;
  for (int k = 0; k < n; k++) s += part[(at + 33 * k) & 2047];
  y[get_global_id(0)] = s;
}
kernel void chase(global const uint *next, global uint *y, int n) {
  uint at = get_local_id(0);
  for (int k = 0; k < n; k++) at = next[at];
  y[0] = at;
}
kernel void chase_local(global uint *y, int n) {
  local uint next[64];
  uint at = get_local_id(0);
  next[at] = at;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < n; k++) at = next[at];
  y[at] = at;
}
#define CHAIN(name, T, step) \
  kernel void name(global T *y, T a, int n) { \
    T s = (T)get_global_id(0); \
    for (int k = 0; k < n; k++) { s = step; s = step; s = step; s = step; } \
    y[get_global_id(0)] = s; \
  }
CHAIN(floats, float, s * a + 1)
CHAIN(doubles, double, s * a + 1)
CHAIN(products, uint, s * a ^ 7)
CHAIN(roots, float, native_sqrt(s) + a)
kernel void atomics(global int *y) { atomic_inc(y + (get_global_id(0) & 1023)); }
kernel void nothing(global int *y) {}
"""
)
VEGA, HD5870 = chips.find("vega64"), chips.find("hd5870")
ITEMS = 1 << 16


def _ring(lines: int, words: int) -> np.ndarray:
    """Indices that lead from each line of so many words to the next, and from the last to the first."""
    following = np.arange(lines * words, dtype=np.uint32)
    return (following + words) % (lines * words)


@pytest.fixture(scope="module")
def launches() -> dict[str, Any]:
    """Recorded on Vega 64; the name of those on HD 5870 says so."""
    program = hw.compile(SOURCE, language="opencl", device="vega64")
    floats = np.ones(ITEMS, np.float32)
    made: dict[str, tuple[int, int, tuple[Any, ...]]] = {
        "stream": (1 << 18, 256, (np.ones(1 << 18, np.float32), np.zeros(1 << 18, np.float32))),
        "again": (ITEMS, 256, (np.ones(1 << 18, np.float32), floats, 1 << 18, 32)),
        "near": (ITEMS, 256, (np.ones(1 << 12, np.float32), floats, 1 << 12, 32)),
        "tile": (ITEMS, 256, (floats, floats.copy(), 24)),
        "chase": (1, 1, (np.zeros(64, np.uint32), np.zeros(1, np.uint32), 200)),
        "chase beyond L1": (1, 1, (_ring(512, 16), np.zeros(1, np.uint32), 4096)),  # 32 KiB, eight times around
        "chase_local": (64, 64, (np.zeros(64, np.uint32), 200)),
        "floats": (ITEMS, 256, (floats.copy(), 1.5, 16)),
        "doubles": (ITEMS, 256, (np.ones(ITEMS), 1.5, 16)),
        "products": (ITEMS, 256, (np.ones(ITEMS, np.uint32), 3, 16)),
        "roots": (ITEMS, 256, (floats.copy(), 1.5, 16)),
        "atomics": (ITEMS, 256, (np.zeros(1024, np.int32),)),
        "nothing": (4 * ITEMS, 64, (np.zeros(1, np.int32),)),
    }
    found = {}
    for name, (items, local, arguments) in made.items():
        kernel = program[{"near": "again", "chase beyond L1": "chase"}.get(name, name)]
        run = kernel[(items,), (local,)]
        found[name] = Recorded(lambda run=run, arguments=arguments: run(*arguments, device="vega64")).launches[0]
    vliw = hw.compile(STREAM, language="opencl", device="hd5870").stream[(1 << 19,), (64,)]
    wide = np.ones(1 << 19, np.float32), np.zeros(1 << 19, np.float32)
    found["stream hd5870"] = Recorded(partial(vliw, *wide, device="hd5870")).launches[0]
    return found


def seconds(launches: dict[str, Any], kernel: str, figure: str, values: tuple[float, ...]) -> list[float]:
    chip = HD5870 if kernel.endswith("hd5870") else VEGA
    table, _, name = figure.partition(".")
    return [
        launches[kernel].report(replace(chip, **{table: replace(getattr(chip, table), **{name: value})})).seconds
        for value in values
    ]


@pytest.mark.parametrize("kernel", ["stream", "stream hd5870"])
def test_replays_are_the_same_each_time(launches: dict[str, Any], kernel: str) -> None:
    chip = HD5870 if kernel.endswith("hd5870") else VEGA
    assert launches[kernel].report(chip).as_json() == launches[kernel].report(chip).as_json()


SLACK = 1.03
"""What a better chip may be slower by: work-groups meet each other at other times."""

# A kernel, a figure in rising order, and how many times as fast the last chip is as the first one, at least.
FASTER = [
    ("stream", "memory.gigabytes_per_second", (60.5, 121, 242, 484, 968), 4),
    ("stream", "compute.clock_mhz", (400, 800, 1600), 1.1),
    ("stream", "compute.wavefronts_per_simd", (1, 2, 4, 10), 1.3),
    ("again", "compute.wavefronts_per_simd", (1, 2, 4, 10), 1.5),
    ("again", "caches.l2_bytes", (1 << 17, 1 << 19, 1 << 22), 1.05),
    ("again", "caches.l2_bank_bytes_per_cycle", (16, 32, 64, 128), 1.1),
    ("near", "caches.l1_bytes", (1 << 12, 1 << 14, 1 << 16), 1.0),
    ("near", "compute.compute_units", (8, 16, 32, 64), 4),
    ("tile", "local_memory.bytes", (1 << 14, 1 << 15, 1 << 16), 1.0),
    ("tile", "compute.compute_units", (8, 16, 32, 64), 2),
    ("floats", "compute.compute_units", (8, 16, 32, 64), 3),
    ("floats", "compute.clock_mhz", (500, 1000, 2000), 3),
    ("doubles", "rates.float64_fma", (0.0625, 0.25, 0.5), 2),
    ("products", "rates.int32_multiply", (0.0625, 0.25, 1), 1.8),
    ("roots", "rates.transcendental", (0.0625, 0.25, 1), 2),
    ("nothing", "compute.shader_engines", (1, 2, 4), 1.5),
    ("stream hd5870", "memory.gigabytes_per_second", (38.4, 76.8, 153.6, 300), 2.5),
    ("stream hd5870", "memory.bus_bits", (128, 256, 512), 1.5),
    ("stream hd5870", "compute.compute_units", (2, 5, 10, 20, 40), 1.5),
    ("stream hd5870", "caches.l2_bank_bytes_per_cycle", (8, 64, 128), 0.99),
    ("stream hd5870", "features.texture_units", (20, 80, 160), 0.99),
]


@pytest.mark.parametrize(("kernel", "figure", "values", "least"), FASTER)
def test_more_is_never_slower(
    launches: dict[str, Any], kernel: str, figure: str, values: tuple[float, ...], least: float
) -> None:
    found = seconds(launches, kernel, figure, values)
    for worse, better in pairwise(found):
        assert better <= worse * SLACK, found
    assert found[0] / found[-1] >= least, found


@pytest.mark.parametrize("units", [1, 18])
def test_a_faster_clock_makes_slow_memory_no_slower(launches: dict[str, Any], units: int) -> None:
    """Queues of more cycles than a calendar's window, and of no more writes than there were with the slower clock."""
    chip = replace(HD5870, memory=replace(HD5870.memory, gigabytes_per_second=5))
    found = []
    for clock in (500, 1000, 2700, 4500):
        compute = replace(chip.compute, compute_units=units, shader_engines=1, clock_mhz=clock)
        found.append(launches["stream hd5870"].report(replace(chip, compute=compute)).seconds)
    for worse, better in pairwise(found):
        assert better <= worse * SLACK, found


# The same with figures of which less is better.
SLOWER = [
    ("chase", "latencies.l1_cycles", (60, 120, 240), 2),
    ("chase_local", "latencies.local_cycles", (32, 64, 128), 1.5),
    ("again", "latencies.memory_cycles", (300, 600, 1200), 1.05),
    ("chase beyond L1", "latencies.l2_cycles", (150, 250, 350), 1.5),
    ("stream", "latencies.memory_cycles", (300, 600, 1200), 1.05),
    ("stream hd5870", "latencies.memory_cycles", (350, 500, 2000), 1.05),
]


@pytest.mark.parametrize(("kernel", "figure", "values", "least"), SLOWER)
def test_longer_latencies_are_never_faster(
    launches: dict[str, Any], kernel: str, figure: str, values: tuple[float, ...], least: float
) -> None:
    found = seconds(launches, kernel, figure, values)
    for better, worse in pairwise(found):
        assert better <= worse * SLACK, found
    assert found[-1] / found[0] >= least, found


# What a kernel does not use does not count.
UNTOUCHED = [
    ("floats", "rates.float64_fma", (0.0625, 0.5)),
    ("floats", "rates.transcendental", (0.0625, 0.25)),
    ("chase_local", "caches.l1_bytes", (1 << 12, 1 << 16)),
    ("doubles", "latencies.local_cycles", (32, 128)),
    ("nothing", "local_memory.bytes", (1 << 14, 1 << 16)),
]


@pytest.mark.parametrize(("kernel", "figure", "values"), UNTOUCHED)
def test_what_is_not_used_changes_nothing(
    launches: dict[str, Any], kernel: str, figure: str, values: tuple[float, ...]
) -> None:
    few, many = seconds(launches, kernel, figure, values)
    assert few == many


def test_atomics_on_one_place_do_not_scale(launches: dict[str, Any]) -> None:
    few, many = seconds(launches, "atomics", "compute.compute_units", (16, 64))
    assert few / many < 3
    assert many <= few * SLACK


def test_a_faster_link_brings_data_sooner(launches: dict[str, Any]) -> None:
    def copied(**figures: int) -> float:
        host = launches["stream"].report(replace(VEGA, link=replace(VEGA.link, **figures))).host
        return float(host.in_seconds + host.out_seconds)

    found = [copied(pcie_generation=n) for n in (1, 2, 3, 4)]
    assert found == sorted(found, reverse=True)
    assert found[0] / found[1] == pytest.approx(2)
    assert copied(pcie_lanes=8) == pytest.approx(2 * copied(pcie_lanes=16))
