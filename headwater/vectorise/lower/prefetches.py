"""Input: planned prefetches. Output: their instructions, block by block, for launches that ask for them."""

from __future__ import annotations

from headwater.llvm.ir import Inst, Value
from headwater.llvm.types import I64
from headwater.vectorise.analysis.loop_prefetching import GLOBAL_SPACE
from headwater.vectorise.layout import LINE_BYTES
from headwater.vectorise.lower.lane_extraction import lane_addresses, offset_address
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.values import part

AHEAD_BYTES = 2560
"""How far ahead. On a Cascade Lake 2 to 8 KiB came out alike. On a Zen 4 exactly a page made stencils slower (3 × 3
median 1.16 of the time without prefetches, 5 × 5 convolution 1.09, five-point stencil 1.2), perhaps as loads and
prefetches then have the same place in a page; this makes them faster (0.93, 0.92, 0.92)."""

INTO_L1, INTO_L2 = 3, 2
"""LLVM's locality of a prefetch (LLVM Language Reference), of which x86's prefetcht0 and prefetcht1 are made. A chunk's
stretches may fill the first cache, and those of the next one, fetched into it too, drive them out (Zen 4, a prefix sum
with AVX2: 1.4 times as long as without; into the second cache 0.8)."""

BEHIND_BYTES = 1536
"""How far behind the beginning of a stretch that a table says, of a work-item that runs alone: the next work-items'
lie there mostly, as the rows of a sparse matrix do. Rows of 16 elements on a Zen 4: 512 bytes to 3 KiB came out alike,
at 0.90 to 0.95 of the time without prefetches."""


def note_table_ranges(ctx: Lowering, name: str) -> None:
    """The end of a block: prefetch what follows the stretches that are gone through in the loop behind it."""
    for start in ctx.plan.prefetches.table_ranges.get(name, ()):
        pointer, offset = "", str(start.get((), 0) + BEHIND_BYTES)
        for product, times in start.items():
            factors = [Value(ctx.plan.prefetches.types[value], value) for value in product]
            if len(factors) == 1 and factors[0].ty.kind == "ptr":
                pointer = part(ctx, factors[0])
            elif product:
                text = str(times)
                for factor in factors:
                    wide = part(ctx, factor)
                    if factor.ty != I64:
                        wide = ctx.writer.let(f"sext {factor.ty} {wide} to i64")
                    text = ctx.writer.let(f"mul i64 {text}, {wide}")
                offset = ctx.writer.let(f"add i64 {offset}, {text}")
        if pointer:
            at = ctx.writer.let(f"getelementptr i8, ptr addrspace({GLOBAL_SPACE}) {pointer}, i64 {offset}")
            ctx.prefetches.pending.append((at, INTO_L1))


def note_stream(ctx: Lowering, inst: Inst, pointer: Value, row: int) -> None:
    """A row of an unmasked load: prefetch the lines `AHEAD_BYTES` after it at the end of the block."""
    size = ctx.plan.layout.lanes * inst.ty.size_bytes
    in_line = ctx.plan.layout.row_dim == ctx.plan.layout.lane_dim
    if in_line and row * size % LINE_BYTES:
        return
    base = part(ctx, pointer, row)
    if base in ctx.prefetches.bases:  # for another row
        return
    ctx.prefetches.bases.add(base)
    for line in range(max(1, size // LINE_BYTES)):
        offset = AHEAD_BYTES + line * LINE_BYTES
        ctx.prefetches.pending.append((offset_address(ctx, pointer.ty, base, offset), INTO_L1))


def write_next_chunk_prefetches(ctx: Lowering, inst: Inst, pointer: Value, row: int) -> None:
    """A row of an unmasked load in stretches: prefetch what the next chunk will load there. At once: at the end of
    the block, all rows' one after the other cost more (Zen 4: a prefix sum with AVX2 1.2, with AVX-512 1.1)."""
    shape, layout = ctx.plan.shapes.shape(pointer), ctx.plan.layout
    assert shape.stride is not None
    items = layout.lanes * (layout.rows if layout.row_dim == layout.lane_dim else 1)
    for at in lane_addresses(ctx, pointer, row):
        for line in range(0, inst.ty.size_bytes, LINE_BYTES):
            ctx.prefetches.pending.append((offset_address(ctx, pointer.ty, at, items * shape.stride + line), INTO_L2))
    write_prefetches(ctx)


def write_prefetches(ctx: Lowering) -> None:
    """The block's prefetches, for launches that want them."""
    if not ctx.prefetches.pending:
        return
    pointer = f"ptr addrspace({GLOBAL_SPACE})"
    ctx.writer.declare("llvm.prefetch", f"declare void @llvm.prefetch.p{GLOBAL_SPACE}({pointer}, i32, i32, i32)")
    with ctx.writer.when("%ahead", "ahead"):
        for at, locality in ctx.prefetches.pending:
            ctx.writer.line(f"call void @llvm.prefetch.p{GLOBAL_SPACE}({pointer} {at}, i32 0, i32 {locality}, i32 1)")
    ctx.prefetches.pending = []
    ctx.prefetches.written = True
