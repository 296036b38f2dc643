"""Operations on numbers and addresses. Input: one work-item's. Output: the same for all lanes and rows of a chunk."""

from __future__ import annotations

from headwater.errors import InternalError
from headwater.llvm.ir import Inst, Value
from headwater.vectorise.analysis.shapes import LANE, extension_needs_guard
from headwater.vectorise.lower.components import write_bitcast
from headwater.vectorise.lower.divisions import divide
from headwater.vectorise.lower.forms import components_of, form_type, forms_of, lanes_of, rows_of, wide_form
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.values import let_row, may_be_shared, part, set_part
from headwater.vectorise.plan.chunk_interface import PARTED

_DIVISIONS = frozenset(("udiv", "sdiv", "urem", "srem"))


def write_elementwise(ctx: Lowering, inst: Inst, operation: str) -> None:
    """``operation ty a, b`` on every component and row."""
    form = wide_form(ctx, inst)
    operand = components_of(inst.args[0].ty)
    for component, ty in enumerate(operand):
        for row in rows_of(ctx, ctx.plan.shapes.of[inst.name]):
            texts = ", ".join(part(ctx, v, row, form, component) for v in inst.args)
            text = let_row(ctx, inst, row, form, f"{operation} {form_type(ctx, ty, form)} {texts}")
            set_part(ctx, inst, row, form, text, component)


def _guard(ctx: Lowering, inst: Inst, row: int, extra: str = "") -> str:
    """The guards of the operands, and ``extra``, together."""
    guards = [
        part(ctx, v, row, "g") for v in inst.args if v.is_local and "g" in forms_of(ctx, ctx.plan.shapes.shape(v))
    ]
    if extra:
        guards.append(extra)
    total = guards[0]
    for guard in guards[1:]:
        total = ctx.writer.let(f"and i1 {total}, {guard}")
    return total


def write_binary(ctx: Lowering, inst: Inst) -> None:
    """Write an operation of two numbers: of lane 0 alone where its result keeps a stride, else of all lanes."""
    shape = ctx.plan.shapes.of[inst.name]
    flags = "".join(f + " " for f in inst.flags if f in ("nuw", "nsw", "exact", "disjoint"))
    if may_be_shared(ctx, inst, wide_form(ctx, inst)):
        flags = ""
    if shape.strided:
        # Lane 0 stands for all lanes, active or not: its result must not be poison.
        op = "add" if inst.op == "or" else inst.op
        for row in rows_of(ctx, shape):
            a, b = (part(ctx, v, row) for v in inst.args)
            set_part(ctx, inst, row, "s", let_row(ctx, inst, row, "s", f"{op} {inst.ty} {a}, {b}"))
            if shape.guarded:
                va, vb = (part(ctx, v, row, "v") for v in inst.args)
                wide = form_type(ctx, inst.ty, "v")
                set_part(ctx, inst, row, "v", ctx.writer.let(f"{op} {wide} {va}, {vb}"))
                set_part(ctx, inst, row, "g", _guard(ctx, inst, row))
    elif inst.op in _DIVISIONS and inst.args[1].is_local:
        divide(ctx, inst)
    elif inst.op in _DIVISIONS:
        _division_by_constant(ctx, inst, flags)
    else:
        write_elementwise(ctx, inst, f"{inst.op} {flags}{inst.fast_math}".rstrip())


def _division_by_constant(ctx: Lowering, inst: Inst, flags: str) -> None:
    divisors = [
        inst.args[1].component(i) if inst.ty.kind == "vec" else inst.args[1] for i in range(max(1, inst.ty.count))
    ]
    if any(d.text in ("0", "undef", "poison", "zeroinitializer", "-1") for d in divisors):
        divide(ctx, inst)
    else:
        write_elementwise(ctx, inst, f"{inst.op} {flags}".rstrip())


def write_unary(ctx: Lowering, inst: Inst) -> None:
    """Write ``fneg`` or ``freeze``, in each form that the value is kept in."""
    shape = ctx.plan.shapes.of[inst.name]
    operation = f"{inst.op} {inst.fast_math}".rstrip()
    if not shape.strided:
        write_elementwise(ctx, inst, operation)
        return
    for row in rows_of(ctx, shape):
        for form in forms_of(ctx, shape):
            ty = form_type(ctx, inst.ty, form)
            set_part(ctx, inst, row, form, ctx.writer.let(f"{operation} {ty} {part(ctx, inst.args[0], row, form)}"))


