"""Input: an access of checked code. Output: the same access behind a test that it lies inside one allocation.

Checked code runs one work-item at a time. Where a pointer comes from a variable of known size (private, __local or
constant), that variable is the only place it may point to; where it comes from one argument, that argument's array is.
Other pointers may point to whatever the launch's bounds table lists (see `headwater.native.launch_block`) and to any of
the variables.
"""

from __future__ import annotations

from headwater.llvm.ir import Inst, Value
from headwater.llvm.text import symbols_in
from headwater.llvm.types import I64
from headwater.native.launch_block import OF_ARGUMENT, OUT_OF_BOUNDS_READ, OUT_OF_BOUNDS_WRITE, TRAP
from headwater.vectorise.lower.forms import components_of
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.values import part

_NOWHERE = 1 << 16
"""An address that is no null pointer, and beyond the bounds that it is tested against."""


def check_memory(ctx: Lowering, inst: Inst) -> None:
    """The test before a load, a store or an atomic operation."""
    pointer = inst.args[1 if inst.op == "store" else 0]
    accessed = inst.ty if inst.op == "load" else inst.args[1 if inst.op == "cmpxchg" else 0].ty
    if inst.op == "atomicrmw":
        accessed = inst.ty
    size = sum(c.size_bytes for c in components_of(accessed))
    _check(ctx, inst, pointer, str(size), OUT_OF_BOUNDS_READ if inst.op == "load" else OUT_OF_BOUNDS_WRITE)


def check_block_operation(ctx: Lowering, inst: Inst) -> None:
    """The tests before llvm.memcpy, llvm.memmove or llvm.memset."""
    length = inst.args[2]
    size = part(ctx, length)
    if length.ty.bits != I64.bits:
        size = ctx.writer.let(f"zext {length.ty} {size} to i64")
    if inst.args[1].ty.kind == "ptr":
        _check(ctx, inst, inst.args[1], size, OUT_OF_BOUNDS_READ)
    _check(ctx, inst, inst.args[0], size, OUT_OF_BOUNDS_WRITE)


def _check(ctx: Lowering, inst: Inst, pointer: Value, size: str, kind: int) -> None:
    """Stop the kernel, and say where, if the ``size`` bytes at ``pointer`` are not inside one allocation."""
    writer = ctx.writer
    address = writer.let(f"ptrtoint {pointer.ty} {part(ctx, pointer)} to i64")
    low, high = "0", "0"
    go_on, stop = writer.fresh_label("inside"), writer.fresh_label("outside")
    root = _root(ctx, pointer)
    if root in ctx.plan.private_sizes or root in ctx.plan.variant.sizes:
        low, high = _extent(ctx, root)
    elif root:
        argument = next(p for p in ctx.plan.function.params if p.name == root)
        low = writer.let(f"ptrtoint {argument.ty} {part(ctx, Value(argument.ty, root))} to i64")
        high = str(OF_ARGUMENT)
    else:
        for name in (*ctx.plan.private_sizes, *ctx.plan.variant.sizes):
            _branch_if_inside(ctx, address, size, name, go_on)
    writer.branch(_call_check(ctx, inst, f"i64 {address}, i64 {size}, i64 {low}, i64 {high}", kind), go_on, stop)
    writer.start(stop)
    writer.line("ret i32 -1")
    writer.start(go_on)


def record_trap(ctx: Lowering, inst: Inst) -> None:
    """Say where a kernel ended itself: by an access that lies outside of any variable."""
    _call_check(ctx, inst, f"i64 {_NOWHERE}, i64 0, i64 1, i64 2", TRAP)


def _call_check(ctx: Lowering, inst: Inst, access: str, kind: int) -> str:
    """Whether an access is allowed; if not, it is recorded. ``access``: its address, its size, and the variable's
    bounds, or an argument's address and `OF_ARGUMENT`, or twice 0."""
    ctx.writer.declare("hw_check", "declare i1 @hw_check(ptr, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64)")
    where = f"i64 {kind}, i64 {inst.line}, i64 {inst.column}, i64 %gid0, i64 %gid1, i64 %gid2"
    return ctx.writer.let(f"call i1 @hw_check(ptr %launch, {access}, {where})")


def _root(ctx: Lowering, pointer: Value) -> str:
    """The parameter or variable that a pointer was computed from, or empty."""
    if pointer.is_local:
        return ctx.plan.roots.get(pointer.text, "")
    names = set(symbols_in(pointer.text))
    return f"@{names.pop()}" if len(names) == 1 else ""


def _extent(ctx: Lowering, root: str) -> tuple[str, str]:
    """The addresses at which a variable begins and ends."""
    if root in ctx.plan.private_sizes:
        at, space, size = ctx.plan.fixed[root][0], "ptr", ctx.plan.private_sizes[root]
    else:
        at, (space, size) = root, ctx.plan.variant.sizes[root]
    low = ctx.writer.let(f"ptrtoint {space} {at} to i64")
    return low, ctx.writer.let(f"add i64 {low}, {size}")


def _branch_if_inside(ctx: Lowering, address: str, size: str, name: str, go_on: str) -> None:
    writer = ctx.writer
    low, high = _extent(ctx, name)
    past = writer.let(f"add i64 {address}, {size}")
    after = writer.let(f"icmp uge i64 {address}, {low}")
    before = writer.let(f"icmp ule i64 {past}, {high}")
    other = writer.fresh_label("elsewhere")
    writer.branch(writer.let(f"and i1 {after}, {before}"), go_on, other)
    writer.start(other)
