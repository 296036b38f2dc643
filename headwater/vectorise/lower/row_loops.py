"""Input: a block that lanes run in their order. Output: a loop over the rows that have such lanes."""

from __future__ import annotations

from headwater.llvm.ir import Inst, Value
from headwater.llvm.types import I64
from headwater.vectorise.analysis.ordered_branches import OrderedTest
from headwater.vectorise.lower.forms import lanes_of
from headwater.vectorise.lower.instructions import write_instruction
from headwater.vectorise.lower.ordered_tests import lane_passes
from headwater.vectorise.lower.prefetches import write_prefetches
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.values import part


def write_row_loop(ctx: Lowering, name: str) -> None:
    """The block's instructions for each row that has a lane, the rows in their order."""
    loop, insts, writer = ctx.plan.row_loops[name], ctx.plan.function.blocks[name].insts[:-1], ctx.writer
    test, lanes, rows = loop.test, ctx.plan.layout.lanes, ctx.plan.layout.rows
    assert test.strided is not None
    bases = {v.text: part(ctx, v) for v in (*loop.stepping, test.strided)}
    first = bases[test.strided.text]
    last = writer.let(f"add {test.strided.ty} {first}, {(rows * lanes - 1) * test.stride}")
    # Lanes that pass are the first ones or the last ones, unless counting from one to the other wraps around.
    order = f"{test.predicate[0]}{'ge' if test.stride > 0 else 'le'}"
    in_order = writer.let(f"icmp {order} {test.strided.ty} {last}, {first}")
    the_first_ones = writer.let(f"and i1 {in_order}, {lane_passes(ctx, test, first)}")
    hints = ("rows", "row.none", "row.some", "row.all", "row.part", "row.next", "rows.end")
    head, none, some, whole, partial, following, end = (writer.fresh_label(hint) for hint in hints)
    slot = f"row.{name[1:]}".replace('"', "")
    writer.store_slot(slot, I64, "0")
    writer.jump(head)

    writer.start(head)
    row = writer.load_slot(slot, I64)
    with ctx.scope():
        for value in (*loop.stepping, test.strided):
            ctx.cache[value.text, 0, 0, "s"] = _at_row(ctx, value, bases[value.text], row)
        of_first = part(ctx, test.strided)
        of_last = writer.let(f"add {test.strided.ty} {of_first}, {(lanes - 1) * test.stride}")
        ends = lane_passes(ctx, test, of_first), lane_passes(ctx, test, of_last)
        either = writer.let(f"or i1 {ends[0]}, {ends[1]}")
        unsure = writer.let(f"xor i1 {in_order}, true")
        writer.branch(writer.let(f"or i1 {either}, {unsure}"), some, none)
        writer.start(some)
        both = writer.let(f"and i1 {ends[0]}, {ends[1]}")
        writer.branch(writer.let(f"and i1 {both}, {in_order}"), whole, partial)
        ctx.in_row = True
        for label, mask in ((whole, None), (partial, test)):
            writer.start(label)
            with ctx.scope():
                _write_row(ctx, name, insts, mask)
            writer.jump(following)
        ctx.in_row = False

    writer.start(none)
    writer.branch(the_first_ones, end, following)
    writer.start(following)
    further = writer.let(f"add i64 {row}, 1")
    writer.store_slot(slot, I64, further)
    writer.branch(writer.let(f"icmp ult i64 {further}, {rows}"), head, end)
    writer.start(end)


def _write_row(ctx: Lowering, name: str, insts: list[Inst], test: OrderedTest | None) -> None:
    """The row at hand, under a mask of the lanes that pass the test, if one is given."""
    if test is not None:
        sides = (f"{part(ctx, v, 0, 'v')}" for v in (test.left, test.right))
        mask = ctx.writer.let(f"icmp {test.predicate} {lanes_of(ctx, test.left.ty)} {', '.join(sides)}")
        ctx.cache["mask " + name, 0, 0, "v"] = mask
    ctx.unmasked = test is None
    for inst in insts:
        write_instruction(ctx, inst)
    write_prefetches(ctx)
    ctx.unmasked = False


def _at_row(ctx: Lowering, value: Value, base: str, row: str) -> str:
    """Lane 0's value in a row that is only known at run time, from row 0's."""
    step = ctx.plan.shapes.shape(value).stride
    assert step is not None
    offset = ctx.writer.let(f"mul i64 {row}, {step * ctx.plan.layout.lanes}")
    if value.ty.kind == "ptr":
        return ctx.writer.let(f"getelementptr i8, {value.ty} {base}, i64 {offset}")
    if value.ty.bits != I64.bits:
        offset = ctx.writer.let(f"{'trunc' if value.ty.bits < I64.bits else 'sext'} i64 {offset} to {value.ty}")
    return ctx.writer.let(f"add {value.ty} {base}, {offset}")
