"""Input: a row's expression tree and its operands as arrays of lanes. Output: its results as arrays: slow, plain,
exact.

Every value is an array of unsigned integers, its bits (of ``bool`` for u1), whatever its type; of one element where it
is the same for all lanes. Shares nothing with `headwater.emulate.wave.lower_llvm` but the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from headwater.emulate.wave import evaluate_exact
from headwater.isa.semantics.model import Mode, Node, Semantics
from headwater.isa.semantics.types import BITS, is_float

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Wide: TypeAlias = "Array | tuple[Array, ...]"
"""The bits of a value's lanes; those of more than 64 bits are their u32 words, lowest first."""

Load = Callable[[str, "Array | None"], Wide]

_FLOAT: dict[str, Any] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
_MANTISSA = {"f16": 10, "f32": 23, "f64": 52}


@dataclass(frozen=True)
class EffectValues:
    """An effect with its values; see `headwater.isa.semantics.model.Effect`."""

    kind: str
    values: tuple[Wide, ...]
    text: str
    type: str


@dataclass(frozen=True)
class Evaluated:
    """What an instruction computes: the value of each target, and its effects."""

    results: dict[str, Wide]
    effects: tuple[EffectValues, ...]


def evaluate(
    semantics: Semantics,
    operands: Mapping[str, Wide],
    mode: Mode,
    *,
    clamp: bool = False,
    load: Load | None = None,
    active: Array | None = None,
    functions: Mapping[str, Callable[[], int]] | None = None,
) -> Evaluated:
    """Compute one instruction; see `headwater.emulate.wave.lower_llvm.lower`.

    ``active`` says which lanes EXEC includes, for what looks across lanes; ``functions`` gives values that only the
    machine knows (``getreg``, ``memtime``, ``realtime``).
    """
    with np.errstate(all="ignore"):
        run = _Evaluation(operands, mode, clamp, load, active, functions or {})
        effects = tuple(
            EffectValues(e.kind, tuple(run.value(a) for a in e.args), e.text, e.type) for e in semantics.effects
        )
        results = {target: run.value(node) for target, node in semantics.assignments}
        if mode.half_overflow and (result := results.get("D")) is not None and semantics.types.get("D") == "f16":
            assert isinstance(result, np.ndarray)
            inputs = [(operands[name], type_) for name, type_ in semantics.float_inputs()]
            results["D"] = limited_half(result, [(a, type_) for a, type_ in inputs if isinstance(a, np.ndarray)])
        return Evaluated(results, effects)


def dtype(type_: str) -> type[Any]:
    """The array type that holds a value's bits."""
    return np.bool_ if type_ == "u1" else getattr(np, f"uint{BITS[type_]}")  # type: ignore[no-any-return]


def signed(a: Array) -> Array:
    """The same bits as signed integers."""
    return np.asarray(a.view(getattr(np, f"int{8 * a.itemsize}")))


def unsigned(a: Array) -> Array:
    """The same bits as unsigned integers."""
    return a.view(getattr(np, f"uint{8 * a.itemsize}"))


def limited_half(result: Array, inputs: Sequence[tuple[Array, str]]) -> Array:
    """An f16 that is the largest one where it would be infinite though no input is, as FP16_OVFL wants it."""
    limited = result & 0x7FFF == 0x7C00
    for bits, type_ in inputs:
        limited = limited & ~np.isinf(floats(bits, type_))
    return np.where(limited, (result & 0x8000) | 0x7BFF, result).astype(np.uint16)


def floats(a: Array, type_: str) -> Array:
    """Bits as numbers."""
    return a.view(_FLOAT[type_])


