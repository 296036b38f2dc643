"""Input: a store of one work-item. Output: the cheapest stores for all lanes and rows of a chunk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd

from headwater.llvm.ir import Inst, Value
from headwater.llvm.types import I1, Type, int_type, vec_type
from headwater.vectorise.analysis.shapes import LANE
from headwater.vectorise.layout import LINE_BYTES
from headwater.vectorise.lower.forms import components_of, forms_of, lanes_of, mask_type, whole_type
from headwater.vectorise.lower.lane_extraction import lane_addresses, offset_address
from headwater.vectorise.lower.masked_access import (
    WORD_BYTES,
    component_align,
    is_wide,
    lane_step,
    mask_word,
    masked_store,
    offset_lanes,
    reverse,
    widen_mask,
)
from headwater.vectorise.lower.masks import ALL_LANES, access_mask, access_rows, any_lane
from headwater.vectorise.lower.shuffles import interleave, shuffle
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.values import part, whole_value

STREAM_ALIGN_BYTES = 16
"""Streaming stores are written in 16-byte pieces, the least alignment that they need on x86, where they do not fill
cache lines, or vectors, and lines of chunks are not begun so that they do (Zen 4: a + b 1.05 times as long; five-point
stencil 4 % slower)."""


def write_store(ctx: Lowering, inst: Inst, value: Value, pointer: Value) -> None:
    """Write a store in the cheapest way that its lanes' addresses allow."""
    shape = ctx.plan.shapes.shape(pointer)
    for row, rows in access_rows(ctx, [value, pointer]):
        if not shape.deps & LANE:
            _store_shared(ctx, inst, value, pointer, row, rows)
            continue
        wide = is_wide(ctx, lane_step(ctx, pointer, value.ty), len(components_of(value.ty)), pointer)
        if "g" in forms_of(ctx, shape) and wide:
            _store_guarded(ctx, inst, value, pointer, row, rows)
        else:
            _store_lanes(ctx, inst, value, pointer, row, rows, wide=wide)


def _store_shared(ctx: Lowering, inst: Inst, value: Value, pointer: Value, row: int, rows: list[int]) -> None:
    """All lanes write to one address: the last one's value stays."""
    mask = access_mask(ctx, rows)
    lane_form = bool(ctx.plan.shapes.shape(value).deps & LANE)
    if mask is None:
        _store_one(ctx, inst, value, pointer, row, str(ctx.plan.layout.lanes - 1) if lane_form else "")
        return
    with ctx.writer.when(any_lane(ctx, mask), "store"), ctx.scope():
        _store_one(ctx, inst, value, pointer, row, _last_lane(ctx, mask) if lane_form else "")


def _last_lane(ctx: Lowering, mask: str) -> str:
    """i64: the number of the highest lane in a mask that is not empty."""
    lanes = ctx.plan.layout.lanes
    bits = ctx.writer.let(f"bitcast {mask_type(ctx.plan.layout)} {mask} to i{lanes}")
    ctx.writer.declare(f"llvm.ctlz.i{lanes}", f"declare i{lanes} @llvm.ctlz.i{lanes}(i{lanes}, i1)")
    zeros = ctx.writer.let(f"call i{lanes} @llvm.ctlz.i{lanes}(i{lanes} {bits}, i1 true)")
    last = ctx.writer.let(f"sub i{lanes} {lanes - 1}, {zeros}")
    return last if lanes == 64 else ctx.writer.let(f"zext i{lanes} {last} to i64")


def _store_one(ctx: Lowering, inst: Inst, value: Value, pointer: Value, row: int, lane: str) -> None:
    parts = components_of(value.ty)
    texts = []
    in_one = not lane and value.text in ctx.plan.packed
    for c, ty in enumerate(parts if not in_one else []):
        if lane:
            vector = part(ctx, value, row, "v", c)
            texts.append(ctx.writer.let(f"extractelement {lanes_of(ctx, ty)} {vector}, i64 {lane}"))
        else:
            texts.append(part(ctx, value, row, "s", c))
    if in_one:
        whole = whole_value(ctx, value, row)
    else:
        whole = texts[0] if value.ty.kind != "vec" else interleave(ctx, texts, parts[0], 1)
    volatile = "volatile " if {"volatile", "atomic"} & set(inst.flags) else ""
    address = part(ctx, pointer, row)
    ctx.writer.line(f"store {volatile}{value.ty} {whole}, {pointer.ty} {address}, align {inst.align}")


def _store_guarded(ctx: Lowering, inst: Inst, value: Value, pointer: Value, row: int, rows: list[int]) -> None:
    access_mask(ctx, rows)
    guard = part(ctx, pointer, row, "g")
    part(ctx, pointer, row, "s")
    part(ctx, pointer, row, "v")
    if value.text in ctx.plan.packed:
        whole_value(ctx, value, row)
    else:
        for c in range(len(components_of(value.ty))):
            part(ctx, value, row, "v", c)
    names = [ctx.writer.fresh_label(hint) for hint in ("wide", "lanes", "stored")]
    ctx.writer.branch(ctx.writer.let(f"freeze i1 {guard}"), names[0], names[1])
    for label, wide in ((names[0], True), (names[1], False)):
        ctx.writer.start(label)
        with ctx.scope():
            _store_lanes(ctx, inst, value, pointer, row, rows, wide=wide)
        ctx.writer.jump(names[2])
    ctx.writer.start(names[2])


