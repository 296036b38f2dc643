"""The parts of values: read from the block's cache, a slot or another form, and set where they are defined."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.llvm.ir import Inst, Value
from headwater.llvm.types import I64, Type
from headwater.vectorise.analysis.shapes import LANE, ROW, Shape
from headwater.vectorise.lower.forms import (
    components_of,
    form_type,
    forms_of,
    lanes_of,
    own_form,
    slot_name,
    whole_type,
)
from headwater.vectorise.lower.shuffles import interleave, repeat_for_lanes, take_component
from headwater.vectorise.lower.state import Lowering


def part(ctx: Lowering, value: Value, row: int = 0, form: str = "s", component: int = 0) -> str:
    """The text of a part, from this block's values, its slot, or made from another form."""
    if not value.is_local:
        return _constant_part(ctx, value, form, component)
    shape = ctx.plan.shapes.shape(value)
    row = row if shape.deps & ROW else 0
    key = (value.text, component, row, form)
    known = ctx.cache.get(key)
    if known is None and value.text in ctx.plan.packed and form == own_form(ctx):
        lanes, count = ctx.plan.layout.lanes, value.ty.count
        whole = whole_value(ctx, value, row)
        known = ctx.cache[key] = take_component(ctx, whole, value.ty.scalar, lanes * count, component, count, lanes)
    if known is None and row and shape.in_line:
        known = ctx.cache[key] = _further_row(ctx, value, row, form, shape)
    if known is None and form == "s" and value.text in ctx.plan.fixed:
        known = ctx.plan.fixed[value.text][row]
        if value.ty.kind == "vec":  # a parameter that is a vector comes whole
            known = ctx.cache[key] = ctx.writer.let(f"extractelement {value.ty} {known}, i64 {component}")
        return known
    if known is None:
        ty = components_of(value.ty)[component]
        if form in forms_of(ctx, shape):
            known = ctx.writer.load_slot(slot_name(*key), form_type(ctx, ty, form))
        elif form == "v":
            known = from_lane_0(ctx, part(ctx, value, row, "s", component), ty, shape)
        else:
            raise AssertionError(f"no form {form} of {value.text}: {shape}")
        ctx.cache[key] = known
    return known


def _further_row(ctx: Lowering, value: Value, row: int, form: str, shape: Shape) -> str:
    """A part of a row that goes on along the lanes where the one before ends, from row 0's."""
    assert shape.stride is not None
    base, first = part(ctx, value), row * ctx.plan.layout.lanes
    if form == "v":
        return from_lane_0(ctx, base, value.ty, shape, first)
    if value.ty.kind == "ptr":
        return ctx.writer.let(f"getelementptr i8, {value.ty} {base}, i64 {first * shape.stride}")
    return ctx.writer.let(f"add {value.ty} {base}, {first * shape.stride}")


def _constant_part(ctx: Lowering, value: Value, form: str, component: int) -> str:
    ty = components_of(value.ty)[component]
    if value.ty.kind == "vec":
        text = value.component(component).text
    elif value.ty.kind == "struct":
        text = value.elems[component].text if value.elems else value.text
    else:
        text = value.text
    if form == "s":
        return text
    return text if text in ("poison", "undef", "zeroinitializer") else f"splat ({ty} {text})"


def set_part(ctx: Lowering, inst: Inst, row: int, form: str, text: str, component: int = 0) -> None:
    """Define a part of a value, in its slot too if other blocks use it."""
    key = (inst.name, component, row, form)
    ctx.cache[key] = text
    if inst.name in ctx.plan.crossing:
        ty = components_of(inst.ty)[component]
        ctx.writer.store_slot(slot_name(*key), form_type(ctx, ty, form), text)


def may_be_shared(ctx: Lowering, inst: Inst, form: str = "s") -> bool:
    """Whether rows of a value may have been computed for other rows' values: none must be poison by itself then."""
    return ctx.plan.row_numbers is not None and form == "s" and ctx.plan.shapes.of[inst.name].by_row


