"""Input: the counts of a replay on a VLIW chip. Output: its units, caches and paths, and the words for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.chips.checks import LINE_BYTES
from headwater.timing.memory import movable_bytes_per_second
from headwater.timing.utilisation import Bandwidth, CacheUse, Described, Unit
from headwater.timing.vliw_rules import PIXELS_OF_BACK_END

if TYPE_CHECKING:
    from headwater.chips import Chip
    from headwater.timing.replay import Counted


def described(counted: Counted, chip: Chip, cycles: int) -> Described:
    """Of a replay that took so many cycles."""
    s, compute, caches, local = counted.sums, chip.compute, chip.caches, chip.local_memory
    clock, units, banks = compute.clock_mhz * 1e6, compute.compute_units, caches.l2_banks
    seconds = cycles / clock
    pixels = PIXELS_OF_BACK_END * chip.vliw.render_back_ends
    movable = movable_bytes_per_second(chip) * seconds
    found = [
        Unit("stream cores", s["alu_busy"] / (cycles * units), "SIMD engines with a group in each turn"),
        Unit("fetch units", s["fetch_busy"] / (cycles * units), "addresses of four work-items a cycle"),
        Unit("export", s["export_busy"] / (cycles * units), "registers on their way to memory"),
        Unit("sequencer", s["sequencer_busy"] / (cycles * units), "control-flow instructions"),
        Unit("LDS", s["lds_busy"] / (cycles * units), "local memory's banks"),
        Unit("L2", s["bank_bytes"] / (cycles * banks * caches.l2_bank_bytes_per_cycle), "the way from the L2 caches"),
        Unit("write path", s["port_cycles"] / (cycles * banks), "memory channels taking dwords"),
        Unit("render back-ends", s["pixels"] / (cycles * pixels), "pixels of streaming stores"),
        Unit("memory", s["channel_busy"] / movable, "channels moving data or turning around"),
    ]
    gigabytes = 1e-9 / seconds
    ways = (
        Bandwidth("memory", s["moved"] * gigabytes, chip.memory.gigabytes_per_second),
        Bandwidth("L2", s["bank_bytes"] * gigabytes, banks * caches.l2_bank_bytes_per_cycle * clock / 1e9),
        Bandwidth("fetches", LINE_BYTES * s["load_lines"] * gigabytes, units * caches.l1_bytes_per_cycle * clock / 1e9),
        Bandwidth(
            "LDS",
            (s["lds_busy"] - s["lds_conflict_cycles"]) * local.bytes_per_cycle * gigabytes,
            units * local.bytes_per_cycle * clock / 1e9,
        ),
    )
    if caches.vertex_bytes:
        vertex = Unit("vertex fetch units", s["vertex_busy"] / (cycles * units), "indices of four work-items a cycle")
        found.insert(2, vertex)
    names = (
        *(("texture L1", "l1"), ("vertex", "vertex"), ("L2", "l2")),
        *(("instruction", "code"), ("constant", "constant")),
    )
    hits = (
        (name, s[f"{key}_hits"], s[f"{key}_misses"]) for name, key in names if key != "vertex" or caches.vertex_bytes
    )
    used = tuple(CacheUse(name, there + not_, there / max(1, there + not_)) for name, there, not_ in hits)
    return Described(tuple(found), used, ways, _WAITS, _REMEDIES)


_WAITS = {
    "clause switch": "between clauses",
    "fetch queue": "for their turn at the fetch units",
    "fetch": "for what they fetch",
    "LDS": "for local memory",
    "write": "for writes",
    "code": "for instructions and constants",
    "barrier": "at barriers",
}
_REMEDIES = {
    "stream cores": "fewer groups for the same result would make it faster: use vectors, so that groups are full",
    "fetch units": "fetch four components at once, or keep more in registers or LDS",
    "vertex fetch units": "fetch four components at once, or lock constants instead of indexing them",
    "export": "write four components at once",
    "sequencer": "clauses are too short: unroll loops, and select instead of branching",
    "LDS": "avoid bank conflicts, or keep more in registers",
    "L2": "more has to be found in the texture caches or LDS",
    "write path": "write two or four components at once, without atomic operations in the kernel",
    "render back-ends": "fewer or smaller outputs would make it faster",
    "memory": "move fewer bytes, or the same ones in an order that its channels like better",
}
