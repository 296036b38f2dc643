"""Input: a program. Output: where each of its values is live, as sets of places in the text.

A set is made of gaps, of which gap p is behind the operation at place p: a value written at d and read at u is live in
the gaps d to u - 1 (gap 0 is before the first operation), so that an operation may write where its operand was. Control
flow is followed lane by lane: what another lane does meanwhile touches no register of this one, because execution is
masked.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
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


_Target: TypeAlias = "tuple[int, bool]"
"""Where exits lead: a loop, by its id, and whether behind it rather than to its start."""
_NOWHERE: _Target = (0, True)
"""Where a loop without break leads."""
_Leaving: TypeAlias = "frozenset[_Target]"


class Liveness:
    """Live sets of a program; a phi's value is written where control has joined, its operands are read before.

    ``live[value]`` is its set. What is live behind an if or a loop and is not written in it is live all through it and
    is not followed inside, so that the work grows with the text and not with what is live meanwhile.
    """

    def __init__(self, region: Region) -> None:
        self.live: dict[Value, Gaps] = {}
        self.places = 1
        self._place: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._written: list[Value] = []  # in the order of the text,
        self._write_places: list[int] = []  # and where each is written
        self._places_of: dict[Value, list[int]] = {}
        self._leaving: dict[int, _Leaving] = {}
        self._targets: dict[_Target, set[Value]] = {}
        self._ways: dict[int, list[Value]] = {}  # what the phis at the other end of an exit read
        self._starts: dict[int, tuple[set[Value], set[Value]]] = {}
        self._number(region)
        self._walk(region, (), self.live)
        for value, spans in self.live.items():
            self.live[value] = _joined(spans)

    def place(self, item: object) -> int:
        """Where an operation or the beginning of a block stands."""
        return self._place[id(item)]

    def end(self, item: object) -> int:
        """Where an if or loop ends."""
        return self._ends[id(item)]

    def _number(self, region: Region) -> tuple[_Leaving, bool]:
        """Give all items their places; how control leaves the region, and whether it never comes out at its end."""
        left: _Leaving = frozenset()
        over = False
        for k, item in enumerate(region):
            self._place[id(item)] = self.places
            over = False
            if isinstance(item, Op):
                for value in item.results:
                    if value is not None:
                        self._written.append(value)
                        self._write_places.append(self.places)
                self.places += 1
                continue
            if isinstance(item, If):
                self.places += 1
                inside, then_over = self._number(item.then)
                if item.other:
                    self.places += 1
                others, over = self._number(item.other)
                self._leaving[id(item)] = inside = inside | others
                over = over and then_over
                phis = item.phis
            elif isinstance(item, Loop):
                self._write(item.phis)
                for n, way in enumerate(item.continues):
                    self._ways[id(way)] = _values(item.phis, n + 1)
                for n, way in enumerate(item.breaks):
                    self._ways[id(way)] = _values(item.exit_phis, n)
                self.places += 1
                inside, _ = self._number(item.body)
                over = (id(item), True) not in inside
                inside = inside & {_NOWHERE} | ({_NOWHERE} if over else set())
                self._leaving[id(item)] = inside
                phis = item.exit_phis
            else:
                assert isinstance(item, Exit)
                over = item.condition is None
                left |= {(id(item.loop), item.is_break)}
                self.places += not over or k + 1 < len(region)  # nothing is ever live behind it
                continue
            left |= inside
            self._ends[id(item)] = self.places
            self._write(phis)
            self.places += not over or k + 1 < len(region)
        return left, over

    def _write(self, phis: list[Phi]) -> None:
        self._written += [phi.value for phi in phis]
        self._write_places += [self.places] * len(phis)

    # A backward walk over a region with what is live behind it; with `record`, the sets are filled in. What is live
    # is kept open with the last gap of its stretch.

    def _walk(self, region: Region, live: Iterable[Value], record: dict[Value, Gaps] | None) -> Iterable[Value]:
        if not region:
            return live
        opened = dict.fromkeys(live, self._last(region[-1]))
        for item in reversed(region):
            place = self._place[id(item)]
            if isinstance(item, Op):
                _operation(item, place, opened, record)
            elif isinstance(item, Exit):
                if item.condition is None:
                    opened = {}
                live_there = self._targets.get((id(item.loop), item.is_break), ())
                for value in (*live_there, *self._ways.get(id(item), ())):
                    opened.setdefault(value, place - 1)
                if item.test is not None:
                    _read(item.test, place, opened)
            elif isinstance(item, If):
                self._walk_if(item, place, opened, record)
            else:
                assert isinstance(item, Loop)
                self._walk_loop(item, place, opened, record)
        if record is not None:
            _close(opened, opened, self._place[id(region[0])] - 1, record)
        return opened

    def _walk_if(self, item: If, place: int, opened: dict[Value, int], record: dict[Value, Gaps] | None) -> None:
        end = self._ends[id(item)]
        _write_phis(item.phis, end, opened, record)
        inside = self._followed(item, place, end, opened)
        _close(inside, opened, end, record)
        for value in inside:
            del opened[value]
        for k, side in enumerate((item.then, item.other)):
            for value in self._walk(side, dict.fromkeys((*inside, *_values(item.phis, k))), record):
                opened.setdefault(value, place)
        if item.test is not None:
            _read(item.test, place, opened)

    def _walk_loop(self, item: Loop, place: int, opened: dict[Value, int], record: dict[Value, Gaps] | None) -> None:
        end = self._ends[id(item)]
        _write_phis(item.exit_phis, end, opened, record)
        after = self._followed(item, place, end, opened)
        _close(after, opened, end, record)
        for value in after:
            del opened[value]
        written = {phi.value for phi in item.phis}
        start = [v for v in self._live_at_start(item, after) if v not in written and v not in opened]
        if record is not None:
            self._targets[id(item), True], self._targets[id(item), False] = after, set(start)
            self._walk(item.body, (), record)
            for value in (*written, *start):
                record.setdefault(value, []).extend((place, place + 1))
        for value in (*start, *_values(item.phis, 0)):
            opened.setdefault(value, place - 1)

    def _live_at_start(self, item: Loop, after: set[Value]) -> set[Value]:
        """What is live at the start of a loop's body, for what is live behind it and written in it.

        One walk finds all: of what is told to be live at the start, it returns a part. A loop in a loop is asked again,
        with more that is live behind it: what was live at its start already changes nothing.
        """
        known = self._starts.get(id(item))
        if known is None or not after - known[0] <= known[1]:
            self._targets[id(item), True], self._targets[id(item), False] = after, set()
            known = self._starts[id(item)] = after, set(self._walk(item.body, (), None))
        return known[1]

    def _followed(self, item: If | Loop, place: int, end: int, opened: dict[Value, int]) -> set[Value]:
        """Which of the values that are live behind an item may not be so all through it."""
        leaving = self._leaving[id(item)]
        if _NOWHERE in leaving:
            return set(opened)
        first, behind = bisect_left(self._write_places, place), bisect_left(self._write_places, end)
        if behind - first < len(opened):
            found = {value for value in self._written[first:behind] if value in opened}
        else:
            found = {value for value in opened if self._is_written(value, place, end)}
        for target in leaving:
            found |= opened.keys() - self._targets[target]
        return found

    def _is_written(self, value: Value, place: int, end: int) -> bool:
        if not self._places_of:
            for written, where in zip(self._written, self._write_places, strict=True):
                self._places_of.setdefault(written, []).append(where)
        places = self._places_of.get(value, [])
        at = bisect_left(places, place)
        return at < len(places) and places[at] < end

    def _last(self, item: object) -> int:
        return self._ends.get(id(item), self._place[id(item)])


def _operation(op: Op, place: int, opened: dict[Value, int], record: dict[Value, Gaps] | None) -> None:
    """What is written is live from there on; what is read, up to there."""
    for value in op.results:
        if value is not None:
            last = opened.pop(value, place)
            if record is not None:
                record.setdefault(value, []).extend((place, max(last, place) + 1))
    _read(op, place, opened)


def _write_phis(phis: list[Phi], place: int, opened: dict[Value, int], record: dict[Value, Gaps] | None) -> None:
    for phi in phis:
        last = opened.pop(phi.value, place)
        if record is not None:
            record.setdefault(phi.value, []).extend((place, max(last, place) + 1))


def _read(op: Op, place: int, opened: dict[Value, int]) -> None:
    for ref, _, _ in op.uses:
        if type(ref) is Value and ref not in opened:
            opened[ref] = place - 1


def _close(values: Iterable[Value], opened: dict[Value, int], gap: int, record: dict[Value, Gaps] | None) -> None:
    """Begin the stretches of open values at a gap."""
    if record is None:
        return
    for value in values:
        last = opened[value]
        if last >= gap:
            record.setdefault(value, []).extend((gap, last + 1))


def _values(phis: list[Phi], way: int) -> list[Value]:
    """The values that phis read when control comes by a way."""
    return [ref for phi in phis if type(ref := phi.uses[way].ref) is Value]
