"""A Python function passes in; its syntax tree and the lines of its file, or why there is none, pass out."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from dataclasses import dataclass
from typing import Any

from headwater.errors import Span, UsageError


@dataclass(frozen=True)
class Source:
    """A function's definition: ``tree`` with line numbers of ``filename``, ``lines`` from line ``first`` on, and how
    many columns it is indented by."""

    function: types.FunctionType
    tree: ast.FunctionDef
    filename: str
    first: int
    lines: tuple[str, ...]
    indent: int

    def span(self, node: Any) -> Span:
        """Where a node of the tree stands."""
        column = getattr(node, "col_offset", 0)
        line = getattr(node, "lineno", self.first)
        text = self.line(line)[self.indent :]
        characters = len(text.encode()[:column].decode("utf-8", "replace"))
        return Span(self.filename, line, characters + self.indent + 1)

    def line(self, number: int) -> str:
        """The text of a line of the file, "" if it is not of the function."""
        at = number - self.first
        return self.lines[at].rstrip("\n") if 0 <= at < len(self.lines) else ""


def source_of(function: Any) -> Source:
    """The definition of a function. UsageError for what is none, or has no source text."""
    if not isinstance(function, types.FunctionType):
        raise UsageError(f"a kernel is made of a function, not of a {type(function).__name__}")
    name = function.__qualname__
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError, SyntaxError, IndexError):
        raise UsageError(
            f"the source text of {name} is not available",
            hint="write it in a file, a notebook or IPython; exec and Python's own prompt before 3.13 keep no text",
        ) from None
    text = textwrap.dedent("".join(lines))
    try:
        tree = ast.parse(text).body[0]
    except SyntaxError:
        tree = None
    if not isinstance(tree, ast.FunctionDef):
        kind = "an async function" if isinstance(tree, ast.AsyncFunctionDef) else "not written with def"
        raise UsageError(f"{name} is {kind}, which cannot be translated", hint="write def NAME(…): on lines of its own")
    ast.increment_lineno(tree, first - 1)
    indent = len(lines[0]) - len(lines[0].lstrip())
    return Source(function, tree, inspect.getsourcefile(function) or "<source>", first, tuple(lines), indent)
