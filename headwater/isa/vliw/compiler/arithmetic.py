"""Input: an arithmetic operation of IL. Output: operations that compute it, generation by generation.

The meanings are those of ``headwater/il/operations.txt``. Whatever takes a sequence of some length has a function
of its own; doubles are in `double`, operations on whole vectors in `vectors`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from headwater.il.model import Instruction
from headwater.il.table import Operation
from headwater.isa.vliw.compiler import double
from headwater.isa.vliw.compiler.build import (
    ONE,
    ZERO,
    Builder,
    Input,
    magnitude,
    multiply_add,
    negated,
    number,
    real,
    sign,
    use,
)  # fmt: skip
from headwater.isa.vliw.compiler.divide import divide_unsigned, remainder_unsigned
from headwater.isa.vliw.compiler.ir import Ref, Use
from headwater.isa.vliw.compiler.operands import Lowering

FLT_MAX = 0x7F7FFFFF
_SIGN = number(0x80000000)
Lane = Callable[..., Ref]


def lower(lowering: Lowering, made: Instruction, operation: Operation) -> None:
    """An operation whose result's lanes are computed each for itself, or once for all."""
    builder = lowering.builder
    if "D" in operation.sources or operation.result == "D":
        double.lower(lowering, made, operation)
        return
    function = _BY_NAME.get(made.mnemonic)
    name = made.mnemonic
    if made.modifier("ieee") is not None:
        name = f"{name}_ieee"
    row = _ROWS.get(name)
    if row is None and function is None:
        raise lowering.error(f"{made.mnemonic} is not supported")
    if made.mnemonic in _SCALAR_RESULTS:
        once = lowering.finish(
            made, _SCALAR_RESULTS[name if name in _SCALAR_RESULTS else made.mnemonic](lowering, made)
        )
        lowering.assign(made, lambda _: once)
        return
    letters = operation.sources
    operands = made.operands[1:]
    known: dict[tuple[Use, ...], Ref] = {}
    finishes = operation.result in "fFb"

    def lane(k: int) -> Ref:
        uses = tuple(
            lowering.read(o, letter, 0 if letter in "FSU" else k) for o, letter in zip(operands, letters, strict=True)
        )
        if uses in known:
            return known[uses]
        if row is not None:
            ref = builder.made(row, list(uses))
        else:
            assert function is not None
            ref = function(builder, made, *uses)
        ref = known[uses] = lowering.finish(made, ref) if finishes else ref
        return ref

    if operation.result in "FS":
        first = lane(0)
        lowering.assign(made, lambda _: first)
    else:
        lowering.assign(made, lane)


def relation(made: Instruction) -> str:
    """The relation that an instruction's ``_relop`` names."""
    modifier = made.modifier("relop")
    return modifier.arguments[0] if modifier is not None else "ne"


def compare(b: Builder, relop: str, x: Input, y: Input) -> Ref:
    """A comparison of floats: all ones where it holds."""
    name, swapped = {
        "eq": ("SETE_DX10", False),
        "ne": ("SETNE_DX10", False),
        "gt": ("SETGT_DX10", False),
        "ge": ("SETGE_DX10", False),
        "lt": ("SETGT_DX10", True),
        "le": ("SETGE_DX10", True),
    }[relop]
    return b.alu(name, y, x) if swapped else b.alu(name, x, y)


def select(b: Builder, mask: Input, yes: Input, no: Input) -> Ref:
    """``yes`` where the mask's bits are not 0."""
    return b.alu("CNDE_INT", mask, no, yes)


# -- float -------------------------------------------------------------------------------------------------------------


def to_int(b: Builder, x: Use) -> Ref:
    """Truncated."""
    return _converted(b, b.target.traits.float_to_int, x)


def to_uint(b: Builder, x: Use) -> Ref:
    """Truncated; numbers below 0 give 0."""
    return _converted(b, b.target.traits.float_to_uint, x)


def _converted(b: Builder, operations: tuple[str, ...], x: Use) -> Ref:
    """A number after several operations, the first one first."""
    first, *rest = operations
    made = b.alu(first, x)
    for name in rest:
        made = b.alu(name, made)
    return made


