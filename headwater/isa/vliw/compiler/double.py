"""Input: an operation of IL on doubles. Output: operations on pairs of components, low word and high word.

A chip without double precision refuses them. Evergreen and later compare and take reciprocals by instructions; the
older chips get sequences of ADD_64, MUL_64, MULADD_64, which round each product: quotients and roots get their last
digit right by products of halves of the significands, which are exact (T. J. Dekker, 'A floating-point technique for
extending the available precision', 1971); reciprocals, and those of roots, are within 2 units in the last place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from headwater.il.model import Instruction, Operand
from headwater.il.table import Operation
from headwater.isa.vliw.compiler.build import ZERO, Builder, Input, number
from headwater.isa.vliw.compiler.ir import Op, Ref, Use, Value
from headwater.isa.vliw.compiler.operands import Lowering


class Pair(NamedTuple):
    """A double."""

    low: Ref
    high: Ref


_SIGN = number(0x80000000)
_MAGNITUDE = number(0x7FFFFFFF)
_INFINITY = number(0x7FF00000)
_ONE = Pair(ZERO, number(0x3FF00000))
_HALF = Pair(ZERO, number(0x3FE00000))
_NAN = Pair(ZERO, number(0x7FF80000))


def lower(lowering: Lowering, made: Instruction, operation: Operation) -> None:
    """An operation with doubles among its operands."""
    if not lowering.target.has_float64:
        raise lowering.error(
            f"{made.mnemonic}: {lowering.target.chip.name} has no double precision",
            "of the VLIW chips only HD 3870, HD 4870, HD 5870, HD 6970 and their FireStreams have",
        )
    b = lowering.builder
    values: list[Ref | Pair] = []
    for operand, letter in zip(made.operands[1:], operation.sources, strict=True):
        values.append(_pair(lowering, operand) if letter == "D" else b.made("MOV", [lowering.read(operand, letter, 0)]))
    result = _OPERATIONS[made.mnemonic](b, made, *values)
    if isinstance(result, Pair):
        pair = result
        lowering.assign(made, lambda k: pair[k % 2])
    elif type(result) is tuple:  # not a constant, which is a named one
        four = result
        lowering.assign(made, lambda k: four[k])
    else:
        one = lowering.finish(made, result) if operation.result == "F" else result
        lowering.assign(made, lambda _: one)


def _pair(lowering: Lowering, operand: Operand) -> Pair:
    low, high = (lowering.builder.made("MOV", [lowering.read(operand, "f", k)]) for k in range(2))
    return Pair(low, high)


# -- the machine's operations ------------------------------------------------------------------------------------------


def _wide(b: Builder, name: str, *operands: Pair) -> Pair:
    """High words, then low words, as slots x and y (quads: x y z, and w) read them."""
    sources: list[Input] = [*(p.high for p in operands), *(p.low for p in operands)]
    low, high = b.wide(name, sources, 2)
    return Pair(low, high)


def _add(b: Builder, x: Pair, y: Pair) -> Pair:
    return _wide(b, "ADD_64", x, y)


def _mul(b: Builder, x: Pair, y: Pair) -> Pair:
    return _wide(b, "MUL_64", x, y)


def _mad(b: Builder, x: Pair, y: Pair, z: Pair) -> Pair:
    return _wide(b, "FMA_64" if b.target.has("FMA_64") else "MULADD_64", x, y, z)


def _negated(b: Builder, x: Pair) -> Pair:
    return Pair(x.low, b.alu("XOR_INT", x.high, _SIGN))


def _absolute(b: Builder, x: Pair) -> Pair:
    return Pair(x.low, b.alu("AND_INT", x.high, _MAGNITUDE))


def _sub(b: Builder, x: Pair, y: Pair) -> Pair:
    return _add(b, x, _negated(b, y))


def _from_float(b: Builder, x: Ref) -> Pair:
    low, high = b.wide("FLT32_TO_FLT64", [x, ZERO], 2)
    return Pair(low, high)


def _to_float(b: Builder, x: Pair) -> Ref:
    return b.wide("FLT64_TO_FLT32", [x.high, x.low], 1)[0]


def _fraction(b: Builder, x: Pair) -> Pair:
    low, high = b.wide("FRACT_64", [x.high, x.low], 2)
    return Pair(low, high)


def _scaled(b: Builder, x: Pair, exponent: Ref) -> Pair:
    low, high = b.wide("LDEXP_64", [x.high, exponent, x.low, exponent], 2)
    return Pair(low, high)


def _split(b: Builder, name: str, x: Pair) -> Pair:
    """RECIP_64 and its like: one issue in component x for the low word, one in y for the high word."""
    found = []
    for chan in range(2):
        value = Value()
        value.chan = chan
        b.add(Op(name, [Use(x.high), Use(x.low)], [value]))
        found.append(value)
    return Pair(*found)


# -- comparisons -------------------------------------------------------------------------------------------------------


def _either(b: Builder, x: Ref, y: Ref) -> Ref:
    return b.alu("OR_INT", x, y)


def _both(b: Builder, x: Ref, y: Ref) -> Ref:
    return b.alu("AND_INT", x, y)


def _is_nan(b: Builder, x: Pair) -> Ref:
    # The low word's bits count as one more of the high word.
    some = b.alu("AND_INT", b.alu("SETNE_INT", x.low, ZERO), number(1))
    return b.alu("SETGT_INT", _either(b, b.alu("AND_INT", x.high, _MAGNITUDE), some), _INFINITY)


def _less(b: Builder, x: Pair, y: Pair) -> Ref:
    if b.target.has("SETGT_64"):
        return b.wide("SETGT_64", [y.high, x.high, y.low, x.low], 1)[0]
    difference = _sub(b, x, y)
    size = b.alu("AND_INT", difference.high, _MAGNITUDE)
    nonzero = b.alu("SETNE_INT", _either(b, size, difference.low), ZERO)
    below = _both(b, b.alu("SETGT_INT", ZERO, difference.high), b.alu("SETGE_INT", _INFINITY, size))
    return _both(b, below, nonzero)


def _equal(b: Builder, x: Pair, y: Pair) -> Ref:
    if b.target.has("SETE_64"):
        return b.wide("SETE_64", [x.high, y.high, x.low, y.low], 1)[0]
    different = _either(b, b.alu("XOR_INT", x.high, y.high), b.alu("XOR_INT", x.low, y.low))
    size = b.alu("AND_INT", _either(b, x.high, y.high), _MAGNITUDE)
    zeros = b.alu("SETE_INT", _either(b, size, _either(b, x.low, y.low)), ZERO)
    same = _both(b, b.alu("SETE_INT", different, ZERO), b.alu("NOT_INT", _is_nan(b, x)))
    return _either(b, same, zeros)


def _not_less(b: Builder, x: Pair, y: Pair) -> Ref:
    if b.target.has("SETGE_64"):
        return b.wide("SETGE_64", [x.high, y.high, x.low, y.low], 1)[0]
    return _either(b, _less(b, y, x), _equal(b, x, y))


def _chosen(b: Builder, mask: Ref, yes: Pair, no: Pair) -> Pair:
    return Pair(b.alu("CNDE_INT", mask, no.low, yes.low), b.alu("CNDE_INT", mask, no.high, yes.high))


def _minimum(b: Builder, x: Pair, y: Pair) -> Pair:
    return _chosen(b, _either(b, _less(b, x, y), _is_nan(b, y)), x, y)


def _maximum(b: Builder, x: Pair, y: Pair) -> Pair:
    return _chosen(b, _either(b, _less(b, y, x), _is_nan(b, y)), x, y)


# -- reciprocals, quotients, roots -------------------------------------------------------------------------------------


def _exponent(b: Builder, x: Pair) -> Ref:
    """The exponent's field."""
    return b.alu("AND_INT", b.alu("LSHR_INT", x.high, number(20)), number(0x7FF))


