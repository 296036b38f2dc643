"""The lanes that run a block, or any of several: masks by row, and scalar tests of them."""

from __future__ import annotations

from headwater.llvm.ir import Value
from headwater.vectorise.analysis.linearisation import ENTRY_MASK
from headwater.vectorise.analysis.shapes import ROW
from headwater.vectorise.lower.forms import mask_slot_name, mask_type, written_rows
from headwater.vectorise.lower.state import Lowering

ALL_LANES = "splat (i1 true)"
"""The mask of all lanes, where a mask must be given."""


def block_mask(ctx: Lowering, row: int) -> str | None:
    """The lanes that run the current block; None if all do."""
    if ctx.unmasked:
        return None
    return class_mask(ctx, ctx.plan.linear.mask_class[ctx.block], row)


def class_mask(ctx: Lowering, owner: str, row: int) -> str | None:
    """The lanes of a mask class (see `headwater.vectorise.analysis.linearisation`); None for all."""
    key = ("mask " + owner, 0, row, "v")
    if owner == ENTRY_MASK:
        return f"%mask{row}" if ctx.plan.variant.masked else None
    known = ctx.cache.get(key)
    if known is None:
        known = ctx.cache[key] = ctx.writer.load_slot(mask_slot_name(owner, row), mask_type(ctx.plan.layout))
    return known


def any_lane(ctx: Lowering, mask: str) -> str:
    """i1: whether the mask has a lane."""
    if ctx.plan.layout.lanes == 1:
        return mask
    bits = ctx.writer.let(f"bitcast {mask_type(ctx.plan.layout)} {mask} to i{ctx.plan.layout.lanes}")
    return ctx.writer.let(f"icmp ne i{ctx.plan.layout.lanes} {bits}, 0")


def mask_union(ctx: Lowering, masks: list[str | None]) -> str | None:
    """The lanes of all masks together; None if one is all lanes."""
    known = [m for m in masks if m is not None]
    if len(known) < len(masks):
        return None
    total = known[0]
    for mask in known[1:]:
        total = ctx.writer.let(f"or {mask_type(ctx.plan.layout)} {total}, {mask}")
    return total


def any_lane_of(ctx: Lowering, masks: list[str | None]) -> str | None:
    """i1: whether any of the masks has a lane; None if one is all lanes."""
    total = mask_union(ctx, masks)
    return None if total is None else any_lane(ctx, total)


def access_rows(ctx: Lowering, values: list[Value]) -> list[tuple[int, list[int]]]:
    """An instruction's accesses: for each the row to take its operands from, and the rows that it stands for."""
    everything = list(written_rows(ctx))
    if any(ctx.plan.shapes.shape(v).deps & ROW for v in values):
        return [(row, [row]) for row in everything]
    return [(0, everything)]


def access_mask(ctx: Lowering, rows: list[int]) -> str | None:
    """The lanes that run the current block in any of the rows; None for all."""
    return mask_union(ctx, [block_mask(ctx, row) for row in rows])


def mask_is_full(ctx: Lowering, masks: list[str | None]) -> str:
    """i1: whether every mask has all its lanes."""
    total = ""
    for mask in masks:
        if mask is not None:
            total = ctx.writer.let(f"and {mask_type(ctx.plan.layout)} {total}, {mask}") if total else mask
    if not total or ctx.plan.layout.lanes == 1:
        return total or "true"
    bits = ctx.writer.let(f"bitcast {mask_type(ctx.plan.layout)} {total} to i{ctx.plan.layout.lanes}")
    return ctx.writer.let(f"icmp eq i{ctx.plan.layout.lanes} {bits}, -1")