def turns(b: Builder, x: Use) -> Ref:
    """An angle in radians as SIN and COS take it: turns from -1/2 to 1/2, or radians from -π to π."""
    part = b.alu("FRACT", b.alu("MULADD_IEEE", x, real(1 / (2 * math.pi)), real(0.5)))
    if b.target.traits.angles_in_turns:
        return b.alu("ADD", part, real(-0.5))
    return b.alu("MULADD_IEEE", part, real(2 * math.pi), real(-math.pi))


def _zeroop(made: Instruction) -> str:
    modifier = made.modifier("zeroop")
    return modifier.arguments[0] if modifier is not None else "infinity"


def _div(b: Builder, made: Instruction, x: Use, y: Use) -> Ref:
    quotient = b.alu("MUL_IEEE", x, b.alu("RECIP_IEEE", y))
    return _by_zero(b, _zeroop(made), x, y, quotient)


def _by_zero(b: Builder, rule: str, x: Use, y: Use, quotient: Ref) -> Ref:
    if rule == "infinity":
        return quotient
    if rule == "zero":
        return b.alu("CNDE", y, ZERO, quotient)
    signs = b.alu("AND_INT", b.alu("XOR_INT", plain(b, x), plain(b, y)), _SIGN)
    greatest = b.alu("OR_INT", signs, number(FLT_MAX))
    if rule == "inf_else_max":
        greatest = b.alu("CNDE", x, greatest, quotient)
    return b.alu("CNDE", y, greatest, quotient)


def plain(b: Builder, x: Use) -> Ref:
    """A read with its modifiers done."""
    return b.made("MOV", [x])


def _rcp(b: Builder, made: Instruction, x: Use) -> Ref:
    rule = _zeroop(made)
    return _by_zero(b, "infinity" if rule == "inf_else_max" else rule, Use(ONE), x, b.alu("RECIP_IEEE", x))


def rsq(b: Builder, made: Instruction, x: Use) -> Ref:
    """1 / sqrt(x), and of 0 what the instruction's _zeroop says."""
    root = b.alu("RECIPSQRT_IEEE", x)
    rule = _zeroop(made)
    if rule in ("zero", "fltmax"):
        return b.alu("CNDE", x, ZERO if rule == "zero" else number(FLT_MAX), root)
    return root


def _mod(b: Builder, made: Instruction, x: Use, y: Use) -> Ref:
    """fmod: the quotient truncated, the remainder then put right by one divisor where it was rounded over."""
    top, bottom = magnitude(x), magnitude(y)
    whole = b.alu("TRUNC", b.alu("MUL_IEEE", top, b.alu("RECIP_IEEE", bottom)))
    rest = _remainder(b, whole, bottom, top)
    rest = b.alu("CNDGE", rest, rest, b.alu("ADD", rest, bottom))
    over = b.alu("ADD", rest, negated(bottom))
    rest = b.alu("CNDGE", over, over, rest)
    signed = b.alu("OR_INT", rest, b.alu("AND_INT", plain(b, x), _SIGN))
    small = b.alu("SETGT_DX10", bottom, top)
    return select(b, small, plain(b, x), signed)


def _remainder(b: Builder, whole: Ref, bottom: Use, top: Use) -> Ref:
    if b.target.has_fma:
        return b.alu("FMA", negated(whole), plain(b, bottom), plain(b, top))
    # Veltkamp and Dekker: the product in two parts, each exact.
    return exact_difference(b, plain(b, top), whole, plain(b, bottom))


def exact_difference(b: Builder, top: Ref, x: Ref, y: Ref) -> Ref:
    """``top - x y`` with the product's rounding error taken in."""
    factor = real(4097.0)

    def split(value: Ref) -> tuple[Ref, Ref]:
        big = b.alu("MUL_IEEE", value, factor)
        high = b.alu("ADD", big, negated(b.alu("ADD", big, negated(value))))
        return high, b.alu("ADD", value, negated(high))

    product = b.alu("MUL_IEEE", x, y)
    (xh, xl), (yh, yl) = split(x), split(y)
    error = b.alu("MULADD_IEEE", xh, yh, negated(product))
    error = b.alu("MULADD_IEEE", xh, yl, error)
    error = b.alu("MULADD_IEEE", xl, yh, error)
    error = b.alu("MULADD_IEEE", xl, yl, error)
    return b.alu("ADD", b.alu("ADD", top, negated(product)), negated(error))


