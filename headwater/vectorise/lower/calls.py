"""Input: calls that are made for one work-item after the other (printf, traps, block copies). Output: loops over
lanes."""

from __future__ import annotations

from headwater.errors import InternalError
from headwater.llvm.ir import Inst
from headwater.llvm.types import I64, Type, vec_type
from headwater.native.launch_block import TRAPPED
from headwater.vectorise.lower.access_checks import check_block_operation, record_trap
from headwater.vectorise.lower.forms import components_of
from headwater.vectorise.lower.lane_loops import each_lane, lane_operands, operand_of_lane
from headwater.vectorise.lower.masks import access_mask, access_rows, block_mask
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.values import set_part


def write_lane_calls(ctx: Lowering, inst: Inst) -> None:
    """Write a call that is made for each work-item: printf, traps, block copies."""
    if inst.detail == "printf":
        _printf(ctx, inst)
        return
    if inst.detail.startswith("llvm.prefetch"):
        return
    if inst.detail == "llvm.trap":
        _trap(ctx, inst)
        return
    if not inst.detail.startswith("llvm."):
        raise InternalError(f"call of a function that has no definition: {inst.detail}")
    types = ", ".join(str(v.ty) for v in inst.args)
    ctx.writer.declare(inst.detail, f"declare {inst.ty} @{inst.detail}({types})")
    if ctx.plan.variant.checked and inst.detail.startswith("llvm.mem"):
        check_block_operation(ctx, inst)
    for row, rows in access_rows(ctx, inst.args):
        operands = lane_operands(ctx, inst.args, row)
        with each_lane(ctx, access_mask(ctx, rows)) as lane:
            texts = ", ".join(f"{o[1]} {operand_of_lane(ctx, o, lane)}" for o in operands)
            ctx.writer.line(f"call {inst.ty} @{inst.detail}({texts})")


def _trap(ctx: Lowering, inst: Inst) -> None:
    """End the launch, not the process."""
    for row in range(ctx.plan.layout.rows):
        with each_lane(ctx, block_mask(ctx, row)):
            if ctx.plan.variant.checked:
                record_trap(ctx, inst)
            ctx.writer.line(f"store volatile i64 {TRAPPED}, ptr %stop, align 8")


def _printf(ctx: Lowering, inst: Inst) -> None:
    """Hand (format number, arguments in 8-byte slots) to the launcher's callback, work-item by work-item."""
    values = inst.args[1:]
    slots = [component.kind for value in values for component in components_of(value.ty)]
    addresses = tuple(kind == "ptr" for kind in slots)
    number = ctx.formats.setdefault((inst.args[0].text, addresses), len(ctx.formats))
    ctx.spills += 1
    place = f"printf.{ctx.spills}"
    ctx.writer.slots[place] = vec_type(max(1, len(slots)), I64)
    for row in range(ctx.plan.layout.rows):
        operands = lane_operands(ctx, values, row)
        with each_lane(ctx, block_mask(ctx, row)) as lane:
            for i, operand in enumerate(operands):
                text = _widen_argument(ctx, operand_of_lane(ctx, operand, lane), operand[1])
                at = ctx.writer.let(f'getelementptr i64, ptr %"{place}", i64 {i}')
                ctx.writer.line(f"store i64 {text}, ptr {at}")
            ctx.writer.line(f'call void %printf(i64 {number}, ptr %"{place}")')
    if inst.name:
        set_part(ctx, inst, 0, "s", "0")


def _widen_argument(ctx: Lowering, text: str, ty: Type) -> str:
    if ty.kind == "float":
        if ty.bits < 64:
            text = ctx.writer.let(f"fpext {ty} {text} to double")
        return ctx.writer.let(f"bitcast double {text} to i64")
    if ty.kind == "ptr":
        return ctx.writer.let(f"ptrtoint {ty} {text} to i64")
    return text if ty.bits == 64 else ctx.writer.let(f"sext {ty} {text} to i64")
