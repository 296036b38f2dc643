"""Input: LLVM type texts. Output: `Type` values with sizes and alignments (host data layout, 64-bit pointers)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

PRIVATE_SPACE, LOCAL_SPACE = 0, 3
"""Address spaces whose memory is ours: one thread runs a whole work-group, so atomics on local memory need no bus lock,
and vectors lie at their natural alignment. Arrays that the user passes are aligned like their elements only."""

GENERIC_SPACE = 4
"""The address space of pointers that may point anywhere (LLVM, SPIR target)."""

_FLOAT_BYTES = {"half": 2, "bfloat": 2, "float": 4, "double": 8}


@dataclass(frozen=True, slots=True)
class Type:
    """An LLVM type. ``kind`` is void, int, float, ptr, vec, array, struct or target (a type
    of one machine); ``bits`` is set for int and float."""

    text: str
    kind: str
    bits: int = 0
    space: int = 0
    count: int = 0
    elem: Type | None = None
    fields: tuple[Type, ...] = ()
    packed: bool = False

    def __str__(self) -> str:
        return self.text

    @property
    def scalar(self) -> Type:
        """The component type of a vector, else the type itself."""
        return self.elem if self.kind == "vec" and self.elem is not None else self

    @property
    def size_bytes(self) -> int:
        """Bytes an object of this type takes in memory (its allocation size)."""
        if self.kind == "int":
            return 1 << max(0, ((self.bits + 7) // 8 - 1).bit_length())
        if self.kind == "float":
            return self.bits // 8
        if self.kind == "ptr":
            return 8
        if self.kind == "vec":
            assert self.elem is not None
            raw = (self.elem.bits * self.count + 7) // 8 if self.elem.bits else 8 * self.count
            # OpenCL C 1.2 specification 6.1.5: a 3-component vector takes the room of 4.
            return 1 << (raw - 1).bit_length()
        if self.kind == "array":
            assert self.elem is not None
            return self.elem.size_bytes * self.count
        if self.kind == "struct":
            return self.layout[1]
        return 0

    @property
    def least_bytes(self) -> int:
        """Bytes of its parts without what is left between them, with pointers of 32 bits, 1 of what is none of these:
        no machine has it in less."""
        if self.kind == "ptr":
            return 4
        if self.kind == "struct":
            return sum(f.least_bytes for f in self.fields)
        if self.elem is not None:
            return self.count * self.elem.least_bytes
        return self.bits // 8 if self.kind in ("int", "float") else 1

    @property
    def align_bytes(self) -> int:
        """Natural alignment."""
        if self.kind == "array":
            assert self.elem is not None
            return self.elem.align_bytes
        if self.kind == "struct":
            return 1 if self.packed else max((f.align_bytes for f in self.fields), default=1)
        return max(1, self.size_bytes)

    @property
    def layout(self) -> tuple[tuple[int, ...], int]:
        """Byte offsets of a struct's fields, and its size."""
        offset, offsets = 0, []
        for f in self.fields:
            if not self.packed:
                offset = -(-offset // f.align_bytes) * f.align_bytes
            offsets.append(offset)
            offset += f.size_bytes
        return tuple(offsets), -(-offset // self.align_bytes) * self.align_bytes


VOID = Type("void", "void")
I1 = Type("i1", "int", 1)
I8 = Type("i8", "int", 8)
I32 = Type("i32", "int", 32)
I64 = Type("i64", "int", 64)
FLOAT = Type("float", "float", 32)
DOUBLE = Type("double", "float", 64)
PTR = Type("ptr", "ptr")


@lru_cache(maxsize=4096)
def int_type(bits: int) -> Type:
    """``i<bits>``."""
    return Type(f"i{bits}", "int", bits)


@lru_cache(maxsize=4096)
def ptr_type(space: int) -> Type:
    """A pointer into an address space."""
    return Type(f"ptr addrspace({space})" if space else "ptr", "ptr", space=space)


@lru_cache(maxsize=4096)
def vec_type(count: int, elem: Type) -> Type:
    """``<count x elem>``."""
    return Type(f"<{count} x {elem.text}>", "vec", count=count, elem=elem)


@lru_cache(maxsize=4096)
def array_type(count: int, elem: Type) -> Type:
    """``[count x elem]``."""
    return Type(f"[{count} x {elem.text}]", "array", count=count, elem=elem)


def struct_type(fields: tuple[Type, ...], packed: bool = False, name: str = "") -> Type:
    """A struct, by its name if it has one."""
    body = "{ " + ", ".join(f.text for f in fields) + " }" if fields else "{}"
    return Type(name or (f"<{body}>" if packed else body), "struct", fields=fields, packed=packed)


SIMPLE: dict[str, Type] = {
    "void": VOID,
    "ptr": PTR,
    **{name: Type(name, "float", 8 * size) for name, size in _FLOAT_BYTES.items()},
    "fp128": Type("fp128", "float", 128),
    "label": Type("label", "void"),
    "metadata": Type("metadata", "void"),
    "token": Type("token", "void"),
}
INT_NAME = re.compile(r"i\d+$")
