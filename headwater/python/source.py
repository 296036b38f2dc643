"""Input: a Python function. Output: its syntax tree and the lines of its file, or why there is none."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from headwater.errors import Span, UsageError


@dataclass(frozen=True)
class Source:
    """A function's definition: ``tree`` with line numbers of ``filename``, ``lines`` from line ``first`` on."""

    function: types.FunctionType
    tree: ast.FunctionDef
    filename: str
    first: int
    lines: tuple[str, ...]

    def span(self, node: Any) -> Span:
        """Where a node of the tree stands."""
        line = getattr(node, "lineno", self.first)
        return Span(self.filename, line, characters(self.line(line), getattr(node, "col_offset", 0)) + 1)

    def line(self, number: int) -> str:
        """The text of a line of the file, "" if it is not of the function."""
        at = number - self.first
        return self.lines[at].rstrip("\n") if 0 <= at < len(self.lines) else ""


def characters(line: str, column: int) -> int:
    """How many characters of a line stand before a column of a syntax tree, which counts bytes of UTF-8."""
    return len(line.encode()[:column].decode("utf-8", "replace"))


_KEPT: Final = "_headwater_source"


def keep_source(source: Source) -> None:
    """Have `source_of` a function be this, which no file has to be read for."""
    setattr(source.function, _KEPT, source)


def is_kept(function: Any) -> bool:
    """Whether `keep_source` has given the function its source."""
    return _KEPT in vars(function)


def source_of(function: Any) -> Source:
    """The definition of a function. UsageError for what is none, or has no source text."""
    if not isinstance(function, types.FunctionType):
        raise UsageError(f"a kernel is made of a function, not of a {type(function).__name__}")
    known: Source | None = vars(function).get(_KEPT)
    if known is not None:
        return known
    name = function.__qualname__
    try:
        lines, first, tree = _definition(function)
    except (OSError, TypeError, SyntaxError, IndexError):
        raise UsageError(
            f"the source text of {name} is not available",
            hint="write it in a file, a notebook or IPython; exec and Python's own prompt before 3.13 keep no text",
        ) from None
    if not isinstance(tree, ast.FunctionDef):
        kind = "an async function" if isinstance(tree, ast.AsyncFunctionDef) else "not written with def"
        raise UsageError(f"{name} is {kind}, which cannot be translated", hint="write def NAME(…): on lines of its own")
    return Source(function, tree, inspect.getsourcefile(function) or "<source>", first, tuple(lines))


def _definition(function: types.FunctionType) -> tuple[list[str], int, ast.stmt | None]:
    """The lines of a function's definition, the number of the first, and its tree; None for what is no statement.

    The block is looked for by its indentation, which is much faster than `inspect.getsourcelines`. That one is asked
    where this finds no whole statement, as lines within texts and brackets may be indented by less than the block.
    """
    file, at = inspect.findsource(inspect.unwrap(function))
    lines = _block(file, at)
    try:
        return lines, at + 1, _parsed(lines, at + 1)
    except SyntaxError:
        lines, first = inspect.getsourcelines(function)
    try:
        return lines, first, _parsed(lines, first)
    except SyntaxError:
        return lines, first, None


def _block(lines: Sequence[str], at: int) -> list[str]:
    """Lines from a decorator or ``def`` to the end of what is indented below it."""
    indent = len(lines[at]) - len(lines[at].lstrip())
    found: list[str] = []
    last = 0
    headed = False
    for line in lines[at:]:
        text = line.lstrip()
        if not text or text.startswith("#"):
            found.append(line)
            continue
        outside = len(line) - len(text) <= indent
        if headed and outside and text[0] not in ")]}":
            break
        headed = headed or (outside and text.startswith(("def ", "async ")))
        found.append(line)
        last = len(found)
    return found[:last]


def _parsed(lines: Sequence[str], first: int) -> ast.stmt:
    """The statement that lines of a file are, with the file's places. SyntaxError for none, and for several."""
    text = "".join(lines)
    indented = text[:1] in (" ", "\t")
    above = first - 2 if indented else first - 1
    tree: Any = ast.parse("\n" * above + ("if 1:\n" if indented else "") + text)
    body: list[ast.stmt] = tree.body[0].body if indented else tree.body
    if len(body) != 1 or len(tree.body) != 1:
        raise SyntaxError("not one statement")
    return body[0]
