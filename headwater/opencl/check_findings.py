"""Input: what code for checks has printed of its findings (`headwater.opencl.checked`). Output: sentences."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headwater.errors import KernelFault, SourceError, span_of_bytes
from headwater.opencl import units

MARK = "\x01"
"""What such a line begins with. The source's files follow, each with `MARK` behind it, then numbers: what it is, the
file's number, line, column, a further line of that file, an alignment, a number of elements, or 0, and the work-item's
three."""
STORED, BRANCH, ADDRESS, ARGUMENT = range(1, 5)
"""What a use is of a private variable that has not been written."""

GLOBAL_ID, LOCAL_ID = "_Z13get_global_idj", "_Z12get_local_idj"
"""The functions that say which work-item it is, of all and of its group."""
_MOST_FINDINGS = 10
"""Findings that a message tells."""

_USES = {
    STORED: "stores a value that comes from it",
    BRANCH: "branches by it",
    ADDRESS: "accesses memory at an address that comes from it",
    ARGUMENT: "calls a function with it",
}
_COPIES = {
    5: "makes an async copy whose event it never waits for",
    6: "reads the destination of an async copy before it waits for it",
    7: "writes the destination of an async copy before it waits for it",
    8: "writes the source of an async copy before it waits for it",
    9: "waits for an event, or passes one on, that no async copy has given it",
    11: "and the first one of its group do not both make this async copy, with the same arguments",
}
"""Findings of `headwater.opencl.copies_in_flight`."""
_NUMBERED = {
    10: "accesses memory at an address that is no multiple of {:,}, its type's alignment",
    12: "accesses what lies outside of an array of {:,} elements by an index of it",
    13: "accesses a component that a vector of {:,} does not have",
}
"""Findings of `headwater.opencl.misaligned` and `headwater.opencl.array_bounds`, with a number in the words."""


def format_of(names: Sequence[str]) -> str:
    """The format of printf for the findings of a program of these files."""
    files = "".join(name.replace("%", "%%") + MARK for name in names)
    return f"{MARK}{files}%u %u %u %u %u %u %u %u\n"


def fault(texts: Sequence[str]) -> KernelFault:
    """The KernelFault that tells findings, the first of them."""
    more = f"\n\nand {len(texts) - 1} more:\n\n" if len(texts) > 1 else ""
    rest = f"\n\n… and {len(texts) - _MOST_FINDINGS} more places" if len(texts) > _MOST_FINDINGS else ""
    return KernelFault(texts[0] + more + "\n\n".join(texts[1:_MOST_FINDINGS]) + rest)


def beside(error: KernelFault, texts: Sequence[str]) -> KernelFault:
    """A fault that ended a launch, behind what was found before it."""
    return fault([*texts, str(error)]) if texts else error


def sentences(lines: Sequence[str], kernel: Any, work_dim: int) -> list[str]:
    """Each finding once, with its place in the source, the first work-item, and how often it was found.

    ``kernel``: with its title, and its program's source and file name.
    """
    source, filename = kernel.program_source, kernel.program_filename
    found: dict[tuple[str, ...], list[str]] = {}
    for line in lines:
        *_, numbers = line.rstrip("\n").split(MARK)
        words = numbers.split()
        found.setdefault((line[: -len(numbers) - 1], *words[:5]), []).append(" ".join(words[5 : 5 + work_dim]))
    return [_sentence(key, items, kernel.title, source, filename) for key, items in found.items()]


def _sentence(key: tuple[str, ...], items: list[str], kernel: str, source: str, filename: str) -> str:
    head, *numbers = key
    what, file, line, column, declared = map(int, numbers)
    names = head.split(MARK)[1:]
    name = names[file] if file < len(names) else filename
    times = f" ({len(items):,} times)" if len(items) > 1 else ""
    who = f"work-item ({items[0].replace(' ', ', ')}) of {kernel}"
    if what in _NUMBERED:
        done = _NUMBERED[what].format(declared)
    else:
        done = _COPIES[what] if what in _COPIES else f"has not written a private variable and {_USES[what]}"
    message = f"{who} {done}{times}"
    if declared and what not in _NUMBERED:
        kind = "async copy" if what in _COPIES else "variable"
        message += f"\n    the {kind}: {name}:{declared}: {_line(name, declared, source, filename).strip()}".rstrip(
            ": "
        )
    text = _line(name, line, source, filename)
    return str(SourceError(message, span_of_bytes(name, line, column, text), source_line=text))


def _line(name: str, line: int, source: str, filename: str) -> str:
    if text := units.line_of(source, os.path.basename(filename), os.path.basename(name), line):
        return text
    path = Path(filename).resolve().parent / name
    lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
    return lines[line - 1] if 0 < line <= len(lines) else ""
