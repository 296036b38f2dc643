"""A program's IR with debug information, and what is wanted in it, pass in; places in its source pass out."""

from __future__ import annotations

import re
from pathlib import Path

from headwater.errors import Span, span_of_bytes

_PLACE = re.compile(r"!dbg (!\d+)")
_NODE = re.compile(r"^(!\d+) = (?:distinct )?(!DI\w+\(.*\))$", re.MULTILINE)
_COMMENT = re.compile(r"//(?:\\\n|[^\n])*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)


class Places:
    """Where things of a program stand. ``ir``: its IR, with line tables at least; ``filename``: the source's."""

    def __init__(self, ir: str, source: str, filename: str) -> None:
        self.ir = ir
        self.source = source
        self.filename = filename
        self._nodes: dict[str, str] = {}

    def of_instruction(self, line: str | None) -> tuple[Span, str]:
        """Where an instruction of the IR, a line of it, comes from, and the source's line; the file alone for None."""
        found = _PLACE.search(line) if line else None
        return self.of_node(found[1]) if found else (Span(self.filename), "")

    def of_node(self, number: str) -> tuple[Span, str]:
        """Where a node of the debug information (``!12``) says that it is, and the source's line."""
        nodes = self._nodes = self._nodes or dict(_NODE.findall(self.ir))
        node = nodes.get(number, "")
        if variable := re.search(r"var: (!\d+)", node):
            node = nodes.get(variable[1], "")
        line, column = _number(node, "line"), _number(node, "column")
        name = re.search(r'name: "([^"]*)"', node)
        while node and "file: " not in node:
            scope = re.search(r"scope: (!\d+)", node)
            node = nodes.get(scope[1], "") if scope else ""
        file = re.search(r"file: (!\d+)", node)
        said = re.search(r'filename: "([^"]*)"', nodes.get(file[1], "")) if file else None
        found = said[1] if said else self.filename
        lines = self.source.splitlines()
        if found != self.filename:
            folder = Path(self.filename).resolve().parent
            if not (folder / found).is_file():
                return Span(self.filename), ""
            lines = (folder / found).read_text(errors="replace").splitlines()
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        column = span_of_bytes(found, line, column, text).column
        if not column and name and (at := re.search(rf"\b{re.escape(name[1])}\b", text)):
            column = at.start() + 1
        return Span(found, line, column), text

    def of_text(self, pattern: str) -> tuple[Span, str]:
        """Where the source's own text has the first match, outside of comments and strings; else the file."""
        blank = _COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), self.source)
        found = re.search(pattern, blank)
        if found is None:
            return Span(self.filename), ""
        start = blank.rfind("\n", 0, found.start()) + 1
        line = blank.count("\n", 0, start)
        return Span(self.filename, line + 1, found.start() - start + 1), self.source.split("\n")[line]


def _number(node: str, name: str) -> int:
    found = re.search(rf"\b{name}: (\d+)", node)
    return int(found[1]) if found else 0
