"""Input: a program. Output: where each of its values is live, as sets of places in the text.

A set is made of gaps, of which gap p is behind the operation at place p: a value written at d and read at u is live in
the gaps d to u - 1 (gap 0 is before the first operation), so that an operation may write where its operand was. Control
flow is followed lane by lane: what another lane does meanwhile touches no register of this one, because execution is
masked.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TypeAlias

from headwater.isa.vliw.compiler.ir import Exit, If, Loop, Op, Phi, Region, Value

Gaps: TypeAlias = "list[int]"
"""Stretches of gaps, one after another, none of which touch: the first gap of each and the one behind its last. Most
values live shortly, so the numbers are few, however long the program."""


def holds(gaps: Gaps, gap: int) -> bool:
    """Whether a gap is among them."""
    return bool(bisect_right(gaps, gap) & 1)


def overlap(one: Gaps, two: Gaps) -> bool:
    """Whether two sets have a gap in common."""
    if len(one) > len(two):
        one, two = two, one
    for k in range(0, len(one), 2):
        at = bisect_right(two, one[k])
        if at & 1 or (at < len(two) and two[at] < one[k + 1]):
            return True
    return False


def add(gaps: Gaps, more: Gaps) -> None:
    """Put into a set another that has no gap in common with it."""
    for k in range(0, len(more), 2):
        first, end = more[k], more[k + 1]
        at = bisect_right(gaps, first)
        touches = at < len(gaps) and gaps[at] == end
        if at and gaps[at - 1] == first:
            if touches:
                del gaps[at - 1 : at + 1]
            else:
                gaps[at - 1] = end
        elif touches:
            gaps[at] = first
        else:
            gaps[at:at] = (first, end)


def size(gaps: Gaps) -> int:
    """How many gaps a set has."""
    return sum(gaps[1::2]) - sum(gaps[::2])


def _joined(spans: list[int]) -> Gaps:
    """A set of stretches in any order, which may touch and overlap."""
    if len(spans) <= 2:
        return spans
    found: Gaps = []
    for first, end in sorted(zip(spans[::2], spans[1::2], strict=True)):
        if found and first <= found[-1]:
            found[-1] = max(found[-1], end)
        else:
            found += (first, end)
    return found


class Liveness:
    """Live sets of a program; a phi's value is written where control has joined, its operands are read before.

    ``live[value]`` is its set.
    """

    def __init__(self, region: Region) -> None:
        self.live: dict[Value, Gaps] = {}
        self.places = 1
        self._place: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._at_start: dict[int, set[Value]] = {}
        self._after: dict[int, set[Value]] = {}
        self._ways: dict[int, list[Value]] = {}  # what the phis at the other end of an exit read
        self._number(region)
        self._walk(region, set(), self.live)
        for value, spans in self.live.items():
            self.live[value] = _joined(spans)

    def place(self, item: object) -> int:
        """Where an operation or the beginning of a block stands."""
        return self._place[id(item)]

    def end(self, item: object) -> int:
        """Where an if or loop ends."""
        return self._ends[id(item)]

    def _number(self, region: Region) -> None:
        for item in region:
            self._place[id(item)] = self.places
            self.places += 1
            if isinstance(item, If):
                self._number(item.then)
                self.places += 1
                self._number(item.other)
            elif isinstance(item, Loop):
                for k, way in enumerate(item.continues):
                    self._ways[id(way)] = _values(item.phis, k + 1)
                for k, way in enumerate(item.breaks):
                    self._ways[id(way)] = _values(item.exit_phis, k)
                self._number(item.body)
            else:
                continue
            self._ends[id(item)] = self.places
            self.places += 1

    # A backward walk over a region with what is live behind it; with `record`, the sets are filled in. What is live
    # is kept open with the last gap of its stretch, which ends at control flow's joins and forks.

    def _walk(self, region: Region, live: set[Value], record: dict[Value, Gaps] | None) -> set[Value]:
        last = self.places if not region else self._last(region[-1])
        opened: dict[Value, int] = dict.fromkeys(live, last)
        for item in reversed(region):
            place = self._place[id(item)]
            if isinstance(item, Op):
                self._operation(item, place, opened, record)
                continue
            if isinstance(item, Exit):
                if item.condition is None:
                    opened = {}
                target = self._after if item.is_break else self._at_start
                for value in (*target.get(id(item.loop), ()), *self._ways.get(id(item), ())):
                    opened.setdefault(value, place - 1)
                if item.test is not None:
                    self._read(item.test, place, opened)
                continue
            assert isinstance(item, If | Loop)
            end = self._ends[id(item)]
            self._close(opened, end, record)
            if isinstance(item, If):
                after = self._written(item.phis, set(opened), end, record)
                before = self._walk_part(item.then, after | set(_values(item.phis, 0)), record)
                before |= self._walk_part(item.other, after | set(_values(item.phis, 1)), record)
            else:
                self._after[id(item)] = self._written(item.exit_phis, set(opened), end, record)
                # One walk finds all that is live at the start: of what it is told to be, it returns a part.
                known = self._at_start.setdefault(id(item), set())
                known = known | self._written(item.phis, self._walk_part(item.body, set(), None), place, None)
                self._at_start[id(item)] = known
                if record is not None:
                    self._walk_part(item.body, set(), record)
                self._written(item.phis, set(), place, record)
                before = known | set(_values(item.phis, 0))
                self._close(dict.fromkeys(known, place), place, record)
                opened = dict.fromkeys(before, place - 1)
                continue
            opened = dict.fromkeys(before, place)
            if isinstance(item, If) and item.test is not None:
                self._read(item.test, place, opened)
        first = self._place[id(region[0])] if region else 0
        if record is not None and region:
            self._close(opened, first - 1, record)
        return set(opened)

    def _written(self, phis: list[Phi], live: set[Value], gap: int, record: dict[Value, Gaps] | None) -> set[Value]:
        """What is live before phis write their values at a gap."""
        for phi in phis:
            live.discard(phi.value)
            if record is not None:
                record.setdefault(phi.value, []).extend((gap, gap + 1))
        return live

    def _walk_part(self, region: Region, live: set[Value], record: dict[Value, Gaps] | None) -> set[Value]:
        return self._walk(region, live, record) if region else set(live)

    def _last(self, item: object) -> int:
        return self._ends.get(id(item), self._place[id(item)])

    def _read(self, op: Op, place: int, opened: dict[Value, int]) -> None:
        for ref, _, _ in op.uses:
            if type(ref) is Value and ref not in opened:
                opened[ref] = place - 1

    def _operation(self, op: Op, place: int, opened: dict[Value, int], record: dict[Value, Gaps] | None) -> None:
        for value in op.results:
            if value is not None:
                last = opened.pop(value, place)
                if record is not None:
                    record.setdefault(value, []).extend((place, max(last, place) + 1))
        self._read(op, place, opened)

    def _close(self, opened: dict[Value, int], gap: int, record: dict[Value, Gaps] | None) -> None:
        """End the stretches of what is open at a gap; they may go on before it."""
        for value, last in opened.items():
            if record is not None and last >= gap:
                record.setdefault(value, []).extend((gap, last + 1))
            opened[value] = gap - 1


def _values(phis: list[Phi], way: int) -> list[Value]:
    """The values that phis read when control comes by a way."""
    return [ref for phi in phis if type(ref := phi.uses[way].ref) is Value]
