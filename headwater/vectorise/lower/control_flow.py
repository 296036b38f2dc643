"""Input: the blocks of a kernel in their linear order. Output: the same blocks, for the lanes that execute them.

Branches on which all lanes agree stay branches. Where lanes part, the following blocks run one after the other, each
under the mask of its lanes (if-conversion); `headwater.vectorise.analysis.linearisation` has decided on the order.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater.llvm.cfg import Loop
from headwater.llvm.ir import Inst
from headwater.vectorise.analysis.linearisation import ENTRY_MASK
from headwater.vectorise.analysis.ordered_branches import OrderedTest
from headwater.vectorise.lower.edges import initialise_joins, write_edges
from headwater.vectorise.lower.instructions import write_instruction
from headwater.vectorise.lower.masks import any_lane_of, block_mask, class_mask, mask_is_full
from headwater.vectorise.lower.ordered_tests import all_pass
from headwater.vectorise.lower.prefetches import note_table_ranges, write_prefetches
from headwater.vectorise.lower.row_loops import write_row_loop
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.suspension import write_suspension
from headwater.vectorise.lower.values import part
from headwater.vectorise.plan.chunk_interface import DONE, PARTED
from headwater.vectorise.plan.strip_mining import Strips


def block_label(ctx: Lowering, block: str) -> str:
    """The label of a block, in the loop for the current rows if its loop is written for some rows at a time."""
    label = "b." + block[1:].replace('"', "")
    if ctx.strip and ctx.strip.start and ctx.strip_loop and block in ctx.strip_loop.loop:
        return f"{label}.rows.{ctx.strip.start}"  # ways from outside lead to the first strip
    return label


def write_strip_loops(ctx: Lowering, strips: Strips) -> None:
    """A loop for some rows, then for the next ones, which find what all rows share as it was before the loop."""
    writer, header = ctx.writer, strips.loop.header
    ctx.strip_loop = strips
    for first in range(0, ctx.plan.layout.rows, strips.rows):
        ctx.strip = range(first, first + strips.rows)
        if first:
            writer.start(_before_rows(ctx, header, first))
            ctx.cache = {}
            write_edges(ctx, strips.before, [header], shared=True)
            writer.jump(block_label(ctx, header))
        for name in ctx.plan.cfg.order:
            if name in strips.loop:
                write_block(ctx, name)
    ctx.strip_loop = ctx.strip = None


def _before_rows(ctx: Lowering, header: str, first: int) -> str:
    return "b." + header[1:].replace('"', "") + f".before.{first}"


def entry_label(ctx: Lowering, block: str) -> str:
    """Where lanes go that want a block: to the test whether there are any, if it has one."""
    if block in ctx.plan.linear.skip:
        return block_label(ctx, block) + ".enter"
    return _pick_label(ctx, block)


def _pick_label(ctx: Lowering, block: str) -> str:
    return block_label(ctx, block) + (".pick" if block in ctx.plan.ordered else "")


def write_block(ctx: Lowering, name: str) -> None:
    """Write one block: its tests, instructions and prefetches, and the edges that leave it."""
    writer = ctx.writer
    ctx.block = name
    ctx.cache = {}
    if name == ctx.plan.cfg.entry:
        if ctx.plan.cfg.loops:
            _write_poll(ctx)  # counted inner loops do not ask: a stop then waits for one chunk at most
        writer.jump(block_label(ctx, name))
    if name in ctx.plan.row_loops:
        writer.start(entry_label(ctx, name))
        write_row_loop(ctx, name)
        initialise_joins(ctx, name)
        _write_terminator(ctx, name)
        return
    if name in ctx.plan.linear.skip:
        writer.start(entry_label(ctx, name))
        wanted = any_lane_of(ctx, [block_mask(ctx, r) for r in range(ctx.plan.layout.rows)])
        assert wanted is not None
        writer.branch(wanted, _pick_label(ctx, name), entry_label(ctx, ctx.plan.linear.skip[name]))
        ctx.cache = {}
    if name in ctx.plan.ordered:
        _write_without_masks(ctx, name, ctx.plan.ordered[name])
        ctx.cache = {}
    writer.start(block_label(ctx, name))
    if name in ctx.plan.polled:
        _write_poll(ctx)
    for inst in ctx.plan.function.blocks[name].insts[:-1]:
        if inst.op != "phi":
            write_instruction(ctx, inst)
    note_table_ranges(ctx, name)
    write_prefetches(ctx)
    initialise_joins(ctx, name)
    _write_terminator(ctx, name)


def _write_poll(ctx: Lowering) -> None:
    """Leave when the launch is being stopped: an endless loop must not outlive its caller."""
    stop = ctx.writer.let("load volatile i64, ptr %stop, align 8")
    stopping = ctx.writer.let(f"icmp ne i64 {stop}, 0")
    leave, go_on = ctx.writer.fresh_label("stop"), ctx.writer.fresh_label("go")
    ctx.writer.branch(stopping, leave, go_on)
    ctx.writer.start(leave)
    ctx.writer.line(f"ret i32 {DONE}")
    ctx.writer.start(go_on)


def _write_without_masks(ctx: Lowering, name: str, test: OrderedTest) -> None:
    """The loop as it runs while all lanes are in it; the masked one that follows takes over when some leave."""
    writer = ctx.writer
    fast = block_label(ctx, name) + ".all"
    writer.start(_pick_label(ctx, name))
    all_in = mask_is_full(ctx, [block_mask(ctx, row) for row in range(ctx.plan.layout.rows)])
    writer.branch(all_in, fast, block_label(ctx, name))
    ctx.cache = {}
    ctx.unmasked = True
    writer.start(fast)
    if name in ctx.plan.polled:
        _write_poll(ctx)
    for inst in ctx.plan.function.blocks[name].insts[:-1]:
        if inst.op != "phi":
            write_instruction(ctx, inst)
    write_prefetches(ctx)
    go_on, some = writer.fresh_label("all.on"), writer.fresh_label("all.part")
    writer.branch(all_pass(ctx, [test]), go_on, some)
    writer.start(go_on)
    with ctx.scope():
        write_edges(ctx, name, [name], all_lanes=True)
        writer.jump(fast)
    writer.start(some)
    loop = ctx.plan.cfg.loop_of[name]
    assert loop is not None
    ctx.cache = {k: v for k, v in ctx.cache.items() if not k[0].startswith("mask ")}
    _write_divergent_latch(ctx, name, loop)
    ctx.unmasked = False


def _write_guard(ctx: Lowering, name: str, term: Inst, guard: list[OrderedTest]) -> None:
    """Go on if all lanes pass the kernel's guard; else nothing is done, and masked code has to run instead."""
    writer = ctx.writer
    go_on, parted = writer.fresh_label("guard.all"), writer.fresh_label("guard.part")
    writer.branch(all_pass(ctx, guard), go_on, parted)
    writer.start(parted)
    writer.line(f"ret i32 {PARTED}")
    writer.start(go_on)
    inside = next(t for t in term.labels if ctx.plan.function.blocks[t].insts[0].op != "ret")
    write_edges(ctx, name, [inside])
    writer.jump(entry_label(ctx, ctx.plan.linear.next[name, inside]))