@dataclass
class _Evaluation:
    operands: Mapping[str, Wide]
    mode: Mode
    clamp: bool
    load: Load | None
    active: Array | None
    functions: Mapping[str, Callable[[], int]]
    done: dict[int, Wide] = field(default_factory=dict)

    def value(self, node: Node) -> Wide:
        """The value of a node, computed once."""
        if id(node) not in self.done:
            self.done[id(node)] = self.make(node)
        return self.done[id(node)]

    def plain(self, node: Node) -> Array:
        """The value of a node of at most 64 bits."""
        value = self.value(node)
        assert isinstance(value, np.ndarray)
        return value

    def make(self, node: Node) -> Wide:
        op, type_ = node.op, node.type
        if op == "constant":
            return np.array([node.bits], np.uint64).astype(dtype(type_))
        if op == "operand":
            if node.name == "CLAMP":
                return np.array([self.clamp])
            if node.name == "FP16_OVFL":
                return np.array([self.mode.half_overflow])
            if node.name == "DX10_CLAMP":
                return np.array([self.mode.dx10_clamp])
            return self.operands[node.name]
        if op == "load":
            assert self.load is not None
            return self.load(type_, self.plain(node.args[0]) if node.args else None)
        if op in self.functions:
            return np.array([self.functions[op]()], np.uint64).astype(dtype(type_))
        if op == "as":
            return self.value(node.args[0])
        if op == "select":
            return self.select(node)
        if op == "concat":
            return self.concat(node)
        if op == "word":
            words = self.value(node.args[0])
            assert isinstance(words, tuple)
            return words[node.args[1].bits]
        args = [self.plain(a) for a in node.args]
        types = [a.type for a in node.args]
        if op in ("lane", "first_lane", "writelane", "gather", "scatter", "swizzle"):
            return self.across(op, args)
        if op == "convert":
            return self.convert(args[0], types[0], type_, node.raw)
        if is_float(type_) or is_float(types[0]):
            return self.float(node, args, types)
        return _integer(op, args, types, type_)

    def select(self, node: Node) -> Wide:
        condition = self.plain(node.args[0])
        if node.args[0].op == "operand" and node.args[0].name == "CLAMP":
            return self.value(node.args[1 if condition[0] else 2])  # saturating is slow here, and hardly ever asked for
        yes, no = self.value(node.args[1]), self.value(node.args[2])
        if isinstance(yes, tuple) and isinstance(no, tuple):
            return tuple(np.where(condition, y, n) for y, n in zip(yes, no, strict=True))
        assert isinstance(yes, np.ndarray)
        assert isinstance(no, np.ndarray)
        return np.where(condition, yes, no)

    def concat(self, node: Node) -> Wide:
        if BITS[node.type] > 64:
            words: list[Array] = []
            for arg in node.args:
                part = self.value(arg)
                if isinstance(part, tuple):
                    words += part
                elif BITS[arg.type] == 64:
                    words += [part.astype(np.uint32), (part >> np.uint64(32)).astype(np.uint32)]
                else:
                    words.append(part)
            return tuple(words)
        result = np.zeros(1, np.uint64)
        at = 0
        for arg in node.args:
            result = result | self.plain(arg).astype(np.uint64) << np.uint64(at)
            at += BITS[arg.type]
        return result.astype(dtype(node.type))

    # ---- floats

    def flushed(self, a: Array, type_: str, keep: int, raw: bool) -> Array:
        """``a`` without denormals where MODE's bit ``keep`` of its denormal field is 0."""
        if raw or not is_float(type_) or self.mode.denorm(type_) & keep:
            return a
        return flush(a, type_)

    def convert(self, a: Array, have: str, want: str, raw: bool) -> Array:
        if not is_float(have) and not is_float(want):
            return (signed(a) if have[0] == "i" else a).astype(dtype(want))
        rounding = 0 if raw else self.mode.rounding(want)
        if not is_float(have):
            numbers = signed(a) if have[0] == "i" else a
            if rounding or want == "f16":
                exact = [evaluate_exact.from_int(int(x), want, rounding) for x in numbers]
                return np.array(exact, dtype(want))
            return unsigned(numbers.astype(_FLOAT[want]))
        a = self.flushed(a, have, 1, raw)
        if rounding and BITS[want] < BITS[have]:
            result = np.array([evaluate_exact.convert(int(x), have, want, rounding) for x in a], dtype(want))
        else:
            result = unsigned(floats(a, have).astype(_FLOAT[want]))
        return self.flushed(result, want, 2, raw)

    def float(self, node: Node, args: list[Array], types: list[str]) -> Array:
        op, type_, kind = node.op, node.type, types[0]
        sign = _constant(1 << (BITS[kind] - 1), kind)
        if op == "fneg":
            return args[0] ^ sign
        if op == "abs":
            return args[0] & ~sign
        if op == "isnan":
            return _isnan(args[0], kind)
        if op == "quiet":
            return quiet(args[0], kind)
        if op == "flush":
            return flush(args[0], kind)
        keep_all = node.raw or (op in ("min", "max") and self.mode.generation < 9)
        inputs = [self.flushed(a, t, 1, keep_all) for a, t in zip(args, types, strict=True)]
        numbers = [floats(a, t) if is_float(t) else signed(a) for a, t in zip(inputs, types, strict=True)]
        if op in _COMPARE:
            return _COMPARE[op](numbers[0], numbers[1])
        if op.startswith("sat_"):
            return _saturated(numbers[0], type_)
        if op == "f16_rtz":
            exact = [evaluate_exact.convert(int(x), "f32", "f16", 3) for x in inputs[0]]
            return np.array(exact, np.uint16)
        if op in ("min", "max"):
            result = self.extreme(op, inputs[0], inputs[1], kind)
        elif op in _ROUND:
            result = unsigned(_ROUND[op](numbers[0]))
        else:
            rounding = 0 if node.raw else self.mode.rounding(type_)
            result = self.arithmetic(op, inputs, numbers, type_, rounding)
        return self.flushed(result, type_, 2, keep_all)

    def arithmetic(self, op: str, bits: list[Array], numbers: list[Array], type_: str, rounding: int) -> Array:
        if op == "ldexp":
            value, n = np.broadcast_arrays(bits[0], numbers[1])
            exact = [evaluate_exact.ldexp(int(x), int(k), type_) for x, k in zip(value, n, strict=True)]
            return np.array(exact, dtype(type_))
        if op == "fma" and not rounding:
            return fused(np.broadcast_arrays(*bits), type_)
        if rounding:
            lanes = np.broadcast_arrays(*bits)
            exact = [
                evaluate_exact.compute(op, [int(x) for x in lane], type_, rounding) for lane in zip(*lanes, strict=True)
            ]
            return np.array(exact, dtype(type_))
        return unsigned(_ARITHMETIC[op](*numbers))

    def extreme(self, op: str, a: Array, b: Array, type_: str) -> Array:
        """v_min and v_max, case by case as AMD documents them (Vega ISA Reference Guide, V_MIN_F32)."""
        x, y = floats(a, type_), floats(b, type_)
        less = x < y if op == "min" else x > y
        zeros = (x == 0) & (y == 0)
        negative = a >> _constant(BITS[type_] - 1, type_) != 0
        first = np.where(zeros, negative == (op == "min"), less)
        result = np.where(np.isnan(x), b, np.where(np.isnan(y), a, np.where(first, a, b)))
        if self.mode.ieee:
            result = np.where(_signalling(b, type_), quiet(b, type_), result)
            result = np.where(_signalling(a, type_), quiet(a, type_), result)
        return result

    # ---- across lanes

    def across(self, op: str, args: list[Array]) -> Array:
        assert self.active is not None
        active = self.active
        lanes = len(active)
        if op == "first_lane":
            found = np.flatnonzero(active)
            return np.broadcast_to(args[0], lanes)[[found[0] if len(found) else 0]]
        if op == "lane":
            return np.broadcast_to(args[0], lanes)[[int(args[1][0])]]
        if op == "writelane":
            result = np.broadcast_to(args[0], lanes).copy()
            result[int(args[2][0])] = args[1][0]
            return result
        data = np.broadcast_to(args[0], lanes)
        if op == "scatter":
            to = np.broadcast_to(args[1], lanes)
            result = np.zeros(lanes, data.dtype)
            for lane in np.flatnonzero(active):
                result[to[lane]] = data[lane]
            return result
        at = np.array(swizzle_lanes(int(args[1][0]))) if op == "swizzle" else np.broadcast_to(args[1], lanes)
        return np.where(active[at], data[at], np.zeros(1, data.dtype))


