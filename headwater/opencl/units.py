"""Sources that OpenCL's hosts compile apart and link: one text of several units and back, and their IR as one module.

A linked program is such a text until the front end sees it: whatever takes a program's source, keys of the cache
included, takes the text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from headwater.base import temporary
from headwater.errors import SourceError, Span

if TYPE_CHECKING:
    from subprocess import CompletedProcess

_MARK = "#pragma headwater unit"
_DIRECTIVE = re.compile(r'\s*#\s*line\s+(\d+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*')
_LINE_END = re.compile(r"\r\n|\r|\n")  # what clang counts
_TRIPLE = "target triple = "
_TWICE = re.compile(r"Linking globals named '([^']+)': symbol multiply defined")
_ERROR = re.compile(r"^.*?error: (.*)$", re.MULTILINE)


class Unit(NamedTuple):
    """A source that is compiled by itself, and its build options."""

    source: str
    options: str


def joined(units: Sequence[Unit]) -> str:
    """The units as one text, from which `of_source` has them again."""
    return "".join(f"{_MARK} {unit.options.replace(chr(10), ' ')}\n{unit.source}\n" for unit in units)


def of_source(source: str, options: str) -> list[Unit]:
    """The units of a text that `joined` made; of any other text itself, with ``options``."""
    if not source.startswith(_MARK):
        return [Unit(source, options)]
    parts = re.split(rf"^{_MARK}(.*)\n", source, flags=re.MULTILINE)[1:]
    return [Unit(text.removesuffix("\n"), words.strip()) for words, text in zip(parts[::2], parts[1::2], strict=True)]


def named(source: str, options: str, filename: str) -> list[tuple[str, Unit]]:
    """The same with what messages call each: ``k.unit1.cl`` and so on of several units of ``k.cl``."""
    found = of_source(source, options)
    if len(found) == 1:
        return [(filename, found[0])]
    own = re.compile(rf'^(#line \d+ )"{re.escape(filename)}"$', re.MULTILINE)
    names = [_unit_name(filename, number) for number in range(1, len(found) + 1)]
    quoted = [f'"{name}"'.replace("\\", r"\\") for name in names]
    sources = [own.sub(rf"\1{text}", unit.source) for text, unit in zip(quoted, found, strict=True)]
    return [(name, Unit(text, unit.options)) for name, text, unit in zip(names, sources, found, strict=True)]


def _unit_name(filename: str, number: int) -> str:
    root, suffix = os.path.splitext(filename)
    return f"{root}.unit{number}{suffix}"


def numbered_lines(source: str, filename: str) -> Iterator[tuple[str, int, str]]:
    """What messages have for each line of a text: its file's name and its number there, 0 if it is none of a file."""
    file = own = filename
    number = unit = 0
    several = source.startswith(_MARK)
    for line in _LINE_END.split(source):
        if several and line.startswith(_MARK):
            unit += 1
            file = own = _unit_name(filename, unit)
            number = 0
            yield "", 0, line
        elif directive := _DIRECTIVE.fullmatch(line):
            number = int(directive[1]) - 1
            if directive[2] is not None:
                file = own if directive[2] == filename else directive[2]
            yield "", 0, line
        else:
            number += 1
            yield file, number, line


def line_of(source: str, filename: str, file: str, number: int) -> str:
    """The text of a line that messages name; empty if the source does not have it."""
    return next((line for name, n, line in numbered_lines(source, filename) if (name, n) == (file, number)), "")


def linked(
    modules: Sequence[str],
    filename: str,
    run: Callable[[Sequence[str]], CompletedProcess[bytes]],
    name: Callable[[str], str],
) -> str:
    """The text of the units' modules, linked by clang, which ``run`` runs; ``name``: of a symbol in the source.

    Raises SourceError for what two of them define.
    """
    if len(modules) == 1:
        return modules[0]
    triple = next(line for line in modules[0].splitlines() if line.startswith(_TRIPLE)).removeprefix(_TRIPLE).strip('"')
    compiler = ["-cc1", "-triple", triple, "-O2", "-disable-llvm-passes", "-x", "ir"]
    with temporary.folder() as folder:
        others = []
        for number, text in enumerate(modules):
            path = Path(folder) / f"{number}.ll"
            path.write_text(text, encoding="utf-8", errors="surrogateescape")
            if number:
                code = path.with_suffix(".bc")
                _checked(run([*compiler, str(path), "-emit-llvm-bc", "-o", str(code)]), filename, name)
                others += ["-mlink-bitcode-file", str(code)]
        done = run([*compiler, str(Path(folder) / "0.ll"), *others, "-emit-llvm", "-o", "-"])
        return _checked(done, filename, name).stdout.decode("utf-8", "surrogateescape")


def _checked(done: CompletedProcess[bytes], filename: str, name: Callable[[str], str]) -> CompletedProcess[bytes]:
    if done.returncode == 0:
        return done
    messages = done.stderr.decode(errors="replace")
    if twice := _TWICE.search(messages):
        raise SourceError(
            f"{name(twice[1])} is defined in two of the units that are linked",
            Span(filename),
            hint="declare it in all units but one, as extern if it is a variable; or make it static",
            details=messages,
        )
    first = _ERROR.search(messages)
    raise SourceError(first[1] if first else "the units cannot be linked", Span(filename), details=messages)