def _write_terminator(ctx: Lowering, name: str) -> None:
    writer = ctx.writer
    term = ctx.plan.function.blocks[name].term
    succs = ctx.plan.cfg.succs[name]
    loop = ctx.plan.cfg.loop_of[name]
    if name == ctx.plan.cfg.entry and ctx.plan.guard is not None:
        _write_guard(ctx, name, term, ctx.plan.guard)
    elif term.op in ("ret", "unreachable"):
        following = ctx.plan.linear.next.get((name, ""))
        if following is None:
            writer.line(f"ret i32 {DONE}")
        else:
            writer.jump(entry_label(ctx, following))
    elif loop is not None and loop.latch == name and ctx.plan.shapes.divergent_loop(loop):
        _write_divergent_latch(ctx, name, loop)
    elif len(succs) == 2 and not ctx.plan.shapes.divergent(name):
        _write_uniform_branch(ctx, name, term)
    else:
        write_edges(ctx, name, list(succs))
        if term.op == "barrier":
            write_suspension(ctx, term)
        following = ctx.plan.linear.next[name, ""]
        if following in ctx.plan.cfg.succs[name] and ctx.plan.cfg.index[following] <= ctx.plan.cfg.index[name]:
            writer.jump(block_label(ctx, following))
        else:
            writer.jump(entry_label(ctx, following))


def _write_uniform_branch(ctx: Lowering, name: str, term: Inst) -> None:
    for target in _each_way(ctx, name, term):
        if ctx.strip_loop and ctx.strip and target not in ctx.strip_loop.loop and ctx.strip.stop < ctx.plan.layout.rows:
            ctx.writer.jump(_before_rows(ctx, ctx.strip_loop.loop.header, ctx.strip.stop))
            continue
        following = ctx.plan.linear.next[name, target]
        back = following == target and ctx.plan.cfg.index[target] <= ctx.plan.cfg.index[name]
        ctx.writer.jump(block_label(ctx, following) if back else entry_label(ctx, following))


def _each_way(ctx: Lowering, name: str, term: Inst) -> Iterator[str]:
    """Branch the way that all lanes go; for each way hand them over, then let the caller write the jump."""
    writer = ctx.writer
    condition = part(ctx, term.args[0])
    if ctx.plan.linear.mask_class[name] != ENTRY_MASK:
        # With no lane in the mask the condition may be poison, and a branch on poison is undefined.
        condition = writer.let(f"freeze i1 {condition}")
    edges = [writer.fresh_label("edge"), writer.fresh_label("edge")]
    writer.branch(condition, *edges)
    for edge, target in zip(edges, term.labels, strict=True):
        writer.start(edge)
        with ctx.scope():
            write_edges(ctx, name, [target])
            yield target


def _write_divergent_latch(ctx: Lowering, name: str, loop: Loop) -> None:
    term = ctx.plan.function.blocks[name].term
    if len(ctx.plan.cfg.succs[name]) == 2 and not ctx.plan.shapes.divergent(name):
        for target in _each_way(ctx, name, term):
            if target == loop.header:
                _go_round(ctx, loop)
            else:
                ctx.writer.jump(entry_label(ctx, ctx.plan.linear.after_loop[loop.header]))
        return
    write_edges(ctx, name, list(ctx.plan.cfg.succs[name]))
    _go_round(ctx, loop)


def _go_round(ctx: Lowering, loop: Loop) -> None:
    """Run a divergent loop again if some lane wants to."""
    ctx.cache = {}
    masks: list[str | None] = [class_mask(ctx, loop.header, r) for r in range(ctx.plan.layout.rows)]
    any_left = any_lane_of(ctx, masks)
    assert any_left is not None
    ctx.writer.branch(
        any_left, block_label(ctx, loop.header), entry_label(ctx, ctx.plan.linear.after_loop[loop.header])
    )
