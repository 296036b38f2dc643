"""What the translation of one kernel knows: its values' lanes, where its memory lies, what the chip can do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headwater.chips import Chip
from headwater.errors import InternalError, SourceError, Span
from headwater.il.from_llvm.builder import Builder, Lane, constant
from headwater.il.from_llvm.types import parts, scalar_bits, words
from headwater.opencl.spmd.ir import Inst, Module, Value
from headwater.opencl.spmd.types import Type

ALL = 0xFFFFFFFF


@dataclass
class Context:
    """``values``: lanes by the names that LLVM gives them. ``filename``: of the source, for errors."""

    module: Module
    chip: Chip
    filename: str
    builder: Builder = field(default_factory=Builder)
    values: dict[str, list[Lane]] = field(default_factory=dict)
    offsets: dict[str, int] = field(default_factory=dict)
    """What is to be added to a pointer's lane: most accesses add it to their own address anyway."""
    pointer: Callable[[Value], tuple[Lane, int]] | None = None
    spaces: dict[str, int] = field(default_factory=dict)
    """Of generic pointers that lead to one address space, which."""
    line: int = 0
    known: list[dict[tuple[str, ...], Lane]] = field(default_factory=lambda: [{}])
    """What single operations gave, by their text, for each block that is open: it need not be computed again."""

    def refuse(self, message: str, hint: str = "") -> SourceError:
        """An error at the line of OpenCL C that is being translated."""
        return SourceError(f"{message}, on {self.chip.name}", Span(self.filename, self.line), hint=hint)

    def lanes(self, value: Value) -> list[Lane]:
        """An operand's lanes."""
        if value.ty.kind == "ptr" and not value.is_undefined and self.pointer is not None:
            base, offset = self.pointer(value)
            return [self.one("iadd", base, offset)]
        if value.is_local:
            found = self.values.get(value.text)
            if found is None:
                raise InternalError(f"{value.text} is used before it is computed")
            return found
        out: list[Lane] = []
        for part in parts(value):
            number = scalar_bits(part)
            if part.ty.kind == "int" and part.ty.bits == 1:
                number = ALL if number else 0
            out += [constant(number >> (32 * k)) for k in range(words(part.ty))]
        return out

    def lane(self, value: Value) -> Lane:
        """The one lane of a scalar of up to 32 bits."""
        return self.lanes(value)[0]

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
