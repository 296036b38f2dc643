"""Input: a checked run's error record. Output: a `KernelFault` naming line, work-item, access and argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from headwater.errors import KernelFault, SourceError, Span
from headwater.native.launch_block import (
    ACCESS_ERROR,
    BARRIER_DIVERGENCE,
    BARRIER_ERROR,
    NULL_POINTER,
    OF_ARGUMENT,
    OUT_OF_BOUNDS_READ,
    OUT_OF_BOUNDS_WRITE,
    TRAP,
)

_FAR_BYTES = 1 << 36
"""What an index of 32 bits cannot reach from an array of 16-byte elements: such an address is no mistaken index."""


Forbidden = Literal["", "read", "write"]
"""What a kernel may not do with memory, if it is checked."""


FORBIDDEN_KINDS: dict[Forbidden, int] = {"": 0, "read": OUT_OF_BOUNDS_READ, "write": OUT_OF_BOUNDS_WRITE}


class Extent(NamedTuple):
    """An allocation that the kernel may touch: how a message calls it, its addresses, and what it may not do there."""

    name: str
    start: int
    end: int
    forbidden: Forbidden = ""


def explain(
    record: Sequence[int],
    kernel: str,
    filename: str,
    line_of: Callable[[int], str],
    extents: Sequence[Extent],
    work_dim: int,
) -> KernelFault:
    """The KernelFault for a record whose kind is not 0. ``line_of``: the text of a line of the source."""
    at, of_barrier = ACCESS_ERROR.word, BARRIER_ERROR.word

    def item(at: int) -> str:
        return f"work-item ({', '.join(str(record[at + axis]) for axis in range(work_dim))})"

    who = f"{item(at('id'))} of {kernel}"
    kind, address, nbytes = record[at("kind")], record[at("address")] & (2**64 - 1), record[at("bytes")]
    hint = ""
    if kind == BARRIER_DIVERGENCE:
        line, column = record[of_barrier("other_line")], record[of_barrier("other_column")]
        place = f"waits at the barrier in line {line}, column {column}" if line else "has ended"
        if (line, column) == (record[at("line")], record[at("column")]):
            place = "waits at it in another call of the function that it is in"
        message = f"{who} waits at this barrier, but {item(of_barrier('other_id'))} of the same work-group {place}"
        hint = (
            "every work-item of a work-group must reach the same barriers equally often: move the barrier out of "
            "branches and loops that work-items leave at different times, and let none return before it"
        )
    elif kind == NULL_POINTER:
        message = f"{who} uses a null pointer"
    elif kind == TRAP:
        message = f"{who} executed a trap: one of its assertions failed"
    elif kind in (OUT_OF_BOUNDS_READ, OUT_OF_BOUNDS_WRITE):
        access = "reads" if kind == OUT_OF_BOUNDS_READ else "writes"
        own = Extent("a variable", record[at("low")], record[at("high")])
        meant = [e for e in extents if e.start == own.start] if own.end == OF_ARGUMENT else extents
        wrong = [e for e in meant if e.start <= address and address + nbytes <= e.end and e.forbidden]
        if wrong and own.end in (0, OF_ARGUMENT):
            place, hint = f"at byte {address - wrong[0].start} of {wrong[0].name}", forbidden_hint(wrong[0].forbidden)
        elif own.end == OF_ARGUMENT:
            place = place_in(address, nbytes, meant or extents)
            place += _elsewhere(address, nbytes, extents)
        else:
            place = place_in(address, nbytes, [own] if own.end else extents)
        message = f"{who} {access} {nbytes} byte{'s' * (nbytes != 1)} {place}"
    else:
        message = f"{who} failed with the unknown code {kind}"
    line, column = record[at("line")], record[at("column")]
    if not line:
        return KernelFault(message, hint=hint)
    # The same layout as for errors in the source; the fault stays a KernelFault.
    shown = SourceError(message, Span(filename, line, column), hint=hint, source_line=line_of(line))
    return KernelFault(str(shown))


def forbidden_hint(what: Forbidden) -> str:
    """Why memory may not be read, or written."""
    made = "CL_MEM_READ_ONLY" if what == "write" else "CL_MEM_WRITE_ONLY"
    return f"kernels may not {what} a buffer that was made with {made}"


def _elsewhere(address: int, nbytes: int, extents: Sequence[Extent]) -> str:
    """Which allocation, of another argument than the pointer is from, has an address."""
    there = [e for e in extents if e.start <= address and address + nbytes <= e.end]
    return f": that is byte {address - there[0].start} of {there[0].name}" if there else ""


def place_in(address: int, nbytes: int, extents: Sequence[Extent]) -> str:
    """Where an address lies, described by the nearest allocation."""
    if not extents:
        return f"at address {address:#x}, which belongs to no argument"

    def distance(extent: Extent) -> int:
        return extent.start - address if address < extent.start else max(address + nbytes - extent.end, 0)

    nearest = min(extents, key=distance)
    size = nearest.end - nearest.start
    if distance(nearest) >= _FAR_BYTES:
        return (
            f"at address {address:#x}, which is near no argument: the nearest, {nearest.name}, is at {nearest.start:#x}"
        )
    if address < nearest.start:
        before = nearest.start - address
        return f"{before} byte{'s' * (before != 1)} before the beginning of {nearest.name} ({size} bytes)"
    return f"at byte {address - nearest.start} of {nearest.name}, which has {size} bytes"
