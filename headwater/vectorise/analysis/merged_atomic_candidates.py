"""Input: a kernel. Output: the atomics in which all work-items of a chunk access one address, and can be merged."""

from __future__ import annotations

from headwater.llvm.ir import Function
from headwater.vectorise.analysis.shapes import LANE, Shapes

IN_ORDER = frozenset(("add", "sub"))
"""Operations of which each lane's result follows from those before it: differences of sums."""
FOLDS = {
    "add": "add", "sub": "add", "and": "and", "or": "or", "xor": "xor",
    "max": "smax", "min": "smin", "umax": "umax", "umin": "umin",
}  # fmt: skip
"""What folds the values of lanes, by the atomic operation."""


def merged_candidates(function: Function, shapes: Shapes) -> dict[str, bool]:
    """The atomics of whole numbers whose lanes' operations can be one; whether their results are used, which then can
    be distinguished again."""
    insts = [inst for block in function.blocks.values() for inst in block.insts]
    found = {
        i.name: False
        for i in insts
        if i.op == "atomicrmw" and i.detail in FOLDS and i.ty.kind == "int" and not shapes.shape(i.args[0]).deps & LANE
    }
    found |= {value.text: True for i in insts if found for value in i.args if value.text in found}
    return {i.name: found[i.name] for i in insts if i.name in found and (i.detail in IN_ORDER or not found[i.name])}
