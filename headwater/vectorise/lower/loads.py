"""Input: a load of one work-item. Output: the cheapest loads for all lanes and rows of a chunk."""

from __future__ import annotations

from headwater.llvm.ir import Inst, Value
from headwater.llvm.types import I1, Type, int_type, vec_type
from headwater.vectorise.analysis.shapes import LANE, ROW
from headwater.vectorise.lower.forms import components_of, forms_of, lanes_of, pieces_of, whole_type
from headwater.vectorise.lower.lane_extraction import lane_addresses, offset_address
from headwater.vectorise.lower.masked_access import (
    WORD_BYTES,
    component_align,
    is_wide,
    lane_step,
    mask_word,
    masked_load,
    offset_lanes,
    reverse,
    widen_mask,
)
from headwater.vectorise.lower.masks import ALL_LANES, access_mask, access_rows, any_lane
from headwater.vectorise.lower.prefetches import note_stream, write_next_chunk_prefetches
from headwater.vectorise.lower.shuffles import interleave, join_vectors, take_component
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.values import part, set_part, set_pieces, set_whole


def write_load(ctx: Lowering, inst: Inst, pointer: Value) -> None:
    """Write a load in the cheapest way that its lanes' addresses allow."""
    for row, rows in access_rows(ctx, [pointer]):
        if not ctx.plan.shapes.shape(pointer).deps & LANE:
            _load_shared(ctx, inst, pointer, row, rows)
        elif "g" in forms_of(ctx, ctx.plan.shapes.shape(pointer)):
            _load_guarded(ctx, inst, pointer, row, rows)
        else:
            step = lane_step(ctx, pointer, inst.ty)
            wide = is_wide(ctx, step, len(components_of(inst.ty)), pointer)
            set_pieces(ctx, inst, row, _load_lanes(ctx, inst, pointer, row, rows, wide=wide))
            if wide and inst.name in ctx.plan.prefetches.streams and access_mask(ctx, rows) is None:
                note_stream(ctx, inst, pointer, row)
            if inst.name in ctx.plan.prefetches.next_chunk and access_mask(ctx, rows) is None:
                write_next_chunk_prefetches(ctx, inst, pointer, row)
            if wide and step == 1 and inst.name in ctx.plan.extraction.loads and access_mask(ctx, rows) is None:
                ctx.cache[inst.name, 0, row, "at"] = part(ctx, pointer, row)


def _load_shared(ctx: Lowering, inst: Inst, pointer: Value, row: int, rows: list[int]) -> None:
    """One address for all lanes of the row."""
    mask = access_mask(ctx, rows)
    address = part(ctx, pointer, row)
    ty = inst.ty
    if mask is not None and ctx.plan.shapes.shape(pointer).deps & ROW:
        some = any_lane(ctx, mask)
        if ty.kind == "vec":
            flags = ctx.writer.let(f"insertelement <1 x i1> poison, i1 {some}, i64 0")
            order = ", ".join("i32 0" for _ in range(ty.count))
            flags = ctx.writer.let(f"shufflevector <1 x i1> {flags}, <1 x i1> poison, <{ty.count} x i32> <{order}>")
            loaded = masked_load(ctx, ty, pointer.ty, address, flags, inst.align)
        else:
            flags = ctx.writer.let(f"insertelement <1 x i1> poison, i1 {some}, i64 0")
            vector = masked_load(ctx, vec_type(1, ty), pointer.ty, address, flags, inst.align)
            loaded = ctx.writer.let(f"extractelement <1 x {ty}> {vector}, i64 0")
    else:
        volatile = "volatile " if {"volatile", "atomic"} & set(inst.flags) else ""
        loaded = ctx.writer.let(f"load {volatile}{ty}, {pointer.ty} {address}, align {inst.align}")
    if ty.kind != "vec":
        set_part(ctx, inst, row, "s", loaded)
        return
    if inst.name in ctx.plan.packed:
        set_whole(ctx, inst, row, loaded)
        return
    for c in range(ty.count):
        text = ctx.writer.let(f"extractelement {ty} {loaded}, i64 {c}")
        set_part(ctx, inst, row, "s", text, c)


