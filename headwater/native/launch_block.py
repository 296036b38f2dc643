"""What a launch's threads, its compiled code and the launcher share in memory: the launch block and its error record.

Every worker thread calls ``entry(block, args, scratch)``; the code takes work-groups from the launch block until none
is left, so any number of threads may join in. `BLOCK` is the block, once: C sources get its declaration from here,
code in LLVM's IR its fields' places (`field`), Python their numbers in the array of 64-bit words that it is.

*Scratch*, one 128-byte aligned block a thread: static local memory, dynamic local memory, then frames.

*Printf callback*: ``void (int64 format, int64 *arguments)``, arguments in 8-byte slots.
"""

from __future__ import annotations

from typing import Final

from headwater.native.structure import Struct

BLOCK: Final = Struct(
    "launch_block",
    ("i64", "next", 1),  # the first work-group that no thread has taken
    ("i64", "total", 1),  # work-groups
    ("i64", "batch", 1),  # work-groups to take at a time, at most; see `tail`
    ("i64", "stop", 1),  # not 0: leave early; TRAPPED if the kernel has ended itself
    ("i64", "global_size", 3),
    ("i64", "local_size", 3),
    ("i64", "groups", 3),
    ("i64", "offset", 3),  # the first work-item's global id
    ("i64", "work_dim", 1),
    ("i64", "flags", 1),
    ("i64", "printf", 1),  # the address of the printf callback
    ("i64", "error", 1),  # the address of the error record: `ACCESS_ERROR`, or of emulated code `emulate.layout.FAULT`
    ("i64", "bounds", 1),  # the address of the table of memory that the kernel may touch: `BOUND`, or `ALLOCATION`
    ("i64", "bounds_count", 1),
    ("i64", "local_bytes", 1),  # local memory of a group; behind it a thread's scratch memory has frames
    ("i64", "dispatch", 1),  # emulated code: the address of its `emulate.layout.DISPATCH`
    ("i64", "wave_instructions", 1),  # emulated code: instructions that wavefronts have executed
    # What pool.c reads.
    ("i64", "state", 1),
    ("i64", "entry", 1),
    ("i64", "args", 1),
    ("i64", "scratch_bytes", 1),
    ("i64", "own_scratch", 1),  # scratch memory to be used instead of the thread's, or 0
    (
        "i64",
        "tail",
        1,
    ),  # a 2**tail-th part of what is left is taken at most: threads end at about the same time
    ("i64", "joined", 1),  # how many threads of the pool have worked on the launch
    ("i64", "patience", 1),  # turns of pool.c's waiting for which a thread that has done its part keeps its processor
    ("i64", "unused", 7),
)

NEXT: Final = BLOCK.word("next")
TOTAL: Final = BLOCK.word("total")
BATCH: Final = BLOCK.word("batch")
STOP: Final = BLOCK.word("stop")
GLOBAL: Final = BLOCK.word("global_size")
LOCAL: Final = BLOCK.word("local_size")
GROUPS: Final = BLOCK.word("groups")
OFFSET: Final = BLOCK.word("offset")
WORK_DIM: Final = BLOCK.word("work_dim")
FLAGS: Final = BLOCK.word("flags")
PRINTF: Final = BLOCK.word("printf")
ERROR: Final = BLOCK.word("error")
BOUNDS: Final = BLOCK.word("bounds")
BOUNDS_COUNT: Final = BLOCK.word("bounds_count")
LOCAL_BYTES: Final = BLOCK.word("local_bytes")
DISPATCH: Final = BLOCK.word("dispatch")
WAVE_INSTRUCTIONS: Final = BLOCK.word("wave_instructions")
STATE: Final = BLOCK.word("state")
ENTRY: Final = BLOCK.word("entry")
ARGS: Final = BLOCK.word("args")
SCRATCH_BYTES: Final = BLOCK.word("scratch_bytes")
OWN_SCRATCH: Final = BLOCK.word("own_scratch")
TAIL: Final = BLOCK.word("tail")
JOINED: Final = BLOCK.word("joined")
PATIENCE: Final = BLOCK.word("patience")
BLOCK_FIELDS: Final = BLOCK.size_bytes // 8

TRAPPED: Final = 2
"""In the stop field: the kernel ended itself."""
FLAG_STREAMING: Final = 1
"""Streaming stores are wanted."""
FLAG_AHEAD: Final = 2
"""Prefetches are wanted."""
# Bits of the state.
OPEN: Final = 1 << 32
LED: Final = 1 << 33
NOTIFY: Final = 1 << 34
COUNT: Final = (1 << 32) - 1

BOUND: Final = Struct("bound", ("u64", "start", 1), ("u64", "end", 1), ("u64", "forbidden", 1), align=0)
"""Memory that is passed to a kernel whose code is checked; ``forbidden``: the kind of error that a wrong access to it
within its bounds is, `OUT_OF_BOUNDS_READ` or `OUT_OF_BOUNDS_WRITE`, or 0."""

ACCESS_ERROR: Final = Struct(
    "access_error",
    ("i64", "kind", 1),  # 0: no error
    ("i64", "line", 1),
    ("i64", "column", 1),
    ("i64", "id", 3),  # the work-item's global id
    ("i64", "address", 1),
    ("i64", "bytes", 1),
    ("i64", "low", 1),  # the variable that the address should be in: where it begins and ends; `OF_ARGUMENT`; or 0
    ("i64", "high", 1),
)
"""The error record that checked code writes once."""

BARRIER_ERROR: Final = Struct(
    "barrier_error",
    ("i64", "kind", 1),
    ("i64", "line", 1),
    ("i64", "column", 1),
    ("i64", "id", 3),  # of a work-item that waits
    ("i64", "other_line", 1),  # the barrier that another of the group waits at, or 0 if that has ended
    ("i64", "other_column", 1),
    ("i64", "other_id", 3),
)
"""The same record where work-items of a group wait at different barriers."""

# Kinds of error.
OUT_OF_BOUNDS_READ: Final = 1  # or one that is forbidden
OUT_OF_BOUNDS_WRITE: Final = 2
NULL_POINTER: Final = 3
BARRIER_DIVERGENCE: Final = 4
TRAP: Final = 5

OF_ARGUMENT: Final = 1
"""In the error record's ``high``: the address should be in the array that begins at ``low``."""


def field(name: str, pointer: str, result: str) -> str:
    """The IR that makes ``result`` the address of a field of the block at ``pointer``."""
    return f"{result} = getelementptr i8, ptr {pointer}, i64 {BLOCK.offset[name]}"
