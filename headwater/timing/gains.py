"""Input: a launch that was replayed on a chip. Output: how much time changes of the chip would save.

A unit that is busy for most of the time is no proof that more of it helps: wavefronts may wait for each other, or for
something that is busy less. So the trace is replayed on the chip with one resource doubled, one after the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, Final

from headwater.errors import HeadwaterError

if TYPE_CHECKING:
    from headwater.chips import Chip

WORTH: Final = 0.02
"""What saves less of the time is not named."""
_MOST_NAMED: Final = 3
SHAPE_ITEMS: Final = (64, 128, 256)
"""Work-items of the work-groups that are tried."""


@dataclass(frozen=True, slots=True)
class Gain:
    """A change and what it brings. ``kind``: "chip", a resource of which there is more, or "shape", work-groups of
    other sizes; ``saved``: the part of the time that is saved, below 0 if it takes longer."""

    what: str
    kind: str
    seconds: float
    saved: float


def _times(table: str, *names: str, factor: float = 2) -> Callable[[Chip], Chip]:
    """The chip with figures of a table multiplied."""

    def changed(chip: Chip) -> Chip:
        part: Any = getattr(chip, table)
        figures = {}
        for name in names:
            value = getattr(part, name) * factor
            figures[name] = round(value) if isinstance(getattr(part, name), int) else value
        return replace(chip, **{table: replace(part, **figures)})

    return changed


_ALL: Final[tuple[tuple[str, Callable[[Chip], Chip]], ...]] = (
    ("twice the compute units", _times("compute", "compute_units")),
    ("twice the memory bandwidth", _times("memory", "gigabytes_per_second")),
    ("half the memory latency", _times("latencies", "memory_cycles", factor=0.5)),
    ("four times the L2", _times("caches", "l2_bytes", factor=4)),
    ("twice the L2 bandwidth", _times("caches", "l2_bank_bytes_per_cycle")),
    ("four times the L1", _times("caches", "l1_bytes", factor=4)),
    ("half the LDS latency", _times("latencies", "local_cycles", factor=0.5)),
    ("twice the LDS", _times("local_memory", "bytes")),
    ("twice the registers", _times("registers", "vgprs", "sgprs")),
)
_VLIW: Final = (
    ("twice the fetch units", _times("features", "texture_units")),
    ("twice the render back-ends", _times("features", "render_back_ends")),
)


def changes(chip: Chip) -> Iterator[tuple[str, Chip]]:
    """Each resource, and the chip with more of it."""
    for what, change in (*_ALL, *(_VLIW if chip.is_vliw else ())):
        changed = change(chip)
        if changed != chip:
            yield what, changed


def gains(chip: Chip, before: float, seconds: Callable[[Chip], float]) -> tuple[Gain, ...]:
    """What more of each resource brings to a launch that takes ``before`` seconds; chips that cannot be, as their
    figures do not fit together, are left out. ``seconds``: what it takes on another chip."""

    def tried(named: tuple[str, Chip]) -> Gain | None:
        what, changed = named
        try:
            after = seconds(changed)
        except HeadwaterError:
            return None
        return Gain(what, "chip", after, _saved(before, after))

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return tuple(gain for gain in pool.map(tried, changes(chip)) if gain is not None)


def _saved(before: float, after: float) -> float:
    return 1 - after / before if before else 0.0


def sentence(found: Sequence[Gain]) -> str:
    """What would help, in one sentence; "" if nothing was tried."""
    if not found:
        return ""
    named = [f"{gain.what} would save {gain.saved:.0%}" for gain in found if gain.saved >= WORTH][:_MOST_NAMED]
    if named:
        return f"{', '.join(named)[0].upper()}{', '.join(named)[1:]}."
    most = max(gain.saved for gain in found)
    return f"None of {len(found)} changes that were tried would save more than {max(most, 0):.1%}."


def of_shapes(before: float, others: Sequence[tuple[Sequence[int], float]]) -> tuple[Gain, ...]:
    """What work-groups of other shapes bring to a launch that takes ``before`` seconds. ``others``: those shapes, and
    the seconds in each."""
    return tuple(
        Gain(f"work-groups of {' x '.join(map(str, shape))}", "shape", seconds, _saved(before, seconds))
        for shape, seconds in others
    )


def shapes(whole: Sequence[int], local: Sequence[int]) -> list[tuple[int, ...]]:
    """Other shapes of work-groups that divide a global size: of 64, 128 and 256 work-items, in rows and, of two
    dimensions, in squares and halves of them."""
    wide = [(items, *(1,) * (len(whole) - 1)) for items in SHAPE_ITEMS]
    if len(whole) > 1:
        blocks = ((8, 8), (16, 4), (16, 8), (32, 4), (16, 16), (32, 8))
        wide += [(*block, *(1,) * (len(whole) - 2)) for block in blocks]
    return [
        shape
        for shape in wide
        if shape != tuple(local) and prod(shape) in SHAPE_ITEMS
        and all(size % part == 0 for size, part in zip(whole, shape, strict=True))
    ]  # fmt: skip
