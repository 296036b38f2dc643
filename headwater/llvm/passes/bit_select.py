"""Input: an optimised module. Output: the same kept from an instruction that LLVM gets wrong on processors with
AVX-512.

LLVM makes ``(x & C) | (y & ~C)`` one vpternlog. If lanes that a mask excludes keep ``x`` or ``y``, and an operand comes
from memory, as constants do, the instruction has the truth table of other operands (LLVM's issue 157929, in all
versions up to 22.1). It does so only if the selection of lanes is one of integers: here it becomes one of floats.
"""

from __future__ import annotations

from headwater.llvm.ir import Body, Inst, Module
from headwater.llvm.types import Type

_FLOATS = {32: "float", 64: "double"}


def without_masked_bit_selects(module: Module) -> bool:
    """Change such selections; whether there are any."""
    return module.each(_function)


def _function(body: Body) -> bool:
    if "select" not in body.operations:
        return False
    parts = {inst.name for _, inst in body.having("and", within="<") if _is_masked(inst)}
    parts |= {inst.name for _, inst in body.calls("llvm.fabs.")}
    wanted = {inst.name for _, inst in body.calls("llvm.copysign.")}
    if not parts and not wanted:
        return False
    casts = [
        (inst.name, inst.args[0].text)
        for _, inst in body.having("bitcast", within="<")
        if _of_words(inst.ty) and _of_words(inst.args[0].ty)
    ]
    parts |= {name for name, of in casts if of in parts}
    wanted |= {
        inst.name
        for _, inst in body.having("or", within="<")
        if _of_words(inst.ty)
        and all(value.is_local for value in inst.args)
        and any(value.text in parts for value in inst.args)
    }
    wanted |= {name for name, of in casts if of in wanted}
    changes: dict[int, tuple[str, ...]] = {}
    for number, inst in body.having("select", within="<"):
        mask, one, other = inst.args
        if mask.ty.kind != "vec" or not _of_words(one.ty) or one.ty.scalar.kind != "int":
            continue
        if one.text in wanted or other.text in wanted:
            floats = f"<{one.ty.count} x {_FLOATS[one.ty.scalar.bits]}>"
            made = f"%hw.select.{len(changes) + 1}"
            changes[number] = (
                f"  {made}.one = bitcast {one.ty} {one.text} to {floats}",
                f"  {made}.other = bitcast {one.ty} {other.text} to {floats}",
                f"  {made} = select {mask.ty} {mask.text}, {floats} {made}.one, {floats} {made}.other",
                f"  {inst.name} = bitcast {floats} {made} to {one.ty}",
            )
    return body.replace(changes)


def _is_masked(inst: Inst) -> bool:
    """Whether it takes some bits, which are constants, of a value."""
    return _of_words(inst.ty) and any(value.elems is not None for value in inst.args)


def _of_words(ty: Type) -> bool:
    """Whether it is a vector of numbers of 32 or 64 bits."""
    return ty.kind == "vec" and ty.scalar.bits in _FLOATS
