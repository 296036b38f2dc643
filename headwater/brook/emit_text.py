"""Input: indices, extents, numbers and types. Output: their text in OpenCL C."""

from __future__ import annotations

from headwater.brook import ast
from headwater.brook.affine import Affine
from headwater.brook.types import COMPONENTS, Symbol, Type, literal_integer


def times_position(value: Affine, position: str) -> str:
    """``factor * position.base`` as text."""
    return f"{value.factor} * {position}.{value.base}" if value.factor != 1 else f"{position}.{value.base}"


def offset_text(offset: int) -> str:
    """``+ 3`` or ``- 3`` to be appended to a sum; nothing for 0."""
    return "" if offset == 0 else f" + {offset}" if offset > 0 else f" - {-offset}"


def shape_name(symbol: Symbol) -> str:
    """The name of the argument that holds an array's extents."""
    return f"{symbol.c_name}_shape"


def tile_name(symbol: Symbol) -> str:
    """The name of the local memory that holds a tile of an array."""
    return f"{symbol.c_name}_tile"


def array_extents(symbol: Symbol) -> list[str]:
    """The extents of an array, slowest first, as text."""
    if symbol.kind in {"constant", "shared"}:
        return [str(size) for size in symbol.sizes]
    return [f"{shape_name(symbol)}.{c}" for c in reversed(COMPONENTS[: symbol.rank])]


def row_major(indices: list[str], extents: list[str]) -> str:
    """The row-major place of indices, slowest first."""
    if all(index.isdigit() for index in indices) and all(extent.isdigit() for extent in extents):
        place = 0
        for index, extent in zip(indices, extents, strict=True):
            place = place * int(extent) + int(index)
        return str(place)
    result, terms = "", 0
    for index, extent in zip(indices, extents, strict=True):
        if not terms or result == "0":
            result, terms = index, 2 if _is_sum(index) else 1
            continue
        scaled = f"({result}) * {extent}" if terms > 1 else f"{result} * {extent}"
        result, terms = (scaled, 1) if index == "0" else (f"{scaled} + {index}", 2)
    return result


def _is_sum(text: str) -> bool:
    """Whether printed text is a sum or difference outside all brackets."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if depth == 0 and text[position : position + 3] in {" + ", " - "}:
            return True
    return False


def mask_base(type_: Type) -> str:
    """The base type of the mask that comparing two values of a type gives (OpenCL C 1.2 specification, 6.3.d)."""
    return {"char": "char", "uchar": "char", "short": "short", "ushort": "short", "double": "long"}.get(
        type_.base, "int"
    )


def literal_fits(node: ast.Number, target: Type) -> bool:
    """Whether a number can be written as one of the target type as it stands."""
    return target.base in {"float", "double"} or (not node.floating and target.base in {"int", "uint"})


def literal(node: ast.Number, target: Type) -> str:
    """A number as OpenCL C writes it for the target type."""
    text = node.text.rstrip("uUlL") if node.text[:2].lower() == "0x" else node.text.rstrip("fFuUlL")
    if target.base in {"float", "double"}:
        if not node.floating:
            text = f"{literal_integer(node.text)}.0"
        elif not any(c in text for c in ".eE"):
            text += ".0"
        return f"{text}f" if target.base == "float" else text
    return f"{text}u" if target.base == "uint" else text


def one(type_: Type) -> str:
    """1 as a scalar of the type's base."""
    return {"float": "1.0f", "double": "1.0"}.get(type_.base, "1")


def zero(type_: Type) -> str:
    """0 of the type, in every component."""
    scalar = {"float": "0.0f", "double": "0.0"}.get(type_.base, "0")
    return scalar if type_.width == 1 else f"({type_.name})({scalar})"