def _load_guarded(ctx: Lowering, inst: Inst, pointer: Value, row: int, rows: list[int]) -> None:
    """The stride holds only if the guard does: both ways, chosen at run time."""
    count = len(components_of(inst.ty))
    if not is_wide(ctx, lane_step(ctx, pointer, inst.ty), count, pointer):
        set_pieces(ctx, inst, row, _load_lanes(ctx, inst, pointer, row, rows, wide=False))
        return
    access_mask(ctx, rows)  # read the masks before the ways part
    guard = part(ctx, pointer, row, "g")
    part(ctx, pointer, row, "s")
    part(ctx, pointer, row, "v")
    names = [ctx.writer.fresh_label(hint) for hint in ("wide", "lanes", "loaded")]
    ctx.writer.branch(ctx.writer.let(f"freeze i1 {guard}"), names[0], names[1])
    found: list[list[str]] = []
    ends: list[str] = []
    for label, wide in ((names[0], True), (names[1], False)):
        ctx.writer.start(label)
        with ctx.scope():
            found.append(_load_lanes(ctx, inst, pointer, row, rows, wide=wide))
        ends.append(ctx.writer.out.label)
        ctx.writer.jump(names[2])
    ctx.writer.start(names[2])
    merged = []
    for number, (_, _, ty) in enumerate(pieces_of(ctx, inst.name, inst.ty, ctx.plan.shapes.of[inst.name])):
        choices = ", ".join(f'[ {texts[number]}, %"{end}" ]' for texts, end in zip(found, ends, strict=True))
        merged.append(ctx.writer.let(f"phi {ty} {choices}"))
    set_pieces(ctx, inst, row, merged)


def _load_lanes(ctx: Lowering, inst: Inst, pointer: Value, row: int, rows: list[int], *, wide: bool) -> list[str]:
    """The value's pieces: all of it if it is kept whole, else its components."""
    if inst.name in ctx.plan.packed:
        return [_load_whole(ctx, inst, pointer, row, rows, wide=wide)]
    return _load_components(ctx, inst, pointer, row, rows, wide=wide)


def _load_whole(ctx: Lowering, inst: Inst, pointer: Value, row: int, rows: list[int], *, wide: bool) -> str:
    """All lanes' vectors in memory order: what is one after the other in memory is one load."""
    mask = access_mask(ctx, rows)
    ty, lanes = inst.ty, ctx.plan.layout.lanes
    step = lane_step(ctx, pointer, ty)
    if pointer.text in ctx.plan.shapes.interleaved:
        return interleave(ctx, _load_components(ctx, inst, pointer, row, rows, wide=wide), ty.scalar, lanes)
    if wide and step == ty.count:
        return _load_items(ctx, ty.scalar, step, pointer, row, mask, inst.align)
    if not wide and ty.size_bytes in WORD_BYTES:
        word = int_type(8 * ty.size_bytes)
        pointers, flags = lanes_of(ctx, pointer.ty), mask or ALL_LANES
        addresses = part(ctx, pointer, row, "v")
        words = masked_load(ctx, lanes_of(ctx, word), pointers, addresses, flags, inst.align, "gather")
        return ctx.writer.let(f"bitcast {lanes_of(ctx, word)} {words} to {whole_type(ctx, ty)}")
    if not wide and mask is None:
        places = lane_addresses(ctx, pointer, row)
        return join_vectors(
            ctx, [ctx.writer.let(f"load {ty}, {pointer.ty} {at}, align {inst.align}") for at in places], ty
        )
    return interleave(ctx, _load_components(ctx, inst, pointer, row, rows, wide=wide), ty.scalar, lanes)


