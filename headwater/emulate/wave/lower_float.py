"""Input: float primitives on LLVM values. Output: LLVM code: flushing and rounding by MODE, minima and maxima,
conversions."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.emulate.wave.builder import Value, WaveBuilder, llvm_type
from headwater.errors import InternalError
from headwater.isa.semantics.model import Mode, Node
from headwater.isa.semantics.types import BITS, float_bits, is_float

_MANTISSA = {"f16": 10, "f32": 23, "f64": 52}
_ROUNDINGS = {1: 2, 2: 3, 3: 0}
"""MODE's rounding (1 up, 2 down, 3 to zero) as llvm.set.rounding counts it (LLVM Language Reference)."""

_COMPARE = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_EQUALITIES = {"eq": 0, "ne": 4}
_WHOLE = 16
"""Floats in a register of AVX-512."""
_ROUND_TO_INTEGER = {"rint": "roundeven", "floor": "floor", "ceil": "ceil", "trunc": "trunc"}
_ARITHMETIC = {"fadd": "fadd", "fsub": "fsub", "fmul": "fmul", "fdiv": "fdiv"}
_IDENTITIES = {"fmul": (1.0, -1.0), "fdiv": (1.0, -1.0), "fadd": (-0.0,), "fsub": (0.0,)}
"""Constants beside which LLVM's simplifications return the other operand, a signalling NaN as it was: for them the
result is made quiet, as these instructions make it. LLVM's code for GCN relies on it before v_min and v_max."""
_EXACT = Mode()


def lower(b: WaveBuilder, node: Node, args: Sequence[Value], mode: Mode) -> Value:
    """A primitive with a float among its operands or as its result."""
    op, type_ = node.op, node.type
    mode = _EXACT if node.raw else mode
    kind = args[0].type
    if op == "fneg":
        return _on_bits(b, args[0], "xor", 1 << (BITS[kind] - 1))
    if op == "abs":
        return _on_bits(b, args[0], "and", (1 << (BITS[kind] - 1)) - 1)
    if op == "isnan":
        wide = widen(b, args[0])
        return b.compare("fcmp uno", wide, wide)
    if op == "quiet":
        nan = lower(b, Node("isnan", "u1"), args, mode)
        return b.select(nan, _on_bits(b, args[0], "or", 1 << (_MANTISSA[kind] - 1)), args[0])
    if op == "flush":
        return flush(b, args[0])
    if op.startswith("sat_"):
        return _saturate(b, _input(b, args[0], mode), op[4:])
    if op == "f16_rtz":
        return narrow(b, _input(b, args[0], mode), "f16", 3)
    if op == "ldexp":
        return _output(b, _ldexp(b, _input(b, args[0], mode), args[1]), mode)
    if op in ("min", "max"):
        # AMD documents that v_min and v_max obey the denormal mode from gfx9 on only.
        flushing = mode if mode.generation >= 9 else _EXACT
        x, y = (_input(b, a, flushing) for a in args)
        return _output(b, _extreme(b, op, x, y, mode.ieee), flushing)
    inputs = [_input(b, a, mode) for a in args]
    if op in _COMPARE:
        x, y = (widen(b, a) for a in inputs)
        if b.flushing and op in _EQUALITIES and kind == "f32":
            return _equality(b, op, x, y)
        return b.compare(f"fcmp {_COMPARE[op]}", x, y)
    if op in _ROUND_TO_INTEGER:
        result = b.intrinsic(_ROUND_TO_INTEGER[op], _wide_type(type_), _widened_whole(b, inputs[0]))
        return _output(b, narrow(b, result, type_), mode)
    if op in _ARITHMETIC or op in ("fma", "sqrt"):
        result = _output(b, _arithmetic(b, op, type_, inputs, mode.rounding(type_)), mode)
        identities = {b.constant(type_, float_bits(value, type_)).text for value in _IDENTITIES.get(op, ())}
        unchanged = any(a.text in identities for a in args)
        return lower(b, Node("quiet", type_), [result], mode) if unchanged else result
    raise InternalError(f"{op} is not computed within a lane: the translator has to do it")


