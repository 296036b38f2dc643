"""A VLIW shader and one of its loops pass in; how often the loop's body runs, where the code itself tells, passes out.

As in `trips`: components of registers are followed as ``start + step × iteration``; a loop that leaves at one place by
a comparison of such a component with a number has a count that is a fact.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.analyze.trips import iterations
from headwater.isa.vliw.model import HALF, KCACHE_STARTS, LITERAL, MINUS_ONE_INT, ONE, ONE_INT, PS, PV, ZERO

if TYPE_CHECKING:
    from headwater.isa.vliw.model import AluGroup, AluOp, Cf, Fetch, Shader, Source

_MASK = 0xFFFFFFFF
_INLINE = {ZERO: 0, ONE: 0x3F800000, ONE_INT: 1, MINUS_ONE_INT: _MASK, HALF: 0x3F000000}
_COMPARE = re.compile(r"(?:PRED_)?SET(E|GT|GE|NE|LT|LE)_(INT|UINT)$")
_RELATION = {"E": "eq", "NE": "lg", "GT": "gt", "GE": "ge", "LT": "lt", "LE": "le"}
_OPPOSITE = {"eq": "lg", "lg": "eq", "gt": "le", "le": "gt", "ge": "lt", "lt": "ge"}
_KCACHE_LENGTH = 32
_MASKED = 7

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Affine:
    """``start + step × iteration``, modulo 2³²."""

    start: int
    step: int = 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """``left RELATION right``, all ones or a true predicate where it holds."""

    left: Affine
    right: Affine
    relation: str
    unsigned: bool


Value = Affine | Comparison


class _State:
    """What the components of registers hold, the previous group's results among them."""

    def __init__(self, values: Mapping[Place, Value], constants: Mapping[tuple[int, int, int], int]) -> None:
        self.values = dict(values)
        self.constants = constants
        self.last: dict[int, Value] = {}
        self.predicate: Comparison | None = None

    def source(self, source: Source, cf: Cf) -> Value | None:
        if source.rel or source.abs or source.neg:
            return None
        if source.sel == LITERAL:
            return Affine(source.literal or 0)
        if source.sel in _INLINE:
            return Affine(_INLINE[source.sel])
        if source.sel == PV:
            return self.last.get(source.chan)
        if source.sel == PS:
            return self.last.get(4)
        for window, start in enumerate(KCACHE_STARTS):
            if start <= source.sel < start + _KCACHE_LENGTH:
                bank, line = cf.fields[f"kcache_bank{window}"], cf.fields[f"kcache_addr{window}"]
                found = self.constants.get((bank, 16 * line + source.sel - start, source.chan))
                return None if found is None else Affine(found & _MASK)
        return self.values.get((source.sel, source.chan)) if source.sel < KCACHE_STARTS[0] else None

    def group(self, group: AluGroup, cf: Cf) -> None:
        results: dict[int, Value] = {}
        written: dict[Place, Value | None] = {}
        for op in group.ops:
            made = self.result(op, cf)
            if made is not None:
                results[op.slot] = made
            if op.row.name.startswith("PRED_SET"):
                self.predicate = made if isinstance(made, Comparison) else None
            if op.write and op.row.kind != "LDS":
                written[op.dst_gpr, op.dst_chan] = made if not (op.dst_rel or op.clamp or op.pred_sel) else None
        for place, value in written.items():
            if value is None:
                self.values.pop(place, None)
            else:
                self.values[place] = value
        self.last = results

    def result(self, op: AluOp, cf: Cf) -> Value | None:
        name = op.row.name
        found = [self.source(source, cf) for source in op.sources[: op.row.nsrc]]
        if any(value is None for value in found) or op.omod or not found:
            return None
        if name == "MOV":
            return found[0]
        if compare := _COMPARE.match(name):
            return self._compared(found, _RELATION[compare[1]], compare[2] == "UINT")
        numbers = [value for value in found if isinstance(value, Affine)]
        if len(numbers) != len(found) or len(numbers) < 2:
            return None
        a, b = numbers[:2]
        if name == "ADD_INT":
            return Affine((a.start + b.start) & _MASK, a.step + b.step)
        if name == "SUB_INT":
            return Affine((a.start - b.start) & _MASK, a.step - b.step)
        if name == "LSHL_INT" and not b.step:
            return Affine((a.start << (b.start & 31)) & _MASK, a.step << (b.start & 31))
        if a.step or b.step:
            return None
        if name in ("MULLO_INT", "MULLO_UINT"):
            return Affine((a.start * b.start) & _MASK)
        return None

    @staticmethod
    def _compared(found: list[Value | None], relation: str, unsigned: bool) -> Value | None:
        left, right = found[0], found[1]
        if isinstance(left, Comparison) and right == Affine(0) and relation in ("eq", "lg"):
            # A comparison of a comparison's result with 0: itself, or its opposite.
            return (
                left if relation == "lg" else Comparison(left.left, left.right, _OPPOSITE[left.relation], left.unsigned)
            )
        if isinstance(left, Affine) and isinstance(right, Affine):
            return Comparison(left, right, relation, unsigned)
        return None


