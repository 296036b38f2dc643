"""The types of the semantics language, and of the tables' operands."""

from __future__ import annotations

import struct
from collections.abc import Mapping

BITS: Mapping[str, int] = {
    "u1": 1,
    **{f"{kind}{bits}": bits for kind in "ui" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": bits for bits in (96, 128, 160, 256, 512, 1024)},
    "f16": 16,
    "f32": 32,
    "f64": 64,
}
"""Bits of the types. ``u1`` is a condition, or one lane's bit of a mask; those above 64 bits are only moved."""

FLOATS = ("f16", "f32", "f64")

TYPE_BITS: Mapping[str, int] = {
    **{f"{kind}{bits}": bits for kind in "bui" for bits in (8, 16, 32, 64)},
    **{f"b{bits}": bits for bits in (1, 96, 128, 160, 192, 256, 512, 1024)},
    "simm16": 16, "label": 16, "i24": 32, "u24": 32, "f16": 16, "f32": 32, "f64": 64, "mask": 64,
    "v2f16": 32, "v2i16": 32, "v2u16": 32, "v2b16": 32, "v2bf16": 32,
    "v4f16": 64, "v4u16": 64, "v4bf16": 64, "v2f32": 64, "v2b32": 64,
    "v4u8": 32, "v4i8": 32, "v8u4": 32, "v8i4": 32,
    "v4u32": 128, "v4f32": 128, "v16f32": 512, "v32f32": 1024, "v4i32": 128, "v16i32": 512, "v32i32": 1024,
    "v4f64": 256, "v8i8": 64, "v8fp8": 64, "v8bf8": 64, "v8f16": 128, "v8bf16": 128, "v16i8": 128, "v16fp8": 128,
    "v16bf8": 128, "bf16": 16, "v16f16": 256, "v16bf16": 256, "v32i8": 256, "v32fp8": 256, "v32bf8": 256,
}  # fmt: skip
"""Bits of the types that operands have in the tables. ``mask`` is one bit a lane, in a pair of scalar registers."""


def is_float(type_: str) -> bool:
    """Whether a type is a float."""
    return type_ in FLOATS


def is_integer(type_: str) -> bool:
    """Whether a type is an integer that can be computed with."""
    return type_ not in FLOATS and BITS[type_] <= 64


def float_bits(value: float, type_: str) -> int:
    """A float's bits in a format, rounded to nearest."""
    code = {"f16": ("<e", "<H"), "f32": ("<f", "<I"), "f64": ("<d", "<Q")}[type_]
    return int(struct.unpack(code[1], struct.pack(code[0], value))[0])
