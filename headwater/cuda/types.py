"""Input: names of Numba's types. Output: types of kernels in Python, and signatures made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headwater.errors import UsageError
from headwater.python.types import SCALARS, Array, Type, array

int8, int16, int32, int64 = (SCALARS[f"int{bits}"] for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (SCALARS[f"uint{bits}"] for bits in (8, 16, 32, 64))
float16, float32, float64 = (SCALARS[f"float{bits}"] for bits in (16, 32, 64))
boolean = bool_ = b1 = SCALARS["bool"]
i1, i2, i4, i8, u1, u2, u4, u8, f2, f4, f8 = (
    int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64,
)  # fmt: skip
intp, uintp = int64, uint64


@dataclass(frozen=True)
class Signature:
    """The types of a function's arguments."""

    arguments: tuple[Type, ...]


@dataclass(frozen=True)
class Pointer:
    """The type of an address, as the CUDA array interface tells it, of elements."""

    array: Array


class _Void:
    """The type of nothing: called with types it is a kernel's signature."""

    def __call__(self, *arguments: Any) -> Signature:
        return Signature(arguments)


void = none = _Void()


def CPointer(element: Any) -> Pointer:  # noqa: N802
    """The type of an address of such elements."""
    return Pointer(array(element))


def parse(signature: Any) -> tuple[Any, ...] | None:
    """The types of the arguments that a signature lists; None if there is none, or there are several."""
    if signature is None or isinstance(signature, list):
        return None
    if isinstance(signature, str):
        try:
            signature = eval(signature, {"__builtins__": {}}, {**globals(), **{"void": void}})
        except Exception as error:
            raise UsageError(f"the signature {signature!r} cannot be read: {error}") from None
    if isinstance(signature, Signature):
        return signature.arguments
    if isinstance(signature, tuple):
        return signature
    raise UsageError(f"{signature!r:.60} is no signature", hint='"void(float32[:], int32)"')