def _equality(b: WaveBuilder, op: str, x: Value, y: Value) -> Value:
    """Equality on a machine to which denormals are zeros. LLVM 22 compares the bits of a number with 0.0 where it came
    from an integer, as registers do, whatever a function's ``denormal-fp-math`` says; it does not look into this."""
    (x, y), lanes = b.level(x, y)
    x, y = b.splat(x, _WHOLE) if lanes == 1 else x, b.splat(y, _WHOLE) if lanes == 1 else y
    # Intel, Intrinsics Guide: _mm512_mask_cmp_round_ps_mask, _CMP_EQ_OQ, _CMP_NEQ_UQ, _MM_FROUND_CUR_DIRECTION.
    name, mask = "llvm.x86.avx512.mask.cmp.ps.512", llvm_type("u1", _WHOLE)
    b.declare(f"declare {mask} @{name}({x.llvm}, {y.llvm}, i32, {mask}, i32)")
    args = f"{x.typed}, {y.typed}, i32 {_EQUALITIES[op]}, {mask} splat (i1 true), i32 4"
    result = b.let("u1", _WHOLE, f"call {mask} @{name}({args})")
    return b.let("u1", 1, f"extractelement {result.typed}, i64 0") if lanes == 1 else result


def convert(b: WaveBuilder, a: Value, type_: str, mode: Mode) -> Value:
    """``type_(a)``: between floats, or from an integer to a float."""
    if not is_float(type_):
        raise InternalError(f"{type_} of {a.type}: floats become integers by sat_…")
    if not is_float(a.type):
        op = "sitofp" if a.type[0] == "i" else "uitofp"
        wide = "f32" if type_ == "f16" and BITS[a.type] <= 16 else "f64" if type_ == "f16" else type_
        exact = BITS[a.type] <= _MANTISSA[wide]
        rounding = 0 if exact else mode.rounding(type_)
        result = _rounded(b, op, wide, [a], rounding)
        if op == "uitofp" and rounding:
            # Where there is no instruction, LLVM's steps make -0 of 0 when rounding down (and it leaves out fabs).
            zero = b.compare("icmp eq", a, b.constant(a.type, 0))
            result = b.select(zero, b.constant(wide, 0), result)
        return narrow(b, result, type_, mode.rounding(type_))
    a = _input(b, a, mode)
    if a.type == type_:
        return a
    if type_ == "f16":
        return _output(b, narrow(b, a, type_, mode.rounding(type_)), mode)
    source = widen(b, a)
    if source.type == type_:
        return source  # every half is a normal f32
    op = "fptrunc" if BITS[type_] < BITS[source.type] else "fpext"
    result = _rounded(b, op, type_, [source], mode.rounding(type_) if op == "fptrunc" else 0)
    return _output(b, result, mode)


def limited_half(b: WaveBuilder, result: Value, inputs: Sequence[Value]) -> Value:
    """An f16 that is the largest one where it would be infinite though no input is, as FP16_OVFL wants it."""
    limited = _is_infinite(b, result)
    for value in inputs:
        infinite = _is_infinite(b, value)
        limited = b.binary("and", limited, b.binary("xor", infinite, b.constant("u1", 1)))
    # The largest number precedes infinity.
    bits = b.bitcast(result, "u16")
    return b.bitcast(b.select(limited, b.binary("sub", bits, b.constant("u16", 1)), bits), "f16")


def _is_infinite(b: WaveBuilder, a: Value) -> Value:
    size = (1 << (BITS[a.type] - 1)) - 1
    bits = b.binary("and", b.bitcast(a, f"u{BITS[a.type]}"), b.constant(f"u{BITS[a.type]}", size))
    return b.compare("icmp eq", bits, b.constant(bits.type, size >> _MANTISSA[a.type] << _MANTISSA[a.type]))


def flush(b: WaveBuilder, a: Value) -> Value:
    """``a`` with denormals made zeros of their sign."""
    known = b.block.flushed
    if a.typed not in known:
        result = _flush(b, a)
        known[a.typed] = known[result.typed] = result.text
    return Value(known[a.typed], a.type, a.lanes)


def _flush(b: WaveBuilder, a: Value) -> Value:
    bits = b.bitcast(a, f"u{BITS[a.type]}")
    exponent = ((1 << (BITS[a.type] - 1)) - 1) & ~((1 << _MANTISSA[a.type]) - 1)
    small = b.compare("icmp eq", b.binary("and", bits, b.constant(bits.type, exponent)), b.constant(bits.type, 0))
    sign = b.binary("and", bits, b.constant(bits.type, 1 << (BITS[a.type] - 1)))
    return b.bitcast(b.select(small, sign, bits), a.type)


