"""Input: the tables' text files. Output: ``Row`` by (generation, kind, opcode), or by name.

A file is read when the first row of its kinds is asked for, and a row is built when it is first used. docs/vliw-isa.md
describes the files.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING

from headwater.chips.vliw_isas import GENERATIONS
from headwater.isa.cost import parse
from headwater.isa.vliw.model import OperandSpec, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

# File -> its columns after name, kind and opcodes.
_COLUMNS = {
    "alu": ("slots", "operands", "flags", "cost", "semantics"),
    "lds": ("slots", "operands", "flags", "semantics"),
    "cf": ("flags",),
    "fetch": ("operands", "flags", "semantics"),
    "rat": ("operands", "flags", "semantics"),
}

# Kind -> the file that has its rows.
_FILE_OF_KIND = {
    **dict.fromkeys(("OP2", "OP3"), "alu"),
    "LDS": "lds",
    **dict.fromkeys(("CF", "CF_ALU", "GWS", "EXPORT", "MEM", "RAT"), "cf"),
    **dict.fromkeys(("TEX", "VTX", "SEM", "GDS", "MEM_RD", "MEM_DSW", "MEM_DSR"), "fetch"),
    "RAT_INST": "rat",
}

# Operands of a row's semantics that the instruction's own sources are: of a reduction those of one slot.
_SOURCE = re.compile(r"S[012]|ADDR|DATA1?|X[01]")


def _of_generations(text: str) -> dict[str, str]:
    """A column with up to four words, or ``-``: the last one holds for the generations that follow."""
    words = text.split()
    words += words[-1:] * (len(GENERATIONS) - len(words))
    return {generation: word for generation, word in zip(GENERATIONS, words, strict=False) if word != "-"}


@cache
def _row(file: str, line: str) -> Row:
    names, kind, opcodes, *rest = (column.strip() for column in line.split("|", 2 + len(_COLUMNS[file])))
    name, _, mnemonic = names.partition("/")
    columns = dict(zip(_COLUMNS[file], rest, strict=True))
    operands = tuple(OperandSpec(*operand.split(":")) for operand in columns.get("operands", "").split())
    return Row(
        name,
        mnemonic or name,
        kind,
        {generation: int(word, 16) for generation, word in _of_generations(opcodes).items()},
        operands,
        sum(1 for operand in operands if _SOURCE.fullmatch(operand.name)),
        _of_generations(columns.get("slots", "")),
        frozenset(columns["flags"].split()),
        parse(columns.get("cost", "ALU full")),
        columns.get("semantics", ""),
    )


@cache
def _lines(file: str) -> tuple[str, ...]:
    with open(os.path.join(os.path.dirname(__file__), "tables", f"{file}.isa"), encoding="utf-8") as lines:
        return tuple(line for line in lines.read().splitlines() if line and not line.startswith("#"))


@cache
def _by_opcode(file: str, generation: str) -> dict[tuple[str, int], Row]:
    rows = (_row(file, line) for line in _lines(file))
    return {(row.kind, row.opcodes[generation]): row for row in rows if generation in row.opcodes}


@cache
def _by_name(file: str, generation: str) -> dict[tuple[str, str], Row]:
    found: dict[tuple[str, str], Row] = {}
    for row in _by_opcode(file, generation).values():
        found[row.kind, row.name] = row
    for row in _by_opcode(file, generation).values():
        found.setdefault((row.kind, row.mnemonic), row)
    return found


def find(generation: str, kind: str, opcode: int) -> Row | None:
    """The row that ``opcode`` means in a kind on ``generation``, or None."""
    return _by_opcode(_FILE_OF_KIND[kind], generation).get((kind, opcode))


def named(generation: str, kind: str, name: str) -> Row | None:
    """The row of a kind with this name or vendor's mnemonic, or None where ``generation`` lacks it."""
    return _by_name(_FILE_OF_KIND[kind], generation).get((kind, name))


def alu(generation: str, name: str) -> Row:
    """The ALU row (OP2, OP3 or LDS) called ``name``; raises KeyError where ``generation`` lacks it."""
    for kind in ("OP2", "OP3", "LDS"):
        row = named(generation, kind, name)
        if row is not None:
            return row
    raise KeyError(name)


@cache
def names(kinds: tuple[str, ...], *flags: str) -> frozenset[str]:
    """The operations of some kinds, of whatever generation, that have one of the flags, or all if none is given."""
    found = (_row(file, line) for file in dict.fromkeys(_FILE_OF_KIND[kind] for kind in kinds) for line in _lines(file))
    return frozenset(row.name for row in found if row.kind in kinds and (not flags or not row.flags.isdisjoint(flags)))


def rows(generation: str | None = None) -> Iterator[Row]:
    """All rows (of one generation), in the files' order. For tests and documentation, not for the warm path."""
    for file in _COLUMNS:
        for line in _lines(file):
            row = _row(file, line)
            if generation is None or generation in row.opcodes:
                yield row