def _store_lanes(
    ctx: Lowering, inst: Inst, value: Value, pointer: Value, row: int, rows: list[int], *, wide: bool
) -> None:
    whole = value.text in ctx.plan.packed
    if not (whole and _store_whole(ctx, inst, value, pointer, row, rows, wide=wide)):
        _store_components(ctx, inst, value, pointer, row, rows, wide=wide)


def _store_whole(
    ctx: Lowering, inst: Inst, value: Value, pointer: Value, row: int, rows: list[int], *, wide: bool
) -> bool:
    """Store all lanes' vectors in memory order; False if there is nothing to win."""
    mask = access_mask(ctx, rows)
    ty = value.ty
    step = lane_step(ctx, pointer, ty)
    if pointer.text in ctx.plan.shapes.interleaved:
        return False
    if wide and step == ty.count:
        _store_items(ctx, inst, ty.scalar, step, whole_value(ctx, value, row), pointer, row, mask)
    elif not wide and ty.size_bytes in WORD_BYTES:
        words = lanes_of(ctx, int_type(8 * ty.size_bytes))
        text = ctx.writer.let(f"bitcast {whole_type(ctx, ty)} {whole_value(ctx, value, row)} to {words}")
        addresses = part(ctx, pointer, row, "v")
        flags = mask or ALL_LANES
        masked_store(ctx, words, text, lanes_of(ctx, pointer.ty), addresses, flags, inst.align, "scatter")
    elif not wide and mask is None:
        _store_each(ctx, inst, ty, whole_value(ctx, value, row), pointer, row)
    else:
        return False
    return True


def _store_each(ctx: Lowering, inst: Inst, ty: Type, text: str, pointer: Value, row: int) -> None:
    """One store a lane; around the caches where these fill whole cache lines."""
    stride = ctx.plan.shapes.shape(pointer).stride
    places = lane_addresses(ctx, pointer, row)
    ones = [
        shuffle(ctx, text, "poison", whole_type(ctx, ty), list(range(first, first + ty.count)))
        for first in range(0, ctx.plan.layout.lanes * ty.count, ty.count)
    ]

    def store(suffix: str) -> None:
        for one, at in zip(ones, places, strict=True):
            ctx.writer.line(f"store {ty} {one}, {pointer.ty} {at}, {suffix}")

    lines = ty.size_bytes % LINE_BYTES == 0 and stride is not None and stride % LINE_BYTES == 0
    if lines and root_param(ctx, pointer) in ctx.plan.variant.streaming:
        _stream_or_not(ctx, pointer.ty, part(ctx, pointer, row), [LINE_BYTES], inst.align, store)
    else:
        store(f"align {inst.align}")


def _store_contiguous(
    ctx: Lowering, inst: Inst, elem: Type, count: int, text: str, pointer: Value, row: int, mask: str | None
) -> None:
    address = part(ctx, pointer, row)
    if mask is None and root_param(ctx, pointer) in ctx.plan.variant.streaming:
        _store_streaming(ctx, elem, count, text, pointer.ty, address, inst.align)
    else:
        _store_wide(ctx, elem, count, text, pointer.ty, address, mask, inst.align)


def _store_items(
    ctx: Lowering, inst: Inst, elem: Type, step: int, text: str, pointer: Value, row: int, mask: str | None
) -> None:
    """Every lane's ``step`` elements, side by side in ``text``; ``mask``: the lanes whose are stored."""
    count = ctx.plan.layout.lanes * step
    word = mask_word(elem, step, step) if mask is not None else None
    if word is None:
        flags = widen_mask(ctx, mask, step, step)
        _store_contiguous(ctx, inst, elem, count, text, pointer, row, flags)
        return
    each = elem.bits * step // word.bits
    words = vec_type(ctx.plan.layout.lanes * each, word)
    cast = ctx.writer.let(f"bitcast {vec_type(count, elem)} {text} to {words}")
    flags = widen_mask(ctx, mask, each, each)
    _store_contiguous(ctx, inst, word, words.count, cast, pointer, row, flags)


