"""Input: a kernel. Output: where each work-item streams through its own memory, and which such loops LLVM can
vectorise.

Side by side, lanes of such a loop gather from as many places as there are lanes. One by one, each trip does the next
trips' work, too, if LLVM's loop vectoriser finds that they do not need this one's results. What it needs is
looked for here; where it is missed by a hair the loop is only slower than it could be.
"""

from __future__ import annotations

from headwater.llvm.cfg import Cfg, Loop
from headwater.llvm.ir import Function, Inst
from headwater.vectorise.analysis.private_streams import Way, way_of
from headwater.vectorise.analysis.shapes import LANE, Shapes
from headwater.vectorise.analysis.sums_of_products import Sums, add

NEAR = 4
"""Lanes so many elements apart, or fewer, read a vector of them by few loads."""

_ORDERED = frozenset(("atomicrmw", "cmpxchg", "barrier", "fence"))
_ORDERLESS = frozenset(("add", "mul", "and", "or", "xor"))
_ORDERLESS_CALLS = ("llvm.umin", "llvm.umax", "llvm.smin", "llvm.smax")


def streams(function: Function, cfg: Cfg, shapes: Shapes) -> frozenset[str]:
    """The names of addresses by which each lane goes through memory of its own, element by element, in any loop."""
    sums = Sums(function)
    found: set[str] = set()
    for loop in cfg.loops:
        for name in loop.blocks:
            for inst in function.blocks[name].insts:
                if inst.op in ("load", "store") and _is_private(inst, shapes):
                    way = way_of(function, loop, sums, inst.args[-1])
                    if way is not None and abs(way.step) == _size_bytes(inst):
                        found.add(inst.args[-1].text)
    return frozenset(found)


def _size_bytes(access: Inst) -> int:
    return (access.ty if access.op == "load" else access.args[0].ty).size_bytes


def _is_private(access: Inst, shapes: Shapes) -> bool:
    shape = shapes.shape(access.args[-1])
    return bool(shape.deps & LANE) and (shape.stride is None or abs(shape.stride) > NEAR * _size_bytes(access))


def llvm_vectorised_loops(function: Function, cfg: Cfg, shapes: Shapes) -> frozenset[str]:
    """The headers of such loops: of one block, with each access at the next element, or the same, on every trip."""
    sums = Sums(function)
    return frozenset(
        loop.header
        for loop in cfg.loops
        if loop.blocks == {loop.header} and _llvm_vectorises(function, loop, shapes, sums)
    )


def _llvm_vectorises(function: Function, loop: Loop, shapes: Shapes, sums: Sums) -> bool:
    block = function.blocks[loop.header]
    ways: list[tuple[Inst, Way]] = []
    any_private = False
    for inst in block.insts:
        if inst.op in ("load", "store"):
            way = way_of(function, loop, sums, inst.args[-1])
            if way is None or abs(way.step) not in (0, _size_bytes(inst)) or (not way.step and inst.op == "store"):
                return False
            any_private |= _is_private(inst, shapes)
            ways.append((inst, way))
        elif inst.op in _ORDERED or (inst.op == "call" and not inst.detail.startswith("llvm.")):
            return False
    if not any_private or not all(_counts_or_collects(function, loop, sums, phi) for phi in block.phis):
        return False
    stores = [way for inst, way in ways if inst.op == "store"]
    loads = [way for inst, way in ways if inst.op == "load"]
    return not any(_follows(load, store) for store in stores for load in loads)


def _counts_or_collects(function: Function, loop: Loop, sums: Sums, phi: Inst) -> bool:
    """Whether the next trip's value is known without this one's, or is collected in any order."""
    if phi.ty.kind not in ("int", "ptr"):
        return False
    (further,) = (v for v, label in zip(phi.args, phi.labels, strict=True) if label == loop.latch)
    if not add(sums.of(further), {(phi.name,): 1}, -1).keys() - {()}:
        return True
    uses, others = (
        [i for i in function.blocks[loop.header].insts if any(v.text == name for v in i.args)]
        for name in (phi.name, further.text)
    )
    if len(uses) != 1 or uses[0].name != further.text or others != [phi]:
        return False  # what has been collected so far is wanted: sums that are stored one by one
    return uses[0].op in _ORDERLESS or (uses[0].op == "call" and uses[0].detail.startswith(_ORDERLESS_CALLS))


def _follows(load: Way, store: Way) -> bool:
    """Whether a load is known to read what an earlier trip has stored."""
    between = add(load.start, store.start, -1)
    if between.keys() - {()}:
        return False  # LLVM tests when it runs whether the two overlap
    return between.get((), 0) * store.step < 0
