"""Input: LLVM types. Output: their sizes on VLIW chips, in 32-bit words or in bytes of memory.

In registers every component of a value has lanes of its own: one up to 32 bits (what is above the bits of a small
integer is undefined), two for i64 and double, the low word first; a truth value is all ones or zero, as IL's
comparisons give it. Pointers have 32 bits.
"""

from __future__ import annotations

from headwater.llvm.types import Type

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