def narrow(b: WaveBuilder, a: Value, type_: str, rounding: int = 0) -> Value:
    """An f32 or f64 that is to be an f16; other types are returned as they are."""
    if type_ != "f16" or a.type == "f16":
        return a
    if a.type == "f64":
        a = _to_odd(b, a)
    half = "half" if a.lanes == 1 else f"<{a.lanes} x half>"
    text = b.emit(f"fptrunc {a.typed} to {half}")
    near = b.let("f16", a.lanes, f"bitcast {half} {text} to {llvm_type('f16', a.lanes)}")
    if not rounding:
        return near
    # The neighbour on the other side of the number, where the nearest is on the wrong one.
    bits, back = b.bitcast(near, "u16"), widen(b, near)
    inward, outward = b.constant("u16", -1), b.constant("u16", 1)
    if rounding == 3:
        wrong = b.compare("fcmp ogt", b.intrinsic("fabs", "f32", back), b.intrinsic("fabs", "f32", a))
        step = inward
    else:
        negative = b.compare("icmp slt", b.bitcast(a, "i32"), b.constant("i32", 0))
        up, down = (inward, outward) if rounding == 1 else (outward, inward)
        wrong = b.compare("fcmp olt" if rounding == 1 else "fcmp ogt", back, a)
        step = b.select(negative, up, down)
    return b.bitcast(b.select(wrong, b.binary("add", bits, step), bits), "f16")


def _widened_whole(b: WaveBuilder, a: Value) -> Value:
    """`widen` for what is rounded next: LLVM would take an fpext there as leave to round halves lane by lane."""
    if a.type != "f16" or a.lanes != 16 or "avx512f" not in b.features:
        return widen(b, a)
    name, result = "llvm.x86.avx512.mask.vcvtph2ps.512", llvm_type("f32", 16)
    b.declare(f"declare {result} @{name}({a.llvm}, {result}, i16, i32)")
    # 8: no exceptions. What rounding there is to be makes no difference.
    return b.let("f32", 16, f"call {result} @{name}({a.typed}, {result} zeroinitializer, i16 -1, i32 8)")


def _wide_type(type_: str) -> str:
    return "f32" if type_ == "f16" else type_


def widen(b: WaveBuilder, a: Value) -> Value:
    """An f16 as the f32 of the same value; other types as they are."""
    if a.type != "f16":
        return a
    half = "half" if a.lanes == 1 else f"<{a.lanes} x half>"
    text = b.emit(f"bitcast {a.typed} to {half}")
    return b.let("f32", a.lanes, f"fpext {half} {text} to {llvm_type('f32', a.lanes)}")


def _to_odd(b: WaveBuilder, a: Value) -> Value:
    """An f64 as f32 such that rounding that to f16 is rounding the f64: inexact results get an odd last bit.

    Boldo and Melquiond, "Emulation of a FMA and Correctly Rounded Sums: Proved Algorithms Using Rounding to Odd".
    """
    near = b.let("f32", a.lanes, f"fptrunc {a.typed} to {llvm_type('f32', a.lanes)}")
    back = b.let("f64", a.lanes, f"fpext {near.typed} to {llvm_type('f64', a.lanes)}")
    bits = b.bitcast(near, "u32")
    even = b.compare("icmp eq", b.binary("and", bits, b.constant("u32", 1)), b.constant("u32", 0))
    inexact = b.compare("fcmp one", back, a)
    magnitude = b.intrinsic("fabs", "f64", a)
    above = b.compare("fcmp ogt", b.intrinsic("fabs", "f64", back), magnitude)
    step = b.select(above, b.constant("u32", -1), b.constant("u32", 1))
    odd = b.binary("add", bits, step)
    return b.bitcast(b.select(b.binary("and", even, inexact), odd, bits), "f32")


def _on_bits(b: WaveBuilder, a: Value, op: str, mask: int) -> Value:
    bits = b.bitcast(a, f"u{BITS[a.type]}")
    return b.bitcast(b.binary(op, bits, b.constant(bits.type, mask)), a.type)


def _input(b: WaveBuilder, a: Value, mode: Mode) -> Value:
    return a if not is_float(a.type) or mode.denorm(a.type) & 1 else flush(b, a)


def _output(b: WaveBuilder, a: Value, mode: Mode) -> Value:
    return a if mode.denorm(a.type) & 2 else flush(b, a)