def _set(b: Builder, made: Instruction, x: Use, y: Use) -> Ref:
    return b.alu("AND_INT", compare(b, relation(made), x, y), ONE)


def _cmp(b: Builder, made: Instruction, x: Use, y: Use, z: Use) -> Ref:
    value = made.modifier("cmpval")
    against = real(float(value.arguments[0])) if value is not None else ZERO
    return select(b, compare(b, relation(made), x, against), y, z)


def _clamp(b: Builder, made: Instruction, x: Use, low: Use, high: Use) -> Ref:
    return b.alu("MIN_DX10", b.alu("MAX_DX10", x, low), high)


def _lrp(b: Builder, made: Instruction, x: Use, y: Use, z: Use) -> Ref:
    product = b.alu("MUL_IEEE", b.alu("ADD", ONE, negated(x)), z)
    return b.alu("MULADD_IEEE", x, y, product)


def _pow(b: Builder, made: Instruction, x: Use, y: Use) -> Ref:
    return b.alu("EXP_IEEE", b.alu("MUL", y, b.alu("LOG_IEEE", x)))


def _tan(b: Builder, made: Instruction, x: Use) -> Ref:
    angle = turns(b, x)
    return b.alu("MUL_IEEE", b.alu("SIN", angle), b.alu("RECIP_IEEE", b.alu("COS", angle)))


_ATAN = (
    -0.0040540580,
    0.0218612288,
    -0.0559098861,
    0.0964200441,
    -0.1390853351,
    0.1994653599,
    -0.3332985605,
    0.9999993329,
)
"""Abramowitz and Stegun, Handbook of Mathematical Functions, 4.4.49: error below 2e-8 for |x| ≤ 1."""
_ASIN = (
    -0.0012624911,
    0.0066700901,
    -0.0170881256,
    0.0308918810,
    -0.0501743046,
    0.0889789874,
    -0.2145988016,
    1.5707963050,
)
"""The same, 4.4.46: error below 2e-8 for 0 ≤ x ≤ 1."""


def _polynomial(b: Builder, x: Ref, coefficients: tuple[float, ...]) -> Ref:
    value: Ref = real(coefficients[0])
    for coefficient in coefficients[1:]:
        value = b.alu("MULADD_IEEE", value, x, real(coefficient))
    return value


def _atan(b: Builder, made: Instruction, x: Use) -> Ref:
    size = magnitude(x)
    steep = b.alu("SETGT_DX10", size, ONE)
    inside = select(b, steep, b.alu("RECIP_IEEE", size), plain(b, size))
    angle = b.alu("MUL_IEEE", _polynomial(b, b.alu("MUL_IEEE", inside, inside), _ATAN), inside)
    angle = select(b, steep, b.alu("ADD", real(math.pi / 2), negated(angle)), angle)
    return b.alu("OR_INT", angle, b.alu("AND_INT", plain(b, x), _SIGN))


def _asin(b: Builder, made: Instruction, x: Use) -> Ref:
    size = magnitude(x)
    root = b.alu("SQRT_IEEE", b.alu("ADD", ONE, negated(size)))
    angle = b.alu("MUL_IEEE", _polynomial(b, plain(b, size), _ASIN), root)
    angle = b.alu("ADD", real(math.pi / 2), negated(angle))
    return b.alu("OR_INT", angle, b.alu("AND_INT", plain(b, x), _SIGN))


def _acos(b: Builder, made: Instruction, x: Use) -> Ref:
    return b.alu("ADD", real(math.pi / 2), negated(_asin(b, made, x)))


# -- integer -----------------------------------------------------------------------------------------------------------


def _carry(b: Builder, made: Instruction, x: Use, y: Use) -> Ref:
    if b.target.has("ADDC_UINT"):
        return b.alu("ADDC_UINT", x, y)
    return b.alu("LSHR_INT", b.alu("SETGT_UINT", x, b.alu("ADD_INT", x, y)), number(31))


def _borrow(b: Builder, made: Instruction, x: Use, y: Use) -> Ref:
    return b.alu("AND_INT", b.alu("SETGT_UINT", y, x), number(1))


