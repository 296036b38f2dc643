"""A kernel in; its arguments that work-items only count into, and the code that lets each thread count for itself, out.

An increment of global memory is a locked operation, and a table that all threads count into moves between their cores.
What nobody reads meanwhile can as well be counted by each thread for itself, in its scratch memory without locks, and
be added to the argument when the thread finds no more work.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headwater.llvm.ir import Function
from headwater.llvm.types import LOCAL_SPACE, Type, ptr_type
from headwater.vectorise.layout import TALLY, TALLY_SLACK_BYTES

_MERGED_BY = {"add": "add", "sub": "add", "or": "or", "xor": "xor", "umax": "umax"}
"""Operations that change nothing by 0, with which a thread's table begins, and what adds such tables up."""


@dataclass(frozen=True, slots=True)
class Tally:
    """An argument, by its position, whose elements of type ``ty`` are only counted into."""

    position: int
    operation: str
    ty: Type


def tallies(function: Function, count: int) -> tuple[Tally, ...]:
    """The tallies among the first ``count`` parameters, all of whose uses are atomics without results of one kind."""
    roots = _derived(function, count)
    kinds: dict[int, set[tuple[str, Type]]] = {}
    other: set[int] = set()
    used = {value.text for b in function.blocks.values() for i in b.insts for value in i.args}
    for block in function.blocks.values():
        for inst in block.insts:
            for place, value in enumerate(inst.args):
                root = roots.get(value.text)
                if root is None or (inst.op == "getelementptr" and place == 0 and inst.ty.kind == "ptr"):
                    continue
                merge = _MERGED_BY.get(inst.detail)
                if inst.op == "atomicrmw" and place == 0 and merge and inst.ty.kind == "int" and inst.name not in used:
                    kinds.setdefault(root, set()).add((merge, inst.ty))
                else:
                    other.add(root)
    return tuple(
        Tally(root, *next(iter(of))) for root, of in sorted(kinds.items()) if len(of) == 1 and root not in other
    )


def _derived(function: Function, count: int) -> dict[str, int]:
    """Pointers that are computed from one of the first ``count`` parameters, and its position."""
    roots = {p.name: i for i, p in enumerate(function.params[:count]) if p.ty.kind == "ptr" and p.ty.space == 1}
    roots = {name: i for name, i in roots.items() if function.params[i].by_value is None}
    for block in function.blocks.values():  # which dominate what they compute, so that they come first
        for inst in block.insts:
            if inst.op == "getelementptr" and inst.args[0].text in roots:
                roots[inst.name] = roots[inst.args[0].text]
    return roots


def keep_apart(function: Function, found: tuple[Tally, ...]) -> None:
    """Turn tallies into pointers to a thread's own memory."""
    wanted = {tally.position for tally in found}
    own = {name for name, root in _derived(function, len(function.params)).items() if root in wanted}
    ty = ptr_type(LOCAL_SPACE)
    for position in wanted:
        function.params[position] = replace(function.params[position], ty=ty)
    for block in function.blocks.values():
        for inst in block.insts:
            inst.args = [replace(value, ty=ty) if value.text in own else value for value in inst.args]
            if inst.name in own:
                inst.ty = ty


def begin(found: tuple[Tally, ...], args_bytes: int) -> list[str]:
    """The entry's lines that empty a thread's tables, for threads that find work to do."""
    lines = [
        "  %waiting = load atomic i64, ptr %next.p monotonic, align 8",
        "  %late = icmp sge i64 %waiting, %total",
        "  br i1 %late, label %left, label %begin",
        "begin:",
    ]
    for k, tally in enumerate(found):
        at = args_bytes + k * TALLY.size_bytes
        own = f"addrspacecast {ptr_type(LOCAL_SPACE)} %arg{tally.position} to ptr"
        lines += [
            f"  %tally{k}.to.p = getelementptr i8, ptr %args, i64 {at + TALLY.offset['to']}",
            f"  %tally{k}.user = load ptr, ptr %tally{k}.to.p",
            f"  %tally{k}.bytes.p = getelementptr i8, ptr %args, i64 {at + TALLY.offset['bytes']}",
            f"  %tally{k}.inner = load i64, ptr %tally{k}.bytes.p",
            f"  %tally{k}.bytes = add i64 %tally{k}.inner, {2 * TALLY_SLACK_BYTES}",
            f"  %tally{k}.table = {own}",
            f"  %tally{k}.own = getelementptr i8, ptr %tally{k}.table, i64 {-TALLY_SLACK_BYTES}",
            f"  %tally{k}.to = getelementptr i8, ptr %tally{k}.user, i64 {-TALLY_SLACK_BYTES}",
            f"  call void @tally.clear(ptr %tally{k}.own, i64 %tally{k}.bytes)",
        ]
    return lines


def end(found: tuple[Tally, ...]) -> list[str]:
    """The entry's lines that add a thread's tables to the arguments."""
    calls = [
        f"  call void @tally.{tally.operation}.{tally.ty}(ptr %tally{k}.own, ptr %tally{k}.to, i64 %tally{k}.bytes)"
        for k, tally in enumerate(found)
    ]
    return [*calls, "  br label %left", "left:"]


def functions(found: tuple[Tally, ...]) -> list[str]:
    """The functions that `begin` and `end` call."""
    kinds = sorted({(tally.operation, tally.ty.text, tally.ty.size_bytes) for tally in found})
    return [_CLEAR, *(_MERGE.format(operation=op, ty=ty, size=size) for op, ty, size in kinds)]


_CLEAR = """\
define internal void @tally.clear(ptr %table, i64 %bytes) #1 {
entry:
  br label %next
next:
  %at = phi i64 [ 0, %entry ], [ %more, %next ]
  %place = getelementptr i8, ptr %table, i64 %at
  store <8 x i32> zeroinitializer, ptr %place, align 32
  %more = add i64 %at, 32
  %on = icmp ult i64 %more, %bytes
  br i1 %on, label %next, label %done
done:
  ret void
}"""
"""Clears whole vectors, the last of which may begin inside the table and end behind it."""

_MERGE = """\
define internal void @tally.{operation}.{ty}(ptr %table, ptr %to, i64 %bytes) #1 {{
entry:
  %last = sub i64 %bytes, {size}
  br label %next
next:
  %at = phi i64 [ 0, %entry ], [ %more, %step ]
  %place = getelementptr i8, ptr %table, i64 %at
  %count = load {ty}, ptr %place
  %some = icmp ne {ty} %count, 0
  br i1 %some, label %merge, label %step
merge:
  %there = getelementptr i8, ptr %to, i64 %at
  %old = atomicrmw {operation} ptr %there, {ty} %count monotonic
  br label %step
step:
  %more = add i64 %at, {size}
  %on = icmp ule i64 %more, %last
  br i1 %on, label %next, label %done
done:
  ret void
}}"""