def _arithmetic(b: WaveBuilder, op: str, type_: str, args: Sequence[Value], rounding: int) -> Value:
    if type_ == "f16" and op == "fma":
        # In f64 the sum is exact, or a summand too small to matter is lost.
        singles = [widen(b, a) for a in args]
        wide = [b.let("f64", a.lanes, f"fpext {a.typed} to {llvm_type('f64', a.lanes)}") for a in singles]
        return narrow(b, _rounded(b, op, "f64", wide, rounding), type_, rounding)
    return narrow(b, _rounded(b, op, _wide_type(type_), [widen(b, a) for a in args], rounding), type_, rounding)


def _rounded(b: WaveBuilder, op: str, type_: str, args: Sequence[Value], rounding: int) -> Value:
    """An operation of the host, rounded as MODE says: the host's own mode is changed around it."""
    args, lanes = b.level(*args)
    result = llvm_type(type_, lanes)
    if not rounding:
        if op in ("fma", "sqrt"):
            return b.intrinsic(op, type_, *args)
        if op in _ARITHMETIC:
            return b.binary(op, args[0], args[1])
        return b.let(type_, lanes, f"{op} {args[0].typed} to {result}")
    overloads = [type_] if op in _ARITHMETIC or op in ("fma", "sqrt") else [type_, args[0].type]
    suffix = ".".join(_suffix(t, lanes) for t in overloads)
    name = f"llvm.experimental.constrained.{op}.{suffix}"
    types = ", ".join([*(a.llvm for a in args), "metadata", "metadata"])
    b.declare(f"declare {result} @{name}({types})")
    b.declare("declare void @llvm.set.rounding(i32)")
    b.line(f"call void @llvm.set.rounding(i32 {_ROUNDINGS[rounding]})")
    values = ", ".join([*(a.typed for a in args), 'metadata !"round.dynamic"', 'metadata !"fpexcept.strict"'])
    value = b.let(type_, lanes, f"call {result} @{name}({values})")
    b.line("call void @llvm.set.rounding(i32 1)")
    return value


def _suffix(type_: str, lanes: int) -> str:
    base = type_ if is_float(type_) else f"i{BITS[type_]}"
    return base if lanes == 1 else f"v{lanes}{base}"


def _extreme(b: WaveBuilder, op: str, x: Value, y: Value, ieee: bool) -> Value:
    """v_min and v_max (AMD, Vega ISA Reference Guide, V_MIN_F32): NaNs lose, -0 is below +0."""
    type_ = x.type
    (x, y), lanes = b.level(x, y)
    if ieee and lanes * BITS[type_] in (512, 256, 128) and "avx512dq" in b.features and type_ != "f16":
        return _range(b, op, x, y)
    u, v = widen(b, x), widen(b, y)
    less = b.compare("fcmp olt" if op == "min" else "fcmp ogt", u, v)
    result = b.select(b.binary("or", less, b.compare("fcmp uno", v, v)), x, y)
    bits = f"u{BITS[type_]}"
    both = b.binary("or" if op == "min" else "and", b.bitcast(x, bits), b.bitcast(y, bits))
    result = b.select(b.compare("fcmp oeq", u, v), b.bitcast(both, type_), result)
    if ieee:
        quiet = 1 << (_MANTISSA[type_] - 1)
        for a, wide in ((y, v), (x, u)):
            raw = b.bitcast(a, bits)
            loud = b.compare("icmp eq", b.binary("and", raw, b.constant(bits, quiet)), b.constant(bits, 0))
            signalling = b.binary("and", loud, b.compare("fcmp uno", wide, wide))
            result = b.select(signalling, _on_bits(b, a, "or", quiet), result)
    return result


def _range(b: WaveBuilder, op: str, x: Value, y: Value) -> Value:
    """The host's VRANGE has the very rules of v_min and v_max in IEEE mode (Intel, Software Developer's Manual)."""
    # The sign is that of the operand chosen.
    return _masked(b, "range", (x.typed, y.typed, f"i32 {4 | (op == 'max')}"), x)


def _scalef(b: WaveBuilder, a: Value, n: Value) -> Value:
    """VSCALEF: a × 2ⁿ for a whole n in a float."""
    return _masked(b, "scalef", (a.typed, n.typed), a)


def _masked(b: WaveBuilder, name: str, args: tuple[str, ...], like: Value) -> Value:
    """An operation of AVX-512 on all lanes of a register, rounding as usual."""
    bits = BITS[like.type] * like.lanes
    name = f"llvm.x86.avx512.mask.{name}.p{'s' if like.type == 'f32' else 'd'}.{bits}"
    mask = "i16" if like.lanes == 16 else "i8"
    whole = [*args, f"{like.llvm} zeroinitializer", f"{mask} -1", *(["i32 4"] if bits == 512 else [])]
    b.declare(f"declare {like.llvm} @{name}({', '.join(x.rsplit(' ', 1)[0] for x in whole)})")
    return b.let(like.type, like.lanes, f"call {like.llvm} @{name}({', '.join(whole)})")