def _bits(b: Builder, made: Instruction, x: Use) -> Ref:
    if b.target.has("BCNT_INT"):
        return b.alu("BCNT_INT", x)
    value = b.alu("SUB_INT", x, _masked(b, x, 1, 0x55555555))
    value = b.alu("ADD_INT", b.alu("AND_INT", value, number(0x33333333)), _masked(b, value, 2, 0x33333333))
    value = b.alu("AND_INT", b.alu("ADD_INT", value, b.alu("LSHR_INT", value, number(4))), number(0x0F0F0F0F))
    return b.alu("LSHR_INT", b.alu("MULLO_UINT", value, number(0x01010101)), number(24))


def _masked(b: Builder, x: Input, shift: int, mask: int) -> Ref:
    return b.alu("AND_INT", b.alu("LSHR_INT", x, number(shift)), number(mask))


def _first_high(b: Builder, made: Instruction, x: Use) -> Ref:
    """Leading zeros, all ones of 0."""
    if b.target.has("FFBH_UINT"):
        return b.alu("FFBH_UINT", x)
    # The exponent of the upper half, else of the lower one, as floats: those conversions are exact.
    high = b.alu("LSHR_INT", x, number(16))
    low = b.alu("AND_INT", x, number(0xFFFF))
    part = select(b, high, high, low)
    exponent = b.alu("LSHR_INT", b.alu("UINT_TO_FLT", part), number(23))
    zeros = b.alu("SUB_INT", select(b, high, number(127 + 15), number(127 + 31)), exponent)
    return select(b, x, zeros, number(-1))


def _first_low(b: Builder, made: Instruction, x: Use) -> Ref:
    """Trailing zeros, all ones of 0."""
    if b.target.has("FFBL_INT"):
        return b.alu("FFBL_INT", x)
    lowest = b.alu("AND_INT", x, b.alu("SUB_INT", ZERO, x))
    return select(b, x, b.alu("SUB_INT", number(31), _first_high(b, made, Use(lowest))), number(-1))


def _first_sign(b: Builder, made: Instruction, x: Use) -> Ref:
    return _first_high(b, made, Use(b.alu("XOR_INT", x, b.alu("ASHR_INT", x, number(31)))))


def _reverse(b: Builder, made: Instruction, x: Use) -> Ref:
    if b.target.has("BFREV_INT"):
        return b.alu("BFREV_INT", x)
    value = use(x)
    for shift, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        up = b.alu("LSHL_INT", b.alu("AND_INT", value, number(mask)), number(shift))
        value = Use(b.alu("OR_INT", _masked(b, value, shift, mask), up))
    return b.alu("OR_INT", b.alu("LSHR_INT", value, number(16)), b.alu("LSHL_INT", value, number(16)))


def _low5(b: Builder, x: Input) -> Ref:
    return b.alu("AND_INT", x, number(31))


def _field(b: Builder, width: Input) -> Ref:
    return b.alu("ADD_INT", b.alu("LSHL_INT", number(1), _low5(b, width)), number(-1))


def _extract(b: Builder, made: Instruction, width: Use, offset: Use, x: Use) -> Ref:
    if b.target.has("BFE_UINT"):
        return b.alu("BFE_UINT", x, offset, width)
    return b.alu("AND_INT", b.alu("LSHR_INT", x, _low5(b, offset)), _field(b, width))


def _extract_signed(b: Builder, made: Instruction, width: Use, offset: Use, x: Use) -> Ref:
    if b.target.has("BFE_INT"):
        return b.alu("BFE_INT", x, offset, width)
    bits, at = _low5(b, width), _low5(b, offset)
    reach = b.alu("ADD_INT", bits, at)
    left = b.alu("SUB_INT", number(32), reach)
    inside = b.alu("ASHR_INT", b.alu("LSHL_INT", x, left), b.alu("SUB_INT", number(32), bits))
    whole = b.alu("SETGE_INT", reach, number(32))
    return b.alu("CNDE_INT", bits, ZERO, select(b, whole, b.alu("ASHR_INT", x, at), inside))


def _insert(b: Builder, made: Instruction, width: Use, offset: Use, x: Use, base: Use) -> Ref:
    at = _low5(b, offset)
    mask = b.alu("LSHL_INT", _field(b, width), at)
    value = b.alu("LSHL_INT", x, at)
    if b.target.has("BFI_INT"):
        return b.alu("BFI_INT", mask, value, base)
    kept = b.alu("AND_INT", base, b.alu("NOT_INT", mask))
    return b.alu("OR_INT", b.alu("AND_INT", value, mask), kept)


