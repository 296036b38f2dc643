"""Input: an optimised module. Output: the same kept from divisions of bytes that LLVM gets wrong on x86.

LLVM divides vectors of bytes by constants with products, shifts and masks of whole registers of bytes. Where lanes of
the result are then picked, spread or multiplied it leaves out masks that are needed after all (LLVM 22.1, with AVX2:
``mul (shufflevector (udiv <4 x i8> %x, splat (i8 31)), …, <0, 0, 1, 1, …>), %y`` is 0). Here such numbers are divided
as 16-bit numbers, whose products' upper halves are one instruction (pmulhuw, pmulhw).
"""

from __future__ import annotations

from headwater.llvm.ir import Body, Inst, Module

_BITS, _HALF_BITS = 8, 16


def without_byte_quotients(module: Module) -> bool:
    """Divide such bytes as 16-bit numbers; whether there are any."""
    return module.each(_widen)


def _widen(body: Body) -> bool:
    changes: dict[int, tuple[str, ...]] = {}
    for number, inst in body.having("udiv", "sdiv", "urem", "srem", within=" x i8>"):
        if (divisors := _divisors(inst)) is not None:
            changes[number] = _divided(inst, divisors, f"%hw.bytes.{len(changes) + 1}")
    return body.replace(changes)


def _divisors(inst: Inst) -> list[int] | None:
    """The numbers that the lanes are divided by, if they are known and not all powers of two: those are shifts."""
    elements = inst.args[1].elems
    if elements is None or not all(element.text.lstrip("-").isdecimal() for element in elements):
        return None
    signed = inst.op in ("sdiv", "srem")
    numbers = [int(element.text) for element in elements]
    if not signed:
        numbers = [number % (1 << _BITS) for number in numbers]
    return None if 0 in numbers or all(abs(n) & (abs(n) - 1) == 0 for n in numbers) else numbers


def _divided(inst: Inst, divisors: list[int], name: str) -> tuple[str, ...]:
    """The lines that do ``inst``.

    For 0 <= x < 2^8 and 0 < c < 2^8, floor(x / c) is floor(x * m / 2^16) with m = floor(2^16 / c) + 1: the error
    x * (m * c - 2^16) / (c * 2^16) is below 1 / c, as x * c is below 2^16. For x from -2^7 to -1 the same is one less
    than the quotient that is rounded to zero.
    """
    lanes, value = inst.ty.count, inst.args[0].text
    bytes_, halves, words = (f"<{lanes} x i{bits}>" for bits in (_BITS, _HALF_BITS, 2 * _HALF_BITS))

    def constants(numbers: list[int], bits: int) -> str:
        return f"<{', '.join(f'i{bits} {number}' for number in numbers)}>"

    signed = inst.op in ("sdiv", "srem")
    widen, shift = ("sext", "ashr") if signed else ("zext", "lshr")
    factors = constants([(1 << _HALF_BITS) // abs(c) + 1 for c in divisors], 2 * _HALF_BITS)
    lines = [
        f"  {name}.half = {widen} {bytes_} {value} to {halves}",
        f"  {name}.word = {widen} {halves} {name}.half to {words}",
        f"  {name}.product = mul {words} {name}.word, {factors}",
        f"  {name}.high = {shift} {words} {name}.product, {constants([_HALF_BITS] * lanes, 2 * _HALF_BITS)}",
    ]
    if signed:
        signs = constants([-1 if c < 0 else 1 for c in divisors], _HALF_BITS)
        lines += [
            f"  {name}.floor = trunc {words} {name}.high to {halves}",
            f"  {name}.below = ashr {halves} {name}.half, {constants([_HALF_BITS - 1] * lanes, _HALF_BITS)}",
            f"  {name}.nearer = sub {halves} {name}.floor, {name}.below",
            f"  {name}.quotient = mul {halves} {name}.nearer, {signs}",
        ]
    else:
        lines.append(f"  {name}.quotient = trunc {words} {name}.high to {halves}")
    result = "quotient"
    if inst.op in ("urem", "srem"):
        result = "rest"
        lines += [
            f"  {name}.whole = mul {halves} {name}.quotient, {constants(divisors, _HALF_BITS)}",
            f"  {name}.rest = sub {halves} {name}.half, {name}.whole",
        ]
    return (*lines, f"  {inst.name} = trunc {halves} {name}.{result} to {bytes_}")
