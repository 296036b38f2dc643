"""Input: a program's IR with debug information, and what is wanted in it. Output: places in its source."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from headwater.errors import Span, span_of_bytes
from headwater.llvm.ir import Module
from headwater.llvm.metadata import fields
from headwater.llvm.text import attachment
from headwater.opencl import units

_COMMENT = re.compile(r"//(?:\\\n|[^\n])*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)


class Places:
    """Where things of a program stand. ``module``: its IR, with line tables at least; ``filename``: the source's."""

    def __init__(self, module: Module, source: str, filename: str) -> None:
        self.module = module
        self.filename = filename
        self._source = source

    def of_instruction(self, line: str) -> tuple[Span, str]:
        """Where an instruction of the IR, a line of it, comes from, and the source's line; the file alone for ""."""
        node = attachment(line, "dbg")
        return self.of_node(node) if node else (Span(self.filename), "")

    def of_node(self, number: str) -> tuple[Span, str]:
        """Where a node of the debug information (``!12``) says that it is, and the source's line."""
        known = self._fields(number)
        if "var" in known:
            known = self._fields(known["var"])
        line, column = int(known.get("line", 0)), int(known.get("column", 0))
        name = known.get("name", "")[1:-1]
        while known and "file" not in known:
            known = self._fields(known.get("scope", ""))
        found = self._fields(known.get("file", "")).get("filename", "")[1:-1] or self.filename
        if any(name == found for name, _ in self._lines):
            text = self._lines.get((found, line), "")
        else:
            path = Path(self.filename).resolve().parent / found
            if not path.is_file():
                return Span(self.filename), ""
            lines = path.read_text(errors="replace").splitlines()
            text = lines[line - 1] if 0 < line <= len(lines) else ""
        column = span_of_bytes(found, line, column, text).column
        if not column and name and (at := re.search(rf"\b{re.escape(name)}\b", text)):
            column = at.start() + 1
        return Span(found, line, column), text

    @functools.cached_property
    def _lines(self) -> dict[tuple[str, int], str]:
        """The source's lines, by what messages call them."""
        return {(file, number): line for file, number, line in units.numbered_lines(self._source, self.filename)}

    def _fields(self, node: str) -> dict[str, str]:
        return fields(self.module.metadata.get(node, ""))

    def of_text(self, pattern: str) -> tuple[Span, str]:
        """Where the source's own text has the first match, outside of comments and strings; else the file."""
        blank = _COMMENT.sub(lambda m: re.sub(r"[^\r\n]", " ", m[0]), self._source)
        found = re.search(pattern, blank)
        if found is None:
            return Span(self.filename), ""
        *_, (file, number, before) = units.numbered_lines(self._source[: found.start()], self.filename)
        return Span(file, number, len(before) + 1), self._lines.get((file, number), "")
