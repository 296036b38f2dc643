"""Input: arrays, and elements that are vectors or structs. Output: what plain Python indexes as a kernel does."""

from __future__ import annotations

from typing import Any

import numpy as np

from headwater.python.types import Array, Scalar, Struct, Type, Vector
from headwater.python.vectors import Value


def size_of(kind: Type) -> int:
    """The bytes of an element."""
    if isinstance(kind, Scalar):
        return kind.dtype.itemsize
    if isinstance(kind, Vector):
        return kind.lanes * kind.element.dtype.itemsize
    assert isinstance(kind, Struct)
    return dtype_of(kind).itemsize


def dtype_of(kind: Type) -> np.dtype[Any]:
    """NumPy's type of an element."""
    if isinstance(kind, Scalar):
        return kind.dtype
    if isinstance(kind, Vector):
        return np.dtype((kind.element.dtype, (kind.lanes,)))
    assert isinstance(kind, Struct)
    return np.dtype([(name, dtype_of(part)) for name, part in kind.fields], align=True)


class VectorArray:
    """An array of numbers whose last axis is a vector's components."""

    def __init__(self, array: Any, kind: Vector) -> None:
        self.array, self.kind = array, kind
        self.shape = array.shape[:-1]
        self.ndim = array.ndim - 1

    def __len__(self) -> int:
        return int(self.shape[0])

    @property
    def size(self) -> int:
        """Number of vectors."""
        return int(np.prod(self.shape))

    def __getitem__(self, index: Any) -> Any:
        row = self.array[index]
        return Value(self.kind, [self.kind.element(part) for part in row[: self.kind.width]])

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array[index][: self.kind.width] = value.parts if isinstance(value, Value) else value


def viewed(value: Any, kind: Array) -> Any:
    """An argument as plain Python indexes it."""
    value = getattr(value, "stream", value)
    if not isinstance(value, np.ndarray):
        return value
    element = kind.element
    if isinstance(element, Vector) and value.dtype == element.element.dtype:
        return VectorArray(value.reshape(-1, element.lanes) if value.ndim == kind.ndim else value, element)
    if isinstance(element, Struct):
        return value.view(np.recarray)
    return value
