"""What a host and its server say to each other, as tables; the C header and the Python classes for it pass out.

A request is ``u32 message, u32 bytes`` and its record; a reply ``i32 status, u32 bytes`` and its record. Numbers are
little-endian and lie one after the other without gaps. Text and ``bytes`` are a ``u32`` length and that many bytes, a
list is ``u32`` entries, ``u32`` bytes and the entries. The answer to `LAUNCH` is a reply for each launch, in order.

All memory objects lie in one range of shared memory, the arena, that both sides have mapped: requests hold offsets.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

VERSION = 1
"""A host and a server of different versions do not talk."""

Fields = tuple[tuple[str, str], ...]

RECORDS: dict[str, Fields] = {
    "header": (("name", "bytes"), ("text", "bytes")),
    "unit": (("source", "bytes"), ("options", "bytes"), ("headers", "[header]")),
    "info": (("key", "u32"), ("value", "bytes")),
    "format": (("order", "u32"), ("type", "u32"), ("read", "u32"), ("write", "u32"), ("both", "u32")),
    "device": (("infos", "[info]"), ("formats", "[format]")),
    # kind: `KINDS`; access: 0 none, 1 read, 2 write, 3 both; space: 0 private, 1 global, 2 constant, 3 local.
    "argument": (
        ("kind", "u32"), ("bytes", "u32"), ("access", "u32"), ("space", "u32"), ("qualifiers", "u32"),
        ("dimensions", "u32"), ("name", "bytes"), ("type_name", "bytes"),
    ),
    "kernel": (
        ("name", "bytes"), ("attributes", "bytes"), ("group_x", "u64"), ("group_y", "u64"), ("group_z", "u64"),
        ("arguments", "[argument]"),
    ),
    "launch": (
        ("program", "u32"), ("kernel", "u32"), ("dimensions", "u32"), ("has_group", "u32"),
        ("global_x", "u64"), ("global_y", "u64"), ("global_z", "u64"),
        ("group_x", "u64"), ("group_y", "u64"), ("group_z", "u64"),
        ("offset_x", "u64"), ("offset_y", "u64"), ("offset_z", "u64"), ("arguments", "bytes"),
    ),
}  # fmt: skip
"""What messages are made of. A launch's ``arguments`` hold, one after the other: of a buffer its offset in the arena
and its bytes (2 u64); of ``__local`` memory its bytes (u64); of a value its bytes; of an image what `IMAGE` says; of
a sampler a u32 of `SAMPLER`."""

KINDS = ("buffer", "constant", "local", "value", "image", "sampler")

IMAGE: Fields = (
    ("offset", "u64"), ("bytes", "u64"), ("order", "u32"), ("type", "u32"), ("dimensions", "u32"), ("pixel", "u32"),
    ("width", "u64"), ("height", "u64"), ("depth", "u64"), ("layers", "u64"),
)  # fmt: skip
DIMENSIONS = ("1d", "2d", "3d", "1d_array", "2d_array", "1d_buffer")
SAMPLER = {"normalized": 1, "addressing_shift": 1, "filter_shift": 4}
"""Addressing and filter as they count from CL_ADDRESS_NONE and CL_FILTER_NEAREST."""

NULL_OFFSET = (1 << 64) - 1
"""Offset of a buffer argument that is NULL."""


class Message(NamedTuple):
    """``request`` and ``reply`` are a record's fields."""

    request: Fields
    reply: Fields