def _normalised(b: Builder, x: Pair, exponent: int) -> Pair:
    """The same significand, positive, with an exponent's field."""
    high = b.alu("AND_INT", x.high, number(0xFFFFF))
    return Pair(x.low, b.alu("OR_INT", high, number(exponent << 20)))


def _ordinary(b: Builder, x: Pair) -> Ref:
    """Whether a number is neither 0, subnormal, infinite nor NaN."""
    size = b.alu("AND_INT", x.high, _MAGNITUDE)
    return b.alu("SETGT_UINT", number(0x7FE00000), b.alu("ADD_INT", size, number(-0x00100000)))


def _signed(b: Builder, x: Pair, sign: Pair) -> Pair:
    return Pair(x.low, b.alu("OR_INT", x.high, b.alu("AND_INT", sign.high, _SIGN)))


def _special(b: Builder, x: Pair, normal: Pair, of_zero: Pair, of_infinity: Pair) -> Pair:
    """A function's value where the argument is 0 (or subnormal), infinite, NaN, or none of them."""
    exponent = _exponent(b, x)
    result = _chosen(b, exponent, normal, of_zero)
    result = _chosen(b, b.alu("SETE_INT", exponent, number(0x7FF)), of_infinity, result)
    return _chosen(b, _is_nan(b, x), _NAN, result)


