"""Input: a kernel's source text. Output: its errors with their positions. No machine code is made."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headwater.analyze.sources import Source
from headwater.errors import SourceError, UsageError

_MESSAGE = re.compile(
    r"^(?P<file>[^\n:][^\n]*?):(?P<line>\d+):(?:(?P<column>\d+):)? (?P<level>fatal error|error|warning|note): "
    r"(?P<message>.*)$",
    re.MULTILINE,
)
_HINT = re.compile(r"^  hint: (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message: ``line`` and ``column`` count from 1, 0 is unknown; ``severity``: "error", "warning" or "note"."""

    file: str
    line: int
    column: int
    severity: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = ":".join([self.file, *(str(n) for n in (self.line, self.column) if n)])
        return f"{place}: {self.severity}: {self.message}"


def check(source: Source) -> list[Diagnostic]:
    """All that the language's own front end has to say of a source, errors and warnings; nothing if all is well.

    Raises UsageError for machine code and bad build options.
    """
    try:
        said = _CHECKS[source.language](source)
    except SourceError as error:
        first = _first(error, source.name)
        rest = [found for found in _parsed(error.details) if not _same(found, first)]
        return [first, *rest]
    return _parsed(said)


def _same(a: Diagnostic, b: Diagnostic) -> bool:
    return (a.line, a.column, a.message) == (b.line, b.column, b.message)


def _first(error: SourceError, name: str) -> Diagnostic:
    span = error.span
    if span is None:
        return Diagnostic(name, 0, 0, "error", error.message, error.hint)
    return Diagnostic(span.file, span.line, span.column, "error", error.message, error.hint)


def _parsed(text: str) -> list[Diagnostic]:
    places = list(_MESSAGE.finditer(text))
    found = []
    for index, match in enumerate(places):
        end = places[index + 1].start() if index + 1 < len(places) else len(text)
        hint = _HINT.search(text, match.end(), end)
        severity = match["level"].replace("fatal ", "")
        found.append(
            Diagnostic(
                match["file"],
                int(match["line"]),
                int(match["column"] or 0),
                severity,
                match["message"].strip(),
                hint[1] if hint else "",
            )
        )
    return found


def _opencl(source: Source) -> str:
    from headwater.opencl.clang import compile_to_ir

    return compile_to_ir(source.text, source.name, source.options).warnings


def _brook(source: Source) -> str:
    from headwater.runtime.brook.program import translate

    return "\n".join(translate(source.text, source.name, source.options).warnings)


def _il(source: Source) -> str:
    from headwater.il.parser import parse

    parse(source.text, source.name)
    return ""


def _machine(source: Source) -> str:
    raise UsageError(f"{source.name} is machine code", hint="headwater disasm shows it")


_CHECKS = {"opencl": _opencl, "hip": _opencl, "brook": _brook, "il": _il, "machine": _machine}
