"""Input: the counts of a replay on a GCN chip. Output: its units, caches and paths, and the words for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headwater.timing.memory import movable_bytes_per_second
from headwater.timing.utilisation import Bandwidth, CacheUse, Described, Unit

if TYPE_CHECKING:
    from headwater.chips import Chip
    from headwater.timing.replay import Counted


def described(counted: Counted, chip: Chip, cycles: int) -> Described:
    """Of a replay that took so many cycles."""
    seconds = cycles / (chip.compute.clock_mhz * 1e6)
    return Described(
        _units(counted, chip, cycles), _caches(counted), _bandwidths(counted, chip, seconds), _WAITS, _REMEDIES
    )


def _units(counted: Counted, chip: Chip, cycles: int) -> tuple[Unit, ...]:
    s, compute = counted.sums, chip.compute
    units, simds = compute.compute_units, compute.simds_per_compute_unit
    time = max(1, cycles)
    banks = time * chip.caches.l2_banks * chip.caches.l2_bank_bytes_per_cycle
    movable = time / (compute.clock_mhz * 1e6) * movable_bytes_per_second(chip)
    return (
        Unit("vector ALU", s["valu_busy"] / (time * units * simds), "SIMDs computing"),
        Unit("scalar unit", s["scalar_issues"] / (time * units), "one instruction a cycle and compute unit"),
        Unit("branch unit", s["branch_issues"] / (time * units), "one branch a cycle and compute unit"),
        Unit("address unit", s["address_busy"] / (time * units), "addresses of vector memory to cache lines"),
        Unit("LDS", s["lds_busy"] / (time * units), "local memory's banks"),
        Unit("L2", s["bank_bytes"] / banks, "banks of the second-level cache"),
        Unit("memory", s["channel_busy"] / movable, "channels moving data or turning around"),
    )


def _caches(counted: Counted) -> tuple[CacheUse, ...]:
    found = []
    for name, key in (("vector L1", "l1"), ("scalar", "scalar"), ("instruction", "code"), ("L2", "l2")):
        hits, misses = counted.sums[f"{key}_hits"], counted.sums[f"{key}_misses"]
        found.append(CacheUse(name, hits + misses, hits / max(1, hits + misses)))
    return tuple(found)


def _bandwidths(counted: Counted, chip: Chip, seconds: float) -> tuple[Bandwidth, ...]:
    s, clock, units = counted.sums, chip.compute.clock_mhz * 1e6, chip.compute.compute_units
    time = max(seconds, 1e-12)
    caches, local = chip.caches, chip.local_memory
    return (
        Bandwidth("memory", s["channel_bytes"] / time / 1e9, chip.memory.gigabytes_per_second),
        Bandwidth("L2", s["bank_bytes"] / time / 1e9, caches.l2_banks * caches.l2_bank_bytes_per_cycle * clock / 1e9),
        Bandwidth("L1", 64 * s["load_lines"] / time / 1e9, units * caches.l1_bytes_per_cycle * clock / 1e9),
        Bandwidth(
            "LDS",
            (s["lds_busy"] - s["lds_conflict_cycles"]) * local.bytes_per_cycle / time / 1e9,
            units * local.bytes_per_cycle * clock / 1e9,
        ),
    )


_WAITS: Final = {
    "dependency": "for instructions before them, or branches",
    "fetch": "for instructions to be fetched",
    "scalar memory": "for scalar loads",
    "LDS": "for local memory",
    "vector memory": "for vector memory",
    "barrier": "at barriers",
}
_REMEDIES: Final = {
    "vector ALU": "fewer or cheaper instructions for the same result would make it faster",
    "scalar unit": "scalar instructions are the limit: unroll loops",
    "branch unit": "branches are the limit: unroll loops",
    "address unit": "neighbouring work-items should read neighbouring dwords, or data be kept in registers or LDS",
    "LDS": "avoid bank conflicts, or read more of it at once",
    "L2": "more has to be found in the L1 or LDS",
    "memory": "move fewer bytes, or the same ones in an order that its channels like better",
}
