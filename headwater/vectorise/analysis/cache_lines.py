"""Input: a kernel. Output: whether it waits for memory, and how many work-items of one without loops fill a cache line.

Where a processor moves a vector of 64 bytes in halves, code for one vector after another is not the fastest way through
memory: with half a vector at a time, and one line of each array after the other, more of what it reads is under way
(Zen 4, arrays beyond the caches: a + b takes 0.94 to 0.96, saxpy 0.88 to 0.94 of two whole vectors' time at a time; all
in vectors of 32 bytes and four lines at a time 1.0). In the last-level cache a + b takes 1.06, saxpy 0.95. Prefetches
then cost what they do not save: a + b at 0.94 of a copy's speed with, 0.975 without. Loops that only read go faster in
vectors of 32 bytes, too: a sum by groups of 256 takes 0.95 to 0.98.
"""

from __future__ import annotations

from headwater.llvm.cfg import Cfg
from headwater.llvm.ir import Function
from headwater.vectorise.analysis.row_count import Flow
from headwater.vectorise.analysis.shapes import Shapes
from headwater.vectorise.layout import LINE_BYTES

ELEMENT_BYTES = frozenset((4, 8))
"""Of the elements that this is for: of smaller ones, half a vector of lanes does not fill half a vector register."""

_GLOBAL_SPACE = 1
_ATOMIC = frozenset(("atomicrmw", "cmpxchg"))


def line_items(function: Function, cfg: Cfg, shapes: Shapes, flow: Flow) -> int:
    """Work-items that read or write a line of each array together; 0 if elements differ in size, do not lie side by
    side, are counted, or take the processor longer than their loads and stores do."""
    sizes, stores = set(), 0
    for name in cfg.order:
        for inst in function.blocks[name].insts:
            if inst.op in _ATOMIC:
                return 0
            if inst.op not in ("load", "store"):
                continue
            pointer = inst.args[inst.op == "store"]
            if pointer.ty.space != _GLOBAL_SPACE:
                continue
            shape, element = shapes.shape(pointer), inst.ty if inst.op == "load" else inst.args[0].ty
            if not shape.strided or shape.stride != element.size_bytes:
                return 0
            sizes.add(element.size_bytes)
            stores += inst.op == "store"
    if len(sizes) != 1 or flow.operations > flow.loads + stores:
        return 0
    size = sizes.pop()
    return LINE_BYTES // size if size in ELEMENT_BYTES else 0


def in_lines(function: Function, cfg: Cfg, shapes: Shapes) -> bool:
    """Whether all that work-items read and write of global memory lies side by side along x, or is one place for all,
    and nothing is counted: a longer line of work-items then goes through longer lines of memory."""
    for name in cfg.order:
        for inst in function.blocks[name].insts:
            if inst.op in _ATOMIC:
                return False
            if inst.op not in ("load", "store"):
                continue
            pointer = inst.args[inst.op == "store"]
            shape, element = shapes.shape(pointer), inst.ty if inst.op == "load" else inst.args[0].ty
            if pointer.ty.space == _GLOBAL_SPACE and shape.deps and shape.stride not in (0, element.size_bytes):
                return False
    return True


def only_reads(function: Function, cfg: Cfg, flow: Flow) -> bool:
    """Whether no loop changes global memory, and the hottest takes the processor no longer than its loads, of which
    work-items share none."""
    for name in cfg.order:
        for inst in function.blocks[name].insts if cfg.loop_of[name] is not None else ():
            if inst.op in _ATOMIC or (inst.op == "store" and inst.args[1].ty.space == _GLOBAL_SPACE):
                return False
    return flow.loop and flow.operations <= flow.loads and not flow.shared and not flow.gathers