def _align(b: Builder, made: Instruction, high: Use, low: Use, bits: Use) -> Ref:
    if b.target.has("BIT_ALIGN_INT"):
        return b.alu("BIT_ALIGN_INT", high, low, bits)
    amount = _low5(b, bits)
    upper = b.alu("LSHL_INT", high, _low5(b, b.alu("SUB_INT", number(32), amount)))
    both = b.alu("OR_INT", upper, b.alu("LSHR_INT", low, amount))
    return select(b, amount, both, low)


def _byte_align(b: Builder, made: Instruction, high: Use, low: Use, count: Use) -> Ref:
    bits = b.alu("LSHL_INT", b.alu("AND_INT", count, number(3)), number(3))
    return _align(b, made, high, low, Use(bits))


def _byte(b: Builder, x: Input, k: int) -> Ref:
    return b.alu("AND_INT", b.alu("LSHR_INT", x, number(8 * k)), number(0xFF))


def _differences(b: Builder, x: Use, y: Use) -> Ref:
    total: Ref = ZERO
    for k in range(4):
        one, two = _byte(b, x, k), _byte(b, y, k)
        total = b.alu("ADD_INT", total, b.alu("SUB_INT", b.alu("MAX_UINT", one, two), b.alu("MIN_UINT", one, two)))
    return total


def _sad(b: Builder, made: Instruction, x: Use, y: Use, z: Use) -> Ref:
    if b.target.has("SAD_ACCUM_UINT"):
        return b.alu("SAD_ACCUM_UINT", x, y, z)
    return b.alu("ADD_INT", _differences(b, x, y), z)


def _sad_hi(b: Builder, made: Instruction, x: Use, y: Use, z: Use) -> Ref:
    return b.alu("ADD_INT", b.alu("LSHL_INT", _differences(b, x, y), number(16)), z)


def _lerp(b: Builder, made: Instruction, x: Use, y: Use, z: Use) -> Ref:
    if b.target.has("LERP_UINT"):
        return b.alu("LERP_UINT", x, y, z)
    result: Ref = ZERO
    for k in range(4):
        rounding = b.alu("AND_INT", b.alu("LSHR_INT", z, number(8 * k)), number(1))
        total = b.alu("ADD_INT", b.alu("ADD_INT", _byte(b, x, k), _byte(b, y, k)), rounding)
        half = b.alu("LSHL_INT", b.alu("LSHR_INT", total, number(1)), number(8 * k))
        result = b.alu("OR_INT", result, half)
    return result


def _unpack(k: int) -> Lane:
    def lane(b: Builder, made: Instruction, x: Use) -> Ref:
        if b.target.has(f"UBYTE{k}_FLT"):
            return b.alu(f"UBYTE{k}_FLT", x)
        return b.alu("UINT_TO_FLT", _byte(b, x, k))

    return lane


def _signed24(b: Builder, x: Use) -> Ref:
    return b.alu("ASHR_INT", b.alu("LSHL_INT", x, number(8)), number(8))


def _unsigned24(b: Builder, x: Use) -> Ref:
    return b.alu("AND_INT", x, number(0xFFFFFF))


def _imul24(b: Builder, made: Instruction, x: Use, y: Use) -> Ref:
    if b.target.has("MUL_INT24"):
        return b.alu("MUL_INT24", x, y)
    return b.alu("MULLO_INT", _signed24(b, x), _signed24(b, y))


def _imad24(b: Builder, made: Instruction, x: Use, y: Use, z: Use) -> Ref:
    if b.target.has("MULADD_INT24"):
        return b.alu("MULADD_INT24", x, y, z)
    return b.alu("ADD_INT", _imul24(b, made, x, y), z)


def _umul24(b: Builder, made: Instruction, x: Use, y: Use) -> Ref:
    if b.target.has("MUL_UINT24"):
        return b.alu("MUL_UINT24", x, y)
    return b.alu("MULLO_UINT", _unsigned24(b, x), _unsigned24(b, y))