def let_row(ctx: Lowering, inst: Inst, row: int, form: str, text: str) -> str:
    """A row's scalar value, which may be another one of another row."""
    name = (
        ctx.plan.row_numbers.name(inst, row)
        if ctx.plan.row_numbers is not None and may_be_shared(ctx, inst, form)
        else ""
    )
    if not name:
        return ctx.writer.let(text)
    known = ctx.cache.get((name, 0, 0, "="))
    if known is None:
        known = ctx.cache[name, 0, 0, "="] = ctx.writer.let(text)
    return known


def splat(ctx: Lowering, scalar: str, ty: Type) -> str:
    """A vector of which all lanes are one scalar."""
    vector = lanes_of(ctx, ty)
    one = ctx.writer.let(f"insertelement {vector} poison, {ty} {scalar}, i64 0")
    return ctx.writer.let(
        f"shufflevector {vector} {one}, {vector} poison, <{ctx.plan.layout.lanes} x i32> zeroinitializer"
    )


def from_lane_0(ctx: Lowering, base: str, ty: Type, shape: Shape, first: int = 0) -> str:
    """The values of as many lanes as there are, from lane ``first`` on, from lane 0's."""
    if not shape.deps & LANE or not shape.stride:
        return splat(ctx, base, ty)
    numbers = range(first, first + ctx.plan.layout.lanes)
    steps = ", ".join(f"{I64 if ty.kind == 'ptr' else ty} {i * shape.stride}" for i in numbers)
    if ty.kind == "ptr":
        return ctx.writer.let(f"getelementptr i8, {ty} {base}, <{ctx.plan.layout.lanes} x i64> <{steps}>")
    return ctx.writer.let(f"add {lanes_of(ctx, ty)} {splat(ctx, base, ty)}, <{steps}>")


def whole_value(ctx: Lowering, value: Value, row: int) -> str:
    """All lanes' components of a value side by side."""
    shape = ctx.plan.shapes.shape(value)
    if not value.is_local:
        return _whole_constant(ctx, value)
    if value.ty.kind != "vec":
        return part(ctx, value, row, own_form(ctx))
    key = (value.text, 0, row if shape.deps & ROW else 0, "p")
    if key not in ctx.cache:
        if value.text in ctx.plan.packed:
            text = ctx.writer.load_slot(slot_name(*key), whole_type(ctx, value.ty))
        else:
            form = "v" if shape.deps & LANE else "s"
            parts = [part(ctx, value, row, form, c) for c in range(value.ty.count)]
            text = interleave(ctx, parts, value.ty.scalar, ctx.plan.layout.lanes if form == "v" else 1)
            if form == "s" and ctx.plan.layout.lanes > 1:
                text = repeat_for_lanes(ctx, text, value.ty)
        ctx.cache[key] = text
    return ctx.cache[key]


def set_whole(ctx: Lowering, inst: Inst, row: int, text: str) -> None:
    """Define a value by all its lanes' components."""
    key = (inst.name, 0, row, "p")
    ctx.cache[key] = text
    if inst.name in ctx.plan.crossing:
        ctx.writer.store_slot(slot_name(*key), whole_type(ctx, inst.ty), text)


def set_pieces(ctx: Lowering, inst: Inst, row: int, texts: Iterable[str]) -> None:
    """Define a value that differs from lane to lane: by all of it, or by its components."""
    for component, text in enumerate(texts):
        if inst.name in ctx.plan.packed:
            set_whole(ctx, inst, row, text)
        else:
            set_part(ctx, inst, row, "v", text, component)


def _whole_constant(ctx: Lowering, value: Value) -> str:
    texts = [value.component(c).text for c in range(value.ty.count)] if value.ty.kind == "vec" else [value.text]
    if len(set(texts)) == 1:
        text = texts[0]
        return text if text in ("poison", "undef") else f"splat ({value.ty.scalar} {text})"
    return "<" + ", ".join(f"{value.ty.scalar} {text}" for text in texts * ctx.plan.layout.lanes) + ">"
