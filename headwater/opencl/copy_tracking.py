"""Input: what code for checks does with async copies. Output: LLVM IR of the functions for it, and the layout of the
tables that they keep.

`headwater.opencl.copies_in_flight` writes the calls.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import Template

from headwater.llvm.text import FINDING
from headwater.llvm.types import LOCAL_SPACE

NEVER_WAITED, READ, WRITTEN, SOURCE_WRITTEN, NO_EVENT = range(5, 10)
DIFFERS = 11
"""What is wrong (`headwater.opencl.check_findings`)."""
MOST = 32
"""Copies that a work-item may have in flight; further ones are not followed. A table takes 2 KB of private memory."""


@dataclass(frozen=True, slots=True)
class Target:
    """What the functions are written for."""

    address: str
    """The type of addresses, and of all entries of a table."""
    bits: int
    private: str
    """The type of pointers to private memory."""
    chip: bool
    generic: int
    """The address space of pointers that may be to any memory."""
    calling: str
    """The calling convention of built-ins, with a blank."""


HEAD, FIELDS = 4, 8
"""A table begins with the number of events there have been, those of the oldest copy in flight and of the next one, and
how many copies were begun.
Copy n has entry n modulo `MOST`: its event's value, 0 if it has ended; its place in the source (file, line, column);
then both ends of what it writes and of what it reads."""

GROUP = "@__hw_copies_of_group"
ARGUMENTS = 7
"""A group's table: how many copies its first work-item has begun; then of each of the last `MOST` its place in the
source (file, line, column) and its arguments but the event: two addresses, number of elements, stride or 0."""

_PLACE = """\
  %file.32 = $NARROW %file$TO_32
  %line.32 = $NARROW %line$TO_32
  %column.32 = $NARROW %column$TO_32"""


def _loaded_place(pointer: str, first: int) -> str:
    """Load a place in the source from an entry, from its word ``first`` on."""
    return "\n".join(
        f"  %{name}.at = getelementptr $A, {pointer} %entry, i32 {number}\n  %{name} = load $A, {pointer} %{name}.at"
        for number, name in enumerate(("file", "line", "column"), first)
    )


_PARTS = {
    "IN_FLIGHT": """\
  %oldest.at = getelementptr $A, $P %t, i32 1
  %oldest = load $A, $P %oldest.at
  %next.at = getelementptr $A, $P %t, i32 2
  %next = load $A, $P %next.at""",
    "ENTRY": """\
  %number = urem $A %n, $MOST
  %words = mul $A %number, $FIELDS
  %word = add $A %words, $HEAD
  %entry = getelementptr $A, $P %t, $A %word
  %token = load $A, $P %entry""",
    "GROUP_ENTRY": """\
  %number = urem $A %n, $MOST
  %words = mul $A %number, $ARGUMENTS
  %word = add $A %words, 1
  %entry = getelementptr $A, $L $GROUP, $A %word""",
    "GIVEN": ", ".join(f"$A %g{n}" for n in range(ARGUMENTS)),
    "STORED": "\n".join(
        f"  %s{n}.at = getelementptr $A, $L %entry, i32 {n}\n  store $A %g{n}, $L %s{n}.at" for n in range(ARGUMENTS)
    ),
    "COMPARED": "\n".join(
        f"  %c{n}.at = getelementptr $A, $L %entry, i32 {n}\n  %c{n} = load $A, $L %c{n}.at\n"
        f"  %d{n} = icmp ne $A %c{n}, %g{n}\n  %differs.{n} = or i1 {f'%differs.{n - 1}' if n else 'false'}, %d{n}"
        for n in range(ARGUMENTS)
    ),
    "PLACE": _PLACE,
    "KEPT_PLACE": f"{_loaded_place('$P', 1)}\n{_PLACE}",
    "GROUP_PLACE": f"{_loaded_place('$L', 0)}\n{_PLACE}",
}
"""What several of the functions do: which copies are in flight, a copy's entry, a place in the source for `FINDING`."""

