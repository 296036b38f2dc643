"""Input: the barriers of a resumable chunk. Output: code that saves what is live there, and restores it."""

from __future__ import annotations

from headwater.llvm.ir import Inst
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.plan.chunk_plan import FRAME_ALIGN_BYTES


def write_suspension(ctx: Lowering, barrier: Inst) -> None:
    """The end of a block at a barrier: leave the chunk there, and begin the block that it goes on with later."""
    if not ctx.plan.variant.resumable:
        return
    labels, writer = ctx.suspensions.labels, ctx.writer
    suspend, resume = f"suspend.{len(labels) + 1}", f"resume.{len(labels) + 1}"
    writer.jump(suspend)
    writer.start(suspend).targets.append(resume)
    writer.start(resume)
    labels.append((suspend, resume))
    ctx.suspensions.barriers.append(barrier)
    ctx.cache = {}


def finish_suspensions(ctx: Lowering) -> int:
    """Write what is saved and restored at each barrier, when all slots are known; the bytes of the chunk's frame."""
    live = ctx.writer.live_in()
    blocks = {b.label: b for b in ctx.writer.blocks}
    frame_bytes = ctx.plan.private_frame_bytes
    for number, (suspend, resume) in enumerate(ctx.suspensions.labels, 1):
        save: list[str] = []
        restore: list[str] = []
        offset = ctx.plan.private_frame_bytes
        for slot in sorted(live[resume]):
            ty = ctx.writer.slots[slot]
            size = max(1, ty.count // 8) if ty.scalar.text == "i1" else ty.size_bytes
            align = min(FRAME_ALIGN_BYTES, max(1, 1 << (size - 1).bit_length()))
            offset = -(-offset // align) * align
            where = f"{number}.{len(save)}"
            save += [
                f'  %"save.{where}" = load {ty}, ptr %"{slot}"',
                f'  %"save.{where}.p" = getelementptr i8, ptr %frame, i64 {offset}',
                f'  store {ty} %"save.{where}", ptr %"save.{where}.p", align {align}',
            ]
            restore += [
                f'  %"restore.{where}.p" = getelementptr i8, ptr %frame, i64 {offset}',
                f'  %"restore.{where}" = load {ty}, ptr %"restore.{where}.p", align {align}',
                f'  store {ty} %"restore.{where}", ptr %"{slot}"',
            ]
            offset += size
        blocks[suspend].lines = [*save, f"  ret i32 {number}"]
        blocks[resume].lines = restore + blocks[resume].lines
        frame_bytes = max(frame_bytes, offset)
    return -(-frame_bytes // FRAME_ALIGN_BYTES) * FRAME_ALIGN_BYTES
