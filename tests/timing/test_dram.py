"""DRAM: what is near costs the bus alone, what is far apart rows of banks, and writes turns of the bus."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater import chips
from headwater.chips import Chip
from headwater.chips.dram import BATCH_LINES, KINDS, MAPPINGS
from headwater.errors import UsageError
from headwater.timing import Recorded

SOURCE = """
kernel void copy(global const float4 *x, global float4 *y) { y[get_global_id(0)] = x[get_global_id(0)]; }
kernel void far(global const float *x, global float *y, int step) {
  float s = x[get_global_id(0) * step];
  if (s == 5) y[0] = s;
}
kernel void put(global float *y, int step) { y[get_global_id(0) * step] = 1; }
"""
NAMES = ("hd7970", "hd5870")
ITEMS = 1 << 16
FAR, STEP = 1 << 9, 1 << 16
PARTS = 1 << 8
COLUMN = 1 << 11


@pytest.fixture(scope="module")
def launches() -> dict[tuple[str, str], Any]:
    """16-byte copies of 1 MiB; and reads of dwords 256 KiB, 64 bytes, 2048 and 2304 bytes apart."""
    made = {}
    x, y = np.ones(4 * ITEMS, np.float32), np.zeros(4 * ITEMS, np.float32)
    wide = np.zeros(FAR * STEP, np.float32)
    for name in NAMES:
        program = hw.compile(SOURCE, language="opencl", device=name)
        for kind, kernel, size, arguments in (
            ("copy", "copy", ITEMS, (x, y)),
            ("far", "far", FAR, (wide, y, STEP)),
            ("near", "far", FAR, (wide, y, 16)),
            ("parts", "put", PARTS, (y, 4 * ITEMS // PARTS)),
            ("column", "far", COLUMN, (wide, y, 512)),
            ("slanted", "far", COLUMN, (wide, y, 576)),
        ):
            run = partial(program[kernel][(size,), (64,)], *arguments, device=name)
            made[name, kind] = Recorded(run).launches[0]
    return made


def _replayed(launch: Any, chip: Chip) -> dict[str, int]:
    found: dict[str, int] = launch.replayer.run(chip, launch.replayer.table(chip)).sums
    return found


def _with(chip: Chip, **figures: Any) -> Chip:
    return replace(chip, memory=replace(chip.memory, **figures))


def test_small_pages_are_walked_through_memory(launches: dict[tuple[str, str], Any]) -> None:
    """Arguments, then data: lines that follow each other lie in 8 pages, and those 256 KiB apart each in its own."""
    large = chips.find("hd7970")
    small = _with(large, page_bytes=4096)
    walk = 2 * large.latencies.memory_cycles
    for kind, pages in (("near", 8), ("far", FAR)):
        before, after = (_replayed(launches["hd7970", kind], chip) for chip in (large, small))
        assert pages <= after["page_misses"] <= pages + 8
        assert before["cycles"] + 2 * walk - 2 * 75 <= after["cycles"] < before["cycles"] + 4 * walk


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_takes_several_lines_of_each_row_that_it_activates(
    launches: dict[tuple[str, str], Any], name: str
) -> None:
    chip = chips.find(name)
    sums = _replayed(launches[name, "copy"], chip)
    assert sums["channel_bytes"] / chip.memory.dram.row_bytes / 2 < sums["row_activations"]
    assert sums["row_activations"] < sums["channel_bytes"] / 64 / 4


@pytest.mark.parametrize("name", NAMES)
def test_what_is_far_apart_goes_at_the_rate_of_activations(launches: dict[tuple[str, str], Any], name: str) -> None:
    """Each read is of another row. No channel activates more often than tRRD and tFAW allow, however fast its bus."""
    chip = _with(chips.find(name), mapping=MAPPINGS[0])
    sums = _replayed(launches[name, "far"], chip)
    assert sums["row_activations"] > 0.8 * FAR
    seconds = sums["cycles"] / (chip.compute.clock_mhz * 1e6)
    channels = chip.memory.bus_bits / chip.memory.dram.channel_bits
    assert seconds > sums["row_activations"] * chip.memory.dram.activation_ns * 1e-9 / channels
    if name == "hd5870":  # of eight channels of 16 banks of 2 KiB, all are in one bank
        assert seconds > (FAR - 1) * chip.memory.dram.row_ns * 1e-9
    near = _replayed(launches[name, "near"], chip)
    assert near["row_activations"] < sums["row_activations"] / 3
    assert near["cycles"] < sums["cycles"]


def test_writes_of_less_than_a_burst_activate_a_row_each(launches: dict[tuple[str, str], Any]) -> None:
    """Four dwords 4 KiB apart lie in a row of eight channels."""
    assert _replayed(launches["hd5870", "parts"], chips.find("hd5870"))["row_activations"] >= PARTS


def test_evergreen_deals_regions_to_banks_and_channels(launches: dict[tuple[str, str], Any]) -> None:
    """What is 256 KiB apart would all be in one bank if that changed every 2 KiB; now it is in four."""
    chip = chips.find("hd5870")
    cycles = {m: _replayed(launches["hd5870", "far"], _with(chip, mapping=m))["cycles"] for m in MAPPINGS}
    assert chip.memory.mapping == "row bank row2 column channel^bank"
    assert cycles[chip.memory.mapping] < cycles["row column bank channel"] / 3


@pytest.mark.parametrize("name", NAMES)
def test_the_bus_turns_around_for_batches_of_writes(launches: dict[tuple[str, str], Any], name: str) -> None:
    chip = chips.find(name)
    assert _replayed(launches[name, "near"], chip)["bus_turns"] == 0
    sums = _replayed(launches[name, "copy"], chip)
    written = sums["write_backs"] if chip.family == "gcn" else ITEMS * 16 // 64
    assert 0 < sums["bus_turns"] <= written / BATCH_LINES
    busy = sums["channel_busy"] - sums["channel_bytes"]
    per_turn = chip.memory.dram.turn_ns * chip.memory.gigabytes_per_second / chip.caches.l2_banks
    assert busy == pytest.approx(sums["bus_turns"] * per_turn, rel=0.01)


def test_a_mapping_decides_who_meets_whom(launches: dict[tuple[str, str], Any]) -> None:
    """Rows of one bank, 4 KiB times the banks apart, wait for each other where the bank is not combined with the row."""
    chip = chips.find("hd7970")
    cycles = {m: _replayed(launches["hd7970", "far"], _with(chip, mapping=m))["cycles"] for m in MAPPINGS}
    assert len(set(cycles.values())) > 1


def test_slower_kinds_of_memory_are_slower(launches: dict[tuple[str, str], Any]) -> None:
    """With the same bandwidth: GDDR3's rows take longer to change than GDDR5's."""
    chip = chips.find("hd5870")
    cycles = [_replayed(launches["hd5870", "far"], _with(chip, kind=kind))["cycles"] for kind in ("GDDR5", "GDDR3")]
    assert cycles[0] < cycles[1]


def test_streams_reach_what_boards_do() -> None:
    """Copies of BabelStream over the peak: HD 7970 0.80, R9 Nano 0.81, Radeon VII 0.82."""
    for name, reached in (("hd7970", 0.80), ("r9-nano", 0.81), ("radeon-vii", 0.82)):
        assert chips.find(name).stream_efficiency == pytest.approx(reached, abs=0.02)


def test_unknown_memory_is_refused(launches: dict[tuple[str, str], Any]) -> None:
    launch = launches["hd7970", "near"]
    with pytest.raises(UsageError, match=r"memory\.kind is 'tape'") as info:
        launch.report(_with(chips.find("hd7970"), kind="tape"))
    assert all(kind in str(info.value.hint) for kind in KINDS)
    with pytest.raises(UsageError, match=r"memory\.mapping is 'channel first'"):
        launch.report(_with(chips.find("hd7970"), mapping="channel first"))


def test_a_column_of_even_rows_uses_few_channels(launches: Any) -> None:
    """AMD, OpenCL Optimization Guide, "Channel conflicts": rows of a multiple of 2048 bytes use one of the 8 channels of
    HD 78XX, and those of an odd multiple of 256 all. Of the 12 of HD 79XX they use two, one for two rows of three."""
    seconds = {}
    for name in ("hd7870", "hd7970"):
        chip = _with(chips.find(name), gigabytes_per_second=5.0)  # so that channels count, and not latency
        for kind in ("column", "slanted"):
            cycles = _replayed(launches["hd7970", kind], chip)["cycles"]
            seconds[name, kind] = cycles / chip.compute.clock_mhz
    assert 6.5 < seconds["hd7870", "column"] / seconds["hd7870", "slanted"] < 8
    assert 4 < seconds["hd7970", "column"] / seconds["hd7970", "slanted"] < 8
    assert seconds["hd7970", "column"] == pytest.approx(seconds["hd7870", "column"] * (2 / 3 * 12) / 8, rel=0.03)
