"""clang's module in; it without the contents of large constant tables, and these as bytes and as object code, out.

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
from headwater.llvm.ir import Module
from headwater.llvm.text import string_bytes
from headwater.llvm.types import Type
from headwater.native import toolchain

LARGE_TABLE = 1 << 16
"""Letters of a table's text from which on it goes as bytes. LLVM may compute with what stands in smaller ones."""


class Table(NamedTuple):
    """A constant of the program: what lies in memory, at a multiple of ``align``; ``line`` is clang's IR of it."""

    data: bytes
    align: int
    line: str


_NUMBERS = {"i8": "i1", "i16": "<i2", "i32": "<i4", "i64": "<i8", "float": "<f4", "double": "<f8"}
_REPEATED = re.compile(
    r'(?P<type>\[[\d x\[]+(?:<\d+ x )?\w+>?\]+|<\d+ x \w+>) (?:zeroinitializer|(?P<text>c"[^"]*"))(?:, )?'
)
_OPENED = re.compile(r"\[[\d x\[]+(?:<\d+ x )?\w+>?\]+ \[|<\d+ x \w+> <|[\[\]<>]")
_COUNTS = re.compile(r"(\d+) x ")


_PLAIN = frozenset(("internal", "dso_local", "hidden", "unnamed_addr", "local_unnamed_addr", "constant"))
"""What clang says of tables that nothing else has to be known of."""


def without_tables(module: Module) -> dict[str, Table]:
    """Leave zeros in the place of large tables, to look at: the tables by their symbols."""
    found: dict[str, Table] = {}
    for symbol, line in module.globals.items():
        known = module.variable(symbol) if len(line) > LARGE_TABLE else None
        if known is None or not known.is_constant or not known.align:
            continue
        if not all(word in _PLAIN or word.startswith("addrspace(") for word in known.head.split()):
            continue
        body, _, _ = known.initialiser.rpartition(", align ")
        data = _contents(known.ty, body) if len(body) > LARGE_TABLE else None
        if data is not None:
            found[symbol[1:]] = Table(data, known.align, line)
            zeros = f"{known.head}{known.ty} zeroinitializer, align {known.align}"
            module.globals[symbol] = f"{symbol} = {zeros}"
    return found


def elsewhere(module: Module, tables: Mapping[str, Table]) -> None:
    """Name symbols that are defined elsewhere in the place of the zeros of `without_tables`."""
    for name in tables:
        known = module.variable(f"@{name}")
        assert known is not None
        space = f"addrspace({known.space}) " if known.space else ""
        module.globals[f"@{name}"] = f"@{name} = external hidden {space}constant {known.ty}, align {known.align}"


def with_tables(ir: str, tables: Mapping[str, Table]) -> str:
    """The IR of `elsewhere` as clang printed it."""
    if not tables:
        return ir
    module = Module(ir)
    for name, table in tables.items():
        module.globals[f"@{name}"] = table.line
    return str(module)


def used(ir: str, tables: Mapping[str, Table]) -> dict[str, Table]:
    """Those tables that a module's text declares."""
    known = Module(ir).globals if tables else {}
    return {name: table for name, table in tables.items() if " external " in known.get(f"@{name}", "")}


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


def _contents(ty: Type, body: str) -> bytes | None:
    """What a table holds; None where it is of a form that is rarely large: a vector of equal components, addresses, or
    what is no number."""
    size = 1
    while ty.kind == "array" and ty.elem is not None:
        size, ty = size * ty.count, ty.elem
    width = ty.count if ty.kind == "vec" else 1
    scalar = ty.scalar.text
    if scalar not in _NUMBERS or width not in (1, 2, 4, 8, 16):
        return None
    size *= width * int(_NUMBERS[scalar][-1])
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