# $A is the type of addresses, $P that of pointers to private memory.
_START = """
define internal $A $NAME($P %t, $A %file, $A %line, $A %column, $A %t0, $A %t1, $A %s0, $A %s1, $A %e) alwaysinline {
  %event = freeze $A %e
  %made = load $A, $P %t
$IN_FLIGHT
  %given = icmp ne $A %event, 0
  %wrong = icmp ugt $A %event, %made
$PLACE
  call void @$FINDING(i1 %wrong, i32 $NO_EVENT, i32 %file.32, i32 %line.32, i32 %column.32, i32 0)
  %more = add $A %made, 1
  %token = select i1 %given, $A %event, $A %more
  %now = select i1 %given, $A %made, $A %more
  store $A %now, $P %t
  %live = sub $A %next, %oldest
  %room = icmp ult $A %live, $MOST
  br i1 %room, label %take, label %done
take:
  %last = add $A %next, 1
  store $A %last, $P %next.at
  %number = urem $A %next, $MOST
  %words = mul $A %number, $FIELDS
  %word = add $A %words, $HEAD
  %entry = getelementptr $A, $P %t, $A %word
  store $A %token, $P %entry
  %file.at = getelementptr $A, $P %entry, i32 1
  store $A %file, $P %file.at
  %line.at = getelementptr $A, $P %entry, i32 2
  store $A %line, $P %line.at
  %column.at = getelementptr $A, $P %entry, i32 3
  store $A %column, $P %column.at
  %t0.at = getelementptr $A, $P %entry, i32 4
  store $A %t0, $P %t0.at
  %t1.at = getelementptr $A, $P %entry, i32 5
  store $A %t1, $P %t1.at
  %s0.at = getelementptr $A, $P %entry, i32 6
  store $A %s0, $P %s0.at
  %s1.at = getelementptr $A, $P %entry, i32 7
  store $A %s1, $P %s1.at
  br label %done
done:
  ret $A %token
}"""
"""Begin a copy: its event's value."""

_WAIT = """
define internal void $NAME($P %t, $A %file, $A %line, $A %column, i32 %count, $EVENTS %events) alwaysinline {
begin:
  %made = load $A, $P %t
  %oldest.at = getelementptr $A, $P %t, i32 1
  %next.at = getelementptr $A, $P %t, i32 2
  %next = load $A, $P %next.at
  br label %loop
loop:
  %i = phi i32 [ 0, %begin ], [ %i.next, %ended ]
  %bad = phi i1 [ false, %begin ], [ %worse, %ended ]
  %more = icmp slt i32 %i, %count
  br i1 %more, label %event, label %done
event:
  %event.at = getelementptr $EVENT, $EVENTS %events, i32 %i
  %event.loaded = load $EVENT, $EVENTS %event.at
  %frozen = freeze $EVENT %event.loaded
  %value = $CONVERT
  %none = icmp eq $A %value, 0
  %beyond = icmp ugt $A %value, %made
  %wrong = or i1 %none, %beyond
  %worse = or i1 %bad, %wrong
  %oldest = load $A, $P %oldest.at
  br label %entries
entries:
  %n = phi $A [ %oldest, %event ], [ %n.next, %entry ]
  %first = phi $A [ %oldest, %event ], [ %first.next, %entry ]
  %further = icmp ne $A %n, %next
  br i1 %further, label %entry, label %ended
entry:
  %number = urem $A %n, $MOST
  %words = mul $A %number, $FIELDS
  %word = add $A %words, $HEAD
  %entry.at = getelementptr $A, $P %t, $A %word
  %token = load $A, $P %entry.at
  %same = icmp eq $A %token, %value
  %kept = select i1 %same, $A 0, $A %token
  store $A %kept, $P %entry.at
  %n.next = add $A %n, 1
  %free = icmp eq $A %kept, 0
  %oldest.here = icmp eq $A %n, %first
  %passes = and i1 %free, %oldest.here
  %first.next = select i1 %passes, $A %n.next, $A %first
  br label %entries
ended:
  store $A %first, $P %oldest.at
  %i.next = add i32 %i, 1
  br label %loop
done:
$PLACE
  call void @$FINDING(i1 %bad, i32 $NO_EVENT, i32 %file.32, i32 %line.32, i32 %column.32, i32 0)
  ret void
}"""
"""End the copies that have one of some events."""

_FIND = """
define internal $A $NAME($P %t, $A %file, $A %start, $A %end, i1 %writes) alwaysinline {
begin:
$IN_FLIGHT
  br label %loop
loop:
  %n = phi $A [ %oldest, %begin ], [ %n.next, %look ]
  %result = phi $A [ 0, %begin ], [ %better, %look ]
  %more = icmp ne $A %n, %next
  br i1 %more, label %look, label %done
look:
$ENTRY
  %own.at = getelementptr $A, $P %entry, i32 1
  %own = load $A, $P %own.at
  %line.at = getelementptr $A, $P %entry, i32 2
  %line = load $A, $P %line.at
  %t0.at = getelementptr $A, $P %entry, i32 4
  %t0 = load $A, $P %t0.at
  %t1.at = getelementptr $A, $P %entry, i32 5
  %t1 = load $A, $P %t1.at
  %s0.at = getelementptr $A, $P %entry, i32 6
  %s0 = load $A, $P %s0.at
  %s1.at = getelementptr $A, $P %entry, i32 7
  %s1 = load $A, $P %s1.at
  %t.above = icmp ugt $A %end, %t0
  %t.below = icmp ult $A %start, %t1
  %target = and i1 %t.above, %t.below
  %s.above = icmp ugt $A %end, %s0
  %s.below = icmp ult $A %start, %s1
  %s.inside = and i1 %s.above, %s.below
  %source = and i1 %s.inside, %writes
  %inside = or i1 %target, %source
  %live = icmp ne $A %token, 0
  %found = and i1 %inside, %live
  %near = icmp eq $A %own, %file
  %told = select i1 %near, $A %line, $A 0
  %which = select i1 %target, $A $TARGET, $A $SOURCE
  %marked = or $A %told, %which
  %better = select i1 %found, $A %marked, $A %result
  %n.next = add $A %n, 1
  br label %loop
done:
  ret $A %result
}"""
"""The line, if it is in that file, of a copy in flight that overlaps some bytes, with a bit set that says whether it
writes or reads them; 0 if there is none."""

