"""Input: typed operations on scalars and lane vectors. Output: LLVM IR text."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field

from headwater.llvm import builder

BITS: dict[str, int] = {
    "u1": 1,
    **{f"{kind}{bits}": bits for kind in "ui" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": bits for bits in (96, 128, 256, 512)},
    "f16": 16,
    "f32": 32,
    "f64": 64,
}
"""The element types of the semantics language and their bits. ``u1`` is a condition or one lane's bit of a mask."""

# Operations on constants that are done at once: offsets of accesses have to be numbers.
_FOLDED = {"add": operator.add, "mul": operator.mul, "and": operator.and_}

_FLOATS = {"f32": "float", "f64": "double"}


def element(type_: str) -> str:
    """LLVM's type for one element. A half is kept as its 16 bits: only conversions look inside."""
    return _FLOATS.get(type_) or f"i{BITS[type_]}"


def llvm_type(type_: str, lanes: int) -> str:
    """LLVM's type for ``lanes`` elements: a scalar for 1, else a vector."""
    return element(type_) if lanes == 1 else f"<{lanes} x {element(type_)}>"


@dataclass(frozen=True, slots=True)
class Value:
    """An LLVM value: ``text`` is a name or a constant, ``type`` one of `BITS`, ``lanes`` its elements.

    A value of one lane is the same for all lanes; every operation takes it beside vectors.
    """

    text: str
    type: str
    lanes: int = 1

    @property
    def llvm(self) -> str:
        """LLVM's type of this value."""
        return llvm_type(self.type, self.lanes)

    @property
    def typed(self) -> str:
        """Type and text, as an argument is written."""
        return f"{self.llvm} {self.text}"


@dataclass(slots=True, eq=False)
class WaveBlock(builder.Block):
    """A basic block being written. ``flushed`` maps typed values to the same without denormals, ``casts`` typed values
    and the type wanted to what they are as that."""

    flushed: dict[str, str] = field(default_factory=dict)
    casts: dict[tuple[str, str], str] = field(default_factory=dict)