def _load_components(ctx: Lowering, inst: Inst, pointer: Value, row: int, rows: list[int], *, wide: bool) -> list[str]:
    mask = access_mask(ctx, rows)
    parts = components_of(inst.ty)
    elem = parts[0]
    lanes = ctx.plan.layout.lanes
    size = elem.size_bytes
    align = min(inst.align, size) if pointer.text in ctx.plan.shapes.interleaved else inst.align
    step = lane_step(ctx, pointer, inst.ty)
    stride = ctx.plan.shapes.shape(pointer).stride
    if not wide and mask is None and stride is not None and "g" not in forms_of(ctx, ctx.plan.shapes.shape(pointer)):
        return [_load_strided(ctx, inst, pointer, row, elem, c, stride) for c in range(len(parts))]
    if not wide:
        addresses = part(ctx, pointer, row, "v")
        pointers = lanes_of(ctx, pointer.ty)
        spread = size * (lanes if pointer.text in ctx.plan.shapes.interleaved else 1)
        return [
            masked_load(
                ctx,
                lanes_of(ctx, elem),
                pointers,
                offset_lanes(ctx, pointer.ty, addresses, c * spread),
                mask or ALL_LANES,
                component_align(inst.align, size, c),
                "gather",
            )
            for c in range(len(parts))
        ]
    assert step is not None
    base = part(ctx, pointer, row)
    volatile = "volatile " if {"volatile", "atomic"} & set(inst.flags) else ""
    if pointer.text in ctx.plan.shapes.interleaved:
        return [
            _load_wide(
                ctx, elem, lanes, pointer.ty, offset_address(ctx, pointer.ty, base, c * size * lanes), mask, align
            )
            for c in range(len(parts))
        ]
    if step == -1:
        first = offset_address(ctx, pointer.ty, base, -size * (lanes - 1))
        backwards = reverse(ctx, mask, I1) if mask is not None else None
        return [reverse(ctx, _load_wide(ctx, elem, lanes, pointer.ty, first, backwards, align), elem)]
    total = lanes * step
    if mask is not None and mask_word(elem, step, len(parts)) is not None:
        vector = _load_items(ctx, elem, step, pointer, row, mask, align)
    else:
        wide_mask = widen_mask(ctx, mask, step, len(parts))
        vector = _load_wide(ctx, elem, total, pointer.ty, base, wide_mask, align, volatile)
    if step == 1:
        return [vector]
    return [take_component(ctx, vector, elem, total, c, step, lanes) for c in range(len(parts))]


def _load_strided(ctx: Lowering, inst: Inst, pointer: Value, row: int, elem: Type, component: int, stride: int) -> str:
    """One load a lane at a known distance, which is faster than a gather (and needs no address vector)."""
    base = part(ctx, pointer, row)
    spread = elem.size_bytes * (ctx.plan.layout.lanes if pointer.text in ctx.plan.shapes.interleaved else 1)
    align = component_align(inst.align, elem.size_bytes, component)
    vector = "poison"
    for lane in range(ctx.plan.layout.lanes):
        at = offset_address(ctx, pointer.ty, base, lane * stride + component * spread)
        one = ctx.writer.let(f"load {elem}, {pointer.ty} {at}, align {align}")
        vector = ctx.writer.let(f"insertelement {lanes_of(ctx, elem)} {vector}, {elem} {one}, i64 {lane}")
    return vector


def _load_items(ctx: Lowering, elem: Type, step: int, pointer: Value, row: int, mask: str | None, align: int) -> str:
    """Every lane's ``step`` elements, which follow each other; ``mask``: the lanes whose are wanted."""
    lanes, address = ctx.plan.layout.lanes, part(ctx, pointer, row)
    word = mask_word(elem, step, step) if mask is not None else None
    if word is None:
        return _load_wide(ctx, elem, lanes * step, pointer.ty, address, widen_mask(ctx, mask, step, step), align)
    each = elem.bits * step // word.bits
    flags = widen_mask(ctx, mask, each, each)
    words = _load_wide(ctx, word, lanes * each, pointer.ty, address, flags, align)
    return ctx.writer.let(f"bitcast {vec_type(lanes * each, word)} {words} to {vec_type(lanes * step, elem)}")


def _load_wide(
    ctx: Lowering,
    elem: Type,
    count: int,
    pointer_type: Type,
    address: str,
    mask: str | None,
    align: int,
    volatile: str = "",
) -> str:
    ty = vec_type(count, elem)
    if mask is None:
        return ctx.writer.let(f"load {volatile}{ty}, {pointer_type} {address}, align {align}")
    return masked_load(ctx, ty, pointer_type, address, mask, align)