def write_cast(ctx: Lowering, inst: Inst) -> None:
    """Write a conversion: of lane 0 alone where extending or cutting it does so to all lanes."""
    shape = ctx.plan.shapes.of[inst.name]
    source = inst.args[0]
    if inst.op == "bitcast" and (inst.ty.kind == "vec" or source.ty.kind == "vec"):
        write_bitcast(ctx, inst)
        return
    flags = "".join(f + " " for f in inst.flags if f in ("nuw", "nsw", "nneg")) + inst.fast_math
    if not shape.strided:
        form = wide_form(ctx, inst)
        if may_be_shared(ctx, inst, form):
            flags = ""
        for component, ty in enumerate(components_of(inst.ty)):
            from_type = form_type(ctx, components_of(source.ty)[component], form)
            for row in rows_of(ctx, shape):
                value = part(ctx, source, row, form, component)
                to_type = form_type(ctx, ty, form)
                text = let_row(ctx, inst, row, form, f"{inst.op} {flags}{from_type} {value} to {to_type}")
                set_part(ctx, inst, row, form, text, component)
        return
    # nneg speaks of active lanes only: for lane 0 the sign decides, as the value is meant.
    op = "sext" if "nneg" in inst.flags else inst.op
    if inst.name in ctx.plan.shapes.assumed:
        _assumed_extension(ctx, inst, op)
        return
    for row in rows_of(ctx, shape):
        base = part(ctx, source, row)
        set_part(ctx, inst, row, "s", let_row(ctx, inst, row, "s", f"{op} {source.ty} {base} to {inst.ty}"))
        if not shape.guarded:
            continue
        wide = part(ctx, source, row, "v")
        text = ctx.writer.let(f"{inst.op} {lanes_of(ctx, source.ty)} {wide} to {lanes_of(ctx, inst.ty)}")
        set_part(ctx, inst, row, "v", text)
        extends = inst.op in ("sext", "zext")
        needs = extends and extension_needs_guard(inst, ctx.plan.shapes.shape(source))
        extra = _no_wrap(ctx, op, source, row, ctx.plan.layout.lanes) if needs else ""
        set_part(ctx, inst, row, "g", _guard(ctx, inst, row, extra))


def _assumed_extension(ctx: Lowering, inst: Inst, op: str) -> None:
    """Extend lane 0, and give the chunk up if extending it does not extend all lanes: that is tested once."""
    source, shape = inst.args[0], ctx.plan.shapes.of[inst.name]
    for row in rows_of(ctx, shape):
        fits = _no_wrap(ctx, op, source, row, ctx.plan.layout.lanes * (ctx.plan.layout.rows if shape.in_line else 1))
        fits = ctx.writer.let(f"freeze i1 {fits}")  # where no lane runs, what lanes share may be poison
        go_on, parted = ctx.writer.fresh_label("fits"), ctx.writer.fresh_label("wraps")
        ctx.writer.branch(fits, go_on, parted)
        ctx.writer.start(parted)
        ctx.writer.line(f"ret i32 {PARTED}")
        ctx.writer.start(go_on)
    for row in rows_of(ctx, shape):
        text = let_row(ctx, inst, row, "s", f"{op} {source.ty} {part(ctx, source, row)} to {inst.ty}")
        set_part(ctx, inst, row, "s", text)


def _no_wrap(ctx: Lowering, op: str, source: Value, row: int, lanes: int) -> str:
    """i1: stepping through so many lanes stays within the type, so that extending lane 0 extends all."""
    stride = ctx.plan.shapes.shape(source).stride
    assert stride is not None
    span = stride * (lanes - 1)
    bits = source.ty.bits
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if op == "sext" else (0, (1 << bits) - 1)
    sign = "s" if op == "sext" else "u"
    base = part(ctx, source, row)
    if abs(span) > high - low:
        return "false"
    if span >= 0:
        return ctx.writer.let(f"icmp {sign}le {source.ty} {base}, {high - span}")
    return ctx.writer.let(f"icmp {sign}ge {source.ty} {base}, {low - span}")


