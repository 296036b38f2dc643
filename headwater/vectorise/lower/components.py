"""Vector values of a work-item in components of their own: what takes components out, puts them in or moves them."""

from __future__ import annotations

from headwater.errors import InternalError
from headwater.llvm.ir import Inst
from headwater.llvm.types import Type
from headwater.vectorise.lower.forms import components_of, form_type, rows_of, whole_type, wide_form
from headwater.vectorise.lower.shuffles import interleave, take_component
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.values import part, set_part, whole_value


def write_bitcast(ctx: Lowering, inst: Inst) -> None:
    """Between vectors, or a vector and a scalar, of one size."""
    source = inst.args[0]
    form = wide_form(ctx, inst)
    old, new = components_of(source.ty), components_of(inst.ty)
    lanes = ctx.plan.layout.lanes if form == "v" else 1
    for row in rows_of(ctx, ctx.plan.shapes.of[inst.name]):
        if source.text in ctx.plan.packed and inst.ty.kind != "vec":
            cast = f"bitcast {whole_type(ctx, source.ty)} {whole_value(ctx, source, row)} to {whole_type(ctx, inst.ty)}"
            set_part(ctx, inst, row, form, ctx.writer.let(cast))
            continue
        parts = [part(ctx, source, row, form, c) for c in range(len(old))]
        if len(old) == len(new):
            for c, text in enumerate(parts):
                to = form_type(ctx, new[c], form)
                set_part(
                    ctx, inst, row, form, ctx.writer.let(f"bitcast {form_type(ctx, old[c], form)} {text} to {to}"), c
                )
            continue
        # Lay each lane's components side by side, reinterpret, and take them apart again.
        joined = interleave(ctx, parts, old[0], lanes)
        total = lanes * len(new)
        cast = ctx.writer.let(f"bitcast <{lanes * len(old)} x {old[0]}> {joined} to <{total} x {new[0]}>")
        for c in range(len(new)):
            set_part(ctx, inst, row, form, take_component(ctx, cast, new[0], total, c, len(new), lanes), c)


def write_component(ctx: Lowering, inst: Inst) -> None:
    """extractelement and insertelement: at a constant place they only rename."""
    vector = inst.args[0]
    index = inst.args[-1]
    form = wide_form(ctx, inst)
    count = vector.ty.count
    for row in rows_of(ctx, ctx.plan.shapes.of[inst.name]):
        if not index.is_local:
            place = int(index.text)
            if inst.op == "extractelement":
                text = part(ctx, vector, row, form, place) if place < count else "poison"
                set_part(ctx, inst, row, form, text)
            else:
                for c in range(count):
                    value = part(ctx, inst.args[1], row, form) if c == place else part(ctx, vector, row, form, c)
                    set_part(ctx, inst, row, form, value, c)
        else:
            _dynamic_component(ctx, inst, row, form)


def _dynamic_component(ctx: Lowering, inst: Inst, row: int, form: str) -> None:
    vector, index = inst.args[0], inst.args[-1]
    ty = form_type(ctx, vector.ty.scalar, form)
    index_type = form_type(ctx, index.ty, form)
    flag = form_type(ctx, Type("i1", "int", 1), form)
    at = part(ctx, index, row, form)
    found = "poison"
    for c in range(vector.ty.count):
        number = str(c) if form == "s" else f"splat ({index.ty} {c})"
        here = ctx.writer.let(f"icmp eq {index_type} {at}, {number}")
        old = part(ctx, vector, row, form, c)
        if inst.op == "extractelement":
            found = ctx.writer.let(f"select {flag} {here}, {ty} {old}, {ty} {found}") if c else old
        else:
            new = part(ctx, inst.args[1], row, form)
            set_part(ctx, inst, row, form, ctx.writer.let(f"select {flag} {here}, {ty} {new}, {ty} {old}"), c)
    if inst.op == "extractelement":
        set_part(ctx, inst, row, form, found)


def write_shuffle(ctx: Lowering, inst: Inst) -> None:
    """Write a ``shufflevector``, which only renames components."""
    form = wide_form(ctx, inst)
    first, second = inst.args
    for row in rows_of(ctx, ctx.plan.shapes.of[inst.name]):
        for c, source in enumerate(inst.indices):
            if source < 0:
                text = "poison"
            elif source < first.ty.count:
                text = part(ctx, first, row, form, source)
            else:
                text = part(ctx, second, row, form, source - first.ty.count)
            set_part(ctx, inst, row, form, text, c)


def write_field(ctx: Lowering, inst: Inst) -> None:
    """extractvalue and insertvalue of flat structs."""
    aggregate = inst.args[0]
    form = wide_form(ctx, inst)
    if len(inst.indices) != 1:
        raise InternalError("cannot vectorise nested aggregates")
    for row in rows_of(ctx, ctx.plan.shapes.of[inst.name]):
        if inst.op == "extractvalue":
            set_part(ctx, inst, row, form, part(ctx, aggregate, row, form, inst.indices[0]))
            continue
        for c in range(len(components_of(inst.ty))):
            value = part(ctx, inst.args[1], row, form) if c == inst.indices[0] else part(ctx, aggregate, row, form, c)
            set_part(ctx, inst, row, form, value, c)
