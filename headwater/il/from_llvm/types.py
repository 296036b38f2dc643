"""LLVM types and constants pass in; their sizes on VLIW chips, in 32-bit words or in bytes of memory, pass out.

In registers every component of a value has lanes of its own: one up to 32 bits (what is above the bits of a small
integer is undefined), two for i64 and double, the low word first; a truth value is all ones or zero, as IL's
comparisons give it. Pointers have 32 bits.
"""

from __future__ import annotations

import re
import struct

from headwater.errors import InternalError
from headwater.opencl.spmd.ir import Value, zero_of
from headwater.opencl.spmd.types import Type

POINTER_BYTES = 4


def components(ty: Type) -> list[Type]:
    """The scalars that a value is made of, in order."""
    if ty.kind == "vec":
        return [ty.scalar] * ty.count
    if ty.kind == "array":
        assert ty.elem is not None
        return components(ty.elem) * ty.count
    if ty.kind == "struct":
        return [scalar for member in ty.fields for scalar in components(member)]
    return [ty] if ty.kind != "void" else []


def words(ty: Type) -> int:
    """Lanes that a value takes."""
    if ty.kind in ("vec", "array", "struct"):
        return sum(words(scalar) for scalar in components(ty))
    return 1 if ty.kind == "ptr" else -(-ty.bits // 32)


def size_bytes(ty: Type) -> int:
    """Bytes of an object in memory, what keeps the next one aligned included."""
    if ty.kind == "ptr":
        return POINTER_BYTES
    if ty.kind == "vec":
        whole = (bits(ty.scalar) * ty.count + 7) // 8
        return 1 << (whole - 1).bit_length()
    if ty.kind == "array":
        assert ty.elem is not None
        return size_bytes(ty.elem) * ty.count
    if ty.kind == "struct":
        return struct_layout(ty)[1]
    return ty.size_bytes


def bits(ty: Type) -> int:
    """Bits of a scalar."""
    return 8 * POINTER_BYTES if ty.kind == "ptr" else ty.bits


def align_bytes(ty: Type) -> int:
    """Natural alignment."""
    if ty.kind == "array":
        assert ty.elem is not None
        return align_bytes(ty.elem)
    if ty.kind == "struct":
        return 1 if ty.packed else max((align_bytes(member) for member in ty.fields), default=1)
    return max(1, size_bytes(ty))


def struct_layout(ty: Type) -> tuple[list[int], int]:
    """Offsets of a struct's members, and its size."""
    at, offsets = 0, []
    for member in ty.fields:
        align = 1 if ty.packed else align_bytes(member)
        at = -(-at // align) * align
        offsets.append(at)
        at += size_bytes(member)
    whole = align_bytes(ty)
    return offsets, -(-at // whole) * whole


def scalar_bits(value: Value) -> int:
    """The bits of a constant scalar."""
    ty, text = value.ty, value.text
    if value.is_undefined or text in ("null", "zeroinitializer", "false", "none"):
        return 0
    if text == "true":
        return 1
    if ty.kind == "int":
        return int(text) & ((1 << ty.bits) - 1)
    if ty.kind == "float":
        return _float_bits(ty, text)
    raise InternalError(f"no constant in IL: {ty} {text}")


def _float_bits(ty: Type, text: str) -> int:
    if text.startswith("0xH"):
        return int(text[3:], 16)
    if text.startswith("f0x"):
        return int(text[3:], 16)
    number = struct.unpack(">d", bytes.fromhex(text[2:].zfill(16)))[0] if text.startswith("0x") else float(text)
    if ty.bits == 64:
        return int.from_bytes(struct.pack("<d", number), "little")
    if ty.bits == 32:
        if number != number:
            whole = int.from_bytes(struct.pack("<d", number), "little")
            return (whole >> 32 & 0x80000000) | 0x7F800000 | (whole >> 29 & 0x7FFFFF)
        return int.from_bytes(struct.pack("<f", number), "little")
    return int.from_bytes(struct.pack("<e", number), "little")


def parts(value: Value) -> list[Value]:
    """The scalars of a constant, in order."""
    ty = value.ty
    if ty.kind not in ("vec", "array", "struct"):
        return [value]
    if value.elems is not None:
        return [scalar for element in value.elems for scalar in parts(element)]
    if value.text.startswith('c"'):
        assert ty.elem is not None
        return [Value(ty.elem, str(byte)) for byte in _characters(value.text)]
    if value.is_undefined or value.text == "zeroinitializer":
        return [zero_of(scalar) for scalar in components(ty)]
    raise InternalError(f"no constant in IL: {ty} {value.text:.80}")


def _characters(text: str) -> bytes:
    body = text[2:-1]
    found = re.findall(r"\\([0-9A-Fa-f]{2})|(.)", body, re.DOTALL)
    return bytes(int(code, 16) if code else ord(letter) for code, letter in found)


def memory_image(value: Value) -> bytes:
    """A constant as it lies in memory."""
    ty = value.ty
    if ty.kind == "struct":
        offsets, size = struct_layout(ty)
        members = value.elems or tuple(Value(member, "zeroinitializer") for member in ty.fields)
        out = bytearray(size)
        for offset, member in zip(offsets, members, strict=True):
            image = memory_image(member)
            out[offset : offset + len(image)] = image
        return bytes(out)
    if ty.kind == "array":
        assert ty.elem is not None
        if value.elems is not None:
            return b"".join(memory_image(element) for element in value.elems)
        if value.text.startswith('c"'):
            return _characters(value.text)
        return bytes(size_bytes(ty))
    if ty.kind == "vec":
        return b"".join(memory_image(part) for part in parts(value)).ljust(size_bytes(ty), b"\0")
    return scalar_bits(value).to_bytes(size_bytes(ty), "little")
