"""Input: a kernel. Output: its arguments that work-items only count into, and the code that lets each thread count for
itself.

An increment of global memory is a locked operation, and a table that all threads count into moves between their cores.
What nobody reads meanwhile can as well be counted by each thread for itself, in its scratch memory without locks, and
be added to the argument when the thread finds no more work.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headwater.llvm.ir import Function
from headwater.llvm.types import LOCAL_SPACE, Type, ptr_type
from headwater.vectorise.layout import COUNTER_SLACK_BYTES, COUNTER_TABLE

_MERGED_BY = {"add": "add", "sub": "add", "or": "or", "xor": "xor", "umax": "umax"}
"""Operations that change nothing by 0, with which a thread's table begins, and what adds such tables up."""


@dataclass(frozen=True, slots=True)
class Counter:
    """An argument, by its position, whose elements of type ``ty`` are only counted into."""

    position: int
    operation: str
    ty: Type


def find_counters(function: Function, count: int) -> tuple[Counter, ...]:
    """The counters among the first ``count`` parameters, all of whose uses are atomics without results of one kind."""
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
        Counter(root, *next(iter(of))) for root, of in sorted(kinds.items()) if len(of) == 1 and root not in other
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


def privatize(function: Function, found: tuple[Counter, ...]) -> None:
    """Turn counters into pointers to a thread's own memory."""
    wanted = {counter.position for counter in found}
    own = {name for name, root in _derived(function, len(function.params)).items() if root in wanted}
    ty = ptr_type(LOCAL_SPACE)
    for position in wanted:
        function.params[position] = replace(function.params[position], ty=ty)
    for block in function.blocks.values():
        for inst in block.insts:
            inst.args = [replace(value, ty=ty) if value.text in own else value for value in inst.args]
            if inst.name in own:
                inst.ty = ty


def begin(found: tuple[Counter, ...], args_bytes: int) -> list[str]:
    """The entry's lines that empty a thread's tables, for threads that find work to do."""
    lines = [
        "  %waiting = load atomic i64, ptr %next.p monotonic, align 8",
        "  %late = icmp sge i64 %waiting, %total",
        "  br i1 %late, label %left, label %begin",
        "begin:",
    ]
    for k, counter in enumerate(found):
        at = args_bytes + k * COUNTER_TABLE.size_bytes
        own = f"addrspacecast {ptr_type(LOCAL_SPACE)} %arg{counter.position} to ptr"
        lines += [
            f"  %counter{k}.to.p = getelementptr i8, ptr %args, i64 {at + COUNTER_TABLE.offset['to']}",
            f"  %counter{k}.user = load ptr, ptr %counter{k}.to.p",
            f"  %counter{k}.bytes.p = getelementptr i8, ptr %args, i64 {at + COUNTER_TABLE.offset['bytes']}",
            f"  %counter{k}.inner = load i64, ptr %counter{k}.bytes.p",
            f"  %counter{k}.bytes = add i64 %counter{k}.inner, {2 * COUNTER_SLACK_BYTES}",
            f"  %counter{k}.table = {own}",
            f"  %counter{k}.own = getelementptr i8, ptr %counter{k}.table, i64 {-COUNTER_SLACK_BYTES}",
            f"  %counter{k}.to = getelementptr i8, ptr %counter{k}.user, i64 {-COUNTER_SLACK_BYTES}",
            f"  call void @counter.clear(ptr %counter{k}.own, i64 %counter{k}.bytes)",
        ]
    return lines


def end(found: tuple[Counter, ...]) -> list[str]:
    """The entry's lines that add a thread's tables to the arguments."""
    calls = [
        f"  call void @counter.{one.operation}.{one.ty}(ptr %counter{k}.own, ptr %counter{k}.to, i64 %counter{k}.bytes)"
        for k, one in enumerate(found)
    ]
    return [*calls, "  br label %left", "left:"]


def functions(found: tuple[Counter, ...]) -> list[str]:
    """The functions that `begin` and `end` call."""
    kinds = sorted({(counter.operation, counter.ty.text, counter.ty.size_bytes) for counter in found})
    return [_CLEAR, *(_MERGE.format(operation=op, ty=ty, size=size) for op, ty, size in kinds)]


_CLEAR = """\
define internal void @counter.clear(ptr %table, i64 %bytes) #1 {
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
define internal void @counter.{operation}.{ty}(ptr %table, ptr %to, i64 %bytes) #1 {{
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
