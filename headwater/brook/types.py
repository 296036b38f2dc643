"""Types of Brook+ values and the symbols that carry them. Input: names as written. Output: comparable types."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from headwater.brook.model import SCALARS, ElementType

COMPONENTS = "xyzw"
INT_MAX = 0x7FFFFFFF
_TYPE_NAME = re.compile(r"(?:(unsigned|signed)\s+)?(char|uchar|short|ushort|int|uint|float|double)([234])?\Z")
RANKS = ("char", "uchar", "short", "ushort", "int", "uint", "float", "double")
"""The order of C's usual conversions, weakest first, used under weak typing."""


@dataclass(frozen=True)
class Type:
    """A value's type. ``condition`` marks the result of a comparison: per component true or false, not yet a number."""

    base: str
    width: int = 1
    is_struct: bool = False
    condition: bool = False

    @property
    def name(self) -> str:
        """As messages and OpenCL C spell it."""
        return self.base if self.width == 1 else f"{self.base}{self.width}"

    def __str__(self) -> str:
        return f"condition of {self.name}" if self.condition else self.name

    @property
    def is_numeric(self) -> bool:
        """A scalar or vector of numbers, conditions included."""
        return self.base in SCALARS

    @property
    def is_integer(self) -> bool:
        """A scalar or vector of any integer type."""
        return self.is_numeric and self.base not in {"float", "double"}

    @property
    def value(self) -> Type:
        """The numeric type that a condition becomes when it is stored."""
        return replace(self, condition=False)

    @property
    def component(self) -> Type:
        """One component's type."""
        return replace(self, width=1)

    def widened(self, width: int) -> Type:
        """The same base with another number of components."""
        return replace(self, width=width)

    @property
    def element(self) -> ElementType:
        """The same type as the module's description spells it."""
        return ElementType(self.base, self.width, self.is_struct)


VOID = Type("void")
INT = Type("int")
UINT = Type("uint")
FLOAT = Type("float")
DOUBLE = Type("double")
INT4 = Type("int", 4)
FLOAT4 = Type("float", 4)


def builtin_type(name: str) -> Type | None:
    """The type that words such as ``unsigned int4`` or ``float`` name; None for others (``double3``, which does not
    exist).
    """
    if name == "void":
        return VOID
    if name in {"unsigned", "signed"}:
        return UINT if name == "unsigned" else INT
    match = _TYPE_NAME.match(name)
    if match is None:
        return None
    base = match[2]
    if match[1] == "unsigned":
        if base not in {"char", "short", "int"}:
            return None
        base = "u" + base
    width = int(match[3] or 1)
    if base == "double" and width > 2:
        return None
    return Type(base, width)


def literal_integer(text: str) -> int:
    """The value of an integer literal as C reads it, in any of its bases; raises ``ValueError`` for
    ``08``.
    """
    digits = text.rstrip("uUlL")
    if digits[:2] in {"0x", "0X"}:
        return int(digits, 16)
    return int(digits, 8 if len(digits) > 1 and digits[0] == "0" else 10)


SymbolKind = Literal["local", "value", "input", "output", "gather", "scatter", "constant", "reduce", "shared"]


@dataclass(eq=False)
class Symbol:
    """A name in scope. ``c_name`` is its name in the generated text, ``rank`` and ``sizes`` those of an array."""

    name: str
    kind: SymbolKind
    type: Type
    line: int
    column: int
    rank: int = 0
    sizes: tuple[int, ...] = ()
    stream: bool = False
    constant: bool = False
    c_name: str = ""
    faulty: bool = False
    """Its declaration has a fault, which has been reported."""

    @property
    def is_array(self) -> bool:
        """Whether it must be indexed."""
        return self.kind in {"gather", "scatter", "constant", "shared"}
