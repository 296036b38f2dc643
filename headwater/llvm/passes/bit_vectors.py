"""Input: a prepared module. Output: the same with bytes in place of vectors of bits.

LLVM takes the lowest bit of a vector's component as an element of the vector's bits: of <8 x i8> in memory, component 4
is bit 32 of <64 x i1>. In memory those lie 8 in a byte, other than anything else that the vectoriser loads.
"""

from __future__ import annotations

from headwater.llvm.ir import Body, Inst, Module
from headwater.llvm.text import names_in

_BITS_OF_A_BYTE = 8


def without_bit_vectors(module: Module) -> None:
    """Take such bits from bytes."""
    for body in module.bodies.values():
        _function(body)


def _function(body: Body) -> None:
    made = {
        number: inst
        for number, inst in body.having("load", "bitcast", within=" x i1>")
        if inst.ty.kind == "vec" and inst.ty.scalar.bits == 1 and inst.ty.count % _BITS_OF_A_BYTE == 0
    }
    if not made:
        return
    bits: dict[str, dict[int, Inst]] = {inst.name: {} for inst in made.values()}
    for number, inst in body.having("extractelement", within=" x i1> "):
        if inst.args[0].text in bits and inst.args[1].text.isdigit():
            bits[inst.args[0].text][number] = inst
    uses = dict.fromkeys(bits, -1)  # the line that makes it has the name, too
    for line in body.lines:
        for name in set(names_in(line)) & bits.keys():
            uses[name] += 1
    changes: dict[int, list[str]] = {}
    for number, inst in made.items():
        taken = bits[inst.name]
        if len(taken) == uses[inst.name]:
            kind = f"<{inst.ty.count // _BITS_OF_A_BYTE} x i8>"
            changes[number] = [body.lines[number].replace(f"{inst.ty}", kind)]
            changes |= {at: _from_byte(one, kind) for at, one in taken.items()}
    body.replace(changes)


def _from_byte(inst: Inst, kind: str) -> list[str]:
    """What takes a bit from its byte."""
    byte, place = divmod(int(inst.args[1].text), _BITS_OF_A_BYTE)
    own = inst.name[1:]
    lines = [f"  %hw.byte.{own} = extractelement {kind} {inst.args[0].text}, i64 {byte}{inst.attached}"]
    if place:
        lines.append(f"  %hw.moved.{own} = lshr i8 %hw.byte.{own}, {place}")
    lines.append(f"  {inst.name} = trunc i8 %hw.{'moved' if place else 'byte'}.{own} to i1{inst.attached}")
    return lines
