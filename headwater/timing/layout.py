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
from headwater.emulate.watch import trace_format
from headwater.native import pool
from headwater.native.structure import TYPES, Struct

CAUSES: Final = (
    ("ISSUE", "issue"),
    ("DEPEND", "dependency"),
    ("FETCH", "fetch"),
    ("SMEM_WAIT", "scalar memory"),
    ("LDS_WAIT", "LDS"),
    ("VMEM_WAIT", "vector memory"),
    ("BARRIER_WAIT", "barrier"),
    ("START", "start"),
)
"""Why a SIMD or a wavefront waits, by its name in the engine; "issue" is no wait for a SIMD, and for a wavefront the
turn of others."""
KINDS: Final = ("VALU", "SCALAR", "VMEM", "LDS", "BRANCH", "WAIT", "NOP", "BARRIER", "END")
"""What an instruction is; the first five are the classes of which a SIMD issues one each."""
FLAGS: Final = ("WRITES", "ATOMIC", "GLC", "MAKES_MASK", "NEEDS_MASK", "NEW_LINE", "FLAT", "RETURNS")
MORE_FLAGS: Final = ("SMEM", "MATRIX", "INVALIDATES", "FORMATTED")
"""Bits of an instruction's ``flags`` and ``more``."""
FAILURES: Final = ("TRACE_SHORT", "STUCK")
"""What ``failed`` of the result says, from 1 on."""
SUMS: Final = (
    *("cycles", "instructions", "waves", "wave_cycles", "empty", "valu_busy", "scalar_issues", "branch_issues"),
    *("branches_taken", "lds_busy", "lds_conflict_cycles", "address_busy", "loads", "stores", "load_lines"),
    *("store_lines", "l1_hits", "l1_misses", "scalar_hits", "scalar_misses", "code_hits", "code_misses"),
    *(
        "side_hits",
        "side_misses",
        "l2_hits",
        "l2_misses",
        "bank_bytes",
        "channel_bytes",
        "written_bytes",
        "channel_busy",
        "row_activations",
        "bus_turns",
    ),
    *(
        "l2_reads",
        "l2_writes",
        "l2_atomics",
        "fills",
        "write_backs",
        "page_misses",
        "groups",
        "failed",
        "happenings",
        "occupancy_step",
        "traffic_step",
    ),
)
"""What the engine counts."""
DRAM: Final = (
    *("channels", "channel_bucket_sixteenths", "dram_banks", "row_chunks", "bank_below", "bank_hash", "channel_fold"),
    *("l2_random", "dies", "side_sets", "side_ways", "side_bucket_bytes", "side_cycles"),
    *("row_cycles", "activate_sixteenths", "turn_sixteenths", "batch_lines", "queue_cycles_of_channel"),
)
"""A chip's memory as the engine wants it: see `headwater.timing.memory`."""
POINTS: Final = 512
"""Steps of a series over time."""

