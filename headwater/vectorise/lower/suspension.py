"""Input: the barriers of a resumable chunk. Output: code that saves what is live there, and restores it."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.llvm.ir import Inst
from headwater.llvm.types import Type
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.writer import Out
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
    """Write what is saved and restored at each barrier, when all slots are known; the bytes of the chunk's frame.

    A slot keeps its place in the frame for as long as it is live. It is saved at the first barrier behind where it was
    written, and restored behind the last one before where it is read, so that the code grows with what is computed and
    not with what is live.
    """
    writer, labels = ctx.writer, ctx.suspensions.labels
    if not labels:
        return _whole(ctx.plan.private_frame_bytes)
    live = writer.live_in()
    kept = [live[resume] for _, resume in labels]
    saved = _unsaved(writer.blocks, dict(labels), live)
    missing = writer.read_before(saved)
    places, frame_bytes = _places(kept, writer.slots, ctx.plan.private_frame_bytes)
    blocks = {b.label: b for b in writer.blocks}
    for number, (suspend, resume) in enumerate(labels, 1):
        save: list[str] = []
        restore: list[str] = []
        for slot in sorted(saved[suspend]):
            ty, offset, align = writer.slots[slot], *places[slot]
            where = f"{number}.{len(save)}"
            save += [
                f'  %"save.{where}" = load {ty}, ptr %"{slot}"',
                f'  %"save.{where}.p" = getelementptr i8, ptr %frame, i64 {offset}',
                f'  store {ty} %"save.{where}", ptr %"save.{where}.p", align {align}',
            ]
        for slot in sorted(missing[resume]):
            ty, offset, align = writer.slots[slot], *places[slot]
            where = f"{number}.{len(restore)}"
            restore += [
                f'  %"restore.{where}.p" = getelementptr i8, ptr %frame, i64 {offset}',
                f'  %"restore.{where}" = load {ty}, ptr %"restore.{where}.p", align {align}',
                f'  store {ty} %"restore.{where}", ptr %"{slot}"',
            ]
        blocks[suspend].lines = [*save, f"  ret i32 {number}"]
        blocks[resume].lines = restore + blocks[resume].lines
    return _whole(frame_bytes)


def _whole(frame_bytes: int) -> int:
    """The bytes of a frame with those between it and the next."""
    return -(-frame_bytes // FRAME_ALIGN_BYTES) * FRAME_ALIGN_BYTES


def _unsaved(blocks: list[Out], resumes: dict[str, str], live: dict[str, set[str]]) -> dict[str, set[str]]:
    """For each block that ends at a barrier, what is live behind it and is not in the frame on every way there. The
    frame holds what was live at the barrier before and was not written since."""
    before: dict[str, set[str]] = {blocks[0].label: set()}  # what the frame holds at the start of a block
    changed = True
    while changed:
        changed = False
        for block in blocks:
            if block.label not in before:
                continue  # no way here is known yet
            resume = resumes.get(block.label)
            after = live[resume] if resume is not None else before[block.label] - block.writes
            for target in block.targets:
                known = before.get(target)
                if known is None:
                    before[target] = set(after)
                elif not known <= after:
                    known &= after
                else:
                    continue
                changed = True
    return {suspend: live[resume] - before.get(suspend, set()) for suspend, resume in resumes.items()}


def _places(kept: list[set[str]], slots: Mapping[str, Type], start: int) -> tuple[dict[str, tuple[int, int]], int]:
    """The offsets of slots in the frame, from ``start`` on, with their alignments, and where the frame ends. Those that
    are kept at barriers between the same two numbers have different places."""
    last = {slot: number for number, names in enumerate(kept) for slot in names}
    ending: dict[int, list[str]] = {}
    for slot, number in last.items():
        ending.setdefault(number, []).append(slot)
    places: dict[str, tuple[int, int]] = {}
    free: dict[int, list[int]] = {}  # by size
    end = start
    for number, names in enumerate(kept):
        for slot in sorted(names - places.keys()):
            size = _size(slots[slot])
            align = min(FRAME_ALIGN_BYTES, max(1, 1 << (size - 1).bit_length()))
            if free.get(size):
                offset = free[size].pop()
            else:
                offset = -(-end // align) * align
                end = offset + size
            places[slot] = offset, align
        for slot in sorted(ending.get(number, ())):
            free.setdefault(_size(slots[slot]), []).append(places[slot][0])
    return places, end


def _size(ty: Type) -> int:
    """Bytes that a slot takes in a frame."""
    return max(1, ty.count // 8) if ty.scalar.text == "i1" else ty.size_bytes
