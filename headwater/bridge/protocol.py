"""Input: tables of messages. Output: the C header that writes and reads them, and packed and unpacked records.

A request is ``u32 message, u32 bytes`` and its record; a reply ``i32 status, u32 bytes`` and its record. Numbers are
little-endian and lie one after the other without gaps. Text and ``bytes`` are a ``u32`` length and that many bytes, a
list is ``u32`` entries, ``u32`` bytes and the entries.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Fields = tuple[tuple[str, str], ...]
"""Names with their kinds: u32, u64, bytes, or a record's name in brackets for a list of them."""


class Message(NamedTuple):
    """``request`` and ``reply`` are a record's fields."""

    request: Fields
    reply: Fields


@dataclass(frozen=True)
class Protocol:
    """What two sides say to each other. ``records``: what messages are made of; a message's number is its place, and
    the first two are ``hello`` and ``connect``; ``version``: sides of different versions do not talk."""

    version: int
    records: Mapping[str, Fields]
    messages: Mapping[str, Message]

    def pack(self, fields: Fields, values: Sequence[Any]) -> bytes:
        """A record's bytes; lists are sequences of such sequences of values."""
        out = []
        for (_, kind), value in zip(fields, values, strict=True):
            if kind in _CODES:
                out.append(struct.pack("<" + _CODES[kind], value))
            elif kind == "bytes":
                out.append(_U32.pack(len(value)) + value)
            else:
                entries = b"".join(self.pack(self.records[kind[1:-1]], entry) for entry in value)
                out.append(_LIST.pack(len(value), len(entries)) + entries)
        return b"".join(out)

    def unpack(self, fields: Fields, data: bytes) -> tuple[Any, ...]:
        """A record's values. ValueError if the bytes are not such a record."""
        values, end = self._unpack(fields, data, 0)
        if end != len(data):
            raise ValueError(f"{len(data) - end} bytes too many")
        return values

    def _unpack(self, fields: Fields, data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
        values: list[Any] = []
        try:
            for numbers, kind in runs(fields):
                if numbers is not None:
                    values += numbers.unpack_from(data, at)
                    at += numbers.size
                elif kind == "bytes":
                    end = at + 4 + _U32.unpack_from(data, at)[0]
                    values.append(data[at + 4 : end])
                    at = end
                else:
                    count, _ = _LIST.unpack_from(data, at)
                    at += _LIST.size
                    entries = []
                    for _ in range(count):
                        entry, at = self._unpack(self.records[kind[1:-1]], data, at)
                        entries.append(entry)
                    values.append(entries)
        except struct.error as error:
            raise ValueError(str(error)) from None
        if at > len(data):
            raise ValueError(f"{at - len(data)} bytes are missing")
        return tuple(values), at

    def c_header(self, *parts: str) -> str:
        """Records, messages and the functions that write and read them, in C, with ``parts`` before them."""
        shapes = dict(self.records)
        for name, message in self.messages.items():
            shapes |= {f"{name}_request": message.request, f"{name}_reply": message.reply}
        header = [
            "#pragma once",
            '#include "marshal.h"',
            f"#define HW_VERSION {self.version}u",
            c_enum("hw_message", [f"HW_{name.upper()}" for name in self.messages]),
            *parts,
            *(c_record(name, fields) for name, fields in shapes.items()),
        ]
        return "\n".join(header) + "\n"


NULL_OFFSET = (1 << 64) - 1
"""Offset of a null pointer into memory that both sides have."""

_CODES = {"u32": "I", "u64": "Q"}
_U32 = struct.Struct("<I")
_LIST = struct.Struct("<II")

_runs: dict[Fields, list[tuple[struct.Struct | None, str]]] = {}


def runs(fields: Fields) -> list[tuple[struct.Struct | None, str]]:
    """The fields, numbers that follow each other as one structure."""
    known = _runs.get(fields)
    if known is None:
        known = _runs[fields] = list(_made_runs(fields))
    return known


def _made_runs(fields: Fields) -> Iterator[tuple[struct.Struct | None, str]]:
    codes = ""
    for _, kind in fields:
        if kind in _CODES:
            codes += _CODES[kind]
            continue
        if codes:
            yield struct.Struct("<" + codes), ""
            codes = ""
        yield None, kind
    if codes:
        yield struct.Struct("<" + codes), ""


# -- C -----------------------------------------------------------------------------------------------------------------

_C_TYPES = {"u32": "uint32_t", "u64": "uint64_t", "bytes": "struct hw_bytes"}
_C_KIND = {"u32": "u32", "u64": "u64", "bytes": "bytes"}


def c_enum(name: str, values: Sequence[str]) -> str:
    """An enumeration of C."""
    return f"enum {name} {{ {', '.join(values)} }};"


def c_record(name: str, fields: Fields) -> str:
    """A record's structure, and the functions that write and read it."""
    members = [f"  {_C_TYPES.get(kind, 'struct hw_list')} {field};" for field, kind in fields]
    puts = [f"  hw_put_{_C_KIND.get(kind, 'list')}(w, v->{field});" for field, kind in fields]
    gets = [f"  v->{field} = hw_get_{_C_KIND.get(kind, 'list')}(r);" for field, kind in fields]
    return "\n".join(
        [
            f"struct hw_{name} {{",
            *(members or ["  char empty;"]),
            "};",
            f"static inline void hw_put_{name}(struct hw_writer *w, const struct hw_{name} *v) {{",
            *(puts or ["  (void)w, (void)v;"]),
            "}",
            f"static inline void hw_get_{name}(struct hw_reader *r, struct hw_{name} *v) {{",
            *(gets or ["  (void)r, (void)v;"]),
            "}",
        ]
    )
