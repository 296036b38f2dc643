"""Sources that OpenCL's hosts compile apart and link: one text of several units and back, and their IR as one module.

A linked program is such a text until the front end sees it: whatever takes a program's source, keys of the cache
included, takes the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import NamedTuple

from headwater.base import temporary
from headwater.errors import SourceError, Span

_MARK = "#pragma headwater unit"
_TRIPLE = "target triple = "
_TWICE = re.compile(r"Linking globals named '([^']+)': symbol multiply defined")
_ERROR = re.compile(r"^.*?error: (.*)$", re.MULTILINE)


class Unit(NamedTuple):
    """A source that is compiled by itself, and its build options."""

    source: str
    options: str


def joined(units: Sequence[Unit]) -> str:
    """The units as one text, from which `of_source` has them again."""
    return "".join(f"{_MARK} {unit.options}\n{unit.source}\n" for unit in units)


def of_source(source: str, options: str) -> list[Unit]:
    """The units of a text that `joined` made; of any other text itself, with ``options``."""
    if not source.startswith(_MARK):
        return [Unit(source, options)]
    parts = re.split(rf"^{_MARK}(.*)\n", source, flags=re.MULTILINE)[1:]
    return [Unit(text.removesuffix("\n"), words.strip()) for words, text in zip(parts[::2], parts[1::2], strict=True)]


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