def _umad24(b: Builder, made: Instruction, x: Use, y: Use, z: Use) -> Ref:
    if b.target.has("MULADD_UINT24"):
        return b.alu("MULADD_UINT24", x, y, z)
    return b.alu("ADD_INT", _umul24(b, made, x, y), z)


def _half_from_float(b: Builder, made: Instruction, x: Use) -> Ref:
    if b.target.has("FLT32_TO_FLT16"):
        return b.alu("FLT32_TO_FLT16", x)
    bits = plain(b, x)
    size = b.alu("AND_INT", bits, number(0x7FFFFFFF))
    # Rounded to nearest even: normal numbers by an addition, subnormal ones by adding 0.5 as the unit's place.
    odd = b.alu("AND_INT", b.alu("LSHR_INT", size, number(13)), number(1))
    normal = b.alu("LSHR_INT", b.alu("ADD_INT", b.alu("ADD_INT", size, number(0xC8000FFF)), odd), number(13))
    tiny = b.alu("ADD_INT", b.alu("ADD", magnitude(x), real(0.5)), number(-0x3F000000))
    value = select(b, b.alu("SETGT_UINT", number(0x38800000), size), tiny, normal)
    infinite = b.alu("CNDE_INT", b.alu("SETGT_UINT", size, number(0x7F800000)), number(0x7C00), number(0x7E00))
    value = select(b, b.alu("SETGE_UINT", size, number(0x47800000)), infinite, value)
    return b.alu("OR_INT", value, b.alu("LSHR_INT", b.alu("AND_INT", bits, _SIGN), number(16)))


def _float_from_half(b: Builder, made: Instruction, x: Use) -> Ref:
    if b.target.has("FLT16_TO_FLT32"):
        return b.alu("FLT16_TO_FLT32", x)
    size = b.alu("LSHL_INT", b.alu("AND_INT", x, number(0x7FFF)), number(13))
    moved = b.alu("ADD_INT", size, number(0x38000000))
    special = b.alu("SETGE_UINT", size, number(0x0F800000))
    tiny = b.alu("MUL_IEEE", b.alu("UINT_TO_FLT", b.alu("AND_INT", x, number(0x7FFF))), real(2.0**-24))
    value = select(b, special, b.alu("OR_INT", size, number(0x7F800000)), moved)
    value = select(b, b.alu("SETGT_UINT", number(0x00800000), size), tiny, value)
    return b.alu("OR_INT", value, b.alu("LSHL_INT", b.alu("AND_INT", x, number(0x8000)), number(16)))


def _udiv(b: Builder, made: Instruction, x: Use, y: Use) -> Ref:
    return divide_unsigned(b, x.ref, y.ref)


def _umod(b: Builder, made: Instruction, x: Use, y: Use) -> Ref:
    return remainder_unsigned(b, x.ref, y.ref)


# IL's operation → the machine's of the same operands.
_ROWS = {
    "mov": "MOV", "add": "ADD", "mul": "MUL", "mul_ieee": "MUL_IEEE", "mad": "MULADD", "mad_ieee": "MULADD_IEEE",
    "max": "MAX", "min": "MIN", "max_ieee": "MAX_DX10", "min_ieee": "MIN_DX10", "frc": "FRACT", "flr": "FLOOR",
    "trc": "TRUNC", "rnd": "RNDNE", "round_nearest": "RNDNE", "round_neginf": "FLOOR", "round_plusinf": "CEIL",
    "round_posinf": "CEIL", "round_z": "TRUNC", "eq": "SETE_DX10", "ne": "SETNE_DX10", "ge": "SETGE_DX10",
    "gt": "SETGT_DX10", "exp": "EXP_IEEE", "exp_vec": "EXP_IEEE", "log": "LOG_IEEE", "log_vec": "LOG_IEEE",
    "expp": "EXP_IEEE", "logp": "LOG_IEEE",
    "sqrt": "SQRT_IEEE", "sqrt_vec": "SQRT_IEEE", "rsq_vec": "RECIPSQRT_IEEE", "rcp_vec": "RECIP_IEEE",
    "iadd": "ADD_INT", "isub": "SUB_INT", "imul": "MULLO_INT", "umul": "MULLO_UINT", "imul_high": "MULHI_INT",
    "umul_high": "MULHI_UINT", "imin": "MIN_INT", "imax": "MAX_INT", "umin": "MIN_UINT", "umax": "MAX_UINT",
    "iand": "AND_INT", "and": "AND_INT", "ior": "OR_INT", "ixor": "XOR_INT", "inot": "NOT_INT",
    "ieq": "SETE_INT", "ine": "SETNE_INT", "ige": "SETGE_INT",
    "uge": "SETGE_UINT", "itof": "INT_TO_FLT", "utof": "UINT_TO_FLT",
}  # fmt: skip

