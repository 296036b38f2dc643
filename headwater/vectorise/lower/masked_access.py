"""How the addresses of lanes lie, and the masked loads, stores, gathers and scatters that this asks for."""

from __future__ import annotations

from headwater.llvm.ir import Value
from headwater.llvm.types import I32, I64, Type
from headwater.vectorise.lower.forms import lanes_of, mask_type
from headwater.vectorise.lower.masks import ALL_LANES
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.values import splat
from headwater.vectorise.plan.packing import MAX_STEP

WORD_BYTES = (4, 8)
"""Sizes of vectors that gathers and scatters move as one integer."""

NOWHERE = "nowhere"
"""The slot that lanes that are off read and write where gathers and scatters have no masks: for those LLVM makes a
branch of each lane, which are guessed wrongly (Emerald Rapids held to AVX2: 3.4 times as long)."""

WORD = I32
"""What small elements are moved as where masks tell items apart."""


def lane_step(ctx: Lowering, pointer: Value, accessed: Type) -> int | None:
    """Elements from one lane's address to the next; None if that is no constant."""
    stride = ctx.plan.shapes.shape(pointer).stride
    size = accessed.scalar.size_bytes
    return stride // size if stride is not None and stride % size == 0 else None


def is_wide(ctx: Lowering, step: int | None, count: int, pointer: Value) -> bool:
    """Whether lanes' elements lie so close that one vector access covers them."""
    if step is None or pointer.text in ctx.plan.shapes.interleaved:
        return step == 1 and pointer.text in ctx.plan.shapes.interleaved
    return count <= step <= max(count, MAX_STEP) or (step == -1 and count == 1)


def widen_mask(ctx: Lowering, mask: str | None, step: int, count: int) -> str | None:
    """The mask of a wide access: each lane's ``count`` of every ``step`` elements."""
    if step == count:
        if mask is None or step == 1:
            return mask
        order = ", ".join(f"i32 {lane}" for lane in range(ctx.plan.layout.lanes) for _ in range(step))
        total, mask_ty = ctx.plan.layout.lanes * step, mask_type(ctx.plan.layout)
        return ctx.writer.let(f"shufflevector {mask_ty} {mask}, {mask_ty} poison, <{total} x i32> <{order}>")
    pattern = ", ".join(
        f"i1 {'true' if c < count else 'false'}" for _ in range(ctx.plan.layout.lanes) for c in range(step)
    )
    if mask is None:
        return f"<{pattern}>"
    wide = widen_mask(ctx, mask, step, step)
    total = ctx.plan.layout.lanes * step
    return ctx.writer.let(f"and <{total} x i1> {wide}, <{pattern}>")


def _intrinsic_name(name: str, value: Type, pointer: Type) -> str:
    letter = {"float": "f", "int": "i", "ptr": "p"}[value.scalar.kind]
    bits = value.scalar.space if letter == "p" else value.scalar.bits
    suffix = f"{letter}{bits}"
    if value.scalar.text == "bfloat":
        suffix = "bf16"
    lanes = f"v{value.count}"
    at = f"{'v' + str(pointer.count) if pointer.kind == 'vec' else ''}p{pointer.scalar.space}"
    return f"llvm.masked.{name}.{lanes}{suffix}.{at}"


def masked_load(
    ctx: Lowering, ty: Type, pointer_type: Type, pointer: str, mask: str, align: int, name: str = "load"
) -> str:
    """Write a masked load, or a gather, as ``name`` says."""
    if name == "gather" and mask != ALL_LANES and ctx.plan.variant.unmasked_gathers:
        pointer, mask = _or_nowhere(ctx, pointer_type, pointer, mask), ALL_LANES
    name = _intrinsic_name(name, ty, pointer_type)
    flags = f"<{ty.count} x i1>"
    ctx.writer.declare(name, f"declare {ty} @{name}({pointer_type}, {flags}, {ty})")
    return ctx.writer.let(f"call {ty} @{name}({pointer_type} align {align} {pointer}, {flags} {mask}, {ty} poison)")


def masked_store(
    ctx: Lowering, ty: Type, value: str, pointer_type: Type, pointer: str, mask: str, align: int, name: str = "store"
) -> None:
    """Write a masked store, or a scatter, as ``name`` says."""
    if name == "scatter" and mask != ALL_LANES and ctx.plan.variant.unmasked_gathers:
        pointer, mask = _or_nowhere(ctx, pointer_type, pointer, mask), ALL_LANES
    name = _intrinsic_name(name, ty, pointer_type)
    flags = f"<{ty.count} x i1>"
    ctx.writer.declare(name, f"declare void @{name}({ty}, {pointer_type}, {flags})")
    ctx.writer.line(f"call void @{name}({ty} {value}, {pointer_type} align {align} {pointer}, {flags} {mask})")


def _or_nowhere(ctx: Lowering, pointers: Type, addresses: str, mask: str) -> str:
    """The addresses, for lanes that are off that of a place of no meaning."""
    ctx.writer.slots.setdefault(NOWHERE, I64)
    space = pointers.scalar.space
    at = f'%"{NOWHERE}"'
    if space:
        at = ctx.writer.let(f"addrspacecast ptr {at} to {pointers.scalar}")
    nowhere = splat(ctx, at, pointers.scalar)
    return ctx.writer.let(f"select <{pointers.count} x i1> {mask}, {pointers} {addresses}, {pointers} {nowhere}")


def component_align(align: int, size: int, component: int) -> int:
    """The alignment of a component of a vector in memory."""
    return align if component == 0 else min(align, size)


def offset_lanes(ctx: Lowering, pointer_type: Type, addresses: str, offset_bytes: int) -> str:
    """The addresses of lanes, all of them some bytes further on."""
    if not offset_bytes:
        return addresses
    return ctx.writer.let(f"getelementptr i8, {lanes_of(ctx, pointer_type)} {addresses}, i64 {offset_bytes}")


def mask_word(elem: Type, step: int, count: int) -> Type | None:
    """What small elements that share a lane of a mask are moved as: words have masks on every processor, bytes only
    with AVX-512, and without each would take a branch of its own."""
    bits = elem.bits * step
    if step != count or elem.kind == "ptr" or elem.bits >= WORD.bits or bits % WORD.bits:
        return None
    return WORD


def reverse(ctx: Lowering, vector: str, elem: Type) -> str:
    """A vector with its lanes in the opposite order."""
    lanes = ctx.plan.layout.lanes
    order = ", ".join(f"i32 {i}" for i in reversed(range(lanes)))
    ty = lanes_of(ctx, elem)
    return ctx.writer.let(f"shufflevector {ty} {vector}, {ty} poison, <{lanes} x i32> <{order}>")
