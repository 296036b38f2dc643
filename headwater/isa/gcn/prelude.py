"""Functions of the semantics language that are written in it."""

from __future__ import annotations

import ast
from functools import lru_cache

PRELUDE = """
def bits(x, low: u32, count: u32):
    return x
"""


@lru_cache(maxsize=1)
def _functions() -> dict[str, ast.FunctionDef]:
    return {f.name: f for f in ast.parse(PRELUDE).body if isinstance(f, ast.FunctionDef)}


def function(name: str) -> ast.FunctionDef | None:
    """The definition of a function of the prelude, or None."""
    return _functions().get(name)
