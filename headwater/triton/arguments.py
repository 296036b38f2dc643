"""Input: triton's signature and the values of a launch. Output: what the machine code takes, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

_NUMBERS: Mapping[str, Any] = {
    "i1": np.int8, "u1": np.uint8, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16,
    "i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64,
    "fp16": np.float16, "fp32": np.float32, "f32": np.float32, "fp64": np.float64,
}  # fmt: skip
"""The bytes of Triton's scalar types (triton/backends/amd/driver.py, ty_to_cpp)."""


def flattened(kind: Any, value: Any) -> Iterator[tuple[str, Any]]:
    """The arguments that ``value``, of Triton's type ``kind``, becomes, with their types: tuples are passed element by
    element, tensor descriptors as their parts, constants not at all."""
    if isinstance(kind, tuple):
        for one, part in zip(kind, value, strict=True):
            yield from flattened(one, part)
    elif kind.startswith("tensordesc"):
        from triton.backends.driver import decompose_descriptor, expand_signature

        yield from zip(expand_signature([kind], None, ""), decompose_descriptor(value), strict=True)
    elif kind != "constexpr":
        yield kind, value


def number(kind: str, value: Any) -> Any:
    """A number of Triton's type ``kind`` as the NumPy scalar with the same bits."""
    if kind == "bf16":  # the upper half of a float32, rounded to the nearest even
        bits = int(np.float32(value).view(np.uint32))
        return np.uint16(bits + 0x7FFF + (bits >> 16 & 1) >> 16 & 0xFFFF) if value == value else np.uint16(0x7FC0)
    made = _NUMBERS[kind]
    if np.dtype(made).kind == "f":
        return made(value)
    bits = 8 * np.dtype(made).itemsize
    return np.dtype(f"u{bits // 8}").type(int(value) & (1 << bits) - 1)
