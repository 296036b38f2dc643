"""Input: an edge of the control flow. Output: the lanes that take it, in the masks and phis of its target."""

from __future__ import annotations

from typing import NamedTuple

from headwater.llvm.ir import Inst, Value
from headwater.llvm.types import I1, Type, vec_type
from headwater.vectorise.analysis.shapes import Shape
from headwater.vectorise.lower.forms import forms_of, mask_slot_name, mask_type, pieces_of, rows_of, slot_name
from headwater.vectorise.lower.masks import any_lane, block_mask, mask_union
from headwater.vectorise.lower.shuffles import repeat_for_components
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.values import part, whole_value


class _SlotStore(NamedTuple):
    """A value that an edge leaves in a slot. All are computed before the first is stored, as they may depend on
    one another."""

    slot: str
    ty: Type
    value: str


def write_edges(
    ctx: Lowering, source: str, targets: list[str], *, all_lanes: bool = False, shared: bool = False
) -> None:
    """Hand the lanes that leave ``source`` over: into the targets' masks and phis. ``all_lanes``: all go there;
    ``shared``: only into phis that all rows share."""
    pending: list[_SlotStore] = []
    for target in targets:
        rows = range(ctx.plan.layout.rows)
        lanes = [None if all_lanes else _edge_mask(ctx, source, target, row) for row in rows]
        _collect_masks(ctx, source, target, lanes, pending)
        plain = _is_plain(ctx, source, target)
        for phi in ctx.plan.function.blocks[target].phis:
            value = phi.args[phi.labels.index(source)]
            if shared and ctx.plan.shapes.of.get(phi.name, Shape()).by_row:
                continue
            if not value.is_undefined:
                _collect_phi(ctx, phi, value, None if plain else lanes, pending)
    for store in pending:
        ctx.writer.store_slot(store.slot, store.ty, store.value)


def _edge_mask(ctx: Lowering, source: str, target: str, row: int) -> str | None:
    """The lanes of a row that go from one block to another; None for all."""
    mask, mask_ty = block_mask(ctx, row), mask_type(ctx.plan.layout)
    if not ctx.plan.shapes.divergent(source):
        return mask
    term = ctx.plan.function.blocks[source].term
    form = "v" if ctx.plan.layout.lanes > 1 else "s"
    taken = part(ctx, term.args[0], row, form)
    key = (f"edge {source} {target}", 0, row, "v")
    known = ctx.cache.get(key)
    if known is None:
        if target != term.labels[0]:
            ones = "splat (i1 true)" if ctx.plan.layout.lanes > 1 else "true"
            taken = ctx.writer.let(f"xor {mask_ty} {taken}, {ones}")
        if mask is not None:
            # Lanes outside the mask may have a condition that is poison: select keeps it out, `and` would not.
            none = "zeroinitializer" if ctx.plan.layout.lanes > 1 else "false"
            taken = ctx.writer.let(f"select {mask_ty} {mask}, {mask_ty} {taken}, {mask_ty} {none}")
        known = ctx.cache[key] = taken
    return known


def _is_plain(ctx: Lowering, source: str, target: str) -> bool:
    """Whether every lane that runs ``target`` comes over this edge."""
    if ctx.plan.cfg.index[target] <= ctx.plan.cfg.index[source]:
        return True
    if ctx.plan.shapes.divergent(source) or ctx.plan.linear.waits(source, target):
        return False
    loop = ctx.plan.cfg.loop_of[target]
    if loop is not None and loop.header == target:
        return True
    return ctx.plan.linear.mask_class[source] == ctx.plan.linear.mask_class[target]


def _collect_masks(ctx: Lowering, source: str, target: str, lanes: list[str | None], pending: list[_SlotStore]) -> None:
    if not ctx.plan.linear.owns_mask(target):
        return
    loop = ctx.plan.cfg.loop_of[target]
    # A loop's mask is set anew when the loop is entered and on every trip; other masks collect.
    sets = loop is not None and loop.header == target
    ones = "splat (i1 true)" if ctx.plan.layout.lanes > 1 else "true"
    for row in range(ctx.plan.layout.rows):
        slot = mask_slot_name(target, row)
        new = lanes[row] or ones
        if not sets:
            old = ctx.writer.load_slot(slot, mask_type(ctx.plan.layout))
            new = ctx.writer.let(f"or {mask_type(ctx.plan.layout)} {old}, {new}")
        pending.append(_SlotStore(slot, mask_type(ctx.plan.layout), new))


def _collect_phi(
    ctx: Lowering, phi: Inst, value: Value, lanes: list[str | None] | None, pending: list[_SlotStore]
) -> None:
    shape = ctx.plan.shapes.of.get(phi.name, Shape())
    for component, form, ty in pieces_of(ctx, phi.name, phi.ty, shape):
        for row in rows_of(ctx, shape):
            slot = slot_name(phi.name, component, row, form)
            new = _phi_input(ctx, value, row, form, component)
            chosen = _choosing(ctx, lanes, row, shape) if lanes is not None else None
            if chosen is not None and shape.deps:
                old = ctx.writer.load_slot(slot, ty)
                if form == "v":
                    test = f"{mask_type(ctx.plan.layout)} {chosen}"
                elif form == "p" and ctx.plan.layout.lanes > 1:
                    test = f"{vec_type(ty.count, I1)} {repeat_for_components(ctx, chosen, I1, phi.ty.count)}"
                else:
                    test = f"i1 {any_lane(ctx, chosen)}"
                new = ctx.writer.let(f"select {test}, {ty} {new}, {ty} {old}")
            pending.append(_SlotStore(slot, ty, new))


def _choosing(ctx: Lowering, lanes: list[str | None], row: int, shape: Shape) -> str | None:
    """The lanes that come over an edge, None for all: of a row, or of any row for a value that all rows share."""
    if shape.by_row or len(lanes) == 1:
        return lanes[row]
    return mask_union(ctx, lanes)


def _phi_input(ctx: Lowering, value: Value, row: int, form: str, component: int) -> str:
    if form == "g" and "g" not in forms_of(ctx, ctx.plan.shapes.shape(value)):
        return "true"
    if form == "p":
        return whole_value(ctx, value, row)
    return part(ctx, value, row, form, component)


def initialise_joins(ctx: Lowering, name: str) -> None:
    """At the end of a block: begin the masks and values of the joins that collect lanes from here on."""
    for block in ctx.plan.homes.get(name, ()):
        if ctx.plan.linear.owns_mask(block):
            zero = "zeroinitializer" if ctx.plan.layout.lanes > 1 else "false"
            for row in range(ctx.plan.layout.rows):
                ctx.writer.store_slot(mask_slot_name(block, row), mask_type(ctx.plan.layout), zero)
        for phi in ctx.plan.function.blocks[block].phis:
            if all(_is_plain(ctx, source, block) for source in phi.labels):
                continue
            shape = ctx.plan.shapes.of.get(phi.name, Shape())
            for component, form, ty in pieces_of(ctx, phi.name, phi.ty, shape):
                for row in rows_of(ctx, shape):
                    ctx.writer.store_slot(slot_name(phi.name, component, row, form), ty, "poison")
