"""Input: memory accesses of an IL program, in order. Output: the first that may conflict with an earlier one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from headwater.il.lane_values import WAVEFRONT, Form, Numbers, Symbol
from headwater.il.model import Instruction


class Conflict(NamedTuple):
    """Two accesses that may be of one place, by different work-items of a wavefront, without a fence between."""

    buffer: str
    earlier: Instruction
    later: Instruction


class Access(NamedTuple):
    """Bytes of a buffer; where ``at`` is None, nobody knows which. ``kind``: r, w or a, for atomic operations."""

    buffer: str
    kind: str
    at: Form | None
    size: int
    made: Instruction


@dataclass
class _Pattern:
    """Accesses that differ in nothing but where they stand and how far from each other they begin, ``offsets``. With a
    ``step`` they were some trips of a loop ago, since when addresses have grown by so much a trip."""

    kind: str
    form: Form | None
    """Where they begin, without the offsets: the first work-item's number is 0."""
    size: int
    step: int | None = None
    trips: int = 0
    """The most that it may have been, 0 where that is not known."""
    offsets: list[int] = field(default_factory=list)
    made: list[Instruction] = field(default_factory=list)
    known: Numbers | None = None

    def starts(self) -> Numbers:
        """The offsets, as numbers."""
        if self.known is None or len(self.known) != len(self.offsets):
            self.known = np.array(self.offsets, np.int64)
        return self.known

    def copy(self) -> _Pattern:
        return replace(self, offsets=list(self.offsets), made=list(self.made))


class Pending:
    """Accesses since the last fence, by buffers."""

    def __init__(self, items: int) -> None:
        self.items = items
        self.patterns: dict[str, dict[Any, _Pattern]] = {}
        self.distances: dict[Any, Numbers] = {}

    def clear(self) -> None:
        """Forget them: a fence parts them from what follows."""
        self.patterns = {}

    def copy(self) -> Pending:
        """The same accesses, to which others can be added."""
        made = Pending(self.items)
        made.distances = self.distances
        made.patterns = {
            buffer: {key: pattern.copy() for key, pattern in patterns.items()}
            for buffer, patterns in self.patterns.items()
        }
        return made

    def add(self, access: Access) -> Conflict | None:
        """Add an access; the first one before it that may be of the same place, if there is one."""
        patterns = self.patterns.setdefault(access.buffer, {})
        offset, form, key = 0, access.at, b""
        if form is not None:
            offset = int(form.numbers[0])
            form = Form(form.numbers - offset, form.symbols)
            key = form.numbers.tobytes()
        for other in patterns.values():
            if access.kind == other.kind and access.kind in "ra":
                continue
            if (place := self._first_conflict(other, access, form, offset)) is not None:
                return Conflict(access.buffer, other.made[place], access.made)
        wanted = (access.kind, access.size, form and form.symbols, key)
        pattern = patterns.get(wanted)
        if pattern is None:
            pattern = patterns[wanted] = _Pattern(access.kind, form, access.size)
        pattern.offsets.append(offset)
        pattern.made.append(access.made)
        return None

    def _first_conflict(self, earlier: _Pattern, later: Access, form: Form | None, offset: int) -> int | None:
        """Which of earlier accesses may be of the same bytes by another work-item of the wavefront."""
        a, b = earlier.form, form
        if a is None or b is None or a.symbols != b.symbols:
            return 0
        if not b.of_one_kind:
            # Rows of a width that is not known are taken not to reach into each other.
            scaled = all(symbol.uniform or symbol.scaled for symbol, _ in b.symbols)
            own = scaled and a.same(b) and all(offset == other for other in earlier.offsets)
            return None if own else 0
        key = (a.numbers.tobytes(), b.numbers.tobytes())
        between = self.distances.get(key)
        if between is None:
            between = self.distances[key] = self._between(a.numbers, b.numbers)
        further = offset - earlier.starts()
        # They conflict if the later one begins by less than its size before, or by less than the other's size after.
        if not earlier.step:
            at = np.searchsorted(between, -later.size - further, side="right")
            near = np.append(between, np.int64(1) << 62)[at] < earlier.size - further
        else:
            distances = between[:, None] + further[None, :]
            trips = np.round(distances / -earlier.step).astype(np.int64)
            near = np.zeros(len(further), bool)
            for more in (-1, 0, 1):
                moved = distances + earlier.step * np.clip(trips + more, 1, earlier.trips or None)
                near |= ((moved < earlier.size) & (moved > -later.size)).any(axis=0)
        return int(near.argmax()) if near.any() else None

    def _between(self, a: Numbers, b: Numbers) -> Numbers:
        """How far behind a work-item's ``a`` another one's ``b`` of its wavefront is, in order."""
        found = []
        for start in range(0, self.items, WAVEFRONT):
            x, y = a[start : start + WAVEFRONT], b[start : start + WAVEFRONT]
            difference = y[None, :] - x[:, None]
            found.append(difference[~np.eye(len(x), dtype=bool)])
        return np.unique(np.concatenate(found))

    def let_trips_pass(self, first_symbol: int, steps: dict[Symbol, int], trips: int) -> None:
        """Make the accesses of a trip of a loop those of earlier trips. ``steps``: what symbols above ``first_symbol``
        grow by with each trip, where that is known; ``trips``: how many there are at the most, or 0."""
        for patterns in self.patterns.values():
            for key, pattern in list(patterns.items()):
                form = pattern.form
                own = [pair for pair in form.symbols if pair[0].number > first_symbol] if form is not None else []
                if not own:
                    continue
                del patterns[key]
                if pattern.step is not None or any(symbol not in steps for symbol, _ in own):
                    pattern.form = pattern.step = None
                else:
                    pattern.step, pattern.trips = sum(steps[symbol] * times for symbol, times in own), trips
                patterns["earlier trips", len(patterns), key] = pattern
