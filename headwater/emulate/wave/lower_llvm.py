"""Input: a row's expression tree and its operands as LLVM values. Output: LLVM code that computes its results.

Works on any number of lanes and on scalars. Arithmetic on f32 and f64 is the host's; f16 is computed in f32 or f64 and
rounded once. Which NaN an arithmetic operation returns is left open (sign and payload are the host's);
operations on bits keep NaNs as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from headwater.emulate.wave import lower_float
from headwater.emulate.wave.builder import Value, WaveBuilder, llvm_type
from headwater.errors import InternalError
from headwater.isa.semantics.model import Mode, Node, Semantics
from headwater.isa.semantics.types import BITS, is_float

Wide = Value | tuple[Value, ...]
"""A value; one of more than 64 bits is its u32 words, lowest first."""

Load = Callable[[str, Value | None], Wide]
"""Called for ``load(type, byte offset or None)``."""


@dataclass(frozen=True, slots=True)
class EffectValues:
    """An effect with its values lowered; see `headwater.isa.semantics.model.Effect`."""

    kind: str
    values: tuple[Wide, ...]
    text: str
    type: str


@dataclass(frozen=True, slots=True)
class Lowered:
    """What an instruction computes: the value of each target, and its effects."""

    results: dict[str, Wide]
    effects: tuple[EffectValues, ...]


def lower(
    b: WaveBuilder,
    semantics: Semantics,
    operands: Mapping[str, Wide],
    mode: Mode,
    *,
    clamp: bool = False,
    load: Load | None = None,
) -> Lowered:
    """Write the code of one instruction; the results have the types that ``semantics.types`` gives the targets.

    ``operands`` must have every name in ``semantics.reads``, each with the instruction's lanes (twice
    as many elements if ``semantics.packed``) or one. ``clamp`` is the instruction's bit, for integer rows.
    """
    lowering = _Lowering(b, operands, mode, clamp, load)
    effects = []
    for effect in semantics.effects:
        values = tuple(lowering.value(arg) for arg in effect.args)
        effects.append(EffectValues(effect.kind, values, effect.text, effect.type))
    results = {target: lowering.value(node) for target, node in semantics.assignments}
    if mode.half_overflow and semantics.types.get("D") == "f16" and isinstance(result := results.get("D"), Value):
        inputs = [b.bitcast(a, type_) for n, type_ in semantics.float_inputs() if isinstance(a := operands[n], Value)]
        results["D"] = lower_float.limited_half(b, result, inputs)
    return Lowered(results, tuple(effects))


@dataclass
class _Lowering:
    b: WaveBuilder
    operands: Mapping[str, Wide]
    mode: Mode
    clamp: bool
    load: Load | None
    done: dict[int, Wide] = field(default_factory=dict)

    def value(self, node: Node) -> Wide:
        """The code of a node, written once."""
        key = id(node)
        if key not in self.done:
            self.done[key] = self.make(node)
        return self.done[key]

    def plain(self, node: Node) -> Value:
        """The value of a node of at most 64 bits."""
        value = self.value(node)
        assert isinstance(value, Value)
        return value

    def make(self, node: Node) -> Wide:
        op = node.op
        if op == "constant":
            return self.b.constant(node.type, node.bits)
        if op == "operand":
            return self.operand(node)
        if op == "select":
            return self.select(node)
        if op == "load":
            if self.load is None:
                raise InternalError("a load where there is no memory")
            return self.load(node.type, self.plain(node.args[0]) if node.args else None)
        if op == "concat":
            return self.concat(node)
        if op == "as":
            value = self.value(node.args[0])
            return value if isinstance(value, tuple) else self.b.bitcast(value, node.type)
        if op == "word":
            words = self.value(node.args[0])
            assert isinstance(words, tuple)
            return words[node.args[1].bits]
        if op == "convert" and _is_funnel(node):
            shift = node.args[0]
            low, high = (self.plain(a) for a in shift.args[0].args)
            amount = self.b.resize(self.plain(shift.args[1]), "u32")
            return self.b.intrinsic("fshr", node.type, high, low, amount)
        args = [self.plain(a) for a in node.args]
        if op == "convert":
            return self.convert(node, args[0])
        if is_float(node.type) or (args and is_float(args[0].type)):
            return lower_float.lower(self.b, node, args, self.mode)
        return self.integer(node, args)

    def operand(self, node: Node) -> Wide:
        if node.name == "CLAMP":
            return self.b.constant("u1", int(self.clamp))
        if node.name == "FP16_OVFL":
            return self.b.constant("u1", int(self.mode.half_overflow))
        if node.name == "DX10_CLAMP":
            return self.b.constant("u1", int(self.mode.dx10_clamp))
        value = self.operands[node.name]
        return value if isinstance(value, tuple) else self.b.bitcast(value, node.type)

    def select(self, node: Node) -> Wide:
        condition = self.plain(node.args[0])
        if condition.text in ("true", "false"):
            return self.value(node.args[1 if condition.text == "true" else 2])
        yes, no = self.value(node.args[1]), self.value(node.args[2])
        if isinstance(yes, tuple) and isinstance(no, tuple):
            return tuple(self.b.select(condition, y, n) for y, n in zip(yes, no, strict=True))
        assert isinstance(yes, Value)
        assert isinstance(no, Value)
        return self.b.select(condition, yes, no)

    def concat(self, node: Node) -> Wide:
        parts = [self.value(a) for a in node.args]
        if BITS[node.type] > 64:
            words: list[Value] = []
            for part in parts:
                words += part if isinstance(part, tuple) else self.words(part)
            return tuple(words)
        result: Value | None = None
        at = 0
        for part, arg in zip(parts, node.args, strict=True):
            assert isinstance(part, Value)
            bits = BITS[arg.type]
            piece = self.b.resize(self.b.bitcast(part, f"u{bits}"), node.type)
            if at:
                piece = self.b.binary("shl", piece, self.b.constant(node.type, at))
            result = piece if result is None else self.b.binary("or disjoint", result, piece)
            at += bits
        assert result is not None
        return result

    def words(self, value: Value) -> list[Value]:
        """The 32-bit words of a value of 32 or 64 bits."""
        if BITS[value.type] == 32:
            return [self.b.bitcast(value, "u32")]
        whole = self.b.bitcast(value, "u64")
        if value.lanes > 1:
            # LLVM drops this where the elements were made of dwords just before, and does not drop shifts.
            dwords = self.b.reshape(whole, "u32")
            return [self.b.shuffle(dwords, None, range(half, dwords.lanes, 2)) for half in (0, 1)]
        high = self.b.binary("lshr", whole, self.b.constant("u64", 32))
        return [self.b.resize(whole, "u32"), self.b.resize(high, "u32")]

    def convert(self, node: Node, a: Value) -> Value:
        if is_float(node.type) or is_float(a.type):
            return lower_float.convert(self.b, a, node.type, Mode() if node.raw else self.mode)
        return self.b.resize(a, node.type)

    def integer(self, node: Node, args: list[Value]) -> Value:
        b, op, type_ = self.b, node.op, node.type
        if op in ("add", "sub", "mul", "and", "or", "xor"):
            return b.binary(op, args[0], args[1])
        if op in ("shl", "lshr", "ashr"):
            return self.shift(node, args[0], args[1])
        if op in _COMPARE:
            signed = "s" if args[0].type[0] == "i" else "u"
            return b.compare("icmp " + _COMPARE[op].format(signed), args[0], args[1])
        if op == "not":
            return b.binary("xor", args[0], b.constant(type_, -1))
        if op == "neg":
            return b.binary("sub", b.constant(type_, 0), args[0])
        if op in ("min", "max"):
            return b.intrinsic(("s" if type_[0] == "i" else "u") + op, type_, *args)
        if op == "abs":
            return b.intrinsic("abs", type_, args[0], extra=("i1 false",))
        if op == "popcount":
            return b.intrinsic("ctpop", type_, args[0])
        if op in ("ctz", "clz"):
            return b.intrinsic("cttz" if op == "ctz" else "ctlz", type_, args[0], extra=("i1 false",))
        if op in ("add_saturating", "sub_saturating"):
            return b.intrinsic(("s" if type_[0] == "i" else "u") + op[:3] + ".sat", type_, *args)
        if op == "inc_wrap":
            last = b.compare("icmp uge", args[0], args[1])
            return b.select(last, b.constant(type_, 0), b.binary("add", args[0], b.constant(type_, 1)))
        if op == "dec_wrap":
            first = b.compare("icmp eq", args[0], b.constant(type_, 0))
            wraps = b.binary("or", first, b.compare("icmp ugt", args[0], args[1]))
            return b.select(wraps, args[1], b.binary("sub", args[0], b.constant(type_, 1)))
        if op == "two_over_pi":
            return self.two_over_pi(args[0])
        if op == "bitreverse":
            return b.intrinsic("bitreverse", type_, args[0])
        raise InternalError(f"{op} is not computed within a lane: the translator has to do it")

    def two_over_pi(self, shift: Value) -> Value:
        """53 bits of 2/π from a table of 64-bit words, most significant first."""
        b, lanes = self.b, shift.lanes
        count = len(TWO_OVER_PI)
        words = ", ".join(b.constant("u64", word).typed for word in TWO_OVER_PI)
        b.declare(f"@two_over_pi = internal unnamed_addr constant [{count} x i64] [{words}]")
        whole = b.resize(shift, "u64")
        index = b.binary("lshr", whole, b.constant("u64", 6))
        parts = []
        for next_ in (0, 1):
            at = b.binary("add", index, b.constant("u64", next_))
            at = b.intrinsic("umin", "u64", at, b.constant("u64", count - 1))
            if lanes == 1:
                place = b.emit(f"getelementptr i64, ptr @two_over_pi, {at.typed}")
                parts.append(b.let("u64", 1, f"load i64, ptr {place}"))
                continue
            place = b.emit(f"getelementptr i64, ptr @two_over_pi, {at.typed}")
            name, vector = f"llvm.masked.gather.v{lanes}i64.v{lanes}p0", llvm_type("u64", lanes)
            b.declare(f"declare {vector} @{name}(<{lanes} x ptr>, <{lanes} x i1>, {vector})")
            gather = f"call {vector} @{name}(<{lanes} x ptr> align 8 {place}, <{lanes} x i1> splat (i1 true), "
            parts.append(b.let("u64", lanes, f"{gather}{vector} poison)"))
        offset = b.binary("and", whole, b.constant("u64", 63))
        return b.binary("lshr", b.intrinsic("fshl", "u64", parts[0], parts[1], offset), b.constant("u64", 11))

    def shift(self, node: Node, a: Value, n: Value) -> Value:
        """A shift that gives 0, or the sign, from the width on."""
        b, op, width = self.b, node.op, BITS[a.type]
        if _below(node.args[1], width):
            return b.binary(op, a, b.bitcast(b.resize(n, f"u{width}"), a.type))
        last = b.constant(n.type, width - 1)
        inside = b.compare("icmp ule", n, last)
        unsigned = Value(n.text, "u" + n.type[1:], n.lanes)
        if op == "ashr":
            amount = b.intrinsic("umin", unsigned.type, unsigned, Value(last.text, unsigned.type))
            return b.binary(op, a, b.bitcast(b.resize(amount, f"u{width}"), a.type))
        # What LLVM leaves undefined for large amounts must not reach the select.
        amount = b.binary("and", unsigned, Value(last.text, unsigned.type))
        shifted = b.binary(op, a, b.bitcast(b.resize(amount, f"u{width}"), a.type))
        return b.select(inside, shifted, b.constant(a.type, 0))


TWO_OVER_PI = (
    0xA2F9836E4E441529,
    0xFC2757D1F534DDC0,
    0xDB6295993C439041,
    0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0,
    0x06492EEA09D1921C,
    0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484,
    0xE99C7026B45F7E41,
    0x3991D639835339F4,
    0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F,
    0xEF2F118B5A0A6D1F,
    0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B,
    0x3D0739F78A5292EA,
    0x6BFB5FB11F8D5D08,
    0x56033046FC7B0000,
    0x0000000000000000,
)
"""The first 1201 bits of 2/π in words of 64, the most significant first, then zeros; made with mpmath."""

_COMPARE = {"eq": "eq", "ne": "ne", "lt": "{}lt", "le": "{}le", "gt": "{}gt", "ge": "{}ge"}


def _below(amount: Node, width: int) -> bool:
    """Whether a shift's amount is certainly less than the width."""
    if amount.op == "constant":
        return amount.bits < width
    if amount.op == "convert" and amount.type[0] == "u" and amount.args[0].type[0] == "u":
        return BITS[amount.type] >= BITS[amount.args[0].type] and _below(amount.args[0], width)
    if amount.op == "shl" and amount.args[1].op == "constant":
        return _below(amount.args[0], width >> amount.args[1].bits)
    return amount.op == "and" and any(a.op == "constant" and a.bits < width for a in amount.args)


def _is_funnel(node: Node) -> bool:
    """Whether 32 of the 64 bits of two dwords are picked from a bit of the first on: that is one operation of LLVM's,
    and much shorter than a shift of 64 bits."""
    shift = node.args[0]
    if BITS[node.type] != 32 or is_float(node.type) or shift.op != "lshr" or not _below(shift.args[1], 32):
        return False
    pair = shift.args[0]
    return pair.op == "concat" and [BITS[a.type] for a in pair.args] == [32, 32]