# The rest, lane by lane.
_BY_NAME: dict[str, Lane] = {
    "sub": lambda b, made, x, y: b.alu("ADD", x, negated(y)),
    "abs": lambda b, made, x: b.alu("MOV", magnitude(x)),
    "cmov": lambda b, made, c, x, y: b.alu("CNDE", c, y, x),
    "cmov_logical": lambda b, made, c, x, y: select(b, c, x, y),
    "lt": lambda b, made, x, y: b.alu("SETGT_DX10", y, x),
    "le": lambda b, made, x, y: b.alu("SETGE_DX10", y, x),
    "ilt": lambda b, made, x, y: b.alu("SETGT_INT", y, x),
    "ult": lambda b, made, x, y: b.alu("SETGT_UINT", y, x),
    "inegate": lambda b, made, x: b.alu("SUB_INT", ZERO, x),
    "ishl": lambda b, made, x, y: b.alu("LSHL_INT", x, _low5(b, y)),
    "ishr": lambda b, made, x, y: b.alu("ASHR_INT", x, _low5(b, y)),
    "ushr": lambda b, made, x, y: b.alu("LSHR_INT", x, _low5(b, y)),
    "imad": lambda b, made, x, y, z: multiply_add(b, x, y, z),
    "umad": lambda b, made, x, y, z: multiply_add(b, x, y, z),
    "exn": lambda b, made, x: b.alu("EXP_IEEE", b.alu("MUL_IEEE", x, real(math.log2(math.e)))),
    "ln": lambda b, made, x: b.alu("MUL_IEEE", b.alu("LOG_IEEE", x), real(math.log(2.0))),
    "sin": lambda b, made, x: b.alu("SIN", turns(b, x)),
    "sin_vec": lambda b, made, x: b.alu("SIN", turns(b, x)),
    "cos": lambda b, made, x: b.alu("COS", turns(b, x)),
    "cos_vec": lambda b, made, x: b.alu("COS", turns(b, x)),
    "sgn": lambda b, made, x: sign(b, x),
    "ftoi": lambda b, made, x: to_int(b, x),
    "ftou": lambda b, made, x: to_uint(b, x),
    "mova": lambda b, made, x: to_int(b, Use(b.alu("RNDNE", x))),
    "imul24_high": lambda b, made, x, y: b.alu("MULHI_INT", _signed24(b, x), _signed24(b, y)),
    "umul24_high": lambda b, made, x, y: b.alu("MULHI_UINT", _unsigned24(b, x), _unsigned24(b, y)),
    "div": _div, "rcp": _rcp, "rsq": rsq, "mod": _mod, "set": _set, "cmp": _cmp, "clamp": _clamp, "lrp": _lrp,
    "pow": _pow, "tan": _tan, "asin": _asin, "acos": _acos, "atan": _atan, "icarry": _carry, "iborrow": _borrow,
    "icbits": _bits, "ffb_hi": _first_high, "ffb_lo": _first_low, "ffb_shi": _first_sign, "ubit_reverse": _reverse,
    "ubit_extract": _extract, "ibit_extract": _extract_signed, "ubit_insert": _insert, "bitalign": _align,
    "bytealign": _byte_align, "sad": _sad, "sad_hi": _sad_hi, "u4lerp": _lerp, "unpack0": _unpack(0),
    "unpack1": _unpack(1), "unpack2": _unpack(2), "unpack3": _unpack(3), "imul24": _imul24, "imad24": _imad24,
    "umul24": _umul24, "umad24": _umad24, "f2f16": _half_from_float, "f162f": _float_from_half, "udiv": _udiv,
    "umod": _umod,
}  # fmt: skip


# -- operations over a register's lanes --------------------------------------------------------------------------------


