"""Input: errors at lines of the OpenCL C that Brook+ was translated to. Output: the same at the lines of Brook+."""

from __future__ import annotations

import re

from headwater.brook.model import BrookModule
from headwater.errors import KernelFault, SourceError, Span

_CARET = re.compile(r"\n\s*\^(?=\n|$)")


def in_brook(error: SourceError | KernelFault, module: BrookModule, source: str) -> SourceError | KernelFault:
    """The error with its place in ``source``, the text that ``module`` was translated from, where that is known."""
    if isinstance(error, KernelFault):
        return _fault(error, module, source)
    if error.span is None or error.span.file != _translated(module):
        return error
    # Pixel shaders have a text of their own.
    made = module if _text(module, error.span.line) == error.source_line or module.pixels is None else module.pixels
    line = _line(made, error.span.line)
    if not line:
        return error
    lines = source.splitlines()
    text = lines[line - 1] if line <= len(lines) else ""
    return SourceError(
        error.message, Span(module.filename, line), hint=error.hint, source_line=text, details=error.details
    )


def _fault(fault: KernelFault, module: BrookModule, source: str) -> KernelFault:
    """A fault's text has places, and their lines, in it."""
    shown = str(fault)
    lines = source.splitlines()
    known = False
    for match in re.finditer(rf"{re.escape(_translated(module))}:(\d+)(?::\d+)?", shown):
        line = _line(module, int(match[1]))
        if line and line <= len(lines):
            known = True
            shown = shown.replace(match[0], f"{module.filename}:{line}")
            shown = shown.replace(_text(module, int(match[1])).strip(), lines[line - 1].strip())
    return KernelFault(_CARET.sub("", shown)) if known else fault


def _translated(module: BrookModule) -> str:
    return f"{module.filename}.cl"


def _text(module: BrookModule, line: int) -> str:
    lines = module.source.splitlines()
    return lines[line - 1] if 0 < line <= len(lines) else ""


def _line(module: BrookModule, line: int) -> int:
    """The line of Brook+ that a line of OpenCL C came from; 0 if it came from none."""
    return module.line_map[line - 1] if 0 < line <= len(module.line_map) else 0
