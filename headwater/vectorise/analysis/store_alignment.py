"""Input: a kernel's stores. Output: the one along whose lanes chunks are to be aligned, as instructions for its
address.

A line of work-items whose first store does not begin a cache line (a stencil that leaves the rim alone, an array that
lies anywhere) is begun with a partial chunk, so that the whole ones store whole cache lines, around the caches if the
launch asks for that.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.llvm.cfg import Cfg
from headwater.llvm.ir import Function, Inst, Value
from headwater.vectorise.analysis.launch_slices import pure_slice
from headwater.vectorise.analysis.shapes import PRIMITIVE, Shapes
from headwater.vectorise.layout import LINE_BYTES


@dataclass(frozen=True, slots=True)
class Place:
    """Where lane 0 stores: the address, the instructions that compute it, in order, and the bytes of one lane."""

    pointer: Value
    insts: tuple[Inst, ...]
    lane_bytes: int


def streaming_place(function: Function, cfg: Cfg, shapes: Shapes, streaming: frozenset[str]) -> Place | None:
    """The first contiguous store to one of the ``streaming`` parameters whose address needs nothing from memory."""
    defined = {i.name: i for name in cfg.order for i in function.blocks[name].insts if i.name}
    for name in cfg.order:
        for inst in function.blocks[name].insts:
            if inst.op != "store":
                continue
            value, pointer = inst.args
            shape, size = shapes.shape(pointer), value.ty.size_bytes
            if not shape.strided or shape.guarded or shape.stride != size or LINE_BYTES % size:
                continue
            insts = _slice(pointer, defined, streaming)
            if insts is not None:
                return Place(pointer, insts, size)
    return None


def _slice(pointer: Value, defined: dict[str, Inst], streaming: frozenset[str]) -> tuple[Inst, ...] | None:
    """What computes the pointer; None if it is not from such a parameter."""
    insts = pure_slice([pointer], defined, lambda call: PRIMITIVE.match(call.detail) is not None)
    used = {pointer.text} | {v.text for i in insts or () for v in i.args}
    return insts if used & streaming else None