def _halves(b: Builder, x: Pair, *, rounded: bool = False) -> tuple[Pair, Pair]:
    """The upper 26 bits of the significand, and the rest; ``rounded``, so that this has 26 bits as well, which the
    largest numbers do not allow."""
    low, high = x
    if rounded:
        low = b.alu("ADD_INT", x.low, number(0x4000000))
        high = b.alu("SUB_INT", x.high, b.alu("SETGT_UINT", x.low, low))  # a mask of all ones is -1
    upper = Pair(b.alu("AND_INT", low, number(0xF8000000)), high)
    return upper, _sub(b, x, upper)


def _rest(b: Builder, x: Pair, y: Pair, z: Pair, *, rounded: bool = False) -> Pair:
    """x - y × z for a product that differs from x in its last digits, as if it were not rounded."""
    minus = _negated(b, y)
    if b.target.has("FMA_64"):
        return _mad(b, minus, z, x)
    upper, lower = _halves(b, minus, rounded=rounded)
    high, low = _halves(b, z, rounded=rounded)
    for left, right in ((upper, high), (upper, low), (lower, high), (lower, low)):
        x = _mad(b, left, right, x)
    return x


def _raised(b: Builder, x: Pair) -> tuple[Pair, Ref]:
    """A number, multiplied by 2^64 if it is subnormal, and the exponent of that power: 64 or 0."""
    power = _both(b, b.alu("SETE_INT", _exponent(b, x), ZERO), number(64))
    return _scaled(b, x, power), power


def _reciprocal(b: Builder, x: Pair) -> Pair:
    if b.target.has("RECIP_64"):
        return _split(b, "RECIP_64", x)
    x, power = _raised(b, x)
    return _scaled(b, _normal_reciprocal(b, x), power)


def _normal_reciprocal(b: Builder, x: Pair) -> Pair:
    """The reciprocal of what is not subnormal."""
    if b.target.has("RECIP_64"):
        return _split(b, "RECIP_64", x)
    part = _normalised(b, x, 0x3FF)
    guess = _from_float(b, b.alu("RECIP_IEEE", _to_float(b, part)))
    minus = _negated(b, part)
    for _ in range(2):
        guess = _mad(b, guess, _mad(b, minus, guess, _ONE), guess)
    result = _scaled(b, guess, b.alu("SUB_INT", number(0x3FF), _exponent(b, x)))
    infinity = Pair(ZERO, _INFINITY)
    return _signed(b, _special(b, x, result, infinity, Pair(ZERO, ZERO)), x)


