"""Input: what the analyzer estimates of a launch, and what a simulation found. Output: why they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from headwater.analyze.analysis import Analysis
    from headwater.timing.report import Report

NEAR: Final = 1.2
"""Times that are no further apart than by this factor are the same for both purposes."""
_PART: Final = 0.1


def differences(analysis: Analysis, simulated: Report) -> tuple[str, ...]:
    """Sentences, the reasons that follow from both; none if their times are near each other."""
    estimate = analysis.estimate
    if not estimate.seconds or not simulated.seconds:
        return ()
    ratio = simulated.seconds / estimate.seconds
    if 1 / NEAR <= ratio <= NEAR:
        return ()
    found = []
    unknown = [loop.name for loop in analysis.code.loops if loop.known == "unknown"]
    if unknown:
        found.append(
            f"the analyzer counts the body of {' and '.join(unknown)} once, as it does not know how often it runs "
            "(--trip, --arg)"
        )
    assumed = analysis.work.steps
    ran = simulated.instructions / max(simulated.wavefronts, 1)
    if assumed and not 1 / NEAR <= ran / assumed <= NEAR:
        found.append(f"a wavefront ran {ran:,.0f} instructions where the analyzer's path has {assumed:,.0f}")
    memory = next((way for way in simulated.bandwidths if way.name == "memory"), None)
    counted = estimate.read_bytes + estimate.write_bytes
    moved = memory.gigabytes_per_second * 1e9 * simulated.seconds if memory is not None else counted
    if counted > NEAR * moved:
        found.append(
            f"caches served {1 - moved / counted:.0%} of the bytes that the analyzer takes from memory (--hit "
            f"{estimate.hit:g})"
        )
    elif moved > NEAR * counted > 0:
        found.append(f"memory moved {moved / counted:.1f} times the bytes that work-items asked for: whole cache lines")
    if ratio > 1:
        found += _idle(simulated)
    return tuple(found)


def _idle(simulated: Report) -> list[str]:
    """What the analyzer leaves out, which takes all parts of the chip to work side by side all the time."""
    found = []
    empty = simulated.causes.get("empty", 0.0)
    if empty >= _PART:
        found.append(f"SIMDs are empty for {empty:.0%} of the time, at the launch's begin and end above all")
    waits = {name: part for name, part in simulated.causes.items() if name not in ("empty", "issue")}
    name = max(waits, key=lambda one: waits[one], default="")
    if name and waits[name] >= _PART:
        found.append(f"all wavefronts of a SIMD wait ({name}) for {waits[name]:.0%} of the time")
    busiest = max(simulated.units, key=lambda unit: unit.busy)
    if not found:
        found.append(f"no unit works all the time: the busiest, the {busiest.name}, does so for {busiest.busy:.0%}")
    return found


def sentence(analysis: Analysis, simulated: Report) -> str:
    """Both times, and why they differ."""
    from headwater.views.units import seconds

    estimate = analysis.estimate
    estimated = f"headwater analyze estimates {seconds(estimate.seconds)}, bound by {estimate.bound_by}"
    why = differences(analysis, simulated)
    return f"{estimated}; the simulation differs, as {'; '.join(why)}." if why else f"{estimated}."
