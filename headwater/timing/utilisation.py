"""How much of a chip a kernel used, for chips of all families: units, caches, bandwidths."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of the chip: for what part of the time it worked, all of its kind together, and what it does."""

    name: str
    busy: float
    what: str


@dataclass(frozen=True, slots=True)
class CacheUse:
    """A kind of cache: lines looked up, and the part of them that were there (or on their way)."""

    name: str
    lookups: int
    hit_rate: float


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Bytes a second between two places, and the most that is possible."""

    name: str
    gigabytes_per_second: float
    possible: float


@dataclass(frozen=True, slots=True)
class Described:
    """What a family's machine was found to do. ``waits``: what its causes of waiting are called in a sentence, those
    that a kernel can be bound by; ``remedies``: for each unit, what helps if it is full."""

    units: tuple[Unit, ...]
    caches: tuple[CacheUse, ...]
    bandwidths: tuple[Bandwidth, ...]
    waits: dict[str, str]
    remedies: dict[str, str]
