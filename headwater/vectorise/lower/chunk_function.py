"""Input: a chunk's plan. Output: the text of a function that runs its work-items (lanes × rows) at once.

The function's value is the barrier at which the chunk stopped, to be passed back in to go on, or -1 when it is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.llvm.cfg import END
from headwater.llvm.ir import Inst
from headwater.llvm.types import I64
from headwater.native import launch_block
from headwater.vectorise.analysis.store_alignment import Place
from headwater.vectorise.layout import Layout
from headwater.vectorise.lower.control_flow import block_label, write_block, write_strip_loops
from headwater.vectorise.lower.forms import mask_type
from headwater.vectorise.lower.instructions import write_instruction
from headwater.vectorise.lower.state import Formats, Lowering
from headwater.vectorise.lower.suspension import finish_suspensions
from headwater.vectorise.lower.values import part
from headwater.vectorise.plan.chunk_interface import DONE, ID_PARAMS, LAUNCH_PARAMS, MEMORY_BOUNDS
from headwater.vectorise.plan.chunk_plan import FRAME_ALIGN_BYTES, ChunkPlan, private_name
from headwater.vectorise.prepare.overflow_guards import LARGEST, Most

UNEVEN_LOOP = ", !llvm.loop !9002"
"""Marks a loop whose trips differ from work-item to work-item: unrolled, the rest of the trips that do not fill an
unrolled one costs a branch that nobody can predict (sparse matrix product: 1.2×)."""


@dataclass(frozen=True, slots=True)
class ChunkCode:
    """A chunk function: its text, the declarations it needs, the bytes a stopped chunk keeps in its frame, and where it
    may stop: the first of ``barriers`` is the one it returns 1 at. ``fetches_ahead``: it prefetches on demand."""

    text: str
    declares: dict[str, str]
    frame_bytes: int
    barriers: list[Inst]
    fetches_ahead: bool


def lower_chunk(plan: ChunkPlan, formats: Formats) -> ChunkCode:
    """Write the chunk function of a plan. ``formats`` grows by the formats of printf that it has."""
    ctx = _begin(plan, formats)
    writer, strips = ctx.writer, plan.variant.strips
    writer.notes = {block_label(ctx, header): UNEVEN_LOOP for header in plan.variant.uneven}
    for name in plan.cfg.order:
        if name in strips:
            write_strip_loops(ctx, strips[name])
        elif not any(name in strip.loop for strip in strips.values()):
            write_block(ctx, name)
    if END in plan.linear.skip.values():
        writer.start(block_label(ctx, END))
        writer.line(f"ret i32 {DONE}")
    frame_bytes = finish_suspensions(ctx)
    cases = "".join(f' i32 {n}, label %"{resume}"' for n, (_, resume) in enumerate(ctx.suspensions.labels, 1))
    begin = f'switch i32 %state, label %"start" [{cases} ]' if cases else 'br label %"start"'
    text = _function(ctx, "i32", [*_private_arrays(plan), *_memory_bounds(ctx), *_row_ids(plan.layout)], begin)
    return ChunkCode(text, writer.declares, frame_bytes, ctx.suspensions.barriers, ctx.prefetches.written)


def lower_store_address(plan: ChunkPlan, place: Place) -> str:
    """Instead of the kernel: a function of the same parameters that returns the address of lane 0's store."""
    ctx = _begin(plan, {})
    for inst in place.insts:
        write_instruction(ctx, inst)
    address = ctx.writer.let(f"ptrtoint {place.pointer.ty} {part(ctx, place.pointer)} to i64")
    ctx.writer.line(f"ret i64 {ctx.writer.let(f'freeze i64 {address}')}")
    return _function(ctx, "i64", _row_ids(plan.layout))


def lower_overflow_guards(plan: ChunkPlan, fits: Sequence[Most]) -> str:
    """Instead of the kernel: a function of the same parameters that tells whether a launch's numbers are such."""
    ctx = _begin(plan, {})
    total = "true"
    for inst in dict.fromkeys(inst for most in fits for inst in most.slice()):
        write_instruction(ctx, inst)
    for most in fits:
        fit = ctx.writer.let(f"icmp ule i64 {_largest(ctx, most)}, {LARGEST}")
        total = ctx.writer.let(f"and i1 {total}, {fit}")
    ctx.writer.line(f"ret i1 {total}")
    return _function(ctx, "i1", [])


