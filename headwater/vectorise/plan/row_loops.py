"""Input: a kernel. Output: the blocks that lanes run in their order (``if (l < reach)``), to be written as loops over
rows.

A work-group that is one chunk has up to 32 rows, of which the last steps of a tree in local memory need one. Written
for all rows under masks, each step costs as much as the first. In a loop over the rows, those without a lane are
skipped, and those whose lanes are all wanted have no mask: a sum by groups of 256 spent 13 % of its time in its tree
with AVX2 (on a Zen 4), where a store under a mask takes 12 cycles (Fog, Instruction tables).
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.llvm.ir import BINARY, CASTS, Value
from headwater.vectorise.analysis.linearisation import ENTRY_MASK, Linear
from headwater.vectorise.analysis.ordered_branches import OrderedTest, tests_towards

LEAST_ROWS = 4
"""Rows from which on a loop over them is worth its tests."""

_SIMPLE = BINARY | CASTS | {"load", "store", "getelementptr", "icmp", "fcmp", "select", "fneg", "freeze"}


@dataclass(frozen=True, slots=True)
class RowLoop:
    """The test that lanes pass to get to a block, and the values from outside that step along the lanes in it."""

    test: OrderedTest
    stepping: tuple[Value, ...]


def find_row_loops(linear: Linear, crossing: set[str]) -> dict[str, RowLoop]:
    """Such blocks of chunks that are never partly outside of a work-group. ``crossing``: values that are used outside
    of the block that defines them."""
    layout = linear.shapes.layout
    if layout.rows < LEAST_ROWS or layout.lanes == 1 or layout.row_dim != layout.lane_dim:
        return {}
    found = {}
    for name in linear.cfg.order:
        test = _test_before(linear, name)
        stepping = _stepping(linear, name, crossing) if test is not None else None
        if test is not None and stepping is not None:
            found[name] = RowLoop(test, stepping)
    return found


def _test_before(linear: Linear, name: str) -> OrderedTest | None:
    """The one ordered test of a block that does nothing but to run between a branch of all lanes and its end."""
    cfg = linear.cfg
    preds, succs, loop = cfg.preds[name], cfg.succs[name], cfg.loop_of[name]
    if len(preds) != 1 or len(succs) != 1 or linear.function.blocks[name].term.op != "br":
        return None
    before = preds[0]
    if loop is not cfg.loop_of[before] or (loop is not None and name in (loop.header, loop.latch)):
        return None
    following = linear.next.get((name, ""))
    if following is None or linear.skip.get(name, following) != following:
        return None
    alone = linear.owns_mask(name) and linear.mask_class[before] == ENTRY_MASK
    if not alone or not linear.shapes.divergent(before) or any(linear.function.blocks[succs[0]].phis):
        return None
    tests = tests_towards(linear.function, before, name, linear.shapes)
    if tests is None or len(tests) != 1 or tests[0].strided is None:
        return None
    return tests[0] if linear.shapes.shape(tests[0].strided).in_line else None


def _stepping(linear: Linear, name: str, crossing: set[str]) -> tuple[Value, ...] | None:
    """The values from outside that differ between rows, each by a constant; None if rows cannot be taken apart."""
    insts = linear.function.blocks[name].insts[:-1]
    own = {i.name for i in insts if i.name}
    found: dict[str, Value] = {}
    for inst in insts:
        shape = linear.shapes.of.get(inst.name)
        if inst.op not in _SIMPLE or {"volatile", "atomic"} & set(inst.flags) or inst.name in crossing:
            return None
        if shape is not None and (shape.guarded or inst.name in linear.shapes.assumed):
            return None
        for value in inst.args:
            of_value = linear.shapes.shape(value)
            if not value.is_local or value.text in own or not of_value.deps:
                continue
            if not of_value.in_line or of_value.guarded:
                return None
            found[value.text] = value
    return tuple(found.values())
