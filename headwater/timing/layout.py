"""What the replay engine's C and Python share: the structures, each said once, and the library that is made of them."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from headwater.base import cache
from headwater.base.native_library import function
from headwater.native import pool
from headwater.native.structure import Struct

CAUSES: Final = ("issue", "dependency", "fetch", "scalar memory", "LDS", "vector memory", "barrier", "start")
"""Why a SIMD or a wavefront waits, in the engine's order; "issue" is no wait for a SIMD, and for a wavefront the turn
of others."""
SUMS: Final = (
    *("cycles", "instructions", "waves", "wave_cycles", "empty", "valu_busy", "scalar_issues", "branch_issues"),
    *("branches_taken", "lds_busy", "lds_conflict_cycles", "address_busy", "loads", "stores", "load_lines"),
    *("store_lines", "l1_hits", "l1_misses", "scalar_hits", "scalar_misses", "code_hits", "code_misses"),
    *("l2_hits", "l2_misses", "bank_bytes", "channel_bytes", "l2_reads", "l2_writes", "l2_atomics", "fills"),
    *("write_backs", "page_misses", "groups", "failed", "happenings", "occupancy_step", "traffic_step"),
)
"""What the engine's result begins with; then come causes of SIMDs and of wavefronts, and two series."""
POINTS: Final = 512
"""Steps of a series over time."""
DISPATCH_ENGINES: Final = 64

CHIP: Final = Struct(
    "chip",
    *(
        ("u32", name, 1)
        for name in (
            *("units", "simds", "period", "engines", "groups_per_unit", "issue_cycles", "taken_cycles", "mask_cycles"),
            *("barrier_cycles", "wave_dispatch_cycles", "queue_cycles", "vm_counter"),
            *("address_cycles_most", "line_cycles"),
            *("local_cycles", "scalar_cycles", "l1_cycles", "l2_cycles", "memory_more_cycles"),
            *("l1_sets", "l1_ways", "l1_line_shift", "l1_bytes_per_cycle"),
            *("scalar_sets", "scalar_ways", "code_sets", "code_ways", "units_per_scalar_cache"),
            *(
                "l2_sets",
                "l2_ways",
                "l2_banks",
                "l2_line_bytes",
                "interleave_line_bits",
                "channel_hash",
                "bank_bucket_bytes",
            ),
            *(
                "channels",
                "channel_bucket_sixteenths",
                "write_buffer_cycles",
                "tlb_entries",
                "page_line_bits",
                "tlb_miss_cycles",
            ),
        )
    ),
    ("u32", "uniform_cycles", 8),
)
"""A chip as the engine wants it: counts, bytes and cycles of the core clock."""

TRACE: Final = Struct(
    "trace",
    *(("u64", name, 1) for name in ("data", "start", "bytes", "chunks", "offset", "next", "first", "waves", "same")),
    *(("u32", name, 1) for name in ("waves_per_group", "sites", "segments")),
)
"""As ``struct trace`` of waves.h."""

LAUNCH: Final = Struct(
    "launch",
    *(("u64", name, 1) for name in ("chip", "trace", "ops", "segments", "counters", "op_count", "groups")),
    *(("u64", name, 1) for name in ("happenings", "room", "units", "allocate")),
)
"""As ``struct launch`` of machine.h."""

OP: Final = np.dtype(
    [
        *((name, "u1") for name in ("kind", "cycles", "flags", "more", "vm", "lgkm", "exp", "sites")),
        *(("site", "<u2"), ("other", "<u2"), ("line", "<u4")),
    ]
)
SEGMENT: Final = np.dtype([("first", "<u4"), ("end", "<u4"), ("falls_to", "<i4"), ("unused", "<u4")])
HAPPENING: Final = np.dtype(
    [
        *(("time", "<u8"), ("cycles", "<u4"), ("unit", "<u2"), ("simd", "u1"), ("slot", "u1")),
        *(("kind", "<u4"), ("what", "<u4")),
    ]
)

