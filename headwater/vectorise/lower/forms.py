"""How the parts of values are kept: the forms and types of each shape of a value, and the names of their slots."""

from __future__ import annotations

from collections.abc import Iterator

from headwater.llvm.ir import Inst
from headwater.llvm.types import I1, Type, vec_type
from headwater.vectorise.analysis.shapes import LANE, Shape
from headwater.vectorise.layout import Layout
from headwater.vectorise.lower.state import Lowering


def lanes_of(ctx: Lowering, ty: Type) -> Type:
    """One element of this type for each lane."""
    return vec_type(ctx.plan.layout.lanes, ty)


def form_type(ctx: Lowering, ty: Type, form: str) -> Type:
    """The type of a part in the form ``s``, ``v`` or ``g``."""
    return {"s": ty, "v": lanes_of(ctx, ty) if form == "v" else ty, "g": I1}[form]


def rows_of(ctx: Lowering, shape: Shape) -> range:
    """The rows that a value of this shape is kept for, as far as they are written at present."""
    return written_rows(ctx) if shape.by_row else range(1)


def written_rows(ctx: Lowering) -> range:
    """The rows that instructions are written for at present."""
    return range(1) if ctx.in_row else ctx.strip or range(ctx.plan.layout.rows)


def components_of(ty: Type) -> list[Type]:
    """The types of what values of a type are kept in: vector elements, fields, or the whole."""
    if ty.kind == "vec" and ty.elem is not None:
        return [ty.elem] * ty.count
    if ty.kind == "struct":
        return list(ty.fields)
    return [ty]


def forms_of(ctx: Lowering, shape: Shape) -> tuple[str, ...]:
    """The forms that a value of this shape is kept in."""
    if not shape.deps & LANE:
        return ("s",)
    if shape.stride is None:
        return ("v",)
    return ("s", "v", "g") if shape.guarded else ("s",)


def slot_name(name: str, component: int, row: int, form: str) -> str:
    """The slot of a part that crosses blocks."""
    return f"{name[1:]}.{component}.{row}.{form}".replace('"', "")


def mask_type(layout: Layout) -> Type:
    """The type of a row's mask."""
    return vec_type(layout.lanes, I1) if layout.lanes > 1 else I1


def mask_slot_name(owner: str, row: int) -> str:
    """The slot of a block's mask."""
    return f"mask.{owner[1:]}.{row}".replace('"', "")


def whole_type(ctx: Lowering, ty: Type) -> Type:
    """The type of all lanes' values of one type side by side."""
    if ctx.plan.layout.lanes == 1:
        return ty
    return vec_type(ctx.plan.layout.lanes * max(1, ty.count), ty.scalar)


def pieces_of(ctx: Lowering, name: str, ty: Type, shape: Shape) -> Iterator[tuple[int, str, Type]]:
    """What a value is kept in: component, form and type."""
    if name in ctx.plan.packed:
        yield 0, "p", whole_type(ctx, ty)
        return
    for component, own in enumerate(components_of(ty)):
        for form in forms_of(ctx, shape):
            yield component, form, form_type(ctx, own, form)


def own_form(ctx: Lowering) -> str:
    """The form of values of a lane's own."""
    return "v" if ctx.plan.layout.lanes > 1 else "s"


def wide_form(ctx: Lowering, inst: Inst) -> str:
    """The form in which the result is computed without regard to its stride."""
    return "v" if ctx.plan.shapes.of[inst.name].deps & LANE else "s"
