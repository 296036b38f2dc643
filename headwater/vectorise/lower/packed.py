"""Input: vector values that stay whole. Output: operations on all lanes' components at once, in memory order.

`headwater.vectorise.plan.packing` says which values stay whole.
"""

from __future__ import annotations

import re

from headwater.errors import InternalError
from headwater.llvm.ir import BINARY, CASTS, Inst
from headwater.llvm.types import I1, vec_type
from headwater.vectorise.analysis.shapes import LANE
from headwater.vectorise.lower.forms import rows_of, whole_type
from headwater.vectorise.lower.shuffles import repeat_for_components, shuffle
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.values import part, set_whole, whole_value

MANGLED = re.compile(r"\.(v\d+)?((?:f|i|bf|p)\d+)(?=\.|$)")

SCALAR_OPERAND = {"llvm.abs": 1, "llvm.ctlz": 1, "llvm.cttz": 1, "llvm.is": 1, "llvm.powi": 1}
"""Intrinsics whose operand at this place is one scalar whatever the width (LLVM Language Reference)."""


def write_packed(ctx: Lowering, inst: Inst) -> None:
    """An instruction, neither phi nor access, whose value is kept whole."""
    for row in rows_of(ctx, ctx.plan.shapes.of[inst.name]):
        set_whole(ctx, inst, row, _packed_result(ctx, inst, row))


def _packed_result(ctx: Lowering, inst: Inst, row: int) -> str:
    op = inst.op
    ty = whole_type(ctx, inst.ty)
    if op == "select":
        return _packed_select(ctx, inst, row)
    if op == "insertelement":
        return _packed_insert(ctx, inst, row)
    if op == "shufflevector":
        return _packed_shuffle(ctx, inst, row)
    if op == "call":
        return _packed_call(ctx, inst, row)
    source = whole_type(ctx, inst.args[0].ty)
    texts = ", ".join(whole_value(ctx, v, row) for v in inst.args)
    if op in CASTS:
        flags = "".join(f + " " for f in inst.flags if f in ("nuw", "nsw", "nneg")) + inst.fast_math
        return ctx.writer.let(f"{op} {flags}{source} {texts} to {ty}")
    if op in ("icmp", "fcmp"):
        flags = "samesign " if "samesign" in inst.flags else inst.fast_math
        return ctx.writer.let(f"{op} {flags}{inst.detail} {source} {texts}")
    if op in BINARY or op in ("fneg", "freeze"):
        flags = "".join(f + " " for f in inst.flags if f in ("nuw", "nsw", "exact", "disjoint")) + inst.fast_math
        return ctx.writer.let(f"{op} {flags}{ty} {texts}")
    raise InternalError(f"cannot keep the vectors of LLVM instruction {op!r} whole")


def _packed_select(ctx: Lowering, inst: Inst, row: int) -> str:
    condition, yes, no = inst.args
    ty = whole_type(ctx, inst.ty)
    choices = f"{ty} {whole_value(ctx, yes, row)}, {ty} {whole_value(ctx, no, row)}"
    flag = vec_type(ty.count, I1)
    if condition.ty.kind == "vec":
        test = whole_value(ctx, condition, row)
    elif ctx.plan.shapes.shape(condition).deps & LANE:
        test = repeat_for_components(ctx, part(ctx, condition, row, "v"), I1, inst.ty.count)
    else:
        return ctx.writer.let(f"select {inst.fast_math}i1 {part(ctx, condition, row)}, {choices}")
    return ctx.writer.let(f"select {inst.fast_math}{flag} {test}, {choices}")


def _packed_insert(ctx: Lowering, inst: Inst, row: int) -> str:
    vector, value, index = inst.args
    count, place = vector.ty.count, int(index.text)
    ty = whole_type(ctx, inst.ty)
    if ctx.plan.layout.lanes == 1 and place < count:
        item = f"{value.ty} {part(ctx, value, row)}"
        return ctx.writer.let(f"insertelement {ty} {whole_value(ctx, vector, row)}, {item}, i64 {place}")
    new = repeat_for_components(ctx, part(ctx, value, row, "v"), value.ty, count)
    if place >= count:
        return "poison"
    if vector.is_undefined:
        ctx.splats.add(inst.name)
        return new
    old = whole_value(ctx, vector, row)
    order = [i + (ty.count if i % count == place else 0) for i in range(ty.count)]
    return shuffle(ctx, old, new, ty, order)


def _packed_shuffle(ctx: Lowering, inst: Inst, row: int) -> str:
    first, second = inst.args
    if first.text in ctx.splats and set(inst.indices) <= {0} and inst.ty == first.ty:
        return whole_value(ctx, first, row)
    count = first.ty.count
    total = count * ctx.plan.layout.lanes
    # Where lane 0's elements are in the two vectors of all lanes; each further lane's are ``count`` elements on.
    places = [i if i < count else i - count + total for i in inst.indices]
    order = [i if i < 0 else i + lane * count for lane in range(ctx.plan.layout.lanes) for i in places]
    a = whole_value(ctx, first, row)
    b = "poison" if second.is_undefined else whole_value(ctx, second, row)
    return shuffle(ctx, a, b, whole_type(ctx, first.ty), order)


def _packed_call(ctx: Lowering, inst: Inst, row: int) -> str:
    """An LLVM intrinsic that works element by element."""
    ty = whole_type(ctx, inst.ty)
    stem = inst.detail.split(".")
    scalar_place = SCALAR_OPERAND.get(".".join(stem[:2]), -1)
    name = MANGLED.sub(lambda m: f".v{ty.count}{m[2]}", inst.detail)
    if stem[1] == "powi":
        name = re.sub(r"\.v\d+(i\d+)$", r".\1", name)
    args, types = [], []
    for place, value in enumerate(inst.args):
        scalar = place == scalar_place
        own = value.ty if scalar else whole_type(ctx, value.ty)
        args.append(f"{own} {part(ctx, value, row) if scalar else whole_value(ctx, value, row)}")
        types.append(str(own))
    ctx.writer.declare(name, f"declare {ty} @{name}({', '.join(types)})")
    return ctx.writer.let(f"call {inst.fast_math}{ty} @{name}({', '.join(args)})")
