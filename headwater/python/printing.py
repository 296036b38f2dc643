"""Input: a call of print. Output: a call of OpenCL C's printf."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from headwater.python.expressions import (
    Expr,
    Refused,
    cast,
    settled,
)
from headwater.python.types import (
    FLOAT32,
    INT32,
    TEXT,
    VOID,
    Scalar,
    Tuple,
    Type,
    Vector,
)

if TYPE_CHECKING:
    from headwater.python.values import Values

# -- print -------------------------------------------------------------------------------------------------------------


def printf(t: Values, node: ast.Call) -> Expr:
    """A call of print."""
    separator, end = " ", "\n"
    for keyword in node.keywords:
        text = t.value(keyword.value).static
        if keyword.arg not in ("sep", "end") or not isinstance(text, str):
            raise Refused(f"print takes no {keyword.arg}= in kernels", "sep= and end=")
        separator, end = (text, end) if keyword.arg == "sep" else (separator, text)
    formats: list[str] = []
    values: list[str] = []
    for arg in node.args:
        if isinstance(arg, ast.JoinedStr):
            text = "".join(_piece(t, part, values) for part in arg.values)
        else:
            text = _piece(t, arg, values)
        formats.append(text)
    whole = separator.replace("%", "%%").join(formats) + end.replace("%", "%%")
    escaped = whole.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    if not escaped.isascii() or not all(c.isprintable() for c in escaped):
        raise Refused("print in kernels writes ASCII characters", "")
    return Expr(VOID, f"printf({', '.join([chr(34) + escaped + chr(34), *values])})", pure=False)


def _piece(t: Values, part: ast.expr, values: list[str]) -> str:
    if isinstance(part, ast.Constant) and isinstance(part.value, str):
        return part.value.replace("%", "%%")
    spec = ""
    if isinstance(part, ast.FormattedValue):
        if part.format_spec is not None:
            assert isinstance(part.format_spec, ast.JoinedStr)
            if not all(isinstance(p, ast.Constant) for p in part.format_spec.values):
                raise Refused("the format of a printed number is constant", "", part)
            spec = "".join(str(p.value) for p in part.format_spec.values if isinstance(p, ast.Constant))
        if part.conversion != -1:
            raise Refused("conversions (!r) of printed values", "leave it out", part)
        part = part.value
    e = t.value(part)
    if e.type == TEXT:
        return str(e.static).replace("%", "%%")
    e = settled(e)
    if isinstance(e.type, Tuple):
        inner = [_format(p.type, spec, part) for p in e.parts]
        values += [_printed(p) for p in map(settled, e.parts)]
        return f"({', '.join(inner)})"
    values.append(_printed(e))
    return _format(e.type, spec, part)


def _printed(e: Expr) -> str:
    if isinstance(e.type, Scalar) and e.type.bits < 32:
        return cast(e, FLOAT32 if e.type.kind == "f" else INT32).text
    return e.text


def _format(kind: Type, spec: str, node: ast.AST) -> str:
    import re

    element = kind.element if isinstance(kind, Vector) else kind
    if not isinstance(element, Scalar):
        raise Refused(f"print of {kind.name}", "its numbers", node)
    match = re.fullmatch(r"([+ 0]?\d*(?:\.\d+)?)([dfgexX]?)", spec)
    if match is None:
        raise Refused(
            f"the format {spec!r} is not in the language of kernels", "width, .precision and d, f, g, e, x", node
        )
    letter = match[2] or ("g" if element.kind == "f" else "u" if element.kind == "u" else "d")
    if (letter in "dxXu") == (element.kind == "f"):
        raise Refused(
            f"the format {spec!r} of {kind.name}", "d and x are for whole numbers, f, g and e for others", node
        )
    vector_part = f"v{kind.width}" if isinstance(kind, Vector) else ""
    length = "l" if element.bits == 64 and element.kind != "f" else "hl" if vector_part and element.bits == 32 else ""
    if letter == "d" and element.kind == "u":
        letter = "u"
    return f"%{match[1]}{vector_part}{length}{letter}"