def _quotient(b: Builder, x: Pair, y: Pair) -> Pair:
    # The reciprocal of a subnormal divisor can be infinite, that of a very large one subnormal, and what is left of a
    # tiny dividend smaller than every number: both are scaled.
    field = _exponent(b, y)
    up = _both(b, b.alu("SETGT_INT", number(64), field), number(64))
    down = _both(b, b.alu("SETGT_INT", field, number(0x7FF - 66)), number(-64))
    is_tiny = _both(b, b.alu("SETGT_INT", number(128), _exponent(b, x)), b.alu("SETGT_INT", number(0x500), field))
    power = b.alu("CNDE_INT", is_tiny, _either(b, up, down), number(128))
    x, y = _scaled(b, x, power), _scaled(b, y, power)
    inverse = _normal_reciprocal(b, y)
    if not b.target.has("FMA_64"):
        # Where y's significand is all ones and x's a power of two, a rounded product hides which side of the middle of
        # two numbers the quotient is on; but the reciprocal is known.
        ones = b.alu("SETE_INT", b.alu("AND_INT", y.low, b.alu("OR_INT", y.high, number(0xFFF00000))), number(-1))
        power_of_two = b.alu("SETE_INT", _either(b, b.alu("LSHL_INT", x.high, number(12)), x.low), ZERO)
        known = _both(b, _both(b, ones, power_of_two), _both(b, _ordinary(b, inverse), _ordinary(b, x)))
        inverse = Pair(b.alu("CNDE_INT", known, inverse.low, number(1)), inverse.high)
    first = _mul(b, x, inverse)
    better = _mad(b, _rest(b, x, first, y), inverse, first)
    sure = _both(b, _ordinary(b, first), _ordinary(b, inverse))
    if not b.target.has("FMA_64"):
        sure = b.alu("CNDE_INT", known, sure, ZERO)
    return _chosen(b, sure, better, first)


def _inverse_root(b: Builder, part: Pair) -> Pair:
    """1/√x of 1 ≤ x < 4."""
    guess = _from_float(b, b.alu("RECIPSQRT_IEEE", _to_float(b, part)))
    half = _negated(b, _mul(b, part, _HALF))
    for _ in range(2):
        step = _mad(b, half, _mul(b, guess, guess), _HALF)
        guess = _mad(b, guess, step, guess)
    return guess


def _even(b: Builder, x: Pair) -> tuple[Pair, Ref, Pair]:
    """A number as part × 4^n with 1 ≤ part < 4, and n; and the number, multiplied by 2^64 if it is subnormal."""
    x, raised = _raised(b, x)
    exponent = b.alu("SUB_INT", b.alu("ADD_INT", _exponent(b, x), number(-0x3FF)), raised)
    n = b.alu("ASHR_INT", exponent, number(1))
    odd = b.alu("AND_INT", exponent, number(1))
    part = _normalised(b, x, 0x3FF)
    return Pair(part.low, b.alu("ADD_INT", part.high, b.alu("LSHL_INT", odd, number(20)))), n, x


def _root(b: Builder, x: Pair) -> Pair:
    if b.target.has("SQRT_64"):
        return _split(b, "SQRT_64", x)
    part, n, x = _even(b, x)
    inverse = _inverse_root(b, part)
    root = _mul(b, part, inverse)
    rest = _rest(b, part, root, root, rounded=True)
    root = _scaled(b, _mad(b, rest, _mul(b, inverse, _HALF), root), n)
    below = b.alu("SETGT_INT", ZERO, x.high)
    zero = Pair(ZERO, b.alu("AND_INT", x.high, _SIGN))
    result = _special(b, x, _chosen(b, below, _NAN, root), zero, _chosen(b, below, _NAN, Pair(ZERO, _INFINITY)))
    return result


def _reciprocal_root(b: Builder, x: Pair) -> Pair:
    if b.target.has("RECIPSQRT_64"):
        return _split(b, "RECIPSQRT_64", x)
    part, n, x = _even(b, x)
    root = _scaled(b, _inverse_root(b, part), b.alu("SUB_INT", ZERO, n))
    below = b.alu("SETGT_INT", ZERO, x.high)
    infinity = Pair(ZERO, b.alu("OR_INT", b.alu("AND_INT", x.high, _SIGN), _INFINITY))
    return _special(b, x, _chosen(b, below, _NAN, root), infinity, _chosen(b, below, _NAN, Pair(ZERO, ZERO)))


# -- conversions and parts ---------------------------------------------------------------------------------------------

_TWO_52 = number(0x43300000)
"""High word of 2^52: with it, a low word is an integer added to 2^52."""
_MINUS_TWO_52 = Pair(ZERO, number(0xC3300000))


def _from_uint(b: Builder, x: Ref) -> Pair:
    return _add(b, Pair(x, _TWO_52), _MINUS_TWO_52)


def _from_int(b: Builder, x: Ref) -> Pair:
    biased = Pair(b.alu("XOR_INT", x, _SIGN), _TWO_52)
    return _add(b, biased, Pair(_SIGN, number(0xC3300000)))


