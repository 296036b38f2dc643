"""Input: a test that lanes pass in their order. Output: scalar code that decides whether one lane, or all of them, pass
it."""

from __future__ import annotations

from headwater.vectorise.analysis.ordered_branches import OrderedTest
from headwater.vectorise.lower.forms import rows_of
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.values import part


def lane_passes(ctx: Lowering, test: OrderedTest, lane: str) -> str:
    """i1: whether a lane, given by its strided operand, passes a test."""
    left, right = (lane if v is test.strided else part(ctx, v) for v in (test.left, test.right))
    return ctx.writer.let(f"icmp {test.predicate} {test.left.ty} {left}, {right}")


def all_pass(ctx: Lowering, tests: list[OrderedTest]) -> str:
    """i1: the first and the last lane pass, and counting from one to the other does not wrap around."""
    writer, total = ctx.writer, "true"

    def require(text: str) -> None:
        nonlocal total
        total = writer.let(f"and i1 {total}, {writer.let(text)}")

    for test in tests:
        ty = test.left.ty
        if test.strided is None:
            rows = rows_of(ctx, ctx.plan.shapes.shape(test.left)), rows_of(ctx, ctx.plan.shapes.shape(test.right))
            for row in max(rows, key=len):
                left, right = part(ctx, test.left, row), part(ctx, test.right, row)
                require(f"icmp {test.predicate} {ty} {left}, {right}")
            continue
        first = part(ctx, test.strided, 0)
        end = part(ctx, test.strided, ctx.plan.layout.rows - 1)
        last = writer.let(f"add {ty} {end}, {(ctx.plan.layout.lanes - 1) * test.stride}")
        require(f"icmp {test.predicate[0]}{'ge' if test.stride > 0 else 'le'} {ty} {last}, {first}")
        for lane in (first, last):
            left, right = (lane if v is test.strided else part(ctx, v) for v in (test.left, test.right))
            require(f"icmp {test.predicate} {ty} {left}, {right}")
    return total
