"""The functions of checked code that fill the launch's error record and stop it."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.llvm.ir import Inst
from headwater.native import launch_block
from headwater.native.launch_block import ACCESS_ERROR, BARRIER_ERROR, BOUND

_STORED = (
    *(("line", 0, "line"), ("column", 0, "column"), ("id", 0, "x"), ("id", 1, "y"), ("id", 2, "z")),
    *(("address", 0, "address"), ("bytes", 0, "size"), ("low", 0, "low"), ("high", 0, "high")),
)
"""Fields of the error record, which of their numbers, and what the checking function stores there."""


def _block_field(name: str, result: str) -> str:
    return launch_block.field(name, "%launch", result)


_FIRST = ACCESS_ERROR.word
_STORES = "\n".join(
    f"  %r{n} = getelementptr i8, ptr %record, i64 {8 * (_FIRST(name) + at)}\n  store i64 %{value}, ptr %r{n}"
    for n, (name, at, value) in enumerate(_STORED)
)
CHECK_FUNCTION = f"""\
define internal i1 @hw_check(ptr %launch, i64 %address, i64 %size, i64 %low, i64 %high,
                             i64 %kind, i64 %line, i64 %column, i64 %x, i64 %y, i64 %z) noinline {{
entry:
  %past = add i64 %address, %size
  %own = icmp ugt i64 %high, {launch_block.OF_ARGUMENT}
  %any = icmp eq i64 %high, 0
  br i1 %own, label %private, label %table
private:
  %own.low = icmp uge i64 %address, %low
  %own.high = icmp ule i64 %past, %high
  %own.fine = and i1 %own.low, %own.high
  br i1 %own.fine, label %fine, label %bad
table:
  {_block_field("bounds", "%table.p")}
  %table.n = load i64, ptr %table.p
  %bounds = inttoptr i64 %table.n to ptr
  {_block_field("bounds_count", "%count.p")}
  %count = load i64, ptr %count.p
  br label %next
next:
  %i = phi i64 [ 0, %table ], [ %i.next, %try ], [ %i.next, %allowed ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %try, label %bad
try:
  %i.next = add i64 %i, 1
  %bound = getelementptr [{BOUND.size_bytes} x i8], ptr %bounds, i64 %i
  %start.p = getelementptr i8, ptr %bound, i64 {BOUND.offset["start"]}
  %start = load i64, ptr %start.p
  %end.p = getelementptr i8, ptr %bound, i64 {BOUND.offset["end"]}
  %end = load i64, ptr %end.p
  %after = icmp uge i64 %address, %start
  %before = icmp ule i64 %past, %end
  %between = and i1 %after, %before
  %argument = icmp eq i64 %start, %low
  %meant = or i1 %any, %argument
  %inside = and i1 %between, %meant
  br i1 %inside, label %allowed, label %next
allowed:
  %forbidden.p = getelementptr i8, ptr %bound, i64 {BOUND.offset["forbidden"]}
  %forbidden = load i64, ptr %forbidden.p
  %wrong = icmp eq i64 %forbidden, %kind
  br i1 %wrong, label %next, label %fine
fine:
  ret i1 true
bad:
  {_block_field("error", "%record.pp")}
  %record.n = load i64, ptr %record.pp
  %record = inttoptr i64 %record.n to ptr
  %earlier = load i64, ptr %record
  %first = icmp eq i64 %earlier, 0
  br i1 %first, label %report, label %leave
report:
  %null = icmp ult i64 %address, 4096
  %what = select i1 %null, i64 {launch_block.NULL_POINTER}, i64 %kind
  store i64 %what, ptr %record
{_STORES}
  {_block_field("stop", "%stop")}
  store volatile i64 1, ptr %stop
  br label %leave
leave:
  ret i1 false
}}"""
"""Looks an address up in the variable from ``low`` to ``high``, or, if that is 0, in the launch's bounds table; if it
is `launch_block.OF_ARGUMENT`, in those of its entries that begin at ``low``. Outside, or where all entries
forbid the ``kind`` of access, fills the error record, unless there was a fault before, and stops the launch."""


def barrier_check(barriers: Sequence[Inst]) -> str:
    """A function that compares the barriers at which the work-items of a work-group stopped; false if they differ.

    A work-item's state is 0 before it runs, the number of the barrier in ``barriers`` from 1 on, or -1 when it has
    ended. Copies of one barrier, as unrolling makes them, count as one.
    """
    sites: dict[str, int] = {}
    rows = ["[3 x i64] zeroinitializer"]
    for barrier in barriers:
        site = sites.setdefault(barrier.site, len(sites) + 1)
        rows.append(f"[3 x i64] [i64 {site}, i64 {barrier.line}, i64 {barrier.column}]")
    table = f"@hw_barriers = internal constant [{len(rows)} x [3 x i64]] [{', '.join(rows)}]"
    return table + "\n\n" + _BARRIER_FUNCTIONS


_AT = BARRIER_ERROR.offset
_BARRIER_FUNCTIONS = f"""\
define internal ptr @hw_barrier_of(ptr %frames, i64 %stride, i64 %item) {{
  %offset = mul i64 %item, %stride
  %state.p = getelementptr i8, ptr %frames, i64 %offset
  %state = load i32, ptr %state.p
  %waits = icmp sgt i32 %state, 0
  %row = select i1 %waits, i32 %state, i32 0
  %row.wide = zext i32 %row to i64
  %barrier = getelementptr [3 x i64], ptr @hw_barriers, i64 %row.wide
  ret ptr %barrier
}}

define internal void @hw_record_item(ptr %record, i64 %at, ptr %barrier, i64 %id.at, i64 %item,
                                     i64 %size0, i64 %size1, i64 %base0, i64 %base1, i64 %base2) {{
  %where = getelementptr i8, ptr %record, i64 %at
  %line.p = getelementptr i64, ptr %barrier, i64 1
  %place = load <2 x i64>, ptr %line.p, align 8
  store <2 x i64> %place, ptr %where, align 8
  %x = urem i64 %item, %size0
  %rest = udiv i64 %item, %size0
  %y = urem i64 %rest, %size1
  %z = udiv i64 %rest, %size1
  %id0 = add i64 %x, %base0
  %id1 = add i64 %y, %base1
  %id2 = add i64 %z, %base2
  %id0.p = getelementptr i8, ptr %record, i64 %id.at
  %id1.p = getelementptr i64, ptr %id0.p, i64 1
  %id2.p = getelementptr i64, ptr %id0.p, i64 2
  store i64 %id0, ptr %id0.p
  store i64 %id1, ptr %id1.p
  store i64 %id2, ptr %id2.p
  ret void
}}

define internal i1 @hw_check_barriers(ptr %launch, ptr %frames, i64 %stride, i64 %size0, i64 %size1, i64 %size2,
                                      i64 %base0, i64 %base1, i64 %base2) noinline {{
entry:
  %size01 = mul i64 %size0, %size1
  %count = mul i64 %size01, %size2
  {_block_field("stop", "%stop.p")}
  %stop = load volatile i64, ptr %stop.p
  %stopping = icmp ne i64 %stop, 0
  br i1 %stopping, label %fine, label %seek
seek:
  %a = phi i64 [ 0, %entry ], [ %a.next, %seek ]
  %a.next = add i64 %a, 1
  %a.at = call ptr @hw_barrier_of(ptr %frames, i64 %stride, i64 %a)
  %a.site = load i64, ptr %a.at
  %waiting = icmp ne i64 %a.site, 0
  %a.last = icmp eq i64 %a.next, %count
  %found = or i1 %waiting, %a.last
  br i1 %found, label %compare, label %seek
compare:
  %b = phi i64 [ 0, %seek ], [ %b.next, %same ]
  %b.more = icmp ult i64 %b, %count
  br i1 %b.more, label %try, label %fine
try:
  %b.at = call ptr @hw_barrier_of(ptr %frames, i64 %stride, i64 %b)
  %b.site = load i64, ptr %b.at
  %equal = icmp eq i64 %a.site, %b.site
  br i1 %equal, label %same, label %report
same:
  %b.next = add i64 %b, 1
  br label %compare
report:
  {_block_field("error", "%record.pp")}
  %record.n = load i64, ptr %record.pp
  %record = inttoptr i64 %record.n to ptr
  store i64 {launch_block.BARRIER_DIVERGENCE}, ptr %record
  call void @hw_record_item(ptr %record, i64 {_AT["line"]}, ptr %a.at, i64 {_AT["id"]}, i64 %a,
                            i64 %size0, i64 %size1, i64 %base0, i64 %base1, i64 %base2)
  call void @hw_record_item(ptr %record, i64 {_AT["other_line"]}, ptr %b.at, i64 {_AT["other_id"]}, i64 %b,
                            i64 %size0, i64 %size1, i64 %base0, i64 %base1, i64 %base2)
  store volatile i64 1, ptr %stop.p
  ret i1 false
fine:
  ret i1 true
}}"""
