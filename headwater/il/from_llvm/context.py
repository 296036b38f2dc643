"""What the translation of one kernel knows: its values' lanes, where its memory lies, what the chip can do.

A local or private pointer is an offset, and its null pointer is all ones, as a first variable lies at 0. A generic
pointer (OpenCL C 2.0) that leads to one address space is held as a pointer of that space. One that may lead to several,
or that is stored or made a number, is held with `constants.APERTURES`: then those to different variables differ, and
null is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headwater.chips import Chip
from headwater.errors import InternalError, SourceError, Span
from headwater.il.from_llvm.builder import Builder, Lane, constant
from headwater.il.from_llvm.constants import (
    APERTURES,
    GENERIC,
    NULL,
    HoldsAddress,
    Unknown,
    recast,
    scalar_bits,
    scalars_of,
)
from headwater.il.from_llvm.types import words
from headwater.llvm.ir import Inst, Module, Value
from headwater.llvm.text import spaces_cast_from
from headwater.llvm.types import Type

ALL = 0xFFFFFFFF


def named_space(text: str) -> int:
    """The address space that a constant generic pointer was cast from; ``GENERIC`` if it was not."""
    named = spaces_cast_from(text)
    return min(named) if len(named) == 1 else GENERIC


@dataclass
class Context:
    """``values``: lanes by the names that LLVM gives them. ``filename``: of the source, for errors; ``writes_images``:
    the kernel has images that it may write."""

    module: Module
    chip: Chip
    filename: str
    writes_images: bool = False
    builder: Builder = field(default_factory=Builder)
    values: dict[str, list[Lane]] = field(default_factory=dict)
    offsets: dict[str, int] = field(default_factory=dict)
    """What is to be added to a pointer's lane: most accesses add it to their own address anyway."""
    pointer: Callable[[Value], tuple[Lane, int]] | None = None
    expression: Callable[[Value], list[Lane]] | None = None
    """What computes a constant expression that an address is part of."""
    spaces: dict[str, int] = field(default_factory=dict)
    """Of generic pointers that lead to one address space, which."""
    line: int = 0
    column: int = 0
    known: list[dict[tuple[str, ...], Lane]] = field(default_factory=lambda: [{}])
    """What single operations gave, by their text, for each block that is open: it need not be computed again."""

    def refuse(self, message: str, hint: str = "") -> SourceError:
        """An error at the line of OpenCL C that is being translated."""
        return SourceError(f"{message}, on {self.chip.name}", Span(self.filename, self.line, self.column), hint=hint)

    def lanes(self, value: Value) -> list[Lane]:
        """An operand's lanes."""
        if value.ty.kind == "ptr":
            return [self.held(value, value.ty.space)]
        if value.is_local:
            found = self.values.get(value.text)
            if found is None:
                raise InternalError(f"{value.text} is used before it is computed")
            return found
        return [lane for part in scalars_of(value) for lane in self._constant(part)]

    def _constant(self, part: Value) -> list[Lane]:
        """The lanes of a constant scalar."""
        if part.ty.kind == "ptr":
            return [self.held(part, part.ty.space)]
        try:
            number = scalar_bits(self.module, part)
        except HoldsAddress:
            assert self.expression is not None
            return self.expression(part)
        except Unknown as error:
            raise self.refuse(f"a constant by {error.operation} is not supported") from None
        if part.ty.kind == "int" and part.ty.bits == 1:
            number = ALL if number else 0
        return [constant(number >> (32 * k)) for k in range(words(part.ty))]

    def lane(self, value: Value) -> Lane:
        """The one lane of a scalar of up to 32 bits."""
        return self.lanes(value)[0]

    # -- pointers ------------------------------------------------------------------------------------------------------

    def space_of(self, value: Value) -> int | None:
        """The address space that a pointer is held as one of; None for a null pointer, which can be one of any."""
        space = value.ty.space
        if space != GENERIC:
            return space
        if value.is_local:
            return self.spaces.get(value.text, GENERIC)
        try:
            return None if value.is_undefined or scalar_bits(self.module, value) == 0 else GENERIC
        except (HoldsAddress, Unknown):
            return named_space(value.text)

    def held(self, value: Value, space: int) -> Lane:
        """A pointer as one of an address space."""
        own = self.space_of(value)
        if own is None:
            return constant(NULL.get(space, 0))
        assert self.pointer is not None
        base, offset = self.pointer(value)
        return self.recast(self.one("iadd", base, offset), own, space)

    def lanes_as(self, value: Value, inst: Inst) -> list[Lane]:
        """The lanes of an operand that an instruction hands on."""
        if value.ty.kind != "ptr":
            return self.lanes(value)
        return [self.held(value, self.spaces.get(inst.name, inst.ty.space))]

    def recast(self, lane: Lane, source: int, target: int) -> Lane:
        """A pointer of one address space as one of another."""
        if source == target:
            return lane
        for before, after in ((source, GENERIC), (GENERIC, target)):
            if {before, after}.isdisjoint(APERTURES):
                continue
            if lane.register is None:
                lane = constant(recast(lane.bits, before, after))
                continue
            is_null = self.one("ieq", lane, NULL.get(before, 0))
            there = self.one("iadd", lane, APERTURES.get(before, 0) - APERTURES.get(after, 0))
            lane = self.choose(is_null, constant(NULL.get(after, 0)), there)
        return lane

    def common_space(self, values: Sequence[Value]) -> int:
        """The address space that several pointers are all held as ones of, or the generic one."""
        spaces = {space for value in values if (space := self.space_of(value)) is not None}
        return min(spaces) if len(spaces) == 1 else GENERIC

    # -- small integers: what is above their bits ----------------------------------------------------------------------

    def unsigned(self, lanes: Sequence[Lane], ty: Type) -> list[Lane]:
        """Integers of up to 32 bits with zeros above; truth values stay all ones."""
        if ty.kind == "ptr" or ty.bits in (1, 32):
            return self.builder.plain(lanes)
        mask = (1 << ty.bits) - 1
        if all(lane.register is None for lane in lanes):
            return [constant(lane.bits & mask) for lane in lanes]
        return self.builder.each("iand", lanes, [constant(mask)] * len(lanes))

    def signed(self, lanes: Sequence[Lane], ty: Type) -> list[Lane]:
        """Integers of up to 32 bits with their sign above."""
        if ty.kind == "ptr" or ty.bits in (1, 32):
            return self.builder.plain(lanes)
        if all(lane.register is None for lane in lanes):
            half = 1 << (ty.bits - 1)
            return [constant(((lane.bits & (2 * half - 1)) ^ half) - half) for lane in lanes]
        by = [constant(32 - ty.bits)] * len(lanes)
        return self.builder.each("ishr", self.builder.each("ishl", lanes, by), by)

    # -- short forms ---------------------------------------------------------------------------------------------------

    def op(self, mnemonic: str, *sources: Sequence[Lane] | Lane | int) -> list[Lane]:
        """An integer operation on lanes; a number or a single lane is taken for every lane."""
        count = max(len(s) for s in sources if isinstance(s, Sequence)) if any(_many(s) for s in sources) else 1
        return self.builder.each(mnemonic, *(_spread(source, count) for source in sources))

    def one(self, mnemonic: str, *sources: Lane | int) -> Lane:
        """The same on single lanes. Constants are computed where that is simple."""
        words_ = [constant(s) if isinstance(s, int) else s for s in sources]
        folded = _folded(mnemonic, words_)
        if folded is not None:
            return folded
        key = (mnemonic, *map(repr, words_))
        for block in reversed(self.known):
            if key in block:
                return block[key]
        made = self.builder.each(mnemonic, *([w] for w in words_))[0]
        self.known[-1][key] = made
        return made

    def choose(self, condition: Lane, yes: Lane, no: Lane) -> Lane:
        """One of two lanes by a truth value."""
        return self.builder.each("cmov_logical", [condition], [yes], [no])[0]