def _whole_magnitude(b: Builder, x: Pair) -> tuple[Pair, Ref]:
    """|x| and the low 32 bits of its integral part."""
    size = _absolute(b, x)
    whole = _sub(b, size, _fraction(b, size))
    return size, _add(b, whole, Pair(ZERO, _TWO_52)).low


def _to_int(b: Builder, x: Pair) -> Ref:
    size, whole = _whole_magnitude(b, x)
    below = b.alu("ASHR_INT", x.high, number(31))
    value = b.alu("SUB_INT", b.alu("XOR_INT", whole, below), below)
    limit = b.alu("XOR_INT", number(0x7FFFFFFF), below)
    value = b.alu("CNDE_INT", b.alu("SETGE_INT", size.high, number(0x41E00000)), value, limit)
    return b.alu("CNDE_INT", _is_nan(b, x), value, ZERO)


def _to_uint(b: Builder, x: Pair) -> Ref:
    size, value = _whole_magnitude(b, x)
    value = b.alu("CNDE_INT", b.alu("SETGE_INT", size.high, number(0x41F00000)), value, number(-1))
    below = b.alu("SETGT_INT", ZERO, x.high)
    return b.alu("CNDE_INT", _either(b, below, _is_nan(b, x)), value, ZERO)


def _parts(b: Builder, x: Pair) -> tuple[Ref, Ref, Ref, Ref]:
    """frexp: exponent, 0, and the fraction of 1/2 ≤ |fraction| < 1."""
    scaled = _mul(b, x, Pair(ZERO, number((0x3FF + 54) << 20)))
    tiny = b.alu("SETE_INT", _exponent(b, x), ZERO)
    given = _chosen(b, tiny, scaled, x)
    exponent = b.alu("SUB_INT", _exponent(b, given), b.alu("CNDE_INT", tiny, number(1022), number(1022 + 54)))
    fraction = _signed(b, _normalised(b, given, 0x3FE), x)
    plain = _ordinary(b, given)
    fraction = _chosen(b, plain, fraction, x)
    return b.alu("AND_INT", exponent, plain), ZERO, fraction.low, fraction.high


def _ruled(rule: Callable[[Builder, Pair], Pair] | None) -> Callable[..., Pair]:
    """A quotient or reciprocal under ``_zeroop``; infinity is what the sequences give."""

    def operation(b: Builder, made: Instruction, *operands: Pair) -> Pair:
        divisor = operands[-1]
        result = rule(b, divisor) if rule is not None else _quotient(b, operands[0], divisor)
        modifier = made.modifier("zeroop")
        how = modifier.arguments[0] if modifier is not None else "infinity"
        if how in ("infinity", "inf_else_max"):
            return result
        zero = b.alu("SETE_INT", _either(b, b.alu("AND_INT", divisor.high, _MAGNITUDE), divisor.low), ZERO)
        sign = b.alu("AND_INT", result.high, _SIGN)
        greatest = Pair(number(-1), b.alu("OR_INT", sign, number(0x7FEFFFFF)))
        return _chosen(b, zero, Pair(ZERO, ZERO) if how == "zero" else greatest, result)

    return operation


def _plain(function: Any) -> Callable[..., Any]:
    return lambda b, made, *operands: function(b, *operands)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "ddiv": _ruled(None),
    "drcp": _ruled(_reciprocal),
    "drsq": _ruled(_reciprocal_root),
    **{
        name: _plain(function)
        for name, function in {
            "dadd": _add, "dsub": _sub, "dmul": _mul, "dmad": _mad, "d_muladd": _mad, "dmin": _minimum,
            "dmax": _maximum, "dmov": lambda b, x: x, "dmovc": lambda b, c, x, y: _chosen(b, c, x, y),
            "dabs": _absolute, "dfrac": _fraction, "dsqrt": _root, "dldexp": _scaled, "dfrexp": _parts,
            "deq": _equal, "dne": lambda b, x, y: b.alu("NOT_INT", _equal(b, x, y)), "dlt": _less, "dge": _not_less,
            "d2f": _to_float, "f2d": _from_float, "dtoi": _to_int, "dtou": _to_uint, "itod": _from_int,
            "utod": _from_uint,
        }.items()
    },
}  # fmt: skip
