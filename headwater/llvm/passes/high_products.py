"""Input: an optimised module. Output: the same kept from a multiplication that LLVM gets wrong on x86.

LLVM makes ``trunc to 16 bits (a * b >> n)``, both factors signed 16-bit numbers in 64 bits, a pmulhw and a shift of its
result by n - 16. For n above 16 that shift fills with zeros where it should with the sign (LLVM 22.1, combinePMULH).
Here such a result is narrowed to 32 bits, and its 16-bit halves are picked.
"""

from __future__ import annotations

from headwater.llvm.ir import Body, Module
from headwater.llvm.types import Type

_HALF_BITS = 16


def without_high_products(module: Module) -> bool:
    """Narrow such products in two steps; whether there are any."""
    return module.each(_narrow)


def _narrow(body: Body) -> bool:
    narrowed = {
        number: inst
        for number, inst in body.having("trunc", within=" x i16>")
        if _is_vector(inst.args[0].ty, 4 * _HALF_BITS)
    }
    if not narrowed:
        return False
    products = {inst.name for _, inst in body.having("mul", within=" x i64> ")}
    shifts = {
        inst.name
        for _, inst in body.having("lshr", "ashr", within=" x i64> ")
        if inst.args[0].text in products and (by := inst.args[1].splat) is not None and int(by.text) > _HALF_BITS
    }
    changes: dict[int, tuple[str, ...]] = {}
    for number, inst in narrowed.items():
        source = inst.args[0]
        if source.text in shifts:
            n = len(changes) + 1
            lanes, words = source.ty.count, f"<{source.ty.count} x i32>"
            halves = f"<{2 * lanes} x i16>"
            even = f"<{lanes} x i32> <{', '.join(f'i32 {2 * k}' for k in range(lanes))}>"
            changes[number] = (
                f"  %hw.high.words.{n} = trunc {source.ty} {source.text} to {words}",
                f"  %hw.high.halves.{n} = bitcast {words} %hw.high.words.{n} to {halves}",
                f"  {inst.name} = shufflevector {halves} %hw.high.halves.{n}, {halves} poison, {even}",
            )
    return body.replace(changes)


def _is_vector(ty: Type, bits: int) -> bool:
    return ty.kind == "vec" and ty.scalar.kind == "int" and ty.scalar.bits == bits
