"""Input: a kernel. Output: the loads whose next elements are worth prefetching.

The processor's own prefetchers stop at the end of a page. On a Xeon (Cascade Lake) a + b took 0.90 of its time with
prefetches, a sum 0.94, saxpy 0.97 and a five-point stencil 0.94, where prefetching lines that are in the cache already
cost 1 %. On a Zen 5 a five-point stencil takes 0.77, a 3 × 3 median of a picture in the last-level cache, too, but
a + b 1.11 and saxpy 1.04: so each launch says whether it wants them (`headwater.runtime.cpu.trials`).
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import NamedTuple

from headwater.llvm.cfg import Cfg
from headwater.llvm.ir import Function, Inst
from headwater.llvm.types import Type
from headwater.vectorise.analysis.private_streams import private_stream_loads, way_of
from headwater.vectorise.analysis.shapes import Shapes
from headwater.vectorise.analysis.sums_of_products import Product, Sum, Sums

MOST_STREAMS = 8
"""A kernel that reads from more places than that does more for each element than to wait for memory."""

GLOBAL_SPACE = 1

_ATOMIC = frozenset(("atomicrmw", "cmpxchg"))
"""What takes longer for an element than its memory (histogram of bytes on a Zen 5: 1.02 with prefetches)."""


@dataclass(frozen=True, slots=True, eq=False)
class PrefetchPlan:
    """``streams``: loads that go through memory in order, prefetched some distance ahead. ``next_chunk``: loads of
    work-items that each go through memory of their own, prefetched where the next chunk's begin. ``table_ranges``:
    by block, where the stretches begin that the loop after it goes through, if a table says so (the rows of a sparse
    matrix). ``types``: those of the values that these addresses are computed from."""

    streams: set[str]
    next_chunk: frozenset[str]
    table_ranges: dict[str, list[Sum]]
    types: dict[str, Type]


class _Stream(NamedTuple):
    """Loads of a block that go through the same memory: their addresses but for a constant."""

    block: str
    address: frozenset[tuple[Product, int]]


class _First(NamedTuple):
    """The load of a stream that is first at new memory, and the constant in its address."""

    offset: int
    load: str


def plan_prefetches(
    function: Function, cfg: Cfg, shapes: Shapes, striding: Container[str], uneven: frozenset[str], *, wanted: bool
) -> PrefetchPlan:
    """Pick the loads that go through memory in order: outside of loops, where the next chunk goes on where this one
    ends, and in the loops ``striding``, whose work-items stride through an array together. ``uneven``: headers of loops
    whose trips differ from work-item to work-item. Not ``wanted``: only what the next chunk reads is prefetched."""
    sums = Sums(function)
    # Of loads that are a constant apart, as a stencil's along a line, the one that is first at new memory counts.
    streams: dict[_Stream, _First] = {}
    for name in cfg.order:
        insts = function.blocks[name].insts
        if (cfg.loop_of[name] is None or name in striding) and not any(i.op in _ATOMIC for i in insts):
            for inst in insts:
                if _is_contiguous(inst, shapes):
                    place = dict(sums.of(inst.args[0]))
                    offset = place.pop((), 0)
                    stream, first = _Stream(name, frozenset(place.items())), _First(offset, inst.name)
                    streams[stream] = max(streams.get(stream, first), first)
    worthwhile = wanted and len(streams) <= MOST_STREAMS
    types = {p.name: p.ty for p in function.params}
    types |= {i.name: i.ty for name in cfg.order for i in function.blocks[name].insts if i.name}
    return PrefetchPlan(
        streams={first.load for first in streams.values()} if worthwhile else set(),
        next_chunk=private_stream_loads(function, cfg, shapes, GLOBAL_SPACE),
        table_ranges=_table_ranges(function, cfg, sums, uneven) if wanted else {},
        types=types,
    )


def _is_contiguous(inst: Inst, shapes: Shapes) -> bool:
    """Whether a load's lanes read global memory one element after the other."""
    if inst.op != "load" or inst.args[0].ty.space != GLOBAL_SPACE:
        return False
    shape = shapes.shape(inst.args[0])
    return shape.strided and not shape.guarded and shape.stride == inst.ty.size_bytes


def _table_ranges(function: Function, cfg: Cfg, sums: Sums, uneven: frozenset[str]) -> dict[str, list[Sum]]:
    """By the block before a loop: where the stretches that it goes through begin, if a table says so."""
    found: dict[str, list[Sum]] = {}
    values = {i.name: i for name in cfg.order for i in function.blocks[name].insts if i.name}
    for loop in cfg.loops:
        entering = [name for name in cfg.preds[loop.header] if name not in loop]
        if loop.header not in uneven or loop.blocks != {loop.header} or len(entering) != 1:
            continue
        for inst in function.blocks[loop.header].insts:
            if inst.op != "load" or inst.args[0].ty.space != GLOBAL_SPACE:
                continue
            way = way_of(function, loop, sums, inst.args[0])
            if way is None or way.step != inst.ty.size_bytes:
                continue
            names = [name for product in way.start for name in product]
            if any(name in values and values[name].op == "load" for name in names):
                found.setdefault(entering[0], []).append(way.start)
    return {name: starts for name, starts in found.items() if len(starts) <= MOST_STREAMS}
