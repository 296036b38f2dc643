"""Input: chains of shuffles. Output: single shuffles of their first operands, where one shuffle does the same.

``(int4)(0, v.xyz)`` comes as four shuffles, which cost nothing where each component has a register of its own, and
much where vectors stay whole.
"""

from __future__ import annotations

from headwater.llvm.ir import Function, Inst, Value
from headwater.llvm.types import Type

_Component = tuple[Value, int]
"""A value and its component; -1 for a scalar constant."""


def fold_shuffles(function: Function) -> None:
    """Rewrite the shuffles of the function's blocks in place. What is no longer used is left for others to drop."""
    defs = {i.name: i for b in function.blocks.values() for i in b.insts if i.name}
    for block in function.blocks.values():
        for inst in block.insts:
            if inst.op == "shufflevector":
                _fold(inst, defs)


def _fold(inst: Inst, defs: dict[str, Inst]) -> None:
    components = [_origin(Value(inst.ty, inst.name), i, defs) for i in range(inst.ty.count)]
    sources: dict[str, Value] = {}
    constants: list[Value] = []
    for value, index in components:
        if index >= 0:
            sources[value.text] = value
        elif not value.is_undefined and value.text not in (c.text for c in constants):
            constants.append(value)
    values = list(sources.values())
    if not values or len(values) + bool(constants) > 2 or any(v.ty != values[0].ty for v in values):
        return
    ty = values[0].ty
    if constants:
        if len(constants) > ty.count:
            return
        values.append(_constant(ty, constants))
    elif len(values) == 1:
        values.append(Value(ty, "poison"))
    texts = [c.text for c in constants]
    order = []
    for value, index in components:
        if index >= 0:
            order.append(index + (ty.count if value.text == values[1].text else 0))
        else:
            order.append(-1 if value.is_undefined else ty.count + texts.index(value.text))
    inst.args, inst.indices = values, tuple(order)


def _constant(ty: Type, constants: list[Value]) -> Value:
    elems = tuple((constants + [Value(ty.scalar, "poison")] * ty.count)[: ty.count])
    return Value(ty, "<" + ", ".join(f"{e.ty} {e.text}" for e in elems) + ">", elems)


def _origin(value: Value, index: int, defs: dict[str, Inst]) -> _Component:
    """What a component is before all shuffles."""
    while True:
        if not value.is_local:
            return (value if value.is_undefined else value.component(index)), -1
        inst = defs.get(value.text)
        if inst is None or inst.op != "shufflevector":
            return value, index
        index = inst.indices[index]
        if index < 0:
            return Value(value.ty.scalar, "poison"), -1
        count = inst.args[0].ty.count
        value, index = inst.args[index // count], index % count
