"""Input: the tables' text files. Output: ``Row`` by (ISA, encoding, opcode), or by name, and forms' operands.

A row is a line of seven columns, ``name | encoding | opcodes | operands | flags | cost | semantics``, of which the
operands are ``name:type`` or, where the instruction wants another register file than its encoding, ``name:type@file``:

    v_readlane_b32 | VOP3 | - - 289 | D:b32@s S0:b32@v S1:u32@s | | VALU full | ...

A form is a line that begins with ``@`` and says of every operand that its rows may name, by role (`model.ROLES`), in
which field it is, by what it is multiplied, and of what kind it is (`headwater.isa.gcn.operands` has the kinds, and
`encodings` the fields):

    @SMEM | result: D=sdata:sgpr | address: ADDR=sbase*2:sgpr SOFFSET=soffset:smem_offset | data: DATA=sdata:sgpr

Operands that no field holds have none (``D1=:vcc``). Operands of a role are numbered in their order, by which modifiers
find their bits, unless the line gives a number (``S2[2]=src2:vector``). Every encoding has a form of its name; those
that are written in several ways have more (SDWA, VOP3B, MFMA, ...).

A file is read when the first opcode of its encodings is asked for, and a row is built when it is first used: the warm
path of a run pays for neither. docs/gcn-isa.md describes the files.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from headwater.chips.gcn_isas import ISAS
from headwater.isa.cost import parse
from headwater.isa.gcn.model import OperandSpec, Place, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Encoding -> the file that has its rows.
FILE_OF_ENCODING = {
    **dict.fromkeys(("SOP2", "SOPK", "SOP1", "SOPC", "SOPP"), "sop"),
    "SMEM": "smem",
    **dict.fromkeys(("VOP1", "VOP2"), "vop"),
    "VOPC": "vopc",
    "VOP3": "vop3",
    **dict.fromkeys(("VOP3P", "VOP3PX"), "vop3p"),
    "DS": "ds",
    **dict.fromkeys(("FLAT", "GLOBAL", "SCRATCH"), "flat"),
    **dict.fromkeys(("MUBUF", "MTBUF"), "buffer"),
    "MIMG": "mimg",
    **dict.fromkeys(("EXP", "VINTRP"), "exp"),
}
FILES = tuple(dict.fromkeys(FILE_OF_ENCODING.values()))
# Forms that are no encoding of rows: other ways to write rows of other encodings.
_FILE_OF_FORM = FILE_OF_ENCODING | {
    "SMRD": "smem",
    **dict.fromkeys(("SDWA", "DPP"), "vop"),
    "SDWA_VOPC": "vopc",
    **dict.fromkeys(("VOP3B", "VOP3_INTERP"), "vop3"),
    **dict.fromkeys(("MFMA", "F8F6F4", "SMFMAC", "ACCVGPR"), "vop3p"),
}
FORMS = tuple(_FILE_OF_FORM)


def opcode_columns(text: str) -> dict[str, int]:
    """The opcodes column: up to nine hexadecimal numbers or ``-``; the last one holds for the ISAs that follow."""
    words = text.split()
    words += words[-1:] * (len(ISAS) - len(words))
    return {isa: int(word, 16) for isa, word in zip(ISAS, words, strict=True) if word != "-"}


def _row(line: str) -> Row:
    name, encoding, opcodes, operands, flags, cost, semantics = (column.strip() for column in line.split("|", 6))
    specs = []
    for operand in operands.split():
        operand_name, _, kind = operand.partition(":")
        kind, _, file = kind.partition("@")
        specs.append(OperandSpec(operand_name, kind, file))
    return Row(name, encoding, opcode_columns(opcodes), tuple(specs), frozenset(flags.split()), parse(cost), semantics)


_built: dict[str, Row] = {}


def _build(line: str) -> Row:
    row = _built.get(line)
    if row is None:
        row = _built[line] = _row(line)
    return row


@cache
def _text(file: str) -> tuple[str, ...]:
    with open(os.path.join(os.path.dirname(__file__), "tables", f"{file}.isa"), encoding="utf-8") as lines:
        return tuple(line for line in lines.read().splitlines() if line and line[0] != "#")


@cache
def _lines(file: str) -> tuple[str, ...]:
    return tuple(line for line in _text(file) if line[0] != "@")


@cache
def form(name: str) -> Mapping[str, Place]:
    """Where a form of ``FORMS`` has each operand that a row may name."""
    places = {}
    declared = (line[1:].split("|") for line in _text(_FILE_OF_FORM[name]) if line[0] == "@")
    for operands in next(rest for own, *rest in declared if own.strip() == name):
        role, _, words = operands.partition(":")
        for position, word in enumerate(words.split()):
            operand, _, place = word.partition("=")
            operand, _, number = operand.partition("[")
            field, _, kind = place.partition(":")
            field, _, scale = field.partition("*")
            own_position = int(number.rstrip("]")) if number else position
            places[operand] = Place(field, kind, int(scale or 1), role.strip(), own_position)
    return places


@cache
def _index(file: str, isa: str) -> dict[tuple[str, int], str]:
    """(Encoding, opcode) -> the row's line, unparsed."""
    column = ISAS.index(isa)
    index: dict[tuple[str, int], str] = {}
    for line in _lines(file):
        _, encoding, opcodes, _ = line.split("|", 3)
        words = opcodes.split()
        word = words[column] if column < len(words) else words[-1]
        if word != "-":
            index[encoding.strip(), int(word, 16)] = line
    return index


def find(isa: str, encoding: str, opcode: int) -> Row | None:
    """The row that ``opcode`` means in ``encoding`` on ``isa``, or None. Its own encoding only: no implied VOP3."""
    line = _index(FILE_OF_ENCODING[encoding], isa).get((encoding, opcode))
    return None if line is None else _build(line)


@cache
def named(isa: str, encoding: str, name: str) -> Row | None:
    """The row called ``name``, or None where ``isa`` lacks it."""
    for line in _lines(FILE_OF_ENCODING[encoding]):
        if line.partition("|")[0].strip() == name:
            row = _build(line)
            if row.encoding == encoding and isa in row.opcodes:
                return row
    return None


def rows(isa: str | None = None) -> Iterator[Row]:
    """All rows (of one ISA), in the files' order. For tests, sweeps and documentation, not for the warm path."""
    for file in FILES:
        for line in _lines(file):
            row = _build(line)
            if isa is None or isa in row.opcodes:
                yield row
