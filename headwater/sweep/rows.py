"""Input: the reports of a point's launches. Output: its figures, as a row of a table has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from headwater.timing.report import Report

_GROUPS: Final = {
    "time": ("seconds", "cycles", "gflops", "system_seconds", "launches", "sampling_error"),
    "bound": ("bottleneck", "busiest", "busy"),
    "occupancy": ("occupancy", "wavefronts_resident", "wavefront_slots", "limited_by", "mean_waves_per_simd"),
    "counters": ("instructions", "wavefronts", "flops"),
    "checks": ("check", "outputs"),
}
_COUNTERS: Final = ("cause.", "unit.", "cache.", "bandwidth.")
ERROR: Final = "error"


def figures(reports: Sequence[Report]) -> dict[str, Any]:
    """The figures of one point, whose launches run one after the other. Times and counts are sums; what is a share or a
    name is that of the launch that takes longest.

    ``seconds`` of the kernels alone, ``system_seconds`` with copies and launches. ``cause.X``: the share of the SIMDs'
    time; ``unit.X``: the share of the time that it was busy; ``cache.X``: its hit rate; ``bandwidth.X``: GB/s.
    """
    longest = max(reports, key=lambda one: one.seconds)
    busiest = max(longest.units, key=lambda unit: unit.busy)
    seconds = sum(one.seconds for one in reports)
    flops = sum(one.flops for one in reports)
    found: dict[str, Any] = {
        "seconds": seconds,
        "cycles": sum(one.cycles for one in reports),
        "gflops": flops / seconds / 1e9 if seconds else 0.0,
        "system_seconds": sum(one.host.seconds(one.seconds) for one in reports),
        "launches": len(reports),
        "sampling_error": max(one.error for one in reports),
        "bottleneck": longest.bottleneck,
        "busiest": busiest.name,
        "busy": busiest.busy,
        "occupancy": longest.held.occupancy,
        "wavefronts_resident": longest.held.wavefronts,
        "wavefront_slots": longest.held.wavefront_slots,
        "limited_by": ", ".join(longest.held.limited_by),
        "mean_waves_per_simd": longest.mean_waves_per_simd,
        "instructions": sum(one.instructions for one in reports),
        "wavefronts": sum(one.wavefronts for one in reports),
        "flops": flops,
    }
    found |= {f"cause.{name}": share for name, share in longest.causes.items()}
    found |= {f"unit.{unit.name}": unit.busy for unit in longest.units}
    found |= {f"cache.{one.name}": one.hit_rate for one in longest.caches}
    found |= {f"bandwidth.{one.name}": one.gigabytes_per_second for one in longest.bandwidths}
    return found


def wanted(name: str, record: Sequence[str]) -> bool:
    """Whether a column is among those that a plan records."""
    if name == ERROR:
        return True
    if name.startswith(_COUNTERS):
        return "counters" in record
    return any(name in _GROUPS[group] for group in record)
