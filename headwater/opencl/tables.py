"""clang's IR in; it without the contents of large constant tables, and these as bytes and as object code, out.

The text of a table is several times its bytes, and each stage would read and write it anew, for each kernel. Without
it a table is a symbol that is defined elsewhere: `object_code` is linked to a kernel's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from headwater.base import temporary
from headwater.errors import InternalError
from headwater.llvm.text import string_bytes
from headwater.native import toolchain

LARGE_TABLE = 1 << 16
"""Letters of a table's text from which on it goes as bytes. LLVM may compute with what stands in smaller ones."""


class Table(NamedTuple):
    """A constant of the program: what lies in memory, at a multiple of ``align``; ``line`` is clang's IR of it."""

    data: bytes
    align: int
    line: str


_NUMBERS = {"i8": "i1", "i16": "<i2", "i32": "<i4", "i64": "<i8", "float": "<f4", "double": "<f8"}
_LARGE = re.compile(
    r"^@(?P<name>[\w.$]+) = (?:internal |dso_local |hidden )+(?:(?:local_)?unnamed_addr )?"
    r"(?P<space>addrspace\(\d+\) )constant (?P<type>(?P<arrays>(?:\[\d+ x )+)"
    r"(?:<(?P<width>[248]|16) x )?(?P<scalar>i8|i16|i32|i64|float|double)>?\]+) "
    rf"(?P<body>[\[c][^\n]{{{LARGE_TABLE},}}), align (?P<align>\d+)$",
    re.MULTILINE,
)
_REPEATED = re.compile(
    r'(?P<type>\[[\d x\[]+(?:<\d+ x )?\w+>?\]+|<\d+ x \w+>) (?:zeroinitializer|(?P<text>c"[^"]*"))(?:, )?'
)
_OPENED = re.compile(r"\[[\d x\[]+(?:<\d+ x )?\w+>?\]+ \[|<\d+ x \w+> <|[\[\]<>]")
_COUNTS = re.compile(r"(\d+) x ")


def without_tables(ir: str) -> tuple[str, dict[str, Table]]:
    """The IR with large tables as zeros, to look at, and the tables by their symbols."""
    found: dict[str, Table] = {}

    def taken(match: re.Match[str]) -> str:
        data = _contents(match)
        if data is None:
            return match[0]
        found[match["name"]] = Table(data, int(match["align"]), match[0])
        return match[0][: match.start("body") - match.start()] + f"zeroinitializer, align {match['align']}"

    return (_LARGE.sub(taken, ir), found) if len(ir) > LARGE_TABLE else (ir, found)


def elsewhere(ir: str, tables: Mapping[str, Table]) -> str:
    """The IR of `without_tables` with symbols that are defined elsewhere in the tables' place."""
    return _replaced(ir, {name: _declaration(table.line) for name, table in tables.items()})


def with_tables(ir: str, tables: Mapping[str, Table]) -> str:
    """The IR of `elsewhere` as clang printed it."""
    return _replaced(ir, {name: table.line for name, table in tables.items()})


def used(ir: str, tables: Mapping[str, Table]) -> dict[str, Table]:
    """Those tables that a module declares."""
    names = set(re.findall(r"^@([\w.$]+) = external ", ir, re.MULTILINE)) if tables else set()
    return {name: table for name, table in tables.items() if name in names}


def object_code(tables: Mapping[str, Table], target: Sequence[str]) -> bytes:
    """Object code that defines the tables, for the machine that clang's flags ``target`` say. Raises InternalError."""
    with temporary.folder() as folder:
        lines = []
        for number, (name, table) in enumerate(tables.items()):
            file = os.path.join(folder, f"{number}.bin")
            Path(file).write_bytes(table.data)
            lines.append(
                f'__attribute__((visibility("hidden"), aligned({table.align}))) const unsigned char table{number}[] '
                f'__asm__("{name}") = {{\n#embed "{number}.bin"\n}};\n'
            )
        source, made = os.path.join(folder, "tables.c"), os.path.join(folder, "tables.o")
        Path(source).write_text("".join(lines), encoding="ascii")
        command = ["clang", "-x", "c", "-std=c23", *target, "-ffreestanding", "-fPIC", "-c", "-o", made, source]
        done = toolchain.run(command, cwd=folder)
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()[-500:]
            raise InternalError(f"making object code of the program's constants failed: {said}")
        return Path(made).read_bytes()


def _replaced(ir: str, lines: Mapping[str, str]) -> str:
    if not lines:
        return ir
    names = "|".join(map(re.escape, lines))
    return re.sub(rf"^@({names}) = .*$", lambda m: lines[m[1]], ir, flags=re.MULTILINE)


def _declaration(line: str) -> str:
    match = _LARGE.match(line)
    assert match is not None
    return f"@{match['name']} = external hidden {match['space']}constant {match['type']}, align {match['align']}"


def _contents(match: re.Match[str]) -> bytes | None:
    """What a table holds; None where it is of a form that is rarely large: a vector of equal components, addresses, or
    what is no number."""
    scalar, body = match["scalar"], match["body"]
    size = int(match["width"] or 1) * int(_NUMBERS[scalar][-1])
    for count in _COUNTS.findall(match["arrays"]):
        size *= int(count)
    if body.startswith('c"'):
        data = string_bytes(body)
        return data if len(data) == size else None
    pieces: list[bytes] = []
    at = 0
    for repeated in _REPEATED.finditer(body):
        pieces.append(_numbers(body[at : repeated.start()], scalar))
        pieces.append(_repeated(repeated, scalar))
        at = repeated.end()
    pieces.append(_numbers(body[at:], scalar))
    data = b"".join(pieces)
    return data if len(data) == size else None


def _repeated(match: re.Match[str], scalar: str) -> bytes:
    """A part of a table that is zeros or a text."""
    if match["text"]:
        return string_bytes(match["text"])
    size = int(_NUMBERS[scalar][-1])
    for count in _COUNTS.findall(match["type"]):
        size *= int(count)
    return bytes(size)


def _numbers(text: str, scalar: str) -> bytes:
    """Numbers as they lie in memory; nothing where some text is none, which leaves the table too short."""
    import numpy as np

    listed = _OPENED.sub("", text).replace(f"{scalar} ", "").strip(", ")
    if not listed:
        return b""
    kind = np.dtype(_NUMBERS[scalar])
    words = listed.split(", ")
    try:
        if kind.kind == "i":
            return np.array([int(word) for word in words], np.int64).astype(kind).tobytes()
        # LLVM writes a number that has no short decimal form as the bits of a double.
        bits = np.array([int(word, 16) if word[:2] == "0x" else 0 for word in words], np.uint64)
        numbers = np.array([0.0 if word[:2] == "0x" else float(word) for word in words])
    except ValueError:
        return b""
    numbers = np.where(bits != 0, bits.view(np.float64), numbers)
    return b"" if np.isnan(numbers).any() else numbers.astype(kind).tobytes()
