"""Input: bits of floats. Output: the bits of what an operation on them gives, by exact rational arithmetic and one
rounding."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

_FORMATS = {"f16": (16, 10), "f32": (32, 23), "f64": (64, 52)}
NEAREST, UP, DOWN, ZERO = 0, 1, 2, 3
"""Roundings as MODE counts them (AMD, Vega ISA Reference Guide, "MODE register fields")."""


def compute(op: str, bits: Sequence[int], type_: str, rounding: int) -> int:
    """``fadd``, ``fsub``, ``fmul``, ``fdiv``, ``fma`` or ``sqrt`` of one type's floats; a NaN result is quiet."""
    values = [decode(x, type_) for x in bits]
    if any(v == "nan" for v in values):
        return _nan(type_)
    signs = [_sign(x, type_) for x in bits]
    if op == "fsub":
        return compute("fadd", [bits[0], bits[1] ^ _sign_bit(type_)], type_, rounding)
    if op == "fma":
        return _fma(values, signs, type_, rounding)
    if op == "fadd":
        return _add(values, signs, type_, rounding)
    if op == "fmul":
        return _add([*_product(values, signs), Fraction(0)], [signs[0] ^ signs[1]] * 2, type_, rounding)
    if op == "fdiv":
        return _divide(values, signs, type_, rounding)
    return _root(values[0], signs[0], type_, rounding)


def convert(bits: int, have: str, want: str, rounding: int) -> int:
    """A float in another format."""
    value = decode(bits, have)
    sign = _sign(bits, have)
    if value == "nan":
        return _nan(want)
    return _infinity(sign, want) if value == "inf" else encode(_number(value), sign, want, rounding)


def from_int(value: int, want: str, rounding: int) -> int:
    """An integer as a float."""
    return encode(Fraction(value), int(value < 0), want, rounding)


def ldexp(bits: int, n: int, type_: str) -> int:
    """A float times 2ⁿ, to nearest."""
    value = decode(bits, type_)
    if value == "nan":
        return _nan(type_)
    if value == "inf":
        return bits
    scaled = _number(value) * Fraction(2) ** max(min(n, 5000), -5000)
    return encode(scaled, _sign(bits, type_), type_, NEAREST)


def decode(bits: int, type_: str) -> Fraction | str:
    """The number (zeros without their sign), or "inf" or "nan"."""
    width, mantissa = _FORMATS[type_]
    field = bits >> mantissa & ((1 << (width - 1 - mantissa)) - 1)
    fraction = bits & ((1 << mantissa) - 1)
    bias = (1 << (width - 2 - mantissa)) - 1
    if field == 2 * bias + 1:
        return "nan" if fraction else "inf"
    whole = fraction + (1 << mantissa) if field else fraction
    number = Fraction(whole) * Fraction(2) ** (max(field, 1) - bias - mantissa)
    return -number if _sign(bits, type_) else number


def encode(value: Fraction, sign: int, type_: str, rounding: int) -> int:
    """The float that a number rounds to; a zero gets ``sign``."""
    width, mantissa = _FORMATS[type_]
    bias = (1 << (width - 2 - mantissa)) - 1
    if value == 0:
        return sign << (width - 1)
    sign = int(value < 0)
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    exponent = max(exponent, 1 - bias)
    scaled = size / Fraction(2) ** (exponent - mantissa)
    whole = scaled.numerator // scaled.denominator
    rest = scaled - whole
    away = rest and ((rounding == UP and not sign) or (rounding == DOWN and sign))
    if rounding == NEAREST:
        away = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1)
    whole += 1 if away else 0
    # A mantissa that grew too long carries into the exponent by itself.
    field = exponent + bias - 1 if whole >> mantissa else 0
    result = (field << mantissa) + whole
    largest = ((2 * bias + 1) << mantissa) - 1
    if result > largest:
        outward = rounding == NEAREST or (rounding == UP and not sign) or (rounding == DOWN and sign)
        result = largest + 1 if outward else largest
    return sign << (width - 1) | result


def _number(value: Fraction | str) -> Fraction:
    assert isinstance(value, Fraction)
    return value


def _product(values: Sequence[Fraction | str], signs: Sequence[int]) -> list[Fraction | str]:
    if "inf" in values[:2]:
        return ["nan" if 0 in values[:2] else "inf"]
    return [_number(values[0]) * _number(values[1])]


def _fma(values: Sequence[Fraction | str], signs: Sequence[int], type_: str, rounding: int) -> int:
    product = _product(values, signs)[0]
    if product == "nan":
        return _nan(type_)
    return _add([product, values[2]], [signs[0] ^ signs[1], signs[2]], type_, rounding)


def _add(values: Sequence[Fraction | str], signs: Sequence[int], type_: str, rounding: int) -> int:
    a, b = values
    if a == "nan" or (a == "inf" and b == "inf" and signs[0] != signs[1]):
        return _nan(type_)
    if a == "inf" or b == "inf":
        return _infinity(signs[0] if a == "inf" else signs[1], type_)
    total = _number(a) + _number(b)
    # An exact zero is positive, except downwards or where both are negative (IEEE 754-2008, 6.3).
    zero = signs[0] if signs[0] == signs[1] else int(rounding == DOWN)
    return encode(total, zero, type_, rounding)


def _divide(values: Sequence[Fraction | str], signs: Sequence[int], type_: str, rounding: int) -> int:
    a, b = values
    sign = signs[0] ^ signs[1]
    if (a == "inf" and b == "inf") or (a == 0 and b == 0):
        return _nan(type_)
    if a == "inf" or b == 0:
        return _infinity(sign, type_)
    if b == "inf":
        return encode(Fraction(0), sign, type_, rounding)
    return encode(_number(a) / _number(b), sign, type_, rounding)


def _root(value: Fraction | str, sign: int, type_: str, rounding: int) -> int:
    if value == 0:
        return encode(Fraction(0), sign, type_, rounding)
    if sign:
        return _nan(type_)
    if value == "inf":
        return _infinity(0, type_)
    # The root to 200 bits, with a last bit that stands for all that follow.
    number = _number(value)
    scaled = number * Fraction(4) ** 1300
    whole = scaled.numerator // scaled.denominator
    root = isqrt(whole)
    sticky = int(root * root != whole or whole != scaled)
    return encode(Fraction(2 * root + sticky) / Fraction(2) ** 1301, 0, type_, rounding)


def _sign_bit(type_: str) -> int:
    return 1 << (_FORMATS[type_][0] - 1)


def _sign(bits: int, type_: str) -> int:
    return int(bool(bits & _sign_bit(type_)))


def _nan(type_: str) -> int:
    width, mantissa = _FORMATS[type_]
    return ((1 << (width - mantissa)) - 1) << (mantissa - 1)


def _infinity(sign: int, type_: str) -> int:
    width, mantissa = _FORMATS[type_]
    return (sign << (width - 1)) | (((1 << (width - 1 - mantissa)) - 1) << mantissa)
