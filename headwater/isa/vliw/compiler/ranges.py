"""Input: a program in static single assignment form. Output: for each of its values the unsigned numbers that it can
be, as the least and the greatest.

Values that nothing is known of can be all of 32 bits. What a work-item's numbers can be says `Value.most`; a variable
of a loop that moves by a constant is bounded by how often the loop can repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from headwater.isa.vliw.compiler import fold
from headwater.isa.vliw.compiler.ir import ALU, FETCH, Const, Exit, If, Loop, Op, Phi, Ref, Region, Use, Value

Range = tuple[int, int]
ALL: Range = (0, fold.ALL_ONES)
_POSITIVE = 0x7FFFFFFF
_DEEP = 6
"""How many operations back from a loop's end a variable is looked at before what stands in the loop is known."""
_DWORD_BITS = {1: 8, 5: 16}  # DATA_FORMAT of 8 and of 16 bits


class Ranges:
    """What the values of a region can be."""

    def __init__(self, region: Region) -> None:
        self._known: dict[Value, Range] = {}
        self._region(region)

    def of(self, ref: Ref) -> Range:
        """The least and the greatest number that a value can be."""
        if type(ref) is Const:
            return ref.bits, ref.bits
        if type(ref) is not Value:
            return ALL
        known = self._known.get(ref)
        return known if known is not None else (0, ref.most)

    def _use(self, use: Use) -> Range:
        if use.abs and not use.neg:
            return 0, _POSITIVE
        return ALL if use.neg or use.abs else self.of(use.ref)

    # -- what stands in a region, in order -----------------------------------------------------------------------------

    def _region(self, region: Region) -> None:
        for item in region:
            if isinstance(item, Op):
                self._operation(item)
            elif isinstance(item, If):
                self._region(item.then)
                self._region(item.other)
                self._join(item.phis)
            elif isinstance(item, Loop):
                self._loop(item)

    def _join(self, phis: list[Phi]) -> None:
        for phi in phis:
            found = [self._use(use) for use in phi.uses]
            if found:
                self._set(phi.value, (min(low for low, _ in found), max(high for _, high in found)))

    def _set(self, value: Value, found: Range) -> None:
        if found != ALL:
            self._known[value] = found

    def _operation(self, op: Op) -> None:
        if op.kind == FETCH and op.name == "FETCH":
            bits = _DWORD_BITS.get((op.fields or {}).get("data_format", 0))
            if bits is not None and op.results[0] is not None:
                self._known[op.results[0]] = 0, (1 << bits) - 1
        elif op.kind == ALU and len(op.results) == 1 and op.results[0] is not None:
            self._set(op.results[0], self._computed(op))

    def _computed(self, op: Op) -> Range:
        if op.clamp or op.omod:
            return ALL
        if op.name in ("FLT_TO_INT", "FLT_TO_INT_TRUNC", "FLT_TO_INT_FLOOR", "FLT_TO_UINT"):
            return _of_position(op.uses[0])
        rule = _RULES.get(op.name)
        return rule(*(self._use(use) for use in op.uses)) if rule is not None else ALL

    def _deeper(self, use: Use, depth: int) -> Range:
        """What an operation that is yet to come gives: the unknown values so far that it depends on are few."""
        ref = use.ref
        if type(ref) is not Value or use.neg or use.abs or ref in self._known or ref.op is None or not depth:
            return self._use(use)
        op = ref.op
        rule = _RULES.get(op.name) if op.kind == ALU and not op.clamp and not op.omod else None
        return rule(*(self._deeper(inner, depth - 1) for inner in op.uses)) if rule is not None else ALL

    # -- loops ---------------------------------------------------------------------------------------------------------

    def _loop(self, loop: Loop) -> None:
        before = {phi.value: self._use(phi.uses[0]) for phi in loop.phis}
        steps = {phi.value: step for phi in loop.phis if (step := _step(phi)) is not None}
        bounded: dict[Value, Range] = {}
        times = self._repetitions(loop, before, steps, bounded)
        for phi in loop.phis:
            low, high = before[phi.value]
            step = steps.get(phi.value)
            if step is None:
                ends = [self._deeper(use, _DEEP) for use in phi.uses[1:]]
                self._set(phi.value, (min(low, *(e[0] for e in ends)), max(high, *(e[1] for e in ends))))
                continue
            found = [bounded[phi.value]] if phi.value in bounded else []
            if times is not None:
                found.append((low + min(step * times, 0), high + max(step * times, 0)))
            found = [(least, most) for least, most in found if least >= 0 and most <= fold.ALL_ONES]
            if found:
                self._set(phi.value, (max(least for least, _ in found), min(most for _, most in found)))
        self._region(loop.body)
        self._join(loop.exit_phis)

    def _repetitions(
        self, loop: Loop, before: dict[Value, Range], steps: dict[Value, int], bounded: dict[Value, Range]
    ) -> int | None:
        """How often a loop can begin again at most, where an exit that every repetition comes to says so. What the
        variable of such an exit can be is put into ``bounded``."""
        found = []
        for stays in _exits(loop):
            value, moved = _moved(stays.moving)
            step = steps.get(value, 0) if value is not None else 0
            if value is None or not step:
                continue
            low, high = before[value]
            least, most = self._limits(stays)
            if stays.relation == "!=":  # the two meet exactly, or never
                distance = least - fold.signed(low) - moved
                if least == most and low == high and distance % step == 0 and distance // step >= 0:
                    found.append(distance // step)
                continue
            largest = fold.ALL_ONES if stays.unsigned else _POSITIVE
            if high > largest or low + moved < 0 or high + moved > largest:
                continue
            if stays.relation == "<" and step > 0 and most - 1 + step <= largest:
                found.append(max(-(-(most - low - moved) // step), 0))
                bounded[value] = low, max(high, most - 1 - moved + step)
            elif stays.relation == ">" and step < 0 and least + 1 + step >= (0 if stays.unsigned else -_POSITIVE):
                found.append(max(-(-(high + moved - least) // -step), 0))
                bounded[value] = min(low, least + 1 - moved + step), high
        return min(found, default=None)

    def _limits(self, stays: _Stays) -> Range:
        """What the bound of an exit can be, as a number of the comparison's kind."""
        low, high = self.of(stays.bound)
        if not stays.unsigned:
            if low > _POSITIVE:
                low, high = low - (1 << 32), high - (1 << 32)
            elif high > _POSITIVE:
                low, high = -_POSITIVE - 1, _POSITIVE
        return low + stays.more, high + stays.more


class _Stays(NamedTuple):
    """What holds for as long as a loop goes on: ``moving`` < or > or != ``bound`` + ``more``."""

    moving: Ref
    relation: str
    bound: Ref
    more: int = 0
    unsigned: bool = False


def _step(phi: Phi) -> int | None:
    """By how much a loop's variable moves each time, if that is a constant."""
    steps = set()
    for use in phi.uses[1:]:
        value, moved = _moved(use.ref) if not use.neg and not use.abs else (None, 0)
        if value is not phi.value:
            return None
        steps.add(moved)
    return steps.pop() if len(steps) == 1 else None


def _moved(ref: Ref) -> tuple[Value | None, int]:
    """A value as another one and a constant that is added to it."""
    op = fold.definition(ref, "ADD_INT")
    if op is not None:
        base, added = op.uses
        if type(added.ref) is Const and type(base.ref) is Value and not (base.neg or base.abs):
            return base.ref, fold.signed(added.ref.bits)
    return (ref if type(ref) is Value else None), 0


def _exits(loop: Loop) -> list[_Stays]:
    """What the breaks say that each repetition comes to."""
    if len(loop.continues) != 1 or not loop.body or loop.body[-1] is not loop.continues[0]:
        return []
    found: list[_Stays] = []
    for item in loop.body:
        if not isinstance(item, Exit) or not item.is_break or item.condition is None:
            continue
        op = fold.definition(item.condition.ref)
        leaves = item.when
        while op is not None and op.name == "NOT_INT":
            op, leaves = fold.definition(op.uses[0].ref), not leaves
        if op is None or len(op.uses) != 2 or any(use.neg or use.abs for use in op.uses):
            continue
        a, b = (use.ref for use in op.uses)
        name = op.name
        unsigned = name in ("SETGE_UINT", "SETGT_UINT")
        if (name, leaves) in (("SETE_INT", True), ("SETNE_INT", False)):
            found += [_Stays(a, "!=", b), _Stays(b, "!=", a)]
        elif name in ("SETGE_INT", "SETGE_UINT"):  # on while a < b, or b < a + 1
            found += [_Stays(a, "<", b, 0, unsigned), _Stays(b, ">", a, 0, unsigned)] if leaves else []
            found += [_Stays(b, "<", a, 1, unsigned), _Stays(a, ">", b, -1, unsigned)] if not leaves else []
        elif name in ("SETGT_INT", "SETGT_UINT"):  # on while a < b + 1, or b < a
            found += [_Stays(a, "<", b, 1, unsigned), _Stays(b, ">", a, -1, unsigned)] if leaves else []
            found += [_Stays(b, "<", a, 0, unsigned), _Stays(a, ">", b, 0, unsigned)] if not leaves else []
    return found


# -- operations --------------------------------------------------------------------------------------------------------


def _of_position(use: Use) -> Range:
    """A pixel's coordinate as an integer, which may be rounded and moved by a constant before."""
    ref, moved = use.ref, 0.0
    for _ in range(_DEEP):
        if use.neg or use.abs or type(ref) is not Value:
            return ALL
        if ref.position:
            return (0, ref.most + int(moved) + 1) if -0.5 <= moved <= _FAR else ALL
        op = fold.definition(ref)
        if op is None:
            return ALL
        if op.name in ("TRUNC", "FLOOR"):
            use = op.uses[0]
        elif op.name == "ADD" and type(op.uses[1].ref) is Const and not (op.uses[1].neg or op.uses[1].abs):
            use, moved = op.uses[0], moved + fold.to_float(op.uses[1].ref.bits)
        else:
            return ALL
        ref = use.ref
    return ALL


_FAR = 65536.0


def _add(a: Range, b: Range) -> Range:
    low, high = a[0] + b[0], a[1] + b[1]
    if high <= fold.ALL_ONES:
        return low, high
    if low > fold.ALL_ONES:  # a negative number was added, and all sums wrap
        return low - (1 << 32), high - (1 << 32)
    return ALL


def _sub(a: Range, b: Range) -> Range:
    return (a[0] - b[1], a[1] - b[0]) if a[0] >= b[1] else ALL


def _mul(a: Range, b: Range) -> Range:
    high = a[1] * b[1]
    return (a[0] * b[0], high) if high <= fold.ALL_ONES else ALL


def _mul24(a: Range, b: Range) -> Range:
    return _mul((0, min(a[1], 0xFFFFFF)), (0, min(b[1], 0xFFFFFF)))


def _signed_mul24(a: Range, b: Range) -> Range:
    return _mul(a, b) if max(a[1], b[1]) < 1 << 23 else ALL


def _and(a: Range, b: Range) -> Range:
    return 0, min(a[1], b[1])


def _or(a: Range, b: Range) -> Range:
    return max(a[0], b[0]), (1 << max(a[1], b[1]).bit_length()) - 1


def _xor(a: Range, b: Range) -> Range:
    return 0, (1 << max(a[1], b[1]).bit_length()) - 1


def _shift_left(a: Range, b: Range) -> Range:
    by = b[0] & 31
    high = a[1] << by
    return (a[0] << by, high) if b[0] == b[1] and high <= fold.ALL_ONES else ALL


def _shift_right(a: Range, b: Range) -> Range:
    return (a[0] >> (b[0] & 31), a[1] >> (b[0] & 31)) if b[0] == b[1] else (0, a[1])


def _shift_right_signed(a: Range, b: Range) -> Range:
    return _shift_right(a, b) if a[1] <= _POSITIVE else ALL


def _minimum(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), min(a[1], b[1])


def _maximum(a: Range, b: Range) -> Range:
    return max(a[0], b[0]), max(a[1], b[1])


def _signed_minimum(a: Range, b: Range) -> Range:
    return _minimum(a, b) if max(a[1], b[1]) <= _POSITIVE else ALL


def _signed_maximum(a: Range, b: Range) -> Range:
    if max(a[1], b[1]) <= _POSITIVE:
        return _maximum(a, b)
    sure = [r for r in (a, b) if r[1] <= _POSITIVE]  # it is at least this one, so that it is not negative
    return (min(r[0] for r in sure), _POSITIVE) if sure else ALL


def _high_product(a: Range, b: Range) -> Range:
    return a[0] * b[0] >> 32, a[1] * b[1] >> 32


def _field(_: Range, __: Range, width: Range) -> Range:
    return (0, (1 << (width[0] & 31)) - 1) if width[0] == width[1] else ALL


def _chosen(_: Range, a: Range, b: Range) -> Range:
    return min(a[0], b[0]), max(a[1], b[1])


def _same(a: Range) -> Range:
    return a


_RULES: dict[str, Callable[..., Range]] = {
    "MOV": _same,
    "ADD_INT": _add,
    "SUB_INT": _sub,
    **dict.fromkeys(("MULLO_INT", "MULLO_UINT"), _mul),
    "MULHI_UINT": _high_product,
    "MUL_UINT24": _mul24,
    "MUL_INT24": _signed_mul24,
    "MULADD_UINT24": lambda a, b, c: _add(_mul24(a, b), c),
    "MULADD_INT24": lambda a, b, c: _add(_signed_mul24(a, b), c),
    "AND_INT": _and,
    "OR_INT": _or,
    "XOR_INT": _xor,
    "LSHL_INT": _shift_left,
    "LSHR_INT": _shift_right,
    "ASHR_INT": _shift_right_signed,
    "MIN_UINT": _minimum,
    "MAX_UINT": _maximum,
    "MIN_INT": _signed_minimum,
    "MAX_INT": _signed_maximum,
    "BFE_UINT": _field,
    "BCNT_INT": lambda _: (0, 32),
    **dict.fromkeys(("CNDE_INT", "CNDGT_INT", "CNDGE_INT", "CNDE", "CNDGT", "CNDGE"), _chosen),
}
"""The range of an operation's result from those of its operands."""
