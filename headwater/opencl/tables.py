"""Input: clang's module. Output: the module without the contents of large constant tables, and these as bytes and as
object code.

The text of a table is several times its bytes, and each stage would read and write it anew, for each kernel. Without
it a table is a symbol that is defined elsewhere: `object_code` is linked to a kernel's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from headwater.base import temporary
from headwater.errors import InternalError
from headwater.llvm.constants import constant_bytes
from headwater.llvm.ir import Module
from headwater.native import toolchain

LARGE_TABLE = 1 << 16
"""Letters of a table's text from which on it goes as bytes. LLVM may compute with what stands in smaller ones."""


class Table(NamedTuple):
    """A constant of the program: what lies in memory, at a multiple of ``align``; ``line`` is clang's IR of it."""

    data: bytes
    align: int
    line: str


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
        data = constant_bytes(known.ty, body) if len(body) > LARGE_TABLE else None
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