CHIP: Final = Struct(
    "chip",
    *(
        ("u32", name, 1)
        for name in (
            *("units", "simds", "period", "engines", "groups_per_unit", "issue_cycles", "taken_cycles", "mask_cycles"),
            *("barrier_cycles", "launch_cycles", "wave_dispatch_cycles", "queue_cycles", "vm_counter"),
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
                "channel_thirds",
                "bank_bucket_bytes",
            ),
            *DRAM,
            *(
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
    ("const u8 *", "data", 1),
    *(("u64", name, 1) for name in ("start", "bytes", "chunks")),
    ("u64 *", "offset", 1),  # of each chunk
    ("u32 *", "next", 1),  # the chunk that goes on where this one ends, ~0 if it is the last
    ("u32 *", "first", 1),  # of each wavefront
    ("u64", "waves", 1),
    ("const i32 *", "same", 1),  # the site whose records are those of a site, -1: its own
    *(("u32", name, 1) for name in ("waves_per_group", "sites", "segments")),
)
SEGMENT: Final = Struct(
    "segment", ("u32", "first", 1), ("u32", "end", 1), ("i32", "falls_to", 1), ("u32", "unused", 1), align=0
)
HAPPENING: Final = Struct(
    "happening",
    *(("u64", "time", 1), ("u32", "cycles", 1), ("u16", "unit", 1), ("u8", "simd", 1), ("u8", "slot", 1)),
    *(("u32", "kind", 1), ("u32", "what", 1)),
    align=0,
)
LAUNCH: Final = Struct(
    "launch",
    ("const struct chip *", "chip", 1),
    ("const struct trace *", "trace", 1),
    ("const struct op *", "ops", 1),
    ("const struct segment *", "segments", 1),
    ("u64 *", "counters", 1),  # three for each op
    *(("u64", name, 1) for name in ("op_count", "groups")),
    ("struct happening *", "happenings", 1),
    ("u64", "room", 1),  # for so many happenings of `units` compute units from `first_unit` on
    *(("u64", name, 1) for name in ("first_unit", "units")),
    ("u64 *", "happened", 1),  # how many in each of these, whether there was room or not
    ("allocate_function *", "allocate", 1),
)
"""A launch as its launcher gives it."""
OP: Final = Struct(
    "op",
    *(("u8", name, 1) for name in ("kind", "cycles", "flags", "more", "vm", "lgkm", "exp", "sites")),
    *(("u16", "site", 1), ("u16", "other", 1), ("u32", "line", 1)),
    align=0,
)
"""An instruction. ``cycles``: that it takes the wavefront; of memory, that it takes the address unit when lanes follow
each other; ``other``: when they do not, or of the LDS the least."""

HEADERS: Final = ("shared_resources.h", "dram.h", "second_level.h", "waves.h", "machine.h")
"""What both engines begin with."""

Memory = np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(frozen=True)
class Family:
    """Chips that one engine replays: their name, its structures of a chip and an instruction, what it counts and
    by what it waits.

    ``sums`` have "cycles", "instructions", "waves", "wave_cycles", "groups", "failed", "happenings", "occupancy_step"
    and "traffic_step" at least; ``causes``, each with its name in the engine, have "issue" first and "start".
    ``kinds``: of instructions; ``flags``: sets of their bits.
    """

    name: str
    chip: Struct
    op: Struct
    sums: tuple[str, ...]
    causes: tuple[tuple[str, str], ...]
    kinds: tuple[str, ...]
    flags: tuple[tuple[str, ...], ...]
    is_vliw: bool = False
    files: tuple[str, ...] = ()
    """Of the engine, behind those of both families."""
    numbers: tuple[tuple[str, int], ...] = ()
    """What else the engine knows by name."""

    @property
    def result(self) -> Struct:
        """What the engine found: sums, cycles by causes of SIMDs and of wavefronts, and two series over time."""
        causes = len(self.causes)
        return Struct(
            "result",
            *(("u64", name, 1) for name in self.sums),
            *(("u64", "cause", causes), ("u64", "wave_cause", causes)),
            *(("u64", "occupancy", POINTS), ("u64", "traffic", POINTS)),
            align=0,
        )

    @property
    def shared(self) -> tuple[Struct, ...]:
        """The structures that the engine and Python share."""
        return (*trace_format.SHARED, self.chip, TRACE, SEGMENT, HAPPENING, self.op, LAUNCH, self.result)


GCN: Final = Family(
    "gcn", CHIP, OP, SUMS, CAUSES, KINDS, (FLAGS, MORE_FLAGS), files=("gcn_unit.h", "gcn_memory.h", "gcn.c")
)


def c_header(family: Family) -> str:
    """The declarations that an engine begins with."""
    own = "".join(one.declaration() for one in family.shared[len(trace_format.SHARED) :])
    causes = f"enum {{ {', '.join(name for name, _ in family.causes)}, CAUSES }};\n"
    kinds = f"enum {{ {', '.join(family.kinds)} }};\n"
    flags = "".join(
        f"enum {{ {', '.join(f'{flag} = 1 << {n}' for n, flag in enumerate(some))} }};\n" for some in family.flags
    )
    failures = f"enum {{ {', '.join(f'{name} = {n}' for n, name in enumerate(FAILURES, 1))} }};\n"
    own_numbers = "".join(f"enum {{ {name} = {value} }};\n" for name, value in family.numbers)
    numbers = f"enum {{ POINTS = {POINTS} }};\n" + own_numbers + causes + kinds + flags + failures
    return TYPES + _TYPES + trace_format.c_header() + numbers + own


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

    def make(function: Callable[[], object]) -> None:
        with suppress(Exception):  # the call that needs the result raises it again
            function()

    def support() -> None:
        from headwater.emulate import recorded

        needed = recorded.prerequisites(family.is_vliw)
        threads = [threading.Thread(target=make, args=(one,), daemon=True) for one in needed]
        for thread in threads:
            thread.start()
        for thread in threads:
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
    files = (*HEADERS, *family.files)
    source = "\n".join((c_header(family), *((here / name).read_text() for name in files)))
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
typedef void *allocate_function(void *, u64);
#define EXPORT __attribute__((visibility("default")))
"""


def c_functions() -> tuple[int, int]:
    """Addresses of the C library's ``realloc`` and ``free``."""
    import os

    library = ctypes.CDLL("ucrtbase") if os.name == "nt" else ctypes.CDLL(None)
    allocate, release = (ctypes.cast(f, ctypes.c_void_p).value for f in (library.realloc, library.free))
    return allocate or 0, release or 0
