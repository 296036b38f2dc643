"""A program's IR in; errors at the place of its inline assembly, or of its calls of what does not exist, out.

Where the position is not in the IR that is compiled, the source goes through clang once more, with a line table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from headwater.errors import SourceError, Span
from headwater.opencl.symbols import symbol_of

_CALL = re.compile(r"^[^;\n]*\b(?:call|callbr|invoke) [^@\n]*?\basm (?:\w+ )*\"[^\n]*$", re.MULTILINE)
_PLACE = re.compile(r"!dbg (!\d+)")
_NODE = re.compile(r"^(!\d+) = (?:distinct )?(!DI\w+\(.*\))$", re.MULTILINE)
_WHY = "the cpu device compiles for any"


def has_assembly(ir: str) -> bool:
    """Whether a function has inline assembly, or the module has it outside of functions."""
    return " asm " in ir and (_CALL.search(ir) is not None or re.search(r"^module asm ", ir, re.MULTILINE) is not None)


def refuse_assembly(source: str, filename: str, options: str, *, why: str = _WHY) -> SourceError:
    """The error for a program that has some, and ``why`` the device takes none."""
    from headwater.opencl import clang

    ir = clang.compile_to_ir(source, filename, options, debug=True).ir
    span, text = _place(_CALL.search(ir), ir, source, filename)
    return SourceError(
        f"inline assembly is of one processor's instruction set, and {why}",
        span,
        hint="write it in OpenCL C, or keep it from this device with #ifdef; GCN's own runs with --device vega64",
        source_line=text,
    )


@contextmanager
def told_at_calls(source: str, filename: str, debug_ir: Callable[[], str]) -> Iterator[None]:
    """An error of linking (`headwater.opencl.linking`) inside, which names functions behind its first colon, gets the
    place where the first of them is called. ``debug_ir``: the program's IR with a line table."""
    try:
        yield
    except SourceError as error:
        name = re.search(r": (\w+)", error.message)
        if error.span is None or error.span.line or name is None:
            raise
        ir = debug_ir()
        symbol = rf"(?:_Z\d+|__\w*?)?{re.escape(symbol_of(name[1]))}"
        call = re.search(rf"^[^;\n]*\b(?:call|invoke) [^@\n]*@{symbol}\w*\([^\n]*$", ir, re.MULTILINE)
        span, text = _place(call, ir, source, filename)
        raise SourceError(error.message, span, hint=error.hint, source_line=text, details=error.details) from None


def _place(call: re.Match[str] | None, ir: str, source: str, filename: str) -> tuple[Span, str]:
    """Where a call is, and that line's text."""
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
