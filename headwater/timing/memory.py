"""Input: a chip. Output: its memory as numbers for both engines."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final

from headwater.chips.dram import BATCH_LINES

if TYPE_CHECKING:
    from headwater.chips import Chip

QUEUE_LINES: Final = 64  # (e) what a channel's controller chooses from


def movable_bytes_per_second(chip: Chip) -> float:
    """What all channels move in the time that refresh leaves."""
    return chip.memory.gigabytes_per_second * 1e9 * (1 - chip.memory.dram.refresh)


def dram_numbers(chip: Chip, interleave_bytes: int) -> dict[str, int]:
    """The fields `layout.DRAM` of a chip whose address space is dealt to channels in steps of so many bytes.

    Channels of the engine are those of the memory-side cache, or else of the L2; the memory may have several narrower
    ones behind each, which share its rates then.
    """
    channels = chip.caches.memory_side_banks or chip.caches.l2_banks
    memory, dram, caches = chip.memory, chip.memory.dram, chip.caches
    clock_ghz = chip.compute.clock_mhz / 1e3
    behind = max(1.0, memory.bus_bits / dram.channel_bits / channels)
    per_ns = memory.gigabytes_per_second / channels
    banks = 1 << max(0, round(dram.banks * behind).bit_length() - 1)
    row_chunks = max(1, dram.row_bytes // interleave_bytes)
    fields = memory.mapping.split()
    low = sum(int(field[3:]) for field in fields if field[:3] == "row" and field[3:])  # bits of the row below the bank
    below = row_chunks << low if fields.index("column") > 1 else 1
    side_ways, line = caches.memory_side_ways, caches.l2_line_bytes
    return {
        "l2_random": int(caches.l2_replacement == "random"),
        "dies": chip.compute.dies,
        "side_sets": caches.memory_side_bytes // (channels * side_ways * line),
        "side_ways": side_ways,
        "side_bucket_bytes": 16 * caches.memory_side_bytes_per_cycle,
        "side_cycles": max(0, chip.latencies.memory_side_cycles - chip.latencies.l2_cycles),
        "channels": channels,
        "channel_bucket_sixteenths": max(1, round(256 * per_ns * (1 - dram.refresh) / clock_ghz)),
        "dram_banks": banks,
        "row_chunks": row_chunks,
        "bank_below": below,
        "channel_fold": below.bit_length() - 1 if "channel^bank" in fields else 0,
        "bank_hash": int("bank^row" in fields),
        "row_cycles": ceil(dram.row_ns * clock_ghz),
        "activate_sixteenths": max(1, round(16 * dram.activation_ns * clock_ghz / behind)),
        "turn_sixteenths": round(16 * dram.turn_ns * per_ns / behind),
        "batch_lines": BATCH_LINES,
        "queue_cycles_of_channel": ceil(QUEUE_LINES * line / per_ns * clock_ghz),
    }
