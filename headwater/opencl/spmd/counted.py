"""Divergent loops in; those whose lanes leave in their order, so that two scalar tests tell whether all go on, out.

The loop over a strided index, ``for (i = get_local_id(0); i < n; i += get_local_size(0))``, is divergent, but only its
last trip parts the lanes. Until then it can run without masks.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.opencl.spmd.cfg import Cfg, Loop
from headwater.opencl.spmd.ir import Function, Inst, Value
from headwater.opencl.spmd.shapes import ROW, Shapes

_OPPOSITE = {
    "slt": "sge",
    "sge": "slt",
    "sgt": "sle",
    "sle": "sgt",
    "ult": "uge",
    "uge": "ult",
    "ugt": "ule",
    "ule": "ugt",
}


@dataclass(frozen=True, slots=True)
class OrderedExit:
    """A one-block loop goes on for a lane while ``predicate(left, right)``; ``strided`` is the operand that steps."""

    predicate: str
    left: Value
    right: Value
    strided: Value
    stride: int


def ordered_exits(function: Function, cfg: Cfg, shapes: Shapes) -> dict[str, OrderedExit]:
    """Headers of the divergent one-block loops that are left in the order of the lanes."""
    found = {}
    for loop in cfg.loops:
        if loop.divergent and loop.blocks == {loop.header}:
            exit_test = _ordered_exit(function, loop, shapes)
            if exit_test is not None:
                found[loop.header] = exit_test
    return found


def _ordered_exit(function: Function, loop: Loop, shapes: Shapes) -> OrderedExit | None:
    block = function.blocks[loop.header]
    condition = block.term.args[0].text
    test: Inst | None = next((i for i in block.insts if i.name == condition), None)
    if test is None or test.op != "icmp" or test.detail not in _OPPOSITE:
        return None
    predicate = test.detail if block.term.labels[0] == loop.header else _OPPOSITE[test.detail]
    left, right = test.args
    for stepping, fixed in ((left, right), (right, left)):
        shape = shapes.shape(stepping)
        if shape.strided and not shape.guarded and not shapes.shape(fixed).deps:
            # Rows along another dimension have values of their own; along the lanes they go on where a row ends.
            if shape.deps & ROW and shapes.layout.row_dim != shapes.layout.lane_dim:
                return None
            assert shape.stride is not None
            return OrderedExit(predicate, left, right, stepping, shape.stride)
    return None