def trips_of(
    shader: Shader, first: int, last: int, constants: Mapping[tuple[int, int, int], int]
) -> tuple[int | None, str]:
    """The trips of the loop whose body is the control-flow instructions ``first`` to ``last``, and why.

    The number of times that the whole body runs, the test that ends the loop at its head left out.
    """
    body = range(first, last + 1)
    inner = [n for n in range(first + 1, last) if "loop" in shader.cf[n].row.flags]
    breaks = [n for n in body if shader.cf[n].row.name in ("LOOP_BREAK", "ALU_BREAK")]
    breaks = [n for n in breaks if not any(start < n < _end(shader, start) for start in inner)]
    if len(breaks) != 1:
        return None, "it ends at several places" if breaks else "nothing ends it that is known"
    place = breaks[0]
    before = _State({}, constants)
    for cf in shader.cf[:first]:
        _follow(before, cf)
    steps = _steps(shader, body, before)
    values: dict[Place, Value] = {}
    for register, value in before.values.items():
        if register not in steps:
            values[register] = value
        elif isinstance(value, Affine) and steps[register] is not None:
            values[register] = Affine(value.start, steps[register] or 0)
    state = _State(values, constants)
    for cf in shader.cf[first : place + 1]:
        _follow(state, cf)
    test = state.predicate
    if test is None:
        return None, "what it compares is not known before it runs"
    # ALU_BREAK: lanes that the predicate turned off leave. JUMP and LOOP_BREAK: those that it let through do.
    leaves_when = shader.cf[place].row.name == "LOOP_BREAK"
    count = int(iterations(test.left, test.right, test.relation, test.unsigned, leaves_when))
    if count < 0:
        return None, "what it compares is not known before it runs"
    step = test.left.step or test.right.step
    goal = test.right if test.left.step else test.left
    return count, f"a counter goes to {_signed(goal.start)} in steps of {step:+d}"


def _follow(state: _State, cf: Cf) -> None:
    state.last = {}
    for group in cf.groups:
        state.group(group, cf)
    for fetch in cf.fetches:
        for place in _fetched(fetch):
            state.values.pop(place, None)


def _fetched(fetch: Fetch) -> set[Place]:
    """The components that a fetch writes."""
    fields = fetch.fields
    return {(fields["dst_gpr"], n) for n, c in enumerate("xyzw") if fields[f"dst_sel_{c}"] != _MASKED}


def _steps(shader: Shader, body: range, before: _State) -> dict[Place, int | None]:
    """Components that the loop writes -> by how much an iteration changes them, where that is one number."""
    writers: dict[Place, list[tuple[AluOp, Cf]]] = {}
    fetched: set[Place] = set()
    for number in body:
        cf = shader.cf[number]
        for group in cf.groups:
            for op in group.ops:
                if op.write and op.row.kind != "LDS":
                    writers.setdefault((op.dst_gpr, op.dst_chan), []).append((op, cf))
        for fetch in cf.fetches:
            fetched |= _fetched(fetch)
    found: dict[Place, int | None] = dict.fromkeys(fetched)
    fixed = {place: value for place, value in before.values.items() if place not in writers}
    for place, ops in writers.items():
        found[place] = None
        if len(ops) == 1 and place not in fetched:
            op, cf = ops[0]
            made = [_State({**fixed, place: Affine(n)}, before.constants).result(op, cf) for n in (0, 1)]
            zero, one = made
            if isinstance(zero, Affine) and isinstance(one, Affine) and (one.start - zero.start) & _MASK == 1:
                found[place] = _signed(zero.start)
    return found


def _end(shader: Shader, start: int) -> int:
    depth = 0
    for index in range(start, len(shader.cf)):
        flags = shader.cf[index].row.flags
        depth += ("loop" in flags) - ("endloop" in flags)
        if depth == 0:
            return index
    return len(shader.cf)


def _signed(bits: int) -> int:
    return bits - (1 << 32) if bits >> 31 else bits
