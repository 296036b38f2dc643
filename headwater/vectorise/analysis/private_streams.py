"""Input: a kernel. Output: the loads by which each work-item reads a range of its own, a cache line or more a trip.

A chunk's stretches, which lie side by side, are read by many short streams, and a processor's own prefetchers have
hardly found one when it ends. What the next chunk reads lies where this one's stretches end.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.llvm.cfg import Cfg, Loop
from headwater.llvm.ir import Function, Inst, Value
from headwater.vectorise.analysis.shapes import Shapes
from headwater.vectorise.analysis.sums_of_products import Product, Sum, Sums, add
from headwater.vectorise.layout import LINE_BYTES

_Place = frozenset[tuple[Product, int]]


def private_stream_loads(function: Function, cfg: Cfg, shapes: Shapes, space: int) -> frozenset[str]:
    """The names of such loads from an address space. Of loops that walk through the same stretches the longest one is
    taken, by its instructions: memory is waited for behind its work."""
    sums = Sums(function)
    found: dict[_Place, tuple[int, str]] = {}
    for name in cfg.order:
        loop = cfg.loop_of[name]
        if loop is None:
            continue
        work = sum(len(function.blocks[b].insts) for b in loop.blocks)
        for inst in function.blocks[name].insts:
            if inst.op != "load" or inst.args[0].ty.space != space or not _in_lines(inst, shapes):
                continue
            start = _start(function, loop, sums, inst)
            if start is not None:
                found[start] = max(found.get(start, (0, "")), (work, inst.name))
    return frozenset(load for _, load in found.values())


def _in_lines(inst: Inst, shapes: Shapes) -> bool:
    """Whether lanes load whole lines that lie further apart than what they load."""
    shape, size = shapes.shape(inst.args[0]), inst.ty.size_bytes
    if shape.stride is None or not shape.strided or shape.guarded:
        return False
    return size % LINE_BYTES == 0 and shape.stride % LINE_BYTES == 0 and abs(shape.stride) > size


def _start(function: Function, loop: Loop, sums: Sums, inst: Inst) -> _Place | None:
    """Where a load's stretch begins, if it goes through it without a gap."""
    way = way_of(function, loop, sums, inst.args[0])
    return frozenset(way.start.items()) if way is not None and way.step == inst.ty.size_bytes else None


@dataclass(frozen=True, slots=True)
class Way:
    """How a value goes through a loop: its sum on the first trip, and by how much it grows each trip."""

    start: Sum
    step: int


def way_of(function: Function, loop: Loop, sums: Sums, value: Value) -> Way | None:
    """The way of an address or index that grows by the same number each trip, 0 included; None if it does not."""
    place, step = dict(sums.of(value)), 0
    for phi in function.blocks[loop.header].phis:
        if any(phi.name in product and len(product) > 1 for product in place):
            return None
        times = place.pop((phi.name,), 0)
        if not times:
            continue
        by_source = dict(zip(phi.labels, phi.args, strict=True))
        further = add(sums.of(by_source.pop(loop.latch)), {(phi.name,): 1}, -1)
        if len(by_source) != 1 or further.keys() - {()}:
            return None
        step += times * further.get((), 0)
        (begin,) = by_source.values()
        place = dict(add(place, sums.of(begin), times))
    inside = {inst.name for name in loop.blocks for inst in function.blocks[name].insts}
    return None if any(not inside.isdisjoint(product) for product in place) else Way(place, step)