def _largest(ctx: Lowering, most: Most) -> str:
    if most.op == "number":
        return most.name
    if most.op == "size":
        return f"%{most.name}"
    if most.value is None:
        a, b = (_largest(ctx, term) for term in most.terms)
        return ctx.writer.let(f"{most.op} i64 {a}, {b}")
    text = part(ctx, most.value)
    return text if most.value.ty == I64 else ctx.writer.let(f"sext {most.value.ty} {text} to i64")


def _begin(plan: ChunkPlan, formats: Formats) -> Lowering:
    ctx = Lowering(plan, formats, block=plan.cfg.entry)
    ctx.writer.start("start")
    return ctx


def _function(ctx: Lowering, result: str, prologue: list[str], begin: str = 'br label %"start"') -> str:
    """The function's text; ``prologue``: lines behind its slots, ``begin``: how its entry ends."""
    slots = [f'  %"{slot}" = alloca {ty}' for slot, ty in sorted(ctx.writer.slots.items())]
    head = f"define internal {result} @{ctx.plan.variant.name}({_parameters(ctx.plan)}) #0 {{"
    return "\n".join([head, "entry:", *slots, *prologue, f"  {begin}", ctx.writer.text(), "}"])


def _parameters(plan: ChunkPlan) -> str:
    kernel = [" ".join((p.ty.text, *kept_attributes(p.attributes), p.name)) for p in plan.function.params]
    ids = [f"i64 %{name}" for name in ID_PARAMS]
    mask = mask_type(plan.layout)
    masks = [f"{mask} %mask{row}" for row in range(plan.layout.rows)] if plan.variant.masked else []
    return ", ".join([*kernel, *ids, *LAUNCH_PARAMS, "ptr noalias %frame", "i32 %state", *masks])


def _private_arrays(plan: ChunkPlan) -> list[str]:
    """The pointers to private arrays: in the frame where they must outlive a stop at a barrier, else on the stack."""
    lines: list[str] = []
    for name, size in plan.private_sizes.items():
        offset = plan.private_offsets[name]
        base = f"%private.{offset}.{len(lines)}"
        row_bytes = size * plan.layout.lanes
        if plan.variant.resumable:
            lines.append(f"  {base} = getelementptr i8, ptr %frame, i64 {offset}")
        else:
            total = max(1, row_bytes * plan.layout.rows)
            lines.append(f"  {base} = alloca [{total} x i8], align {FRAME_ALIGN_BYTES}")
        for row in range(plan.layout.rows):
            lines.append(f"  {private_name(name, row)} = getelementptr i8, ptr {base}, i64 {row * row_bytes}")
    return lines


def _memory_bounds(ctx: Lowering) -> list[str]:
    """The values of `MEMORY_BOUNDS`, if the kernel asks for one: all its private arrays that are not in frames lie in
    this function's part of the stack."""
    blocks = ctx.plan.function.blocks.values()
    if not any(inst.detail in MEMORY_BOUNDS for block in blocks for inst in block.insts if inst.op == "call"):
        return []
    ctx.writer.declares["llvm.stacksave.p0"] = "declare ptr @llvm.stacksave.p0()"
    ctx.writer.declares["llvm.frameaddress.p0"] = "declare ptr @llvm.frameaddress.p0(i32)"
    return [
        "  %local.begin = ptrtoint ptr %scratch to i64",
        f"  {launch_block.field('local_bytes', '%launch', '%local.bytes.p')}",
        "  %local.bytes = load i64, ptr %local.bytes.p",
        "  %local.end = add i64 %local.begin, %local.bytes",
        f"  {launch_block.field('scratch_bytes', '%launch', '%scratch.bytes.p')}",
        "  %scratch.bytes = load i64, ptr %scratch.bytes.p",
        "  %scratch.end = add i64 %local.begin, %scratch.bytes",
        "  %stack.low = call ptr @llvm.stacksave.p0()",
        "  %stack.begin = ptrtoint ptr %stack.low to i64",
        "  %stack.high = call ptr @llvm.frameaddress.p0(i32 0)",
        "  %stack.end = ptrtoint ptr %stack.high to i64",
    ]


def _row_ids(layout: Layout) -> list[str]:
    """The ids of each row's lane 0 along the dimension of rows."""
    dim = layout.row_dim
    step = layout.lanes if dim == layout.lane_dim else 1
    return [
        f"  %{kind}{dim}.{row} = add i64 %{kind}{dim}, {row * step}"
        for kind in ("gid", "lid")
        for row in range(layout.rows)
    ]


def kept_attributes(attributes: str) -> list[str]:
    """Parameter attributes that stay true for a whole chunk."""
    return [a for a in attributes.split() if a in ("noalias", "readonly", "writeonly")]
