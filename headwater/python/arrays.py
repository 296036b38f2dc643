"""Input: an array and indices. Output: the C text of the element, or an array of what is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headwater.python.expressions import ADD, Expr, Refused, Unclear, binary, cast, literal, named, number
from headwater.python.types import BOOL, INT32, INT64, SIZE, UINT8, UINT32, UNKNOWN, WEAK_INT, Array, Scalar, array_name


@dataclass(frozen=True)
class Handle:
    """An array in a kernel: its type, the text of its pointer, and functions that give an extent or a stride (in
    elements). ``start``: the index of its first element. ``origins``: the parameters and variables that it may be.
    ``nested``: it is an array of C, indexed as such."""

    kind: Array
    pointer: str
    extent: Callable[[int], Expr]
    stride: Callable[[int], Expr] | None = None
    start: Expr | None = None
    origins: frozenset[str] = frozenset()
    nested: bool = False
    axis: int = 0
    """How many of the dimensions have been indexed."""

    def size(self, axis: int) -> Expr:
        """The extent of one of the dimensions that are left."""
        return self.extent(axis + self.axis)


def value(handle: Handle) -> Expr:
    """The array as an operand."""
    return Expr(handle.kind, handle.pointer, array=handle)


def _number(e: Expr, what: str) -> Expr:
    """An index as a whole number of C."""
    if e.type == UNKNOWN and e.static is None:
        raise Unclear
    whole = number(e) and (e.type in (SIZE, WEAK_INT) or (isinstance(e.type, Scalar) and e.type.kind in "iu"))
    if not whole:
        raise Refused(f"{named(e)} is no index of {what}", "int(…) makes a whole number of it")
    return cast(e, INT32) if e.type == SIZE and not e.positive else e


def _place(handle: Handle, e: Expr, axis: int, need: Any, alone: bool) -> Expr:
    """An index into one dimension; constants below 0 count from the end, as in Python."""
    e = _number(e, handle.kind.name)
    if e.value is not None and e.value < 0:
        e = binary("+", handle.size(axis), e, need)
    elif e.type == WEAK_INT and e.value is not None:
        e = literal(e.value, INT32)
    elif e.type == WEAK_INT:
        e = replace(e, type=INT32)
    if not alone and e.type in (UINT32, SIZE):
        e = cast(e, INT32)
    return e


def offset(handle: Handle, indices: Sequence[Expr], need: Any) -> Expr:
    """How many elements from the pointer the element, or the first one of those, lies that ``indices`` mean."""
    kind = handle.kind
    places = [_place(handle, e, axis, need, kind.ndim == 1 and handle.stride is None) for axis, e in enumerate(indices)]
    if handle.stride is not None:
        total = handle.start
        for axis, place in enumerate(places):
            step = binary("*", place, handle.stride(axis + handle.axis), need)
            total = step if total is None else binary("+", total, step, need)
        assert total is not None
        return total
    total = handle.start
    made: Expr | None = None
    for axis in range(kind.ndim):
        if made is not None:
            made = binary("*", made, handle.size(axis), need)
        if axis < len(places):
            made = places[axis] if made is None else binary("+", made, places[axis], need)
    assert made is not None
    return made if total is None else binary("+", total, made, need)


def element(handle: Handle, indices: Sequence[Expr], need: Any) -> Expr:
    """An element as it lies in memory: what it is read as, or assigned to."""
    kind = handle.kind.element
    if handle.nested:
        places = [_place(handle, e, axis, need, True) for axis, e in enumerate(indices)]
        text = handle.pointer + "".join(f"[{place.text}]" for place in places)
    else:
        text = f"{handle.pointer}[{offset(handle, indices, need).text}]"
    return Expr(UINT8 if kind == BOOL else kind, text, pure=all(e.pure for e in indices))


def read(handle: Handle, indices: Sequence[Expr], need: Any) -> Expr:
    """An element's value, or the array that is left where there are fewer indices than dimensions."""
    kind = handle.kind
    if len(indices) > kind.ndim:
        raise Refused(
            f"{len(indices)} indices into {kind.name}, which has {kind.ndim} dimension{'s' * (kind.ndim > 1)}"
        )
    if len(indices) < kind.ndim:
        return replace(value(_rest(handle, indices, need)), pure=all(e.pure for e in indices))
    made = element(handle, indices, need)
    if kind.element == BOOL:
        return Expr(BOOL, f"{made.text} != 0", binds=7, positive=True, pure=made.pure)
    return made


def _rest(handle: Handle, indices: Sequence[Expr], need: Any) -> Handle:
    left = handle.kind.ndim - len(indices)
    shape = handle.kind.shape
    kind = replace(
        handle.kind,
        name=array_name(handle.kind.element, left),
        ndim=left,
        shape=None if shape is None else shape[len(indices) :],
    )
    if handle.nested:
        places = [_place(handle, e, axis, need, True) for axis, e in enumerate(indices)]
        pointer = handle.pointer + "".join(f"[{place.text}]" for place in places)
        return replace(handle, kind=kind, pointer=pointer, axis=handle.axis + len(indices))
    start = offset(handle, indices, need)
    if handle.stride is None:
        return replace(handle, kind=kind, pointer=f"({handle.pointer} + {start.within(ADD + 1)})", start=None,
                       axis=handle.axis + len(indices))  # fmt: skip
    return replace(handle, kind=kind, start=start, axis=handle.axis + len(indices))


def tail(handle: Handle, first: Expr, need: Any) -> Expr:
    """``array[first:]`` of one dimension."""
    if handle.kind.ndim != 1:
        raise Refused(f"a slice of {handle.kind.name}", "index all dimensions but the last, and slice that")
    place = _place(handle, first, 0, need, handle.stride is None)
    outer, base = handle.extent, handle.axis

    def extent(axis: int) -> Expr:
        return binary("-", outer(base), place if place.type in (INT32, INT64) else cast(place, INT32), need)

    kind = replace(handle.kind, shape=None)
    if handle.stride is not None:
        stride = handle.stride
        start = binary("*", place, stride(base), need)
        start = start if handle.start is None else binary("+", handle.start, start, need)
        return value(replace(handle, kind=kind, extent=extent, stride=lambda axis: stride(base), start=start, axis=0))
    pointer = f"({handle.pointer} + {place.within(ADD + 1)})"
    return value(replace(handle, kind=kind, pointer=pointer, extent=extent, axis=0, nested=False))


def address(handle: Handle, indices: Sequence[Expr], need: Any) -> str:
    """A pointer to an element."""
    return f"&{element(handle, indices, need).text}"


def extent_of(kind: Array, axis: int) -> Expr:
    """An extent that the type has."""
    assert kind.shape is not None
    return literal(kind.shape[axis], INT32)


def decayed(handle: Handle) -> str:
    """The text of a pointer to the first element, for a function of C."""
    if handle.nested and handle.kind.ndim > 1:
        return f"&{handle.pointer}{'[0]' * handle.kind.ndim}"
    return handle.pointer
