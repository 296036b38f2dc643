"""Input: LLVM intrinsics of one work-item. Output: the same intrinsics on vectors of lanes."""

from __future__ import annotations

import re

from headwater.llvm.ir import Inst
from headwater.vectorise.lower.forms import components_of, form_type, rows_of, wide_form
from headwater.vectorise.lower.packed import MANGLED, SCALAR_OPERAND
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.values import part, set_part

_REDUCTIONS = {"add": "add", "mul": "mul", "and": "and", "or": "or", "xor": "xor", "fadd": "fadd", "fmul": "fmul"}


def write_intrinsic(ctx: Lowering, inst: Inst) -> None:
    """An LLVM intrinsic that works element by element."""
    shape = ctx.plan.shapes.of[inst.name]
    form = wide_form(ctx, inst)
    stem = inst.detail.split(".")
    scalar_place = SCALAR_OPERAND.get(".".join(stem[:2]), -1)
    lanes = f"v{ctx.plan.layout.lanes}" if form == "v" else ""
    name = MANGLED.sub(lambda m: f".{lanes}{m[2]}", inst.detail)
    if stem[1] == "powi" and form == "v":
        name = re.sub(r"\.v\d+(i\d+)$", r".\1", name)
    field_types = list(inst.ty.fields) if inst.ty.kind == "struct" else []
    count = 1 if field_types else len(components_of(inst.ty))
    for component in range(count):
        result = inst.ty.scalar
        if field_types:
            wide = "{ " + ", ".join(str(form_type(ctx, f, form)) for f in field_types) + " }"
        else:
            wide = str(form_type(ctx, result, form))
        for row in rows_of(ctx, shape):
            args, types = [], []
            for place, value in enumerate(inst.args):
                own = "s" if place == scalar_place else form
                ty = form_type(ctx, value.ty.scalar, own)
                args.append(f"{ty} {part(ctx, value, row, own, component if value.ty.kind == 'vec' else 0)}")
                types.append(str(ty))
            ctx.writer.declare(name, f"declare {wide} @{name}({', '.join(types)})")
            text = ctx.writer.let(f"call {inst.fast_math}{wide} @{name}({', '.join(args)})")
            if not field_types:
                set_part(ctx, inst, row, form, text, component)
            for c in range(len(field_types)):
                set_part(ctx, inst, row, form, ctx.writer.let(f"extractvalue {wide} {text}, {c}"), c)


def write_reduction(ctx: Lowering, inst: Inst, kind: str) -> None:
    """llvm.vector.reduce.*: fold a work-item's components."""
    form = wide_form(ctx, inst)
    vector = inst.args[-1]
    ty = inst.ty
    wide = form_type(ctx, ty, form)
    for row in rows_of(ctx, ctx.plan.shapes.of[inst.name]):
        parts = [part(ctx, vector, row, form, c) for c in range(vector.ty.count)]
        total = part(ctx, inst.args[0], row, form) if len(inst.args) == 2 else parts.pop(0)
        for text in parts:
            if kind in _REDUCTIONS:
                total = ctx.writer.let(f"{_REDUCTIONS[kind]} {inst.fast_math}{wide} {total}, {text}")
            else:
                names = {"fmax": "maxnum", "fmin": "minnum", "fmaximum": "maximum", "fminimum": "minimum"}
                suffix = ("f" if ty.kind == "float" else "i") + str(ty.bits)
                lanes = f"v{ctx.plan.layout.lanes}" if form == "v" else ""
                name = f"llvm.{names.get(kind, kind)}.{lanes}{suffix}"
                ctx.writer.declare(name, f"declare {wide} @{name}({wide}, {wide})")
                total = ctx.writer.let(f"call {wide} @{name}({wide} {total}, {wide} {text})")
        set_part(ctx, inst, row, form, total)
