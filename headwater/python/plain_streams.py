"""Runs a function in plain Python for each element. Input: the function, streams and arrays. Output: its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headwater.brook.model import extents, resize_index
from headwater.python import plain
from headwater.python.plain_arrays import dtype_of, viewed
from headwater.python.types import INT32, Array, Scalar, Type, Vector, vector
from headwater.python.vectors import Value


class Gather:
    """An array as stream kernels index it: what lies beyond an edge is the element at the edge, and is not written."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape, self.ndim = array.shape, array.ndim

    def __len__(self) -> int:
        return int(self.shape[0])

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape))

    def __getitem__(self, index: Any) -> Any:
        indices = index if isinstance(index, tuple) else (index,)
        places = tuple(min(max(int(i), 0), n - 1) for i, n in zip(indices, self.shape, strict=False))
        if len(places) < self.ndim:
            return Gather(self.array[places])
        return self.array[places if len(places) > 1 else places[0]]

    def __setitem__(self, index: Any, value: Any) -> None:
        indices = index if isinstance(index, tuple) else (index,)
        if all(0 <= i < n for i, n in zip(indices, self.shape, strict=True)):
            self.array[index] = value


def _element(array: Any, kind: Type, shape: tuple[int, ...]) -> Callable[[tuple[int, ...]], Any]:
    """The element of a stream of any shape that belongs to a position in a domain of ``shape``."""
    own = array.shape[: len(shape)]

    def at(position: tuple[int, ...]) -> Any:
        if own == shape:
            found = array[position]
        else:
            places = (resize_index(p, n, m) for p, n, m in zip(position, shape, own, strict=True))
            found = array[tuple(places)]
        return Value(kind, [kind.element(part) for part in found]) if isinstance(kind, Vector) else kind(found)  # type: ignore[operator]

    return at


def _same(value: Any) -> Callable[[tuple[int, ...]], Any]:
    return lambda position: value


def argument(value: Any, kind: Type) -> Any:
    """What is the same for all elements: a number, a vector, or an array to index."""
    if isinstance(kind, Array):
        return Gather(viewed(value, kind))
    if isinstance(kind, Vector):
        return kind(*value)
    return kind(value) if isinstance(kind, Scalar) else value


def run(
    function: Callable[..., Any],
    given: Sequence[tuple[str, Any, Type]],
    shape: tuple[int, ...],
    domain: tuple[tuple[int, ...], tuple[int, ...]],
    outs: Sequence[tuple[Any, Type]],
) -> None:
    """Run ``function`` for each position from ``domain[0]`` to ``domain[1]``; ``given``: role, argument and type of
    each parameter; ``outs``: an array for each result, and the result's type."""
    makers = [
        _element(np.asarray(value), kind, shape) if role == "element" else _same(argument(value, kind))
        for role, value, kind in given
    ]
    start, end = domain
    for offset in np.ndindex(*(b - a for a, b in zip(start, end, strict=True))):
        position = tuple(a + k for a, k in zip(start, offset, strict=True))
        with plain.at_element(vector(INT32, 4)(*extents(position, 0))):
            made = function(*[maker(position) for maker in makers])
        parts = made if isinstance(made, tuple) else (made,)
        for (array, kind), part in zip(outs, parts, strict=False):
            array[position] = (part.parts if isinstance(part, Value) else [part] * kind.width) if isinstance(
                kind, Vector
            ) else part  # fmt: skip


def fold(function: Callable[..., Any], array: Any, kind: Type, shape: tuple[int, ...] | None) -> Any:
    """Fold an array's elements to one, or blocks of them to an array of ``shape``."""
    whole = array.shape[:-1] if isinstance(kind, Vector) else array.shape
    parts = shape or (1,) * len(whole)
    axis = (kind.width,) if isinstance(kind, Vector) else ()
    out = np.empty((*parts, *axis), kind.element.dtype if isinstance(kind, Vector) else dtype_of(kind))
    element = _element(array, kind, whole)
    for block in np.ndindex(*parts):
        sizes = [n // m for n, m in zip(whole, parts, strict=True)]
        positions = (
            tuple(b * s + k for b, s, k in zip(block, sizes, inner, strict=True)) for inner in np.ndindex(*sizes)
        )
        folded = element(next(positions))
        for position in positions:
            folded = function(folded, element(position))
        out[block] = folded.parts if isinstance(folded, Value) else folded
    return out if shape is not None else out.reshape(-1, *axis)[0]
