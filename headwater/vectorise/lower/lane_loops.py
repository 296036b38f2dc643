"""Input: an operation done for one work-item after the other. Output: loops over the active lanes of a row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headwater.llvm.ir import Value
from headwater.llvm.types import I8, I64, Type, vec_type
from headwater.vectorise.analysis.shapes import LANE
from headwater.vectorise.lower.forms import components_of, lanes_of, mask_type
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.values import part


def spill(ctx: Lowering, vector: str, ty: Type) -> str:
    """A place in memory that holds the lanes' values, to index by lane (i1 as bytes: LLVM packs its bits)."""
    ctx.spills += 1
    slot = f"spill.{ctx.spills}"
    if ty.text == "i1":
        vector = ctx.writer.let(f"zext {lanes_of(ctx, ty)} {vector} to {lanes_of(ctx, I8)}")
        ty = I8
    ctx.writer.store_slot(slot, lanes_of(ctx, ty), vector)
    return f'%"{slot}"'


def _load_spilled_lane(ctx: Lowering, place: str, ty: Type, lane: str) -> str:
    if ty.text == "i1":
        at = ctx.writer.let(f"getelementptr i8, ptr {place}, i64 {lane}")
        return ctx.writer.let(f"trunc i8 {ctx.writer.let(f'load i8, ptr {at}')} to i1")
    at = ctx.writer.let(f"getelementptr {ty}, ptr {place}, i64 {lane}")
    return ctx.writer.let(f"load {ty}, ptr {at}")


def store_spilled_lane(ctx: Lowering, place: str, ty: Type, lane: str, text: str) -> None:
    """Store one lane of a vector that lies in memory (see `spill`)."""
    if ty.text == "i1":
        ty, text = I8, ctx.writer.let(f"zext i1 {text} to i8")
    at = ctx.writer.let(f"getelementptr {ty}, ptr {place}, i64 {lane}")
    ctx.writer.line(f"store {ty} {text}, ptr {at}")


def load_spilled(ctx: Lowering, place: str, ty: Type) -> str:
    """Read a vector back that lies in memory (see `spill`)."""
    if ty.text == "i1":
        loaded = ctx.writer.let(f"load {lanes_of(ctx, I8)}, ptr {place}")
        return ctx.writer.let(f"trunc {lanes_of(ctx, I8)} {loaded} to {lanes_of(ctx, ty)}")
    return ctx.writer.let(f"load {lanes_of(ctx, ty)}, ptr {place}")


@contextmanager
def each_lane(ctx: Lowering, mask: str | None) -> Iterator[str]:
    """Write a loop over the active lanes; yields the lane number (i64)."""
    if ctx.plan.layout.lanes == 1:
        if mask is None:
            yield "0"
            return
        with ctx.writer.when(mask, "lane"), ctx.scope():
            yield "0"
        return
    writer, lanes = ctx.writer, ctx.plan.layout.lanes
    ctx.spills += 1
    slot = f"left.{ctx.spills}"
    bits_type = vec_type(1, I64).scalar if lanes == 64 else Type(f"i{lanes}", "int", lanes)
    start = "-1" if mask is None else writer.let(f"bitcast {mask_type(ctx.plan.layout)} {mask} to {bits_type}")
    writer.store_slot(slot, bits_type, start)
    head, body, after = (writer.fresh_label(h) for h in ("lane.next", "lane", "lane.end"))
    writer.jump(head)
    writer.start(head)
    left = writer.load_slot(slot, bits_type)
    writer.branch(writer.let(f"icmp ne {bits_type} {left}, 0"), body, after)
    writer.start(body)
    name = f"llvm.cttz.{bits_type}"
    writer.declare(name, f"declare {bits_type} @{name}({bits_type}, i1)")
    number = writer.let(f"call {bits_type} @{name}({bits_type} {left}, i1 true)")
    lane = number if lanes == 64 else writer.let(f"zext {bits_type} {number} to i64")
    lower = writer.let(f"sub {bits_type} {left}, 1")
    rest = writer.let(f"and {bits_type} {left}, {lower}")
    writer.store_slot(slot, bits_type, rest)
    with ctx.scope():
        yield lane
    writer.jump(head)
    writer.start(after)


def lane_operands(ctx: Lowering, values: list[Value], row: int) -> list[tuple[str, Type, bool]]:
    """Before a loop over lanes: (place or scalar, type, is a place) of each operand's components."""
    out = []
    for value in values:
        lane = bool(ctx.plan.shapes.shape(value).deps & LANE)
        for c, ty in enumerate(components_of(value.ty)):
            text = part(ctx, value, row, "v" if lane else "s", c)
            out.append((spill(ctx, text, ty) if lane else text, ty, lane))
    return out


def operand_of_lane(ctx: Lowering, operand: tuple[str, Type, bool], lane: str) -> str:
    """One lane of an operand, inside of a loop over lanes."""
    text, ty, in_memory = operand
    if not in_memory:
        return text
    return _load_spilled_lane(ctx, text, ty, lane)
