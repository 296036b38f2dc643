"""Input: an optimised module. Output: the same kept from spread bytes at which LLVM does not end.

Where 64 bytes come from a shuffle and are added to themselves, LLVM 22.1 takes turns between two forms of that for
processors with AVX-512 and never ends (in SelectionDAG::Legalize). It finds such sums in others, too: ``x << 1``,
``x + (x - 2)``, some lanes of ``x + (c ? 0 : x)``; no list of them is complete. Here what a shuffle makes goes through
an empty assembly text, which LLVM does not look through, where anything is computed of it.
"""

from __future__ import annotations

from headwater.llvm.ir import Body, Inst, Module
from headwater.llvm.values import BINARY

_LANES = 64
"""Of bytes, in the largest register."""


def with_spread_bytes_kept(module: Module) -> bool:
    """Write such shuffles so; whether there are any."""
    return module.each(_function)


def _function(body: Body) -> bool:
    spread = {}
    for number, inst in body.having("shufflevector", within="i8>"):
        if inst.ty.scalar.bits == 8 and inst.ty.count >= _LANES and inst.ty.count % _LANES == 0:
            spread[number] = inst
    if not spread:
        return False
    users = body.having(*BINARY, "select", "icmp", "call", within="i8>")
    used = {value.text for _, inst in users for value in inst.args}
    return body.replace(
        {number: _kept(body.lines[number], inst) for number, inst in spread.items() if inst.name in used}
    )


def _kept(line: str, inst: Inst) -> list[str]:
    ty, part = inst.ty, f"<{_LANES} x i8>"
    made = f"%hw.spread.{inst.name.lstrip('%').strip(chr(34))}"
    lines = [line.replace(f"{inst.name} =", f"{made} =", 1)]
    if ty.count == _LANES:
        return [*lines, f'  {inst.name} = call {part} asm "", "=v,0"({part} {made})']
    whole = "poison"
    for first in range(0, ty.count, _LANES):
        own, all_lanes = range(first, first + _LANES), range(ty.count)
        taken = ", ".join(f"i32 {lane}" for lane in own)
        widened = ", ".join(f"i32 {lane - first if lane in own else 'poison'}" for lane in all_lanes)
        joined = ", ".join(f"i32 {lane + ty.count if lane in own else lane}" for lane in all_lanes)
        name = f"{made}.{first}"
        into = inst.name if first + _LANES == ty.count else f"{name}.joined"
        lines += [
            f"  {name}.seen = shufflevector {ty} {made}, {ty} poison, <{_LANES} x i32> <{taken}>",
            f'  {name} = call {part} asm "", "=v,0"({part} {name}.seen)',
            f"  {name}.wide = shufflevector {part} {name}, {part} poison, <{ty.count} x i32> <{widened}>",
            f"  {into} = shufflevector {ty} {whole}, {ty} {name}.wide, <{ty.count} x i32> <{joined}>",
        ]
        whole = into
    return lines