Memory = np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(frozen=True)
class Family:
    """Chips that one engine replays: its file's name, its structure of a chip, what it counts and by what it waits.

    ``sums`` have "cycles", "instructions", "waves", "wave_cycles", "groups", "failed", "happenings", "occupancy_step"
    and "traffic_step" at least; ``causes`` have "issue" first and "start".
    """

    name: str
    chip: Struct
    sums: tuple[str, ...]
    causes: tuple[str, ...]


GCN: Final = Family("gcn", CHIP, SUMS, CAUSES)


def filled(struct: Struct, values: dict[str, Any]) -> Memory:
    """A structure with these values, all of whose fields have to be there, aligned as compiled code may count on."""
    return struct.filled({name: values[name] for name in struct.offset})


@dataclass(frozen=True)
class Engine:
    """A family's engine: its functions, as the end of its C file has them; of the trace, `waves.h`."""

    chunks: Any
    index: Any
    nbytes: Any
    begin: Any
    run: Any
    result: Any
    end: Any


_BUILDING: Final = threading.Lock()


@functools.cache
def prepare(family: Family) -> None:
    """Have a family's engine made, where there is none yet, and what recording and launches need, while the kernel to
    replay is compiled and run: it takes about as long as these."""

    def make(part: Callable[[], object]) -> None:
        with suppress(Exception):  # the call that matters will tell
            part()

    def support() -> None:
        from headwater.emulate import trace  # its import takes long

        parts = [
            threading.Thread(target=make, args=(part,), daemon=True) for part in trace.parts(family.name == "vliw")
        ]
        for thread in parts:
            thread.start()
        for thread in parts:
            thread.join()

    for begin in (partial(engine, family), support):
        threading.Thread(target=make, args=(begin,), daemon=True).start()
    pool.prepare()


@functools.cache
def engine(family: Family) -> Engine:
    """A family's engine, compiled for this machine and loaded; from the disk cache. InternalError if it does not
    compile."""
    with _BUILDING:  # who asks while it is made finds it on the disk then
        return _engine(family)


def _engine(family: Family) -> Engine:
    from headwater.base.freshness import native_state
    from headwater.native.compile_c import QUICKER, compile_c
    from headwater.native.shared import link_shared

    here = Path(__file__).parent
    # The trace's structure stands in waves.h, with the types that its members point at.
    files = ("shared_resources.h", "waves.h", "machine.h", f"{family.name}.c")
    source = "\n".join((_TYPES, family.chip.declaration(), *((here / name).read_text() for name in files)))
    pointer, u64, u32 = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32
    own = f"hw_{family.name}_"
    functions: tuple[tuple[str, Any, Any], ...] = (
        ("hw_chunks", u64, (pointer,)),
        ("hw_index", u64, (pointer, pointer)),
        (own + "bytes", u64, (pointer,)),
        (own + "begin", pointer, (pointer, pointer)),
        (own + "run", u32, (pointer, u64)),
        (own + "result", None, (pointer, pointer)),
        (own + "end", None, (pointer, pointer)),
    )
    key = cache.key("timing 3", native_state(__name__), source)
    entry = cache.get(key)
    if entry is None:
        # Loops that are not unrolled compile in 0.8 of the time and run no slower.
        code = compile_c(source, "-fno-unroll-loops", QUICKER)
        shared = link_shared(code, exports=[name for name, _, _ in functions])
        entry = cache.put(key, {"engine.so": shared})
    return Engine(*(function(entry / "engine.so", *described) for described in functions))


_TYPES: Final = """\
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;
#define EXPORT __attribute__((visibility("default")))
"""


def c_functions() -> tuple[int, int]:
    """Addresses of the C library's ``realloc`` and ``free``."""
    import os

    library = ctypes.CDLL("ucrtbase") if os.name == "nt" else ctypes.CDLL(None)
    allocate, release = (ctypes.cast(f, ctypes.c_void_p).value for f in (library.realloc, library.free))
    return allocate or 0, release or 0