def _saturate(b: WaveBuilder, a: Value, type_: str) -> Value:
    """Towards zero, the nearest there is for what is too large, 0 for a NaN (llvm.fptosi.sat goes lane by lane)."""
    a = widen(b, a)
    signed, bits = type_[0] == "i", BITS[type_]
    low, high = (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1)) if signed else (0.0, 2.0**bits)

    def bound(value: float) -> Value:
        return b.constant(a.type, float_bits(value, a.type))

    if bits < 32:
        inside = b.select(b.compare("fcmp ogt", a, bound(low)), a, bound(low))
        inside = b.select(b.compare("fcmp olt", inside, bound(high - 1)), inside, bound(high - 1))
        whole = b.let("i32", a.lanes, f"fptosi {inside.typed} to {llvm_type('i32', a.lanes)}")
    else:
        op = "fptosi" if signed else "fptoui"
        whole = b.let(type_, a.lanes, f"{op} {a.typed} to {llvm_type(type_, a.lanes)}")
        largest = b.constant(type_, (1 << (bits - signed)) - 1)
        whole = b.select(b.compare("fcmp oge", a, bound(high)), largest, whole)
        least = b.constant(type_, int(low))
        whole = b.select(b.compare("fcmp olt" if signed else "fcmp ole", a, bound(low)), least, whole)
    if signed or bits == 32:
        whole = b.select(b.compare("fcmp uno", a, a), b.constant(whole.type, 0), whole)
    return Value(b.resize(whole, f"u{bits}").text, type_, whole.lanes)


def _ldexp(b: WaveBuilder, a: Value, n: Value) -> Value:
    """``a`` × 2ⁿ, rounded once."""
    (a, n), lanes = b.level(a, n)
    if a.type != "f16" and lanes * BITS[a.type] in (512, 256, 128) and "avx512dq" in b.features:
        return _scalef(b, a, b.let(a.type, lanes, f"sitofp {n.typed} to {a.llvm}"))
    if a.type == "f16":
        n = _clamp(b, n, 60)
        return narrow(b, b.binary("fmul", widen(b, a), _power(b, n, "f32")), "f16")
    if a.type == "f32":
        n = _clamp(b, n, 400)
        wide = b.let("f64", lanes, f"fpext {a.typed} to {llvm_type('f64', lanes)}")
        product = b.binary("fmul", wide, _power(b, n, "f64"))
        return b.let("f32", lanes, f"fptrunc {product.typed} to {llvm_type('f32', lanes)}")
    # Steps that leave the last one to round: a product of 2^-969 is exact unless the result is below all denormals.
    n = _clamp(b, n, 2200)
    for _ in range(2):
        under = b.compare("icmp slt", n, b.constant("i32", -1022))
        over = b.compare("icmp sgt", n, b.constant("i32", 1023))
        scale = b.select(under, _float(b, 2.0**-969), b.select(over, _float(b, 2.0**1023), _float(b, 1.0)))
        a = b.binary("fmul", a, scale)
        less = b.select(under, b.constant("i32", 969), b.select(over, b.constant("i32", -1023), b.constant("i32", 0)))
        n = b.binary("add", n, less)
    n = b.intrinsic("smax", "i32", b.intrinsic("smin", "i32", n, b.constant("i32", 1023)), b.constant("i32", -1022))
    return b.binary("fmul", a, _power(b, n, "f64"))


def _clamp(b: WaveBuilder, n: Value, limit: int) -> Value:
    n = b.intrinsic("smin", "i32", n, b.constant("i32", limit))
    return b.intrinsic("smax", "i32", n, b.constant("i32", -limit))


def _power(b: WaveBuilder, n: Value, type_: str) -> Value:
    """2ⁿ for an n within the exponents of normal numbers."""
    bias, wide = (127, "u32") if type_ == "f32" else (1023, "u64")
    exponent = b.binary("add", n, b.constant("i32", bias))
    widened = Value(exponent.text, "u32", exponent.lanes)
    return b.bitcast(b.binary("shl", b.resize(widened, wide), b.constant(wide, _MANTISSA[type_])), type_)


def _float(b: WaveBuilder, value: float) -> Value:
    return b.constant("f64", float_bits(value, "f64"))
