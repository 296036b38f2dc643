"""The records of a trace file (docs/trace.md), described once for what writes and for what reads them."""

from __future__ import annotations

from typing import Final

import numpy as np

from headwater.native.structure import Struct

VERSION: Final = 7
MAGIC: Final = b"HWTRACE7"
CHUNK_MAGIC: Final = 0x43545748
"""What a chunk begins with."""
LINE_BYTES: Final = 64

CHUNK: Final = Struct(
    "chunk",
    ("u32", "magic", 1),
    ("u32", "wave", 1),  # of the group
    ("u64", "group", 1),
    ("u32", "path", 1),  # words of the path
    ("u32", "memory", 1),  # memory records
    ("u32", "lines", 1),  # words of lists of lines
    ("u32", "last", 1),  # LAST: no other chunk goes on with the wavefront; OWN_LISTS
    ("u32", "waves", 1),  # how many wavefronts it is for, `step` apart
    ("u32", "step", 1),
    align=0,
)
MEMORY_RECORD: Final = Struct(
    "memory_record",
    ("u16", "site", 1),  # and LIST, LINEAR, UNIFORM
    ("u8", "active", 1),  # and NARROW
    ("u8", "count", 1),
    ("u32", "first", 1),
    ("i32", "stride", 1),
    ("u32", "repeat", 1),  # the upper 6 bits, from REPEAT_BITS on: cycles of the address unit less 1
    align=0,
)
SHARED: Final = (CHUNK, MEMORY_RECORD)

# Flags of a memory record, in the upper bits of its `site`.
LIST: Final = 1 << 13
LINEAR: Final = 1 << 14
UNIFORM: Final = 1 << 15
NARROW: Final = 1 << 7
"""In ``active``: the record's list has 16 bits for each line."""
REPEAT_BITS: Final = 26
LAST: Final = 1
OWN_LISTS: Final = 2
"""In a chunk's ``last``: each wavefront has lists of its own."""
LIST_HEAD: Final = 2
"""Words that such a list begins with: how many lines (from bit 24), NARROW (bit 23), cycles less 1; and ``first``."""

# A word of a path: the segment, from LANES_SHIFT on the lanes, from OFTEN_SHIFT on how often, or 0: the next word says
# it. REPEATED instead of lanes: so many words before, where a record has its segment, are run again, so often.
LANES_SHIFT: Final = 16
LANES_MASK: Final = 127
OFTEN_SHIFT: Final = 23
REPEATED: Final = 127

PATH_RECORD: Final = np.dtype([("segment", "<u2"), ("active", "<u2"), ("repeat", "<u4")])
"""A record of a path as it is read."""
ACCESS: Final = np.dtype([*((name, MEMORY_RECORD.dtype[name]) for name in MEMORY_RECORD.offset), ("cycles", "u1")])
"""A memory record with its two parts of ``repeat`` apart."""


def c_header() -> str:
    """The declarations that what writes and what reads traces begins with."""
    constants = {
        "CHUNK_MAGIC": CHUNK_MAGIC,
        "LINE_BYTES": LINE_BYTES,
        "LIST": LIST,
        "LINEAR": LINEAR,
        "UNIFORM": UNIFORM,
        "NARROW": NARROW,
        "REPEAT_BITS": REPEAT_BITS,
        "LAST": LAST,
        "OWN_LISTS": OWN_LISTS,
        "LIST_HEAD": LIST_HEAD,
        "LANES_SHIFT": LANES_SHIFT,
        "LANES_MASK": LANES_MASK,
        "OFTEN_SHIFT": OFTEN_SHIFT,
        "REPEATED": REPEATED,
    }
    numbers = ", ".join(f"{name} = {value}" for name, value in constants.items())
    return f"enum {{ {numbers} }};\n" + "".join(one.declaration() for one in SHARED)