def fused(numbers: Sequence[Array], type_: str) -> Array:
    """a b + c of three arrays of one shape, as bits of ``type_``, rounded once, to nearest.

    Doubles hold products of narrower floats. Their sum with c is rounded to odd, of which a further rounding to at
    least two bits less makes what one rounding would have made (Boldo and Melquiond, "Emulation of FMA and correctly
    rounded sums: proved algorithms using rounding to odd", 2008).
    """
    if type_ == "f64":
        each = zip(*(bits.ravel() for bits in numbers), strict=True)
        exact = [evaluate_exact.compute("fma", [int(x) for x in three], type_, 0) for three in each]
        return np.array(exact, np.uint64).reshape(numbers[0].shape)
    narrow = np.dtype(f"f{BITS[type_] // 8}")
    with np.errstate(all="ignore"):
        x, y, addend = (np.ascontiguousarray(bits).view(narrow).astype(np.float64) for bits in numbers)
        product = x * y
        total = product + addend
        part = total - product
        lost = (product - (total - part)) + (addend - part)
        even = total.view(np.uint64) & np.uint64(1) == 0
        odd = np.nextafter(total, np.where(lost > 0, np.inf, -np.inf))
        total = np.where(np.isfinite(total) & (lost != 0) & even, odd, total)
        result = total.astype(narrow)
    nan = np.array(np.nan, narrow)
    return np.where(np.isnan(result), nan, result).view(numbers[0].dtype)


