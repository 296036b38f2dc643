"""Input: a scheduled program. Output: each value's register, and how many registers there are.

Values that live within one ALU clause get clause temporaries; the others the first register whose component is free
wherever they are live. Values that are named together get one register.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from headwater.isa.vliw.compiler.ir import THREE_SOURCES, Clause, Exit, If, Loop, Op, Region, Use, Value
from headwater.isa.vliw.compiler.liveness import Gaps, Liveness, add, overlap
from headwater.isa.vliw.compiler.target import Target
from headwater.isa.vliw.model import CLAUSE_TEMPORARIES


@dataclass(slots=True)
class Registers:
    """Where values are: ``gpr[value]``, with its component in the value; ``count`` of registers, and of temporaries.

    A value without register is only read as the previous group's result. ``array``: the first register of the indexed
    temporaries.
    """

    gpr: dict[Value, int] = field(default_factory=dict)
    count: int = 0
    clause_temporaries: int = 0
    array: int = 0


def allocate(region: Region, target: Target, array_elements: int, inputs: list[Value]) -> Registers:
    """Registers for a program whose operations are in clauses. ResourceError where the chip has too few."""
    shadow = _Shadow(region)
    liveness = Liveness(shadow.region)
    best: Registers | None = None
    for by_size in (False, True):
        found = _Allocation(target, shadow, liveness, array_elements, inputs, by_size).registers
        if best is None or found.count < best.count:
            best = found
    assert best is not None
    return best


_MOST_SEARCHED = 1024
"""Registers that are looked at for room. Where there are more, several times what any chip has, the program does not
fit anyhow, and only how far counts."""


class _Shadow:
    """The program as one operation a group, fetch or write, for liveness; where each value is read and written."""

    def __init__(self, region: Region) -> None:
        self.loops: dict[int, Loop] = {}
        self.clause_of: dict[Value, int] = {}  # -1: several
        self.gaps: dict[int, list[Op]] = {}
        self.read: set[Value] = set()
        self.values: dict[Value, None] = {}
        self.always_written: set[Value] = set()
        for clause in _clauses(region):
            for group in clause.groups:
                for slot in group.filled:
                    self.read |= {s.item for s in slot.sources if type(s.item) is Value}
                    if slot.result is not None and slot.op.name in THREE_SOURCES:
                        self.always_written.add(slot.result)
            for op in clause.ops:
                self.read |= {use.ref for use in op.uses if type(use.ref) is Value}
                self.read |= {value for value in op.results if value is not None}
        self.region = self._region(region)

    def _region(self, region: Region) -> Region:
        found: Region = []
        for item in region:
            if isinstance(item, Clause):
                found += self._clause(item)
            elif isinstance(item, If):
                found.append(If(item.condition, self._region(item.then), self._region(item.other)))
            elif isinstance(item, Loop):
                loop = self.loops[id(item)] = Loop()
                loop.body = self._region(item.body)
                found.append(loop)
            elif isinstance(item, Exit):
                found.append(Exit(self.loops[id(item.loop)], item.is_break, item.condition))
        return found

    def _clause(self, clause: Clause) -> list[Op]:
        made: list[Op] = []
        name = id(clause)
        for group in clause.groups:
            uses = [Use(s.item) for slot in group.filled for s in slot.sources if type(s.item) is Value]
            results = [
                slot.result
                for slot in group.filled
                if slot.result is not None and (slot.result in self.read or slot.result in self.always_written)
            ]
            made.append(Op("GROUP", uses, list(results)))
        for op in clause.ops:
            made.append(Op(op.name, op.uses, op.results))
        for op in made:
            for value in [use.ref for use in op.uses if type(use.ref) is Value] + [
                v for v in op.results if v is not None
            ]:
                self.values[value] = None
                known = self.clause_of.setdefault(value, name)
                if known != name or not clause.groups:
                    self.clause_of[value] = -1
        self.gaps[name] = made
        return made


def _clauses(region: Region) -> Iterator[Clause]:
    for item in region:
        if isinstance(item, Clause):
            yield item
        elif isinstance(item, If):
            yield from _clauses(item.then)
            yield from _clauses(item.other)
        elif isinstance(item, Loop):
            yield from _clauses(item.body)


class _Allocation:
    def __init__(
        self,
        target: Target,
        shadow: _Shadow,
        liveness: Liveness,
        array_elements: int,
        inputs: list[Value],
        by_size: bool,
    ) -> None:
        self.target = target
        self.live = liveness.live
        self.busy: list[list[Gaps]] = []
        self.temporaries: dict[int, list[Gaps]] = {}
        self.registers = Registers()
        reserved = max((v.fixed[0] + 1 for v in inputs if v.fixed is not None), default=0)
        values = list(shadow.values)
        for value in values:
            if value.fixed is not None:
                self.take(value, value.fixed[0])
        self.registers.array = reserved
        for k in range(array_elements):
            for chan in range(4):
                self.row(reserved + k)[chan] = [0, liveness.places]
        rest = [v for v in values if v.fixed is None and not self.temporary(v, shadow, liveness)]
        done: set[int] = set()
        bundles: list[list[Value]] = []
        for value in rest:
            if value.vector is not None:
                if id(value.vector) in done:
                    continue
                done.add(id(value.vector))
                bundles.append([m for m in value.vector.members if m in shadow.values])
            else:
                bundles.append([value])
        start = {id(b): min(_first(self.live.get(v, [])) for v in b) for b in bundles}
        bundles.sort(key=lambda b: (-len(b) if by_size else 0, start[id(b)], -len(b)))
        for bundle in bundles:
            self.place(bundle)
        self.registers.count = max(len(self.busy), reserved, 1)

    def row(self, gpr: int) -> list[Gaps]:
        while len(self.busy) <= gpr:
            self.busy.append([[], [], [], []])
        return self.busy[gpr]

    def take(self, value: Value, gpr: int) -> None:
        add(self.row(gpr)[value.chan], self.live.get(value, []))
        self.registers.gpr[value] = gpr

    def place(self, bundle: list[Value]) -> None:
        fixed = next((v.fixed[0] for v in bundle if v.fixed is not None), None)
        gpr = max(0, len(self.busy) - _MOST_SEARCHED) if fixed is None else fixed
        wanted = [(v.chan, self.live.get(v, [])) for v in bundle if v.fixed is None]
        if fixed is not None:
            assert not any(overlap(gaps, self.row(gpr)[chan]) for chan, gaps in wanted), "an input's register is taken"
        elif len(wanted) == 1 and len(wanted[0][1]) == 2:  # by far the most
            chan, (first, end) = wanted[0]
            while gpr < len(self.busy):
                gaps = self.busy[gpr][chan]
                at = bisect_right(gaps, first)
                if not at & 1 and (at == len(gaps) or gaps[at] >= end):
                    break
                gpr += 1
        else:
            while any(overlap(gaps, self.row(gpr)[chan]) for chan, gaps in wanted):
                gpr += 1
        for value in bundle:
            if value.fixed is None:
                self.take(value, gpr)

    def temporary(self, value: Value, shadow: _Shadow, liveness: Liveness) -> bool:
        """Whether a value found room in a clause temporary."""
        count = self.target.clause_temporaries
        clause = shadow.clause_of.get(value, -1)
        if not count or clause == -1 or value.vector is not None:
            return False
        ops = shadow.gaps[clause]
        first, last = liveness.place(ops[0]), liveness.place(ops[-1])
        gaps = self.live.get(value, [])
        if gaps and (gaps[-1] > last + 1 or gaps[0] < first):
            return False
        for k in range(count):
            gpr = CLAUSE_TEMPORARIES[k]
            row = self.temporaries.setdefault(gpr, [[], [], [], []])
            if not overlap(gaps, row[value.chan]):
                add(row[value.chan], gaps)
                self.registers.gpr[value] = gpr
                self.registers.clause_temporaries = max(self.registers.clause_temporaries, k + 1)
                return True
        return False


def _first(gaps: Gaps) -> int:
    """The number of the first gap, from 1 on; 0 if there is none."""
    return gaps[0] + 1 if gaps else 0