def write_select(ctx: Lowering, inst: Inst) -> None:
    """Write a choice between two values, by a test of all lanes together or of each of them."""
    shape = ctx.plan.shapes.of[inst.name]
    condition, yes, no = inst.args
    if shape.strided:
        for row in rows_of(ctx, shape):
            test = part(ctx, condition, row)
            for form in forms_of(ctx, shape):
                ty = form_type(ctx, inst.ty, form)
                a, b = (
                    "true"
                    if form == "g" and "g" not in forms_of(ctx, ctx.plan.shapes.shape(v))
                    else part(ctx, v, row, form)
                    for v in (yes, no)
                )
                set_part(ctx, inst, row, form, ctx.writer.let(f"select i1 {test}, {ty} {a}, {ty} {b}"))
        return
    form = wide_form(ctx, inst)
    test_form = "v" if ctx.plan.shapes.shape(condition).deps & LANE else "s"
    for component, ty in enumerate(components_of(inst.ty)):
        of_test = component if condition.ty.kind == "vec" else 0
        test_type = form_type(ctx, condition.ty.scalar, test_form)
        wide = form_type(ctx, ty, form)
        for row in rows_of(ctx, shape):
            test = part(ctx, condition, row, test_form, of_test)
            a, b = (part(ctx, v, row, form, component) for v in (yes, no))
            text = ctx.writer.let(f"select {inst.fast_math}{test_type} {test}, {wide} {a}, {wide} {b}")
            set_part(ctx, inst, row, form, text, component)


def write_address(ctx: Lowering, inst: Inst) -> None:
    """Write a ``getelementptr``, in each form that the address is kept in."""
    shape = ctx.plan.shapes.of[inst.name]
    pointer = inst.args[0]
    if inst.ty.kind == "vec":
        raise InternalError("cannot vectorise vectors of pointers")
    factor = ctx.plan.shapes.interleave_factor(pointer.text)
    for row in rows_of(ctx, shape):
        for form in forms_of(ctx, shape):
            if form == "g":
                set_part(ctx, inst, row, "g", _guard(ctx, inst, row))
            elif factor != 1:
                set_part(ctx, inst, row, form, _interleaved_address(ctx, inst, row, form, factor))
            else:
                set_part(ctx, inst, row, form, _plain_address(ctx, inst, row, form))


def _plain_address(ctx: Lowering, inst: Inst, row: int, form: str) -> str:
    pointer = inst.args[0]
    flags = ""
    if not ctx.plan.shapes.of[inst.name].deps & LANE and not may_be_shared(ctx, inst, form):
        flags = "".join(f + " " for f in inst.flags if f in ("inbounds", "nuw", "nusw"))
    texts = []
    for value in inst.args[1:]:
        lane = form == "v" and bool(ctx.plan.shapes.shape(value).deps & LANE)
        ty = lanes_of(ctx, value.ty) if lane else value.ty
        texts.append(f"{ty} {part(ctx, value, row, 'v' if lane else 's')}")
    lane = form == "v" and bool(ctx.plan.shapes.shape(pointer).deps & LANE)
    base_type = lanes_of(ctx, pointer.ty) if lane else pointer.ty
    base = part(ctx, pointer, row, "v" if lane else "s")
    text = f"getelementptr {flags}{inst.source}, {base_type} {base}, {', '.join(texts)}"
    return let_row(ctx, inst, row, form, text)


def _interleaved_address(ctx: Lowering, inst: Inst, row: int, form: str, factor: int) -> str:
    """An address in a private array whose lanes lie side by side: offsets count ``factor``-fold."""
    pointer = inst.args[0]
    offset = ""
    int64 = "i64" if form == "s" else f"<{ctx.plan.layout.lanes} x i64>"
    ty = inst.source
    for position, value in enumerate(inst.args[1:]):
        if position == 0:
            scale = ty.size_bytes
        elif ty.kind == "struct":
            raise InternalError("structs are not laid out side by side")
        else:
            assert ty.elem is not None
            ty = ty.elem
            scale = ty.size_bytes
        index = part(ctx, value, row, form)
        if value.ty.bits < 64:
            index = ctx.writer.let(f"sext {form_type(ctx, value.ty, form)} {index} to {int64}")
        amount = str(scale * factor) if form == "s" else f"splat (i64 {scale * factor})"
        step = ctx.writer.let(f"mul {int64} {index}, {amount}")
        offset = ctx.writer.let(f"add {int64} {offset}, {step}") if offset else step
    base = part(ctx, pointer, row, form)
    return ctx.writer.let(f"getelementptr i8, {form_type(ctx, pointer.ty, form)} {base}, {int64} {offset}")
