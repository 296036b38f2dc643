"""Division of unsigned integers. Input: two values. Output: the operations that give quotient or remainder."""

from __future__ import annotations

from headwater.isa.vliw.compiler.build import ZERO, Builder, number, real
from headwater.isa.vliw.compiler.ir import Const, Ref

_BITS = 32


def divide_unsigned(b: Builder, x: Ref, y: Ref) -> Ref:
    """The quotient; of a division by 0, all ones (Direct3D 10)."""
    if type(y) is Const:
        return _by_constant(b, x, y.bits)
    quotient, _ = _both(b, x, y)
    return b.alu("CNDE_INT", y, number(-1), quotient)


def remainder_unsigned(b: Builder, x: Ref, y: Ref) -> Ref:
    """The remainder; of a division by 0, all ones (Direct3D 10)."""
    if type(y) is Const:
        divisor = y.bits
        if divisor and not divisor & (divisor - 1):
            return b.alu("AND_INT", x, number(divisor - 1))
        if divisor == 0:
            return number(-1)
        return b.alu("SUB_INT", x, b.alu("MULLO_UINT", _by_constant(b, x, divisor), y))
    _, remainder = _both(b, x, y)
    return b.alu("CNDE_INT", y, number(-1), remainder)


def _by_constant(b: Builder, x: Ref, divisor: int) -> Ref:
    """Multiplication by the reciprocal (Granlund and Montgomery, Division by Invariant Integers, figure 4.1)."""
    if divisor == 0:
        return number(-1)
    if divisor == 1:
        return x
    if not divisor & (divisor - 1):
        return b.alu("LSHR_INT", x, number(divisor.bit_length() - 1))
    length = (divisor - 1).bit_length()
    for shift in range(length + 1):  # the shortest multiplier that is exact, if one has 32 bits
        multiplier = -(-(1 << (_BITS + shift)) // divisor)
        if multiplier < 1 << _BITS and multiplier * divisor - (1 << (_BITS + shift)) <= 1 << shift:
            return b.alu("LSHR_INT", b.alu("MULHI_UINT", x, number(multiplier)), number(shift))
    multiplier = (((1 << length) - divisor) << _BITS) // divisor + 1
    high = b.alu("MULHI_UINT", x, number(multiplier))
    half = b.alu("LSHR_INT", b.alu("SUB_INT", x, high), number(1))
    return b.alu("LSHR_INT", b.alu("ADD_INT", half, high), number(length - 1))


def _both(b: Builder, x: Ref, y: Ref) -> tuple[Ref, Ref]:
    """Quotient and remainder of a division by something that is not 0.

    An approximate reciprocal of 32 fractional bits, never too large, made better by a step of Newton's; the quotient
    is then too small by at most 2.
    """
    by_integers = b.target.has("RECIP_UINT")
    if not by_integers:
        # In single precision, scaled to a little less than 2^32.
        estimate = b.alu("MUL_IEEE", b.alu("RECIP_IEEE", b.alu("UINT_TO_FLT", y)), number(0x4F7FFFFE))
        reciprocal = b.alu("FLT_TO_UINT", estimate)
        error = b.alu("MULLO_UINT", b.alu("SUB_INT", ZERO, y), reciprocal)
        reciprocal = b.alu("ADD_INT", reciprocal, b.alu("MULHI_UINT", reciprocal, error))
    else:
        # RECIP_UINT may be off to either side: the sign of its error says which way the step goes.
        first = b.alu("RECIP_UINT", y)
        low, high = b.alu("MULLO_UINT", first, y), b.alu("MULHI_UINT", first, y)
        off = b.alu("CNDE_INT", high, b.alu("SUB_INT", ZERO, low), low)
        step = b.alu("MULHI_UINT", off, first)
        reciprocal = b.alu("CNDE_INT", high, b.alu("ADD_INT", first, step), b.alu("SUB_INT", first, step))
    quotient = b.alu("MULHI_UINT", x, reciprocal)
    product = b.alu("MULLO_UINT", quotient, y)
    remainder = b.alu("SUB_INT", x, product)
    if by_integers:
        over = b.alu("SETGT_UINT", product, x)
        quotient = b.alu("ADD_INT", quotient, over)  # a mask of all ones is -1
        remainder = b.alu("CNDE_INT", over, remainder, b.alu("ADD_INT", remainder, y))
    for _ in range(1 if by_integers else 2):
        enough = b.alu("SETGE_UINT", remainder, y)
        quotient = b.alu("SUB_INT", quotient, enough)
        remainder = b.alu("CNDE_INT", enough, remainder, b.alu("SUB_INT", remainder, y))
    return quotient, remainder


__all__ = ["divide_unsigned", "real", "remainder_unsigned"]
