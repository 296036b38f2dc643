"""Input: a vector type and numbers. Output: a vector that plain Python computes with."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from headwater.errors import UsageError
from headwater.python.types import Vector, vector

_LETTERS = "xyzw"


def _at(kind: Vector, name: str) -> list[int] | None:
    if name and all(c in _LETTERS[: kind.width] for c in name):
        return [_LETTERS.index(c) for c in name]
    if name[:1] == "s" and len(name) > 1 and all(c in "0123456789abcdef" for c in name[1:]):
        return [int(c, 16) for c in name[1:]]
    return None


def make(kind: Vector, parts: Sequence[Any]) -> Value:
    """A vector of one number for all components, or of numbers and vectors one after the other."""
    flat: list[Any] = []
    for part in parts:
        flat += part.parts if isinstance(part, Value) else [part]
    if len(flat) == 1:
        flat *= kind.width
    if len(flat) != kind.width:
        raise UsageError(f"{kind.name} has {kind.width} components, {len(flat)} are given")
    return Value(kind, [kind.element(part) for part in flat])


def dot(a: Any, b: Any) -> Any:
    """The sum of the products of components."""
    return sum((x * y for x, y in zip(a.parts, b.parts, strict=True)), start=a.kind.element(0))


class Value:
    """A vector in plain Python; assigned to another name it is the same object, as anything in Python is."""

    def __init__(self, kind: Vector, parts: list[Any]) -> None:
        self.__dict__.update(kind=kind, parts=parts)

    def __getattr__(self, name: str) -> Any:
        at = _at(self.__dict__["kind"], name)
        if at is None:
            raise AttributeError(f"{self.__dict__['kind'].name} has no component {name}")
        parts = [self.__dict__["parts"][i] for i in at]
        return parts[0] if len(parts) == 1 else Value(vector(self.kind.element, len(parts)), parts)

    def __setattr__(self, name: str, value: Any) -> None:
        at = _at(self.kind, name)
        if at is None:
            raise AttributeError(f"{self.kind.name} has no component {name}")
        values = value.parts if isinstance(value, Value) else [value] * len(at)
        for i, part in zip(at, values, strict=True):
            self.parts[i] = self.kind.element(part)

    def __getitem__(self, index: int) -> Any:
        return self.parts[index]

    def __setitem__(self, index: int, value: Any) -> None:
        self.parts[index] = self.kind.element(value)

    def __neg__(self) -> Value:
        return Value(self.kind, [-p for p in self.parts])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and self.kind == other.kind and self.parts == other.parts

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self.kind.name}({', '.join(map(str, self.parts))})"


def _operator(function: Callable[[Any, Any], Any], swapped: bool) -> Callable[[Value, Any], Value]:
    def method(self: Value, other: Any) -> Value:
        others = other.parts if isinstance(other, Value) else [self.kind.element(other)] * len(self.parts)
        pairs = zip(others, self.parts, strict=True) if swapped else zip(self.parts, others, strict=True)
        return Value(self.kind, [self.kind.element(function(a, b)) for a, b in pairs])

    return method


for _name in ("add", "sub", "mul", "truediv", "and_", "or_", "xor", "lshift", "rshift"):
    _function = getattr(operator, _name)
    setattr(Value, f"__{_name.rstrip('_')}__", _operator(_function, False))
    setattr(Value, f"__r{_name.rstrip('_')}__", _operator(_function, True))
