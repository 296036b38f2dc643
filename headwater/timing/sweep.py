"""Input: launches that were recorded, and chips. Output: a report of each on each, made on all of the cores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from headwater.chips.whatif import changed
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.chips import Chip
    from headwater.timing.report import Report
    from headwater.timing.simulate import Recorded

MOST_CHIPS = 100_000


def sweep(recorded: Recorded, chips: Sequence[Chip], **options: Any) -> list[list[Report]]:
    """A list of reports, one for each launch, for each chip; ``options`` as `Launch.report`.

    The engine runs without Python's lock, so that each core replays another chip.
    """
    pool = ThreadPoolExecutor(os.cpu_count() or 1)
    try:
        return list(pool.map(lambda chip: recorded.reports(chip, **options), chips))
    finally:
        pool.shutdown(cancel_futures=True)


def variants(chip: Chip, words: Sequence[str]) -> list[Chip]:
    """The chip with figures changed in all combinations of what the words say: ``"compute.clock_mhz=800,1000,1200"``,
    or ``"memory.gigabytes_per_second=200:800:4"`` for 200, 400, 600 and 800.

    UsageError, with the nearest names, for a figure that there is not, and for what is no list of numbers.
    """
    found = [chip]
    settings: list[list[str]] = [[]]
    for word in words:
        name, equals, text = word.partition("=")
        values = _values(text) if equals else []
        if not values:
            raise UsageError(
                f"--sweep takes FIGURE=VALUES, not {word!r}",
                hint="compute.clock_mhz=800,1000,1200, or clock_mhz=800:1600:9 for nine values "
                f"(there may be 2 to {MOST_CHIPS:,})",
            )
        settings = [[*before, f"{name}={value:.12g}"] for before in settings for value in values]
        if len(settings) > MOST_CHIPS:
            raise UsageError(f"--sweep makes more than {MOST_CHIPS:,} chips", hint="take fewer values")
        found = [changed(chip, setting)[0] for setting in settings]
    return found


def _values(text: str) -> list[float]:
    try:
        if ":" in text:
            low, high, count = text.split(":")
            steps = int(count)
            if not 2 <= steps <= MOST_CHIPS:
                return []
            return [float(low) + (float(high) - float(low)) * n / (steps - 1) for n in range(steps)]
        return [float(value) for value in text.split(",")]
    except ValueError:
        return []