def swizzle_lanes(pattern: int) -> list[int]:
    """For each of 64 lanes the one that ds_swizzle_b32 reads (AMD, Vega ISA Reference Guide, DS_SWIZZLE_B32)."""
    if pattern >= 0xE000:
        return [lane if pattern & 0x1F == 0x1F else _fft_lane(lane, pattern & 0x1F) for lane in range(64)]
    if pattern >= 0xC000:
        count, mask = pattern >> 5 & 31, pattern & 31
        left = pattern >> 10 & 1
        moved = [((lane - count if left == 0 else lane + count) & ~mask | lane & mask) & 31 for lane in range(32)]
        return [half + lane for half in (0, 32) for lane in moved]
    if pattern & 0x8000:
        return [(lane & ~3) + (pattern >> 2 * (lane & 3) & 3) for lane in range(64)]
    ands, ors, xors = pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31
    return [(lane & 32) + ((lane & ands | ors) ^ xors) for lane in range(64)]


def _fft_lane(lane: int, mask: int) -> int:
    """The order in which a Fourier transform of 32 points wants its inputs: lanes' bits reversed within the mask."""
    reversed_lane = int(f"{lane & 31:05b}"[::-1], 2)
    width = 5 - bin(mask).count("1")
    return (lane & 32) + ((reversed_lane >> (5 - width) if width < 5 else reversed_lane) | lane & mask)


def _constant(bits: int, type_: str) -> Array:
    return np.array([bits], dtype(type_))


def _isnan(a: Array, type_: str) -> Array:
    result: Array = np.isnan(floats(a, type_))
    return result


def flush(a: Array, type_: str) -> Array:
    """Denormals become zeros of their sign."""
    number = np.abs(floats(a, type_))
    return np.where(number < np.finfo(_FLOAT[type_]).tiny, a & _constant(1 << (BITS[type_] - 1), type_), a)


def quiet(a: Array, type_: str) -> Array:
    """NaNs become quiet ones."""
    return np.where(np.isnan(floats(a, type_)), a | _constant(1 << (_MANTISSA[type_] - 1), type_), a)


def _signalling(a: Array, type_: str) -> Array:
    return np.asarray(_isnan(a, type_) & (a & _constant(1 << (_MANTISSA[type_] - 1), type_) == 0))


