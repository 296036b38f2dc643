"""Input: atomics of all lanes on one address. Output: one atomic, and what each lane would have found there.

Kernels count and add up in one place (``atomic_inc(count)``), often to learn where to write. Lane by lane that is one
locked operation each, for which all cores wait in turn; the lanes' sum takes one for a chunk.
"""

from __future__ import annotations

from headwater.llvm.ir import Inst
from headwater.llvm.types import Type
from headwater.vectorise.analysis.merged_atomic_candidates import FOLDS
from headwater.vectorise.lower.atomics import atomic_operation, write_lane_atomics
from headwater.vectorise.lower.forms import lanes_of, mask_type
from headwater.vectorise.lower.masks import access_rows, any_lane_of, block_mask
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.values import part, set_part, splat


def write_atomic(ctx: Lowering, inst: Inst) -> None:
    """Write one instruction of a chunk's lanes and rows."""
    if inst.name not in ctx.plan.merged_atomics:
        write_lane_atomics(ctx, inst)
        return
    for place, rows in access_rows(ctx, inst.args[:1]):
        _write_merged(ctx, inst, place, rows, used=ctx.plan.merged_atomics[inst.name])


def _write_merged(ctx: Lowering, inst: Inst, place: int, rows: list[int], *, used: bool) -> None:
    """The rows of one place; ``place`` is the one to take its address from."""
    writer, ty, lanes = ctx.writer, inst.ty, lanes_of(ctx, inst.ty)
    none = _identity(inst.detail, ty)
    masks = [block_mask(ctx, row) for row in rows]
    before: list[str] = []  # for each row the sums of the lanes before each lane, of this row and those before it
    total = ""
    for row, mask in zip(rows, masks, strict=True):
        values = part(ctx, inst.args[1], row, "v")
        if mask is not None:
            values = writer.let(
                f"select {mask_type(ctx.plan.layout)} {mask}, {lanes} {values}, {lanes} splat ({ty} {none})"
            )
        if used:
            sums = _running_sums(ctx, values, ty)
            others = writer.let(f"sub {lanes} {sums}, {values}")
            before.append(writer.let(f"add {lanes} {others}, {splat(ctx, total, ty)}") if total else others)
            own = writer.let(f"extractelement {lanes} {sums}, i64 {ctx.plan.layout.lanes - 1}")
        else:
            own = _reduced(ctx, inst.detail, values, ty)
        total = _combined(ctx, inst.detail, total, own, ty) if total else own
    wanted = any_lane_of(ctx, masks)
    ctx.spills += 1
    slot = f"together.{ctx.spills}"
    address = part(ctx, inst.args[0], place)
    if wanted is None:
        found = atomic_operation(ctx, inst, [address, total])[0]
    else:
        writer.store_slot(slot, ty, "0")
        with writer.when(wanted, "some"), ctx.scope():
            writer.store_slot(slot, ty, atomic_operation(ctx, inst, [address, total])[0])
        found = writer.load_slot(slot, ty)
    if not used:
        return
    for row, sums in zip(rows, before, strict=True):
        there = splat(ctx, found, ty)
        set_part(ctx, inst, row, "v", writer.let(f"{inst.detail} {lanes} {there}, {sums}"))


def _running_sums(ctx: Lowering, values: str, ty: Type) -> str:
    """Each lane's value and those of the lanes before it, added up; as many steps as one lane is doubled."""
    lanes, count, step = lanes_of(ctx, ty), ctx.plan.layout.lanes, 1
    while step < count:
        order = ", ".join(f"i32 {lane - step if lane >= step else count}" for lane in range(count))
        moved = ctx.writer.let(f"shufflevector {lanes} {values}, {lanes} zeroinitializer, <{count} x i32> <{order}>")
        values = ctx.writer.let(f"add {lanes} {values}, {moved}")
        step *= 2
    return values


def _reduced(ctx: Lowering, operation: str, values: str, ty: Type) -> str:
    """What one atomic of all lanes together takes."""
    lanes = lanes_of(ctx, ty)
    name = f"llvm.vector.reduce.{FOLDS[operation]}.v{ctx.plan.layout.lanes}i{ty.bits}"
    ctx.writer.declare(name, f"declare {ty} @{name}({lanes})")
    return ctx.writer.let(f"call {ty} @{name}({lanes} {values})")


def _combined(ctx: Lowering, operation: str, a: str, b: str, ty: Type) -> str:
    kind = FOLDS[operation]
    if not kind.endswith(("max", "min")):
        return ctx.writer.let(f"{kind} {ty} {a}, {b}")
    name = f"llvm.{kind}.i{ty.bits}"
    ctx.writer.declare(name, f"declare {ty} @{name}({ty}, {ty})")
    return ctx.writer.let(f"call {ty} @{name}({ty} {a}, {ty} {b})")


def _identity(operation: str, ty: Type) -> int:
    """The number that changes nothing."""
    least = -1 << (ty.bits - 1)
    return {"and": -1, "max": least, "min": -1 - least, "umin": -1}.get(operation, 0)
