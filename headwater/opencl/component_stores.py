"""Input: the front end's IR. Output: the same, where some components of a vector are written, and no others.

Of ``v[i].lo = x`` clang makes a read of the whole vector and a write of it. Each component is an object of its own
(OpenCL C 3.0 specification, 6.3.1 and 6.13.11.2): another work-item may write the others at the same time, whose values
would be lost, and nobody may have written them before.
"""

from __future__ import annotations

from typing import NamedTuple

from headwater.llvm.ir import Body, Inst, Module, Value, label_of

_SHARED = (1, 3)
"""Address spaces of global and of local memory."""
_WITHIN = frozenset(("insertelement", "shufflevector", "extractelement", ""))
"""What may stand between the read and the write."""


class _Component(NamedTuple):
    """One of a vector: ``lane`` of a vector ``source``, or ``source`` itself if that is a scalar (-1)."""

    source: Value
    lane: int = -1


def with_components_stored(module: Module) -> None:
    """Write components instead of vectors that were read from where they are written."""
    for body in module.bodies.values():
        changes: dict[int, list[str]] = {}
        for number, store in body.having("store", within="addrspace("):
            value, pointer = store.args
            if value.ty.kind == "vec" and value.is_local and pointer.ty.space in _SHARED:
                changes |= _written(body, number, store)
        body.replace(changes)


def _written(body: Body, number: int, store: Inst) -> dict[int, list[str]]:
    """What takes the place of a store; nothing if it is not of a vector of which components were changed."""
    value, pointer = store.args
    start = number - 1
    while start >= 0 and body.operations[start] in _WITHIN and not label_of(body.lines[start]):
        start -= 1
    load = body.inst(start) if start >= 0 and body.operations[start] == "load" else None
    if load is None or load.args[0].text != pointer.text or load.ty != value.ty or {*load.flags, *store.flags}:
        return {}
    made = {inst.name: inst for at in range(start + 1, number) if (inst := body.inst(at)) is not None}
    components = [_component(value, lane, made) for lane in range(value.ty.count)]
    kept = [c is not None and c.source.text == load.name and c.lane == lane for lane, c in enumerate(components)]
    if not any(kept):
        return {}
    lines: list[str] = []
    element = value.ty.scalar
    for lane, component in enumerate(components):
        if kept[lane] or component is None:
            continue
        name = f"%hw.component.{number}.{lane}"
        source, at = component
        text = source.text
        if at >= 0:
            lines.append(f"  {name} = extractelement {source.ty} {source.text}, i64 {at}{store.attached}")
            text = name
        offset = lane * element.size_bytes
        align = min(store.align, offset & -offset) if offset else store.align
        lines.append(f"  {name}.at = getelementptr inbounds {element}, {pointer.ty} {pointer.text}, i64 {lane}")
        lines.append(f"  store {element} {text}, {pointer.ty} {name}.at, align {align}{store.attached}")
    return {number: lines}


def _component(value: Value, lane: int, made: dict[str, Inst]) -> _Component | None:
    """Where a component comes from, through what is ``made`` of others; None if it has no value."""
    while (inst := made.get(value.text)) is not None:
        if inst.op == "insertelement":
            index = inst.args[2]
            if index.is_local:
                break
            if int(index.text) == lane:
                return _Component(inst.args[1])
            value = inst.args[0]
        elif inst.op == "shufflevector":
            lane = inst.indices[lane]
            if lane < 0:
                return None
            count = inst.args[0].ty.count
            value, lane = inst.args[lane >= count], lane % count
        else:
            break
    return None if value.is_undefined else _Component(value, lane)


__all__ = ["with_components_stored"]
