"""A structure in memory, described once: from that come its declaration in C, its offsets and its NumPy type.

What generates code imports this to know offsets: NumPy, which takes longer than all else of that, is imported where it
is wanted.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np

    from headwater.base.arrays import Array

TYPES: Final = """\
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32; typedef unsigned long long u64;
typedef int i32; typedef long long i64;
"""
"""The C names of the fields' types."""

_FORMATS: Final = {"u8": "u1", "u16": "<u2", "u32": "<u4", "i32": "<i4", "u64": "<u8", "i64": "<i8"}
_CODES: Final = {"u8": "B", "u16": "H", "u32": "I", "i32": "i", "u64": "Q", "i64": "q"}
CACHE_LINE_BYTES: Final = 64


class Struct:
    """A C structure: ``fields`` in order as (type, name, count); `offset` of each by name.

    A type is one of `TYPES`, another `Struct`, or a pointer's C type, which ends in "*" and takes 8 bytes. ``align``:
    the alignment in bytes, to which its size is rounded up, as C does; 0: what the fields ask for.
    """

    def __init__(self, name: str, *fields: tuple[str | Struct, str, int], align: int = CACHE_LINE_BYTES) -> None:
        self.name = name
        self.fields = fields
        self.offset: dict[str, int] = {}
        position, strictest = 0, 1
        for kind, field, count in fields:
            size, alignment = _size_and_alignment(kind)
            position = -(-position // alignment) * alignment
            self.offset[field] = position
            position += size * count
            strictest = max(strictest, alignment)
        self._declared = align
        self.align = max(align, strictest)
        self.size_bytes = -(-position // self.align) * self.align

    def word(self, field: str) -> int:
        """A field's place in an array of 64-bit numbers that lies over the structure."""
        return self.offset[field] // 8

    def declaration(self) -> str:
        """The structure in C."""
        lines = "".join(
            f"    {f'struct {kind.name}' if isinstance(kind, Struct) else kind} {name}"
            f"{f'[{count}]' if count > 1 else ''};\n"
            for kind, name, count in self.fields
        )
        attribute = f" __attribute__((aligned({self._declared})))" if self._declared else ""
        return f"struct {self.name} {{\n{lines}}}{attribute};\n"

    @functools.cached_property
    def dtype(self) -> np.dtype[Any]:
        """The same for NumPy; pointers are unsigned numbers."""
        import numpy as np

        formats = [
            (kind.dtype if isinstance(kind, Struct) else _FORMATS.get(kind, "<u8"), (count,) if count > 1 else ())
            for kind, _, count in self.fields
        ]
        return np.dtype(
            {
                "names": [name for _, name, _ in self.fields],
                "formats": formats,
                "offsets": list(self.offset.values()),
                "itemsize": self.size_bytes,
            }
        )

    @functools.cached_property
    def format(self) -> str:
        """The same for `struct`, of a structure of numbers without gaps."""
        text = "".join(f"{count if count > 1 else ''}{_CODES[str(kind)]}" for kind, _, count in self.fields)
        assert struct.calcsize(f"<{text}") == self.size_bytes, self.name
        return text

    @functools.cached_property
    def _packers(self) -> dict[str, tuple[int, int, Callable[..., None]]]:
        """Of each field its offset, how many numbers it is, and what writes them."""
        return {
            name: (self.offset[name], count, struct.Struct(f"<{count}{_CODES.get(str(kind), 'Q')}").pack_into)
            for kind, name, count in self.fields
        }

    def write(self, memory: Any, values: Mapping[str, Any]) -> None:
        """Write these fields at the beginning of ``memory``, bytes; a single number goes to all of a field's."""
        packers = self._packers
        for name, value in values.items():
            offset, count, pack = packers[name]
            if count == 1:
                pack(memory, offset, value)
            else:
                pack(memory, offset, *((value,) * count if isinstance(value, int) else value))

    def filled(self, values: Mapping[str, Any]) -> Array:
        """New memory with the structure, aligned as compiled code may count on: these fields, all others 0."""
        from headwater.base.arrays import aligned_bytes

        memory = aligned_bytes(self.size_bytes)
        memory[:] = 0
        self.write(memory, values)
        return memory

    def read(self, memory: Array, field: str) -> Any:
        """A field of the structure at the beginning of ``memory``, bytes."""
        return memory[: self.size_bytes].view(self.dtype)[field][0]


def _size_and_alignment(kind: str | Struct) -> tuple[int, int]:
    if isinstance(kind, Struct):
        return kind.size_bytes, kind.align
    size = 8 if kind.endswith("*") else int(_FORMATS[kind][-1])
    return size, size


def c_declarations(*structures: Struct) -> str:
    """The C header of these structures, in an order in which each follows those that it holds."""
    return TYPES + "".join(one.declaration() for one in structures)