def _many(source: Sequence[Lane] | Lane | int) -> bool:
    return isinstance(source, Sequence)


def _spread(source: Sequence[Lane] | Lane | int, count: int) -> list[Lane]:
    if isinstance(source, int):
        return [constant(source)] * count
    if isinstance(source, Lane):
        return [source] * count
    return list(source)


def _folded(mnemonic: str, sources: list[Lane]) -> Lane | None:
    """What needs no instruction: sums of constants, additions of 0, shifts by 0, products with 1."""
    if len(sources) != 2:
        return None
    first, second = sources
    if first.register is None and second.register is None:
        a, b = first.bits, second.bits
        results = {"iadd": a + b, "imul": a * b, "ishl": a << (b & 31), "ushr": a >> (b & 31), "iand": a & b}
        return constant(results[mnemonic]) if mnemonic in results else None
    if mnemonic == "iadd" and first.register is None:
        first, second = second, first
    if second.register is None and first.plain:
        if second.bits == 0 and mnemonic in ("iadd", "ishl", "ushr", "ishr", "ior"):
            return first
        if second.bits == 1 and mnemonic == "imul":
            return first
    return None


def scalars(inst: Inst) -> list[Type]:
    """The component type of an instruction's result, once for each component."""
    ty = inst.ty
    return [ty.scalar] * (ty.count if ty.kind == "vec" else 1)