def _dot(name: str, count: int) -> Callable[[Lowering, Instruction], Ref]:
    def dot(lowering: Lowering, made: Instruction) -> Ref:
        b = lowering.builder
        row = "DOT4_IEEE" if name.endswith("_ieee") or made.modifier("ieee") is not None else "DOT4"
        pairs: list[Input] = []
        for k in range(4):
            pairs += [lowering.read(o, "f", k) for o in made.operands[1:3]] if k < count else [ZERO, ZERO]
        if count == 2:
            multiply = "MUL_IEEE" if row == "DOT4_IEEE" else "MUL"
            add = "MULADD_IEEE" if row == "DOT4_IEEE" else "MULADD"
            return b.alu(add, pairs[2], pairs[3], b.alu(multiply, pairs[0], pairs[1]))
        return b.wide(row, pairs, 1)[0]

    return dot


def _length2(lowering: Lowering, made: Instruction, operands: list[Use]) -> Ref:
    b = lowering.builder
    return b.wide("DOT4_IEEE", [x for use_ in operands for x in (use_, use_)] + [ZERO, ZERO], 1)[0]


def _len(lowering: Lowering, made: Instruction) -> Ref:
    parts = [lowering.read(made.operands[1], "f", k) for k in range(3)]
    return lowering.builder.alu("SQRT_IEEE", _length2(lowering, made, parts))


def _dist(lowering: Lowering, made: Instruction) -> Ref:
    b = lowering.builder
    parts = []
    for k in range(3):
        x, y = (lowering.read(o, "f", k) for o in made.operands[1:3])
        parts.append(Use(b.alu("ADD", x, negated(y))))
    return b.alu("SQRT_IEEE", _length2(lowering, made, parts))


def _dp2add(lowering: Lowering, made: Instruction) -> Ref:
    return lowering.builder.alu("ADD", _dot("dp2", 2)(lowering, made), lowering.read(made.operands[3], "F", 0))


def _pack(lowering: Lowering, made: Instruction) -> Ref:
    """f2u4: four numbers clamped to 0…255 and rounded, the first in the lowest byte."""
    b = lowering.builder
    result: Ref = ZERO
    for k in range(4):
        x = lowering.read(made.operands[1], "f", k)
        whole = b.alu("RNDNE", b.alu("MIN_DX10", b.alu("MAX_DX10", x, ZERO), real(255.0)))
        byte = b.alu("FLT_TO_UINT", whole)
        result = b.alu("OR_INT", result, b.alu("LSHL_INT", byte, number(8 * k)))
    return result


def _sad4(lowering: Lowering, made: Instruction) -> Ref:
    b = lowering.builder
    total: Ref = lowering.read(made.operands[3], "U", 0).ref
    for k in range(4):
        x, y = (lowering.read(o, "u", k) for o in made.operands[1:3])
        total = _sad(b, made, x, y, Use(total))
    return total


def _det(lowering: Lowering, made: Instruction) -> Ref:
    """The determinant of four registers, by the first one's lanes."""
    b = lowering.builder
    assert lowering.environment is not None
    first = made.operands[1].register.number or 0
    rows = [[lowering.environment.get(("r", first + k, lane)) for lane in range(4)] for k in range(4)]

    def minor(k: int, columns: list[int]) -> Ref:
        """Of the rows from k on, in some columns."""
        if len(columns) == 1:
            return rows[k][columns[0]]
        total: Ref | None = None
        for n, column in enumerate(columns):
            rest = minor(k + 1, [c for c in columns if c != column])
            factor = negated(rows[k][column]) if n % 2 else use(rows[k][column])
            total = b.alu("MUL_IEEE", factor, rest) if total is None else b.alu("MULADD_IEEE", factor, rest, total)
        assert total is not None
        return total

    return minor(0, [0, 1, 2, 3])


_SCALAR_RESULTS: dict[str, Callable[[Lowering, Instruction], Ref]] = {
    **{f"dp{n}{ieee}": _dot(f"dp{n}{ieee}", n) for n in (2, 3, 4) for ieee in ("", "_ieee")},
    "dp2add": _dp2add,
    "len": _len,
    "dist": _dist,
    "f2u4": _pack,
    "sad4": _sad4,
    "det": _det,
}
_BY_NAME.update(dict.fromkeys(_SCALAR_RESULTS, lambda b, made: ZERO))