class WaveBuilder(builder.Builder[WaveBlock]):
    """Knows the types of the semantics language, and makes vectors of scalars where the two meet."""

    def __init__(self, features: frozenset[str] = frozenset(), *, flushing: bool = False) -> None:
        """``features``: LLVM's names of what the host has (``avx512dq``), where plain LLVM IR would not do.
        ``flushing``: the code runs where denormals are zeros to the host, which has AVX-512."""
        super().__init__(WaveBlock)
        self.features = features
        self.flushing = flushing

    def count_bits(self, mask: str) -> str:
        """How many bits of an ``i64`` are set, an ``i32``."""
        self.declare("declare i64 @llvm.ctpop.i64(i64)")
        return self.emit(f"trunc i64 {self.emit(f'call i64 @llvm.ctpop.i64(i64 {mask})')} to i32")

    # ---- typed values

    def let(self, type_: str, lanes: int, text: str) -> Value:
        """`emit` with a type: ``text`` makes ``lanes`` elements of ``type_``."""
        return Value(self.emit(text), type_, lanes)

    def constant(self, type_: str, bits: int) -> Value:
        """A constant by its bits."""
        bits &= (1 << BITS[type_]) - 1
        if type_ == "u1":
            return Value("true" if bits else "false", type_)
        if type_ in _FLOATS:
            return Value(_float_text(type_, bits), type_)
        width = BITS[type_]
        return Value(str(bits - (1 << width) if bits >> (width - 1) else bits), type_)

    def splat(self, value: Value, lanes: int) -> Value:
        """A vector with ``value`` in each lane; a value that is one already is returned as it is."""
        if value.lanes == lanes:
            return value
        assert value.lanes == 1, f"{value} where {lanes} lanes are wanted"
        if not value.text.startswith("%"):
            return Value(f"splat ({value.llvm} {value.text})", value.type, lanes)
        ty = llvm_type(value.type, lanes)
        first = self.emit(f"insertelement {ty} poison, {value.typed}, i64 0")
        return self.let(value.type, lanes, f"shufflevector {ty} {first}, {ty} poison, <{lanes} x i32> zeroinitializer")

    def level(self, *values: Value) -> tuple[list[Value], int]:
        """The values with equal lanes, and how many."""
        lanes = max(v.lanes for v in values)
        return [self.splat(v, lanes) for v in values], lanes

    def binary(self, op: str, a: Value, b: Value, type_: str | None = None) -> Value:
        """``op a, b`` on operands of one LLVM type; the result is of ``type_`` or of ``a``'s."""
        if a.lanes == b.lanes == 1 and op in _FOLDED and a.text.isdecimal() and b.text.isdecimal():
            return self.constant(type_ or a.type, _FOLDED[op](int(a.text), int(b.text)))
        (a, b), lanes = self.level(a, b)
        return self.let(type_ or a.type, lanes, f"{op} {a.typed}, {b.text}")

    def compare(self, op: str, a: Value, b: Value) -> Value:
        """``icmp``/``fcmp``: ``op`` is for example ``icmp ult``."""
        return self.binary(op, a, b, "u1")

    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        """Per lane ``condition ? yes : no``."""
        if condition.lanes == 1 and max(yes.lanes, no.lanes) > 1:
            (yes, no), lanes = self.level(yes, no)
        else:
            (condition, yes, no), lanes = self.level(condition, yes, no)
        return self.let(yes.type, lanes, f"select {condition.typed}, {yes.typed}, {no.typed}")

    def bitcast(self, value: Value, type_: str) -> Value:
        """The same bits as another type; equal sizes, except that lanes may be joined or split: see `reshape`."""
        assert BITS[value.type] == BITS[type_], f"{value} as {type_}"
        if element(value.type) == element(type_):
            return Value(value.text, type_, value.lanes)
        if not value.text.startswith("%") and value.lanes == 1 and value.type not in _FLOATS:
            return self.constant(type_, int(value.text)) if type_ in _FLOATS else Value(value.text, type_)
        casts = self.block.casts
        wanted = llvm_type(type_, value.lanes)
        if (value.typed, wanted) not in casts:
            result = self.let(type_, value.lanes, f"bitcast {value.typed} to {wanted}")
            casts[value.typed, wanted] = result.text
            casts[result.typed, value.llvm] = value.text
        return Value(casts[value.typed, wanted], type_, value.lanes)

    def reshape(self, value: Value, type_: str) -> Value:
        """All the bits as elements of another size: 64 u32 are 128 u16, low halves first."""
        total = BITS[value.type] * value.lanes
        lanes = total // BITS[type_]
        if lanes == value.lanes and element(type_) == element(value.type):
            return Value(value.text, type_, lanes)
        return self.let(type_, lanes, f"bitcast {value.typed} to {llvm_type(type_, lanes)}")

    def resize(self, value: Value, type_: str) -> Value:
        """An integer as one of another width: cut off, or extended by its own signedness."""
        have, want = BITS[value.type], BITS[type_]
        if have == want:
            return Value(value.text, type_, value.lanes)
        op = "trunc" if want < have else "sext" if value.type.startswith("i") else "zext"
        return self.let(type_, value.lanes, f"{op} {value.typed} to {llvm_type(type_, value.lanes)}")

    def intrinsic(self, name: str, type_: str, *args: Value, extra: Sequence[str] = ()) -> Value:
        """Call ``llvm.<name>`` overloaded on its result; ``extra`` are further typed arguments (``i1 false``)."""
        values, lanes = self.level(*args)
        suffix = _suffix(type_, lanes)
        return self.call(f"llvm.{name}.{suffix}", type_, lanes, values, extra)

    def call(self, name: str, type_: str, lanes: int, args: Sequence[Value], extra: Sequence[str] = ()) -> Value:
        """Call a function, which is declared by the way."""
        result = llvm_type(type_, lanes)
        types = [a.llvm for a in args] + [x.rsplit(" ", 1)[0] for x in extra]
        self.declare(f"declare {result} @{name}({', '.join(types)})")
        return self.let(type_, lanes, f"call {result} @{name}({', '.join([*(a.typed for a in args), *extra])})")

    def shuffle(self, a: Value, b: Value | None, picks: Sequence[int]) -> Value:
        """``shufflevector``: lane i is element ``picks[i]`` of ``a`` followed by ``b``; negative means don't care."""
        other = b.text if b is not None else "poison"
        mask = ", ".join(f"i32 {p}" if p >= 0 else "i32 poison" for p in picks)
        return self.let(a.type, len(picks), f"shufflevector {a.typed}, {a.llvm} {other}, <{len(picks)} x i32> <{mask}>")

    def vector(self, type_: str, bits: Sequence[int]) -> Value:
        """A constant vector, by each element's bits."""
        items = ", ".join(self.constant(type_, x).typed for x in bits)
        return Value(f"<{items}>", type_, len(bits))


def _suffix(type_: str, lanes: int) -> str:
    base = {"f32": "f32", "f64": "f64"}.get(type_) or f"i{BITS[type_]}"
    return base if lanes == 1 else f"v{lanes}{base}"


def _float_text(type_: str, bits: int) -> str:
    """LLVM writes a float's constant as the bits of the double that has its value (LLVM Language Reference)."""
    if type_ == "f64":
        return f"0x{bits:016X}"
    sign, exponent, fraction = bits >> 31, bits >> 23 & 0xFF, bits & 0x7FFFFF
    if exponent == 0xFF:
        wide = 0x7FF << 52 | fraction << 29
    elif exponent:
        wide = exponent - 127 + 1023 << 52 | fraction << 29
    elif fraction:
        top = fraction.bit_length()
        wide = top - 1 - 149 + 1023 << 52 | (fraction << (53 - top) & (1 << 52) - 1)
    else:
        wide = 0
    return f"0x{sign << 63 | wide:016X}"