def _saturated(numbers: Array, type_: str) -> Array:
    bits = BITS[type_]
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if type_[0] == "i" else (0, (1 << bits) - 1)
    result = []
    for x in numbers.astype(np.float64):
        whole = 0 if np.isnan(x) else high if x >= high else low if x <= low else int(x)
        result.append(whole & ((1 << bits) - 1))
    return np.array(result, dtype(type_))


def _shifted(op: str, a: Array, n: Array, type_: str) -> Array:
    width = BITS[type_]
    amount = n.astype(np.uint64)
    inside = amount < width
    small = np.where(inside, amount, np.uint64(width - 1)).astype(a.dtype)
    if op == "ashr":
        return unsigned(signed(a) >> signed(small))
    shifted = a << small if op == "shl" else a >> small
    return np.where(inside, shifted, np.zeros(1, a.dtype))


def _integer(op: str, args: list[Array], types: list[str], type_: str) -> Array:
    if op in ("shl", "lshr", "ashr"):
        return _shifted(op, args[0], args[1], type_)
    if type_ == "u1" and op in ("and", "or", "xor", "not"):
        return _LOGICAL[op](*args)
    numbers = [signed(a) if t[0] == "i" else a for a, t in zip(args, types, strict=True)]
    if op in _COMPARE:
        return _COMPARE[op](*numbers)
    if op in ("popcount", "ctz", "clz", "bitreverse", "two_over_pi"):
        return np.array([_BITWISE[op](int(x), BITS[type_]) for x in args[0]], dtype(type_))
    if op in ("add_saturating", "sub_saturating"):
        bits = BITS[type_]
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if type_[0] == "i" else (0, (1 << bits) - 1)
        sign = 1 if op[0] == "a" else -1
        pairs = zip(*np.broadcast_arrays(*numbers), strict=True)
        whole = [min(max(int(x) + sign * int(y), low), high) & ((1 << bits) - 1) for x, y in pairs]
        return np.array(whole, dtype(type_))
    return unsigned(_INTEGER[op](*numbers))


def _two_over_pi(shift: int, _width: int) -> int:
    """53 bits of the first 1201 bits of 2/π, from a computation of π by Machin's formula."""
    window = _two_over_pi_bits() >> max(1201 - 53 - shift, 0) << max(shift + 53 - 1201, 0)
    return window & ((1 << 53) - 1)


def _two_over_pi_bits() -> int:
    unity = 1 << 1400

    def arctangent(inverse: int) -> int:
        total, power, n = 0, unity // inverse, 1
        while power:
            total += power // n if n % 4 == 1 else -(power // n)
            power //= inverse * inverse
            n += 2
        return total

    pi = 4 * (4 * arctangent(5) - arctangent(239))
    return (2 * unity << 1201) // pi


_Function: TypeAlias = "Callable[..., Array]"

_COMPARE: dict[str, _Function] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_ROUND: dict[str, _Function] = {"rint": np.rint, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}
_ARITHMETIC: dict[str, _Function] = {
    "fadd": np.add,
    "fsub": np.subtract,
    "fmul": np.multiply,
    "fdiv": np.divide,
    "sqrt": np.sqrt,
}
_LOGICAL: dict[str, _Function] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
    "not": np.logical_not,
}
_INTEGER: dict[str, _Function] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "neg": lambda a: np.zeros(1, a.dtype) - a,
    "abs": np.abs,
    "min": np.minimum,
    "max": np.maximum,
    "inc_wrap": lambda a, b: np.where(a >= b, a.dtype.type(0), a + a.dtype.type(1)),
    "dec_wrap": lambda a, b: np.where((a == 0) | (a > b), b, a - a.dtype.type(1)),
}
_BITWISE: dict[str, Callable[[int, int], int]] = {
    "popcount": lambda x, width: x.bit_count(),
    "ctz": lambda x, width: (x & -x).bit_length() - 1 if x else width,
    "clz": lambda x, width: width - x.bit_length(),
    "bitreverse": lambda x, width: int(f"{x:0{width}b}"[::-1], 2),
    "two_over_pi": _two_over_pi,
}
