"""Input: an optimised module. Output: the same kept from spread bytes at which LLVM does not end.

Where 64 bytes come from a shuffle and are added to themselves, LLVM 22.1 takes turns between two forms of that for
processors with AVX-512 and never ends (in SelectionDAG::Legalize). It finds such sums in others, too: ``x << 1``,
``x + (x - 2)``, some lanes of ``x + (c ? 0 : x)``; and random functions showed the same of other operations, and of
such before a shuffle: of ``(c ? a : b) ^ a``, 8 bytes of which are spread. Here what a shuffle makes of 64 bytes goes
through an empty assembly text, which LLVM does not look through, where anything is computed of it; and so does what is
computed of 64 bytes and shuffled to as many.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from headwater.llvm.ir import Body, Inst, Module
from headwater.llvm.types import Type
from headwater.llvm.values import BINARY

_LANES = 64
"""Of bytes, in the largest register."""
_COMPUTING = (*BINARY, "select", "call")


def with_spread_bytes_kept(module: Module) -> bool:
    """Write such shuffles so; whether there are any."""
    return module.each(_function)


def _function(body: Body) -> bool:
    shuffles = {inst.name: (number, inst) for number, inst in body.having("shufflevector", within="i8>")}
    spread = {number: inst for number, inst in shuffles.values() if _is_wide(inst)}
    if not spread:
        return False
    users = [inst for _, inst in body.having(*_COMPUTING, "icmp", within="i8>")]
    used = {value.text for inst in users for value in inst.args}
    computed = {inst.name for inst in users if inst.op != "icmp" and _is_wide(inst)}
    results = {number for number, inst in spread.items() if inst.name in used}
    sources: dict[int, set[str]] = {}
    for inst in spread.values():
        _find_sources(inst, shuffles, computed, sources)
    return body.replace(
        {
            number: _kept(body.lines[number], inst, sources.get(number, set()), result=number in results)
            for number, inst in shuffles.values()
            if number in results or number in sources
        }
    )


def _is_wide(inst: Inst) -> bool:
    return inst.ty.scalar.bits == 8 and inst.ty.count >= _LANES and inst.ty.count % _LANES == 0


def _find_sources(
    inst: Inst, shuffles: Mapping[str, tuple[int, Inst]], computed: Set[str], found: dict[int, set[str]]
) -> None:
    """Follow a shuffle's operands through others to what is computed of as many bytes as a register has."""
    waiting, seen = [inst.name], set()
    while waiting:
        if (name := waiting.pop()) in seen:
            continue
        seen.add(name)
        number, one = shuffles[name]
        for value in one.args:
            if value.text in computed:
                found.setdefault(number, set()).add(value.text)
            elif value.text in shuffles:
                waiting.append(value.text)


def _kept(line: str, inst: Inst, sources: Set[str], *, result: bool) -> list[str]:
    """A shuffle of hidden ``sources``, whose result is hidden, too, or not."""
    made, lines = f"%hw.spread.{inst.name.lstrip('%').strip(chr(34))}", []
    for n, value in enumerate(inst.args):
        if value.text in sources:
            hidden = f"{made}.source.{n}"
            lines += _through_text(value.ty, value.text, hidden)
            line = line.replace(f"{value.ty} {value.text},", f"{value.ty} {hidden},", 1)
    if not result:
        return [*lines, line]
    return [*lines, line.replace(f"{inst.name} =", f"{made} =", 1), *_through_text(inst.ty, made, inst.name, made)]


def _through_text(ty: Type, value: str, result: str, name: str = "") -> list[str]:
    """``value`` through an empty assembly text, or a text for each register."""
    part, name = f"<{_LANES} x i8>", name or result
    if ty.count == _LANES:
        return [f'  {result} = call {part} asm "", "=v,0"({part} {value})']
    lines, whole = [], "poison"
    for first in range(0, ty.count, _LANES):
        own, all_lanes = range(first, first + _LANES), range(ty.count)
        taken = ", ".join(f"i32 {lane}" for lane in own)
        widened = ", ".join(f"i32 {lane - first if lane in own else 'poison'}" for lane in all_lanes)
        joined = ", ".join(f"i32 {lane + ty.count if lane in own else lane}" for lane in all_lanes)
        one = f"{name}.{first}"
        into = result if first + _LANES == ty.count else f"{one}.joined"
        lines += [
            f"  {one}.seen = shufflevector {ty} {value}, {ty} poison, <{_LANES} x i32> <{taken}>",
            f'  {one} = call {part} asm "", "=v,0"({part} {one}.seen)',
            f"  {one}.wide = shufflevector {part} {one}, {part} poison, <{ty.count} x i32> <{widened}>",
            f"  {into} = shufflevector {ty} {whole}, {ty} {one}.wide, <{ty.count} x i32> <{joined}>",
        ]
        whole = into
    return lines
