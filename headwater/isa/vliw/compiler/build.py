"""Input: operations one by one. Output: the program in static single assignment form, without redundant operations.

Each operation is folded, simplified and looked for among those that dominate it before it is added.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.isa.vliw.compiler import fold
from headwater.isa.vliw.compiler.ir import ALU, THREE_SOURCES, WIDE, Const, Op, Ref, Region, Special, Use, Value
from headwater.isa.vliw.compiler.target import Target

ZERO = Const(0)
ONE = Const(fold.ONE)
Input = Ref | Use


def use(operand: Input) -> Use:
    """An operand as a read without modifiers, if it is not a read already."""
    return operand if type(operand) is Use else Use(operand)  # type: ignore[arg-type]


def number(value: int) -> Const:
    """An integer as 32 bits."""
    return Const(value & fold.ALL_ONES)


def real(value: float) -> Const:
    """A number in single precision."""
    return Const(fold.to_bits(value))


def negated(operand: Input) -> Use:
    """A float with its sign changed by the read."""
    ref, neg, absolute = use(operand)
    return Use(ref, not neg, absolute)


def magnitude(operand: Input) -> Use:
    """A float's absolute value by the read."""
    return Use(use(operand).ref, False, True)


class Builder:
    """Adds operations to `region`, the one that is being written."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.region: Region = []
        self.line = 0
        self._known: dict[object, Ref] = {}
        self._added: list[object] = []

    # -- scopes: what is computed in a region is known in those inside it ----------------------------------------------

    def enter(self, region: Region) -> tuple[Region, int]:
        """Write into a region inside this one; the answer is for `leave`."""
        outside = self.region
        self.region = region
        return outside, len(self._added)

    def leave(self, outside: tuple[Region, int]) -> None:
        """Write into the region outside again."""
        self.region, mark = outside
        for key in self._added[mark:]:
            del self._known[key]
        del self._added[mark:]

    def remember(self, key: object, ref: Ref) -> None:
        """What an expression is, for as long as the region is written."""
        if key not in self._known:
            self._known[key] = ref
            self._added.append(key)

    # -- operations ----------------------------------------------------------------------------------------------------

    def alu(self, name: str, *operands: Input, clamp: bool = False, omod: int = 0) -> Ref:
        """What an operation of one slot gives."""
        return self.made(name, [use(operand) for operand in operands], clamp, omod)

    def made(self, name: str, uses: list[Use], clamp: bool = False, omod: int = 0) -> Ref:
        """As `alu`, of a list of operands."""
        while True:
            uses = fold.with_modifiers(name, uses)
            if name in THREE_SOURCES and any(use.abs for use in uses):  # which have no such modifier
                uses = [Use(self.made("MOV", [use])) if use.abs else use for use in uses]
            bits = fold.constant(name, uses, clamp, omod)
            if bits is not None:
                return Const(bits)
            if name in fold.COMMUTATIVE and type(uses[0].ref) is Const:
                uses = uses[::-1]
            if clamp or omod:
                break
            if name == "MOV" and not uses[0].neg and not uses[0].abs and type(uses[0].ref) is not Special:
                return uses[0].ref
            simpler = fold.simplified(name, uses)
            if simpler is None and self.target.has("BFI_INT"):
                simpler = fold.inserted(name, uses)
            if simpler is None:
                break
            if isinstance(simpler, Use):
                if not simpler.neg and not simpler.abs:
                    return simpler.ref
                name, uses = "MOV", [simpler]
            else:
                name, uses = simpler[0], list(simpler[1])
        key = (name, *uses, clamp, omod)
        known = self._known.get(key)
        if known is not None:
            return known
        value = Value()
        value.op = Op(name, uses, [value], clamp=clamp, omod=omod, line=self.line)
        self.region.append(value.op)
        self.remember(key, value)
        return value

    def wide(self, name: str, operands: Sequence[Input], results: int) -> list[Value]:
        """The results of an operation that takes several slots; its operands slot by slot."""
        uses = [use(operand) for operand in operands]
        key = ("wide", name, *uses)
        known = self._known.get(key)
        if known is not None:
            assert type(known) is Value
            assert known.op is not None
            return [value for value in known.op.results if value is not None]
        values = [Value() for _ in range(results)]
        op = Op(name, uses, list(values), WIDE, line=self.line)
        for value in values:
            value.op = op
        self.region.append(op)
        self.remember(key, values[0])
        return values

    def add(self, op: Op) -> Op:
        """An operation that is not looked at further: memory and the like."""
        op.line = self.line
        self.region.append(op)
        for value in op.results:
            if value is not None:
                value.op = op
        return op

    def fetch(self, key: object, op: Op) -> Op:
        """A fetch that gives the same as one with the same key does: of memory that the program does not write."""
        known = self._known.get(key)
        if known is not None:
            assert type(known) is Value
            assert known.op is not None
            return known.op
        self.add(op)
        assert op.results[0] is not None
        self.remember(key, op.results[0])
        return op

    def register(self, ref: Ref) -> Value:
        """A ref as a value that is in a register."""
        if type(ref) is Value:
            return ref
        key = ("register", ref)
        known = self._known.get(key)
        if known is None:
            value = Value()
            value.op = Op("MOV", [Use(ref)], [value], ALU, line=self.line)
            self.region.append(value.op)
            self.remember(key, value)
            return value
        assert type(known) is Value
        return known


def sign(b: Builder, x: Input) -> Ref:
    """1.0, -1.0 or 0."""
    below = b.alu("CNDGT", negated(x), real(-1.0), ZERO)
    return b.alu("CNDGT", x, ONE, below)


def multiply_add(b: Builder, x: Input, y: Input, z: Input) -> Ref:
    """The low 32 bits of ``x y + z``."""
    return b.alu("ADD_INT", b.alu("MULLO_INT", x, y), z)
