"""Input: the name of a metric. Output: its definition, its threshold, and the consequence of missing it.

Every metric that a report shows stands in `metrics.toml`, so that no number is shown that cannot be explained.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Entry:
    """A metric: what it is, in which unit, the threshold, what to expect on its wrong side, where that is from."""

    name: str
    title: str
    definition: str
    threshold: str
    consequence: str
    source: str
    unit: str = ""


@functools.cache
def metrics() -> Mapping[str, Entry]:
    """Every metric by its name."""
    import tomllib

    data = tomllib.loads((Path(__file__).parent / "metrics.toml").read_text(encoding="utf-8"))
    return {name: Entry(name, **entry) for name, entry in data.items()}