MESSAGES: dict[str, Message] = {
    # The first on every connection: the arena and its file come along; whether it lies where the host has it.
    "hello": Message(
        (("version", "u32"), ("base", "u64"), ("bytes", "u64")), (("devices", "[device]"), ("same_address", "u32"))
    ),
    # Another connection comes along.
    "connect": Message((), ()),
    "build": Message(
        (("device", "u32"), ("link_only", "u32"), ("options", "bytes"), ("units", "[unit]")),
        (("program", "u32"), ("log", "bytes"), ("kernels", "[kernel]")),
    ),
    "compile": Message((("device", "u32"), ("units", "[unit]")), (("log", "bytes"),)),
    "release": Message((("program", "u32"),), ()),
    # memory: what the kernel needs of it is asked, for which code may have to be made.
    "kernel_info": Message(
        (("program", "u32"), ("kernel", "u32"), ("memory", "u32")),
        (("group", "u64"), ("multiple", "u64"), ("local", "u64"), ("private", "u64")),
    ),
    "suggest": Message((("launch", "[launch]"),), (("group_x", "u64"), ("group_y", "u64"), ("group_z", "u64"))),
    "launch": Message(
        (("launches", "[launch]"),),
        (("start", "u64"), ("end", "u64"), ("printed", "bytes"), ("message", "bytes")),
    ),
}
"""By name; the number of a message is its place. Statuses are CL's error codes."""

# -- C -----------------------------------------------------------------------------------------------------------------

_C_TYPES = {"u32": "uint32_t", "u64": "uint64_t", "bytes": "struct hw_bytes"}


def c_header() -> str:
    """Records, messages and the functions that write and read them, in C."""
    parts = [
        "// Made from headwater/icd/protocol.py.",
        "#pragma once",
        '#include "marshal.h"',
        f"#define HW_VERSION {VERSION}u",
        f"#define HW_NULL_OFFSET {NULL_OFFSET:#x}ull",
        _c_enum("hw_message", [f"HW_{name.upper()}" for name in MESSAGES]),
        _c_enum("hw_kind", [f"HW_KIND_{kind.upper()}" for kind in KINDS]),
        _c_enum("hw_dimensions", [f"HW_{name.upper()}" for name in DIMENSIONS]),
        *(f"#define HW_SAMPLER_{name.upper()} {value}u" for name, value in SAMPLER.items()),
    ]
    shapes = dict(RECORDS)
    shapes["image"] = IMAGE
    for name, message in MESSAGES.items():
        shapes |= {f"{name}_request": message.request, f"{name}_reply": message.reply}
    parts += [_c_record(name, fields) for name, fields in shapes.items()]
    return "\n".join(parts) + "\n"


def _c_enum(name: str, values: Sequence[str]) -> str:
    return f"enum {name} {{ {', '.join(values)} }};"


def _c_record(name: str, fields: Fields) -> str:
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


_C_KIND = {"u32": "u32", "u64": "u64", "bytes": "bytes"}

# -- Python ------------------------------------------------------------------------------------------------------------

_CODES = {"u32": "I", "u64": "Q"}
_U32 = struct.Struct("<I")
_LIST = struct.Struct("<II")


def pack(fields: Fields, values: Sequence[Any]) -> bytes:
    """A record's bytes; lists are sequences of such sequences of values."""
    out = []
    for (_, kind), value in zip(fields, values, strict=True):
        if kind in _CODES:
            out.append(struct.pack("<" + _CODES[kind], value))
        elif kind == "bytes":
            out.append(_U32.pack(len(value)) + value)
        else:
            entries = b"".join(pack(RECORDS[kind[1:-1]], entry) for entry in value)
            out.append(_LIST.pack(len(value), len(entries)) + entries)
    return b"".join(out)


def unpack(fields: Fields, data: bytes) -> tuple[Any, ...]:
    """A record's values. ValueError if the bytes are not such a record."""
    values, end = _unpack(fields, data, 0)
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes too many")
    return values


def _unpack(fields: Fields, data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
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
                    entry, at = _unpack(RECORDS[kind[1:-1]], data, at)
                    entries.append(entry)
                values.append(entries)
    except struct.error as error:
        raise ValueError(str(error)) from None
    if at > len(data):
        raise ValueError(f"{at - len(data)} bytes are missing")
    return tuple(values), at


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