def _store_components(
    ctx: Lowering, inst: Inst, value: Value, pointer: Value, row: int, rows: list[int], *, wide: bool
) -> None:
    mask = access_mask(ctx, rows)
    parts = components_of(value.ty)
    elem = parts[0]
    size = elem.size_bytes
    lanes = ctx.plan.layout.lanes
    texts = [part(ctx, value, row, "v", c) for c in range(len(parts))]
    side_by_side = pointer.text in ctx.plan.shapes.interleaved
    stride = ctx.plan.shapes.shape(pointer).stride
    if not wide and mask is None and stride is not None and "g" not in forms_of(ctx, ctx.plan.shapes.shape(pointer)):
        _store_strided(ctx, inst, texts, elem, pointer, row, stride)
        return
    if not wide:
        addresses = part(ctx, pointer, row, "v")
        spread = size * (lanes if side_by_side else 1)
        for c, text in enumerate(texts):
            at = offset_lanes(ctx, pointer.ty, addresses, c * spread)
            align = component_align(inst.align, size, c)
            masked_store(
                ctx, lanes_of(ctx, elem), text, lanes_of(ctx, pointer.ty), at, mask or ALL_LANES, align, "scatter"
            )
        return
    base = part(ctx, pointer, row)
    step = lane_step(ctx, pointer, value.ty)
    assert step is not None
    if side_by_side:
        for c, text in enumerate(texts):
            at = offset_address(ctx, pointer.ty, base, c * size * lanes)
            _store_wide(ctx, elem, lanes, text, pointer.ty, at, mask, min(inst.align, size))
        return
    if step == -1:
        first = offset_address(ctx, pointer.ty, base, -size * (lanes - 1))
        backwards = reverse(ctx, mask, I1) if mask is not None else None
        _store_wide(ctx, elem, lanes, reverse(ctx, texts[0], elem), pointer.ty, first, backwards, inst.align)
        return
    vector = texts[0] if step == 1 else interleave(ctx, texts + ["poison"] * (step - len(texts)), elem, lanes)
    if mask_word(elem, step, len(parts)) is not None:
        _store_items(ctx, inst, elem, step, vector, pointer, row, mask)
        return
    wide_mask = widen_mask(ctx, mask, step, len(parts))
    _store_contiguous(ctx, inst, elem, lanes * step, vector, pointer, row, wide_mask)


def _store_strided(
    ctx: Lowering, inst: Inst, texts: list[str], elem: Type, pointer: Value, row: int, stride: int
) -> None:
    """One store a lane at a known distance, in lane order, which is faster than a scatter."""
    base = part(ctx, pointer, row)
    spread = elem.size_bytes * (ctx.plan.layout.lanes if pointer.text in ctx.plan.shapes.interleaved else 1)
    for lane in range(ctx.plan.layout.lanes):
        for c, text in enumerate(texts):
            at = offset_address(ctx, pointer.ty, base, lane * stride + c * spread)
            one = ctx.writer.let(f"extractelement {lanes_of(ctx, elem)} {text}, i64 {lane}")
            align = component_align(inst.align, elem.size_bytes, c)
            ctx.writer.line(f"store {elem} {one}, {pointer.ty} {at}, align {align}")


def _store_wide(
    ctx: Lowering, elem: Type, count: int, text: str, pointer_type: Type, address: str, mask: str | None, align: int
) -> None:
    ty = vec_type(count, elem)
    if mask is None:
        ctx.writer.line(f"store {ty} {text}, {pointer_type} {address}, align {align}")
    else:
        masked_store(ctx, ty, text, pointer_type, address, mask, align)


def _store_streaming(
    ctx: Lowering, elem: Type, count: int, text: str, pointer_type: Type, address: str, align: int
) -> None:
    """Around the caches if the launch asks for it and the address allows it."""
    ty = vec_type(count, elem)

    def store(suffix: str) -> None:
        ctx.writer.line(f"store {ty} {text}, {pointer_type} {address}, {suffix}")

    whole = gcd(count * elem.size_bytes, LINE_BYTES)
    if ctx.plan.variant.lines and whole == LINE_BYTES:
        needs_bytes = [LINE_BYTES]
    else:
        needs_bytes = sorted({max(whole, STREAM_ALIGN_BYTES), STREAM_ALIGN_BYTES}, reverse=True)
    _stream_or_not(ctx, pointer_type, address, needs_bytes, align, store)


def _stream_or_not(
    ctx: Lowering,
    pointer_type: Type,
    address: str,
    needs_bytes: Sequence[int],
    align: int,
    store: Callable[[str], None],
) -> None:
    """Write ``store`` for each alignment, the first one that the address has being taken, and for the caches; it is
    given what follows the address in a store."""
    number = ctx.writer.let(f"ptrtoint {pointer_type} {address} to i64")
    stored = ctx.writer.fresh_label("stored")
    for needed in needs_bytes:
        low = ctx.writer.let(f"and i64 {number}, {needed - 1}")
        aligned = ctx.writer.let(f"icmp eq i64 {low}, 0")
        wanted = ctx.writer.let(f"and i1 {aligned}, %stream")
        names = [ctx.writer.fresh_label(hint) for hint in ("stream", "cached")]
        ctx.writer.branch(wanted, *names)
        ctx.writer.start(names[0])
        store(f"align {needed}, !nontemporal !9000")
        ctx.writer.jump(stored)
        ctx.writer.start(names[1])
    store(f"align {align}")
    ctx.writer.jump(stored)
    ctx.writer.start(stored)


def root_param(ctx: Lowering, pointer: Value) -> str:
    """The kernel parameter that a pointer was computed from, or empty."""
    return ctx.plan.roots.get(pointer.text, "")
