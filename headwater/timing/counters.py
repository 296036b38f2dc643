"""Input: what a replay counted. Output: the same under the names of AMD's profilers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.timing import layout, vliw_layout

if TYPE_CHECKING:
    from headwater.chips import Chip
    from headwater.timing.replay import Counted
    from headwater.timing.utilisation import Unit

_WRITES = 1 << layout.FLAGS.index("WRITES")
_SMEM = 1 << layout.MORE_FLAGS.index("SMEM")


def counters(
    counted: Counted, ops: np.ndarray[Any, Any], chip: Chip, units: Sequence[Unit], causes: Mapping[str, float]
) -> dict[str, float]:
    """Counts are those of a wavefront on average, sizes and paths in KiB of the launch; all others but ``Wavefronts``
    and ``ALUFetchRatio`` are per cent."""
    sums = counted.sums
    busy = {unit.name: 100 * unit.busy for unit in units}
    waits = {name: 100 * part for name, part in causes.items()}
    runs = np.asarray(counted.counts[: len(ops)], float) / max(sums["waves"], 1)
    time = max(sums["cycles"], 1) * chip.compute.compute_units
    found = {"Wavefronts": float(sums["waves"])}
    if chip.is_vliw:
        kind = dict(zip(vliw_layout.KINDS, range(len(vliw_layout.KINDS)), strict=True))

        def of(name: str) -> float:
            return float(runs[ops["kind"] == kind[name]].sum())

        fetches = of("FETCH")
        found |= {"ALUInsts": of("GROUP"), "FetchInsts": fetches, "WriteInsts": of("WRITE")}
        found |= {"ALUBusy": busy["stream cores"], "ALUFetchRatio": of("GROUP") / fetches if fetches else 0.0}
        found |= {"FetchUnitBusy": busy["fetch units"], "FetchUnitStalled": waits["fetch"]}
        found |= {"WriteUnitStalled": waits["write"], "CacheHit": _hits(sums, "l1")}
        written = sums["fast_bytes"] + sums["complete_bytes"]
        found |= {"FastPath": sums["fast_bytes"] / 1024, "CompletePath": sums["complete_bytes"] / 1024}
        found["PathUtilization"] = 100 * min(1.0, sums["lane_bytes"] / written) if written else 0.0
    else:
        kinds = dict(zip(layout.KINDS, range(len(layout.KINDS)), strict=True))

        def count(name: str, wanted: np.ndarray[Any, Any] | bool = True) -> float:
            return float(runs[(ops["kind"] == kinds[name]) & wanted].sum())

        writes, scalar_loads = (ops["flags"] & _WRITES) != 0, (ops["more"] & _SMEM) != 0
        found |= {"VALUInsts": count("VALU"), "SALUInsts": count("SCALAR", ~scalar_loads)}
        found |= {"SFetchInsts": count("SCALAR", scalar_loads), "LDSInsts": count("LDS")}
        found |= {"VFetchInsts": count("VMEM", ~writes), "VWriteInsts": count("VMEM", writes)}
        found |= {"VALUBusy": busy["vector ALU"], "SALUBusy": busy["scalar unit"], "MemUnitBusy": busy["address unit"]}
        found |= {"MemUnitStalled": waits["vector memory"], "CacheHit": _hits(sums, "l2")}
        found["L2CacheHit"] = found["CacheHit"]
        written = sums["written_bytes"]
        found |= {"FetchSize": (sums["channel_bytes"] - written) / 1024, "WriteSize": written / 1024}
    return found | {
        "ALUStalledByLDS": waits["LDS"],
        "LDSBankConflict": 100 * sums["lds_conflict_cycles"] / time,
    }


def _hits(sums: Mapping[str, int], cache: str) -> float:
    hits, misses = sums[f"{cache}_hits"], sums[f"{cache}_misses"]
    return 100 * hits / max(hits + misses, 1)
