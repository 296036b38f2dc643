"""A program's IR in; an error that names its inline assembly, which is an instruction set's own, out.

The position is not in the IR that is compiled, so the source goes through clang once more, with a line table.
"""

from __future__ import annotations

import re
from pathlib import Path

from headwater.errors import SourceError, Span

_CALL = re.compile(r"^[^;\n]*\b(?:call|callbr|invoke) [^@\n]*?\basm (?:\w+ )*\"[^\n]*$", re.MULTILINE)
_PLACE = re.compile(r"!dbg (!\d+)")
_NODE = re.compile(r"^(!\d+) = (?:distinct )?(!DI\w+\(.*\))$", re.MULTILINE)


def has_assembly(ir: str) -> bool:
    """Whether a function has inline assembly, or the module has it outside of functions."""
    return " asm " in ir and (_CALL.search(ir) is not None or re.search(r"^module asm ", ir, re.MULTILINE) is not None)


def refuse_assembly(source: str, filename: str, options: str) -> SourceError:
    """The error for a program that has some."""
    from headwater.opencl import clang

    ir = clang.compile_to_ir(source, filename, options, debug=True).ir
    span, text = _place(ir, source, filename)
    return SourceError(
        "inline assembly is of one processor's instruction set, and the cpu device compiles for any",
        span,
        hint="write it in OpenCL C, or keep it from this device with #ifdef; GCN's own runs with --device vega64",
        source_line=text,
    )


def _place(ir: str, source: str, filename: str) -> tuple[Span, str]:
    """Where the first of it is, and that line's text."""
    call = _CALL.search(ir)
    place = _PLACE.search(call[0]) if call else None
    if place is None:
        return Span(filename), ""
    nodes = dict(_NODE.findall(ir))
    node = nodes.get(place[1], "")
    line, column = _number(node, "line"), _number(node, "column")
    while node and "file: " not in node:
        scope = re.search(r"scope: (!\d+)", node)
        node = nodes.get(scope[1], "") if scope else ""
    file = re.search(r"file: (!\d+)", node)
    name = re.search(r'filename: "([^"]*)"', nodes.get(file[1], "")) if file else None
    found = name[1] if name else filename
    lines = source.splitlines()
    if found != filename:
        folder = Path(filename).resolve().parent
        if not (folder / found).is_file():
            return Span(filename), ""
        lines = (folder / found).read_text(errors="replace").splitlines()
    return Span(found, line, column), lines[line - 1] if 0 < line <= len(lines) else ""


def _number(node: str, name: str) -> int:
    found = re.search(rf"\b{name}: (\d+)", node)
    return int(found[1]) if found else 0
