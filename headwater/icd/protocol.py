"""What an OpenCL host and its server say to each other, as tables. Output: the C header and the functions for it.

The answer to `LAUNCH` is a reply for each launch, in order.

All memory objects lie in one range of shared memory, the arena, that both sides have mapped: requests hold offsets.
"""

from __future__ import annotations

from headwater.bridge.protocol import NULL_OFFSET, Fields, Message, Protocol, c_enum, c_record

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
"""What messages are made of. A launch's ``arguments`` hold, one after the other: of a buffer its offset in the arena,
its bytes and, if the server checks launches, what `MEMORY` says (2 or 3 u64); of ``__local`` memory its bytes (u64); of
a value its bytes; of an image what `IMAGE` says; of a sampler a u32 of `SAMPLER`."""

MEMORY = {"no_write": 1, "no_read": 2, "unwritten": 4, "serial": 8}
"""Bits of what a host says of a buffer: kernels may not write it, may not read it, nobody but the server's launches
has written it; from the last on a number that no other buffer has, 0 of one that was made with data."""

KINDS = ("buffer", "constant", "local", "value", "image", "sampler")

IMAGE: Fields = (
    ("offset", "u64"), ("bytes", "u64"), ("order", "u32"), ("type", "u32"), ("dimensions", "u32"), ("pixel", "u32"),
    ("width", "u64"), ("height", "u64"), ("depth", "u64"), ("layers", "u64"),
)  # fmt: skip
DIMENSIONS = ("1d", "2d", "3d", "1d_array", "2d_array", "1d_buffer")
SAMPLER = {"normalized": 1, "addressing_shift": 1, "filter_shift": 4}
"""Addressing and filter as they count from CL_ADDRESS_NONE and CL_FILTER_NEAREST."""

MESSAGES: dict[str, Message] = {
    # The first on every connection: the arena and its file come along; whether it lies where the host has it, and
    # whether launches are checked.
    "hello": Message(
        (("version", "u32"), ("base", "u64"), ("bytes", "u64")),
        (("devices", "[device]"), ("same_address", "u32"), ("checks", "u32")),
    ),
    # Another connection comes along.
    "connect": Message((), ()),
    "build": Message(
        (("device", "u32"), ("link_only", "u32"), ("options", "bytes"), ("units", "[unit]")),
        (("program", "u32"), ("log", "bytes"), ("variable_bytes", "u64"), ("kernels", "[kernel]")),
    ),
    # The reply's units have the headers in them; there are none if the request's had no need of any.
    "compile": Message((("device", "u32"), ("units", "[unit]")), (("log", "bytes"), ("units", "[unit]"))),
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

PROTOCOL = Protocol(2, RECORDS, MESSAGES)
pack, unpack = PROTOCOL.pack, PROTOCOL.unpack


def c_header() -> str:
    """Records, messages and the functions that write and read them, in C."""
    return "// Made from headwater/icd/protocol.py.\n" + PROTOCOL.c_header(
        f"#define HW_NULL_OFFSET {NULL_OFFSET:#x}ull",
        c_enum("hw_kind", [f"HW_KIND_{kind.upper()}" for kind in KINDS]),
        c_enum("hw_dimensions", [f"HW_{name.upper()}" for name in DIMENSIONS]),
        *(f"#define HW_MEMORY_{name.upper()} {value}ull" for name, value in MEMORY.items()),
        *(f"#define HW_SAMPLER_{name.upper()} {value}u" for name, value in SAMPLER.items()),
        c_record("image", IMAGE),
    )
