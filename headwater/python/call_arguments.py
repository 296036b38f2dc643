"""Input: a call's arguments. Output: their values, as many as there may be."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from headwater.python.expressions import (
    Expr,
    Refused,
    Unclear,
)
from headwater.python.types import (
    UNKNOWN,
)

if TYPE_CHECKING:
    from headwater.python.values import Values


def values(t: Values, node: ast.Call, least: int, most: int | None = None) -> list[Expr]:
    """The arguments in order. Refused if they are not ``least`` to ``most``, or some are given by name."""
    most = least if most is None else most
    if node.keywords:
        raise Refused("arguments by name", "give them in order")
    if not least <= len(node.args) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        name = ast.unparse(node.func)
        raise Refused(f"{name} takes {wanted} argument{'s' * (wanted != '1')}, not {len(node.args)}", "")
    return [one(t.value(arg), arg) for arg in node.args]


def one(e: Expr, node: ast.AST) -> Expr:
    """One argument, if it is clear what it is."""
    if e.type == UNKNOWN and e.static is None:
        raise Unclear
    if isinstance(node, ast.Starred):
        raise Refused("starred arguments are not in the language of kernels", "list them")
    return e
