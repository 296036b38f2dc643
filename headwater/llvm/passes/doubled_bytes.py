"""Input: an optimised module. Output: the same kept from doublings of bytes at which LLVM does not end.

Where the lanes of 64 bytes come from a shuffle, are doubled and then shuffled again, LLVM 22.1 takes turns between two
forms of that for processors with AVX-512 and never ends (in SelectionDAG::Legalize). It takes ``x << 1`` and ``x * 2``
for ``x + x``, and that for what some lanes of ``x + (c ? 0 : x)`` are. Here the bytes are doubled in pairs, as numbers
of 16 bits, and the bit that comes from a pair's lower byte is cleared.
"""

from __future__ import annotations

from headwater.llvm.ir import Body, Inst, Module
from headwater.llvm.values import Value

_LEAST_LANES = 64


def without_doubled_bytes(module: Module) -> bool:
    """Change such doublings; whether there are any."""
    return module.each(_function)


def _function(body: Body) -> bool:
    chosen = {inst.name: inst for _, inst in body.having("select", within="i8>") if _is_wide(inst)}
    changes: dict[int, list[str]] = {}
    for number, inst in body.having("add", "shl", "mul", within="i8>"):
        if _is_wide(inst) and (lines := _written(inst, f"%hw.double.{len(changes) + 1}", chosen)):
            changes[number] = lines
    return body.replace(changes)


def _is_wide(inst: Inst) -> bool:
    return inst.ty.scalar.bits == 8 and inst.ty.count >= _LEAST_LANES and inst.ty.count % 2 == 0


def _written(inst: Inst, name: str, chosen: dict[str, Inst]) -> list[str]:
    """What takes a doubling's place; nothing if it is none."""
    left, right = inst.args
    if inst.op != "add":
        factor = "1" if inst.op == "shl" else "2"
        return _in_pairs(left, inst.name, name) if right.splat is not None and right.splat.text == factor else []
    if left.text == right.text:
        return _in_pairs(left, inst.name, name)
    for x, some in ((left, chosen.get(right.text)), (right, chosen.get(left.text))):
        if some is not None:
            test, *arms = (value.text for value in some.args)
            if {*arms} == {x.text, "zeroinitializer"}:
                arms = [f"{name}.all" if arm == x.text else x.text for arm in arms]
                choice = f"select {some.args[0].ty} {test}, {x.ty} {arms[0]}, {x.ty} {arms[1]}"
                return [*_in_pairs(x, f"{name}.all", name), f"  {inst.name} = {choice}"]
    return []


def _in_pairs(x: Value, result: str, name: str) -> list[str]:
    wide = f"<{x.ty.count // 2} x i16>"
    return [
        f"  {name}.pairs = bitcast {x.ty} {x.text} to {wide}",
        f"  {name}.twice = shl {wide} {name}.pairs, splat (i16 1)",
        f"  {name}.bytes = bitcast {wide} {name}.twice to {x.ty}",
        f"  {result} = and {x.ty} {name}.bytes, splat (i8 -2)",
    ]