_END = """
define internal void $NAME($P %t) alwaysinline {
begin:
$IN_FLIGHT
  br label %loop
loop:
  %n = phi $A [ %oldest, %begin ], [ %n.next, %look ]
  %more = icmp ne $A %n, %next
  br i1 %more, label %look, label %done
look:
$ENTRY
  %live = icmp ne $A %token, 0
$KEPT_PLACE
  call void @$FINDING(i1 %live, i32 $NEVER_WAITED, i32 %file.32, i32 %line.32, i32 %column.32, i32 0)
  %n.next = add $A %n, 1
  br label %loop
done:
  ret void
}"""
"""Report copies that are still in flight."""

_FIRST = """
define internal void $NAME($P %t, i1 %first) alwaysinline {
  br i1 %first, label %begin, label %done
begin:
  store $A 0, $L $GROUP
  br label %done
done:
  ret void
}"""
"""The first work-item of a group has begun no copy yet."""

_SAME = """
define internal void $NAME($P %t, i1 %first, $GIVEN) alwaysinline {
  %own.at = getelementptr $A, $P %t, i32 3
  %n = load $A, $P %own.at
  %n.next = add $A %n, 1
  store $A %n.next, $P %own.at
$GROUP_ENTRY
  br i1 %first, label %leave, label %compare
leave:
  store $A %n.next, $L $GROUP
$STORED
  br label %done
compare:
  %known = load $A, $L $GROUP
  %missing = icmp uge $A %n, %known
  %ahead = sub $A %known, %n
  %kept = icmp ule $A %ahead, $MOST
$COMPARED
  %other = and i1 %kept, %differs.6
  %wrong = or i1 %missing, %other
  %file.32 = $NARROW %g0$TO_32
  %line.32 = $NARROW %g1$TO_32
  %column.32 = $NARROW %g2$TO_32
  call void @$FINDING(i1 %wrong, i32 $DIFFERS, i32 %file.32, i32 %line.32, i32 %column.32, i32 0)
  br label %done
done:
  ret void
}"""
"""Leave a copy's place and arguments to the group, or compare them with those of its first work-item's copy."""

_ALL = """
define internal void $NAME($P %t) alwaysinline {
  %own.at = getelementptr $A, $P %t, i32 3
  %n = load $A, $P %own.at
  %known = load $A, $L $GROUP
  %fewer = icmp ult $A %n, %known
$GROUP_ENTRY
$GROUP_PLACE
  call void @$FINDING(i1 %fewer, i32 $DIFFERS, i32 %file.32, i32 %line.32, i32 %column.32, i32 0)
  ret void
}"""
"""Report a copy that the group's first work-item has begun and this one has not."""

_FUNCTIONS = {
    **{"start": _START, "wait": _WAIT, "find": _FIND, "end": _END},
    **{"first": _FIRST, "same": _SAME, "all": _ALL},
}
TARGET, SOURCE = 1 << 30, 1 << 29


def function(name: str, target: Target, kind: str, events: str) -> tuple[str, str]:
    """The symbol and text of the function called ``name``. ``kind``: the type of events, ``events`` that of pointers to
    them, both "" where the function takes none."""
    symbol = f"__hw_copy_{name}" + (f"_{re.sub(r'[^0-9a-z]+', '_', f'{kind}_{events}')}" if kind else "")
    wide, address = target.bits == 64, target.address
    words: dict[str, object] = {
        **{"A": address, "P": target.private, "FINDING": f"{FINDING}_if", "NAME": f"@{symbol}"},
        **{"NARROW": "trunc i64" if wide else "add i32", "TO_32": " to i32" if wide else ", 0"},
        **{"GROUP": GROUP, "L": f"ptr addrspace({LOCAL_SPACE})", "ARGUMENTS": ARGUMENTS},
        **{"FIELDS": FIELDS, "HEAD": HEAD, "MOST": MOST, "TARGET": TARGET, "SOURCE": SOURCE},
        **{"NO_EVENT": NO_EVENT, "NEVER_WAITED": NEVER_WAITED, "DIFFERS": DIFFERS, "EVENT": kind, "EVENTS": events},
        "CONVERT": f"ptrtoint {kind} %frozen to {address}" if "ptr" in kind else f"add {address} %frozen, 0",
    }
    return symbol, Template(Template(_FUNCTIONS[name]).safe_substitute(_PARTS)).substitute(words)
