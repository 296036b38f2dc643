"""The structures in memory that the launcher, the native support code and the translated code share, each said once.

`c_header` is their declaration for ``support.c``. All are little-endian and 8-byte aligned.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from headwater.chips.gcn_isas import Traits
from headwater.native.launch_block import BLOCK
from headwater.native.structure import Struct, c_declarations

LANES: Final = 64
"""Lanes of a wavefront of every GCN chip."""

LARGE_KERNEL: Final = 250
"""Instructions from which on the time to compile a kernel matters more than the last bit of its speed."""

SGPR_SLOTS: Final = 32
"""Scalar registers that can hold something when a wavefront starts: 16 user SGPRs and the system's (AMDGPUUsage,
"Initial Kernel Execution State")."""

SHARED_APERTURE: Final = 0x0001_0000
"""High half of the addresses by which flat instructions reach the LDS: the driver's choice; no host address has it."""
PRIVATE_APERTURE: Final = 0x0002_0000
"""High half of the addresses by which flat instructions reach a lane's private memory."""

GDS_BYTES: Final = 65536
"""Global data share of a chip (AMD, Vega ISA Reference Guide, "Global Data Share": 64 KB)."""

GWS_RESOURCES: Final = 64
"""Counters of global wave synchronisation (AMD, Vega ISA Reference Guide, "DS_GWS_INIT": a number of 6 bits)."""
GWS_OPERATIONS: Final = ("init", "v", "br", "p", "release_all", "barrier")

ACCESSES: Final = ("WRITE", "FLAT", "IN_LDS", "IN_PRIVATE", "IN_GDS", "IN_ARENA", "IN_RESOURCE", "IN_BUFFER")
"""How memory is accessed, a bit each: see support.c."""
VECTOR_LANES: Final = 16
"""Lanes that vector code is written for at a time: one machine register."""
FACTORS: Final = ("f32", "f16", "bf16", "i8", "f64", "fp8", "bf8", "xf32")
"""Types of the factors of matrix operations, by number."""

# What `hw_wave` returns. AT_GWS: it has asked for an operation of global wave synchronisation.
ENDED, AT_BARRIER, STOPPED, AT_GWS = 0, 1, 2, 3

# Kinds in the error record.
FAULT_READ, FAULT_WRITE, FAULT_LDS_READ, FAULT_LDS_WRITE, FAULT_PRIVATE = 1, 2, 3, 4, 5
FAULT_UNSUPPORTED, FAULT_TRAP, FAULT_JUMP, FAULT_READ_ONLY, FAULT_ALIGNMENT, FAULT_STACK = 6, 7, 8, 9, 10, 11
FAULT_RESOURCE, FAULT_GWS, FAULT_RECORDS = 12, 13, 14
FAULT_NAMES: Final = {
    name: value for name, value in list(globals().items()) if name.startswith("FAULT_") and isinstance(value, int)
}

FAULT: Final = Struct(
    "fault",
    ("u64", "kind", 1),  # 0: none
    ("u64", "pc", 1),
    ("u64", "group", 3),
    ("u64", "wave", 1),
    ("u64", "lane", 1),
    ("u64", "address", 1),
    ("u64", "bytes", 1),
    ("u64", "detail", 1),
)
"""The error record of a launch: `headwater.native.launch_block` has its address."""

WRITABLE: Final = 1
WHOLE_DWORDS: Final = 2
"""Flags of an allocation. `WHOLE_DWORDS`: an aligned dword that begins in it may end beyond, as allocations of GPUs
have more bytes than were asked for."""
ALLOCATION: Final = Struct("allocation", ("u64", "start", 1), ("u64", "end", 1), ("u64", "flags", 1), align=0)
"""An entry of the table of memory that a launch may touch."""

SLOT: Final = Struct("slot", ("u64", "start", 1), ("u64", "size", 1), align=0)
"""The allocation that a memory instruction used last."""
ARENA_SLOT: Final = Struct("arena_slot", *SLOT.fields, ("u64", "delta", 1), align=0)
"""The same of the arena, whose 32-bit addresses VLIW shaders use: ``delta`` is added to one for the host's."""


WAVE: Final = Struct(
    "wave",
    ("u64", "block", 1),  # the launch block
    ("u64", "code", 1),  # where the code object's address 0 lies
    ("u64", "frame", 1),  # this wavefront's registers while it waits at a barrier
    ("u64", "lds", 1),
    ("u64", "lds_bytes", 1),
    ("u64", "scratch", 1),  # this wavefront's private memory, all 64 lanes, dword-interleaved
    ("u64", "scratch_bytes", 1),
    ("u64", "ids", 1),  # u32[3][64]: v0 to v2 at the start
    ("u64", "exec", 1),  # lanes that have a work-item
    ("u64", "cache", 1),  # a slot for each memory instruction
    ("u64", "gds", 1),
    ("u64", "gds_bytes", 1),
    ("u64", "allocations", 1),
    ("u64", "allocation_count", 1),
    ("u64", "record", 1),
    ("u64", "wave_instructions", 1),
    ("u64", "hooks", 8),  # for code that watches: see docs/emulator.md
    ("u64", "args", 1),  # the launch's arguments
    ("u32", "group", 3),
    ("u32", "index", 1),  # of this wavefront in its group
    ("u32", "alone", 1),  # its group has no other wavefront
    ("u32", "resume", 1),  # 0: from the start, else the number of the barrier to go on after
    ("u32", "sgprs", SGPR_SLOTS),
    # What it asks for of global wave synchronisation, and support.c's account of it.
    ("u32", "gws_operation", 1),
    ("u32", "gws_resource", 1),
    ("u32", "gws_value", 1),
    ("u32", "gws_pc", 1),
    ("u32", "gws_flag", 1),
    ("u32", "state", 1),
    ("u64", "turn", 1),
)

BUFFER: Final = Struct(
    "buffer",
    ("u64", "lanes", 1),  # those that are inside of it
    ("u32", "resource", 4),
    ("u32", "soffset", 1),
    ("u32", "offset", 1),  # the instruction's, in bytes
    ("u32", "traits", 1),  # those of TRAITS_IN_C that the instruction set has
    ("u32", "flags", 1),
)
"""A buffer instruction, for buffers.h."""
BUFFER_FLAGS: Final = ("indexed", "formatted", "checked")
"""A bit each of its ``flags``."""

TRAITS_IN_C: Final = (
    "counts_by_index",
    "counts_buffer_bytes",
    "has_compressed_images",
    "has_swizzle_modes",
    "has_signed_ogl_formats",
)
"""Traits of instruction sets that C asks for: a bit each."""

DISPATCH: Final = Struct(
    "dispatch",
    ("u64", "code", 1),
    ("u64", "gds", 1),
    ("u64", "hooks", 8),
    ("u64", "quads", 1),  # u32[drawn][16]: pixels' wavefronts, see headwater.emulate.vliw.raster; or 0
    ("u64", "drawn", 1),  # how many there are
    ("u32", "local", 3),  # work-items of a full group
    ("u32", "packed_ids", 1),  # v0 holds all three work-item ids, 10 bits each (gfx90a)
    ("u32", "waves", 1),  # wavefronts of a full group
    ("u32", "frame_bytes", 1),  # of one wavefront
    ("u32", "scratch_lane_bytes", 1),  # private memory of a lane
    ("u32", "cache_slots", 1),
    ("u32", "residents", 1),  # groups that are run side by side, as they synchronise; or 0
    ("u64", "gws", 1),  # u32[64][2]: counters and flags of global wave synchronisation
    ("u32", "flush_denormals", 1),  # in this processor's arithmetic: VLIW shaders without doubles
    # Indices of scalar registers, or -1.
    ("i32", "sgpr_private_buffer", 1),
    ("i32", "sgpr_kernarg", 1),
    ("i32", "sgpr_flat_scratch", 1),
    ("i32", "sgpr_group_id", 3),
    ("i32", "sgpr_group_info", 1),
    ("i32", "sgpr_wave_offset", 1),
    ("i32", "sgpr_preload", 1),
    ("u32", "preload_first", 1),  # dwords of the arguments that go there
    ("u32", "preload_count", 1),
    ("u32", "sgprs", SGPR_SLOTS),  # what else they hold
)


def scratch_bytes(waves: int, frame_bytes: int, scratch_lane_bytes: int, cache_slots: int, lds_bytes: int) -> int:
    """Bytes of the block of memory that each thread works in; ``support.c`` divides it in the same order."""
    total = round_up(cache_slots * SLOT.size_bytes, LANES)
    total += waves * 3 * LANES * 4
    total += waves * WAVE.size_bytes
    total += waves * round_up(frame_bytes, LANES)
    total += waves * LANES * scratch_lane_bytes
    # A whole vector may be read from the last dword on.
    return round_up(total, LANES) + round_up(lds_bytes, LANES) + 2 * LANES


def resident_bytes(residents: int, group_bytes: int) -> int:
    """Bytes of the block of memory of a thread that runs so many groups side by side, of `scratch_bytes` each."""
    return residents * (LANES + round_up(group_bytes, LANES)) + LANES


def round_up(number: int, multiple: int) -> int:
    """The next multiple."""
    return -(-number // multiple) * multiple


def support_source() -> str:
    """The C that all emulated code is linked with."""
    own = (Path(__file__).with_name(name).read_text() for name in ("support.c", "matrices.h"))
    return c_header() + access_header() + "".join(own)


def access_header() -> str:
    """The declarations of those who have ``support.c`` access memory, behind those of `c_header`."""
    constants = {name: 1 << n for n, name in enumerate(ACCESSES)}
    constants |= {"PART": VECTOR_LANES, **{name.upper(): n for n, name in enumerate(FACTORS)}}
    return "".join(f"#define {name} {value}\n" for name, value in constants.items())


def trait_bits(traits: Traits) -> int:
    """The bits of ``TRAITS_IN_C`` that an instruction set has."""
    return sum(1 << n for n, name in enumerate(TRAITS_IN_C) if getattr(traits, name))


def c_header() -> str:
    """The declarations that ``support.c`` begins with, and how buffers are reached."""
    constants = {
        "LANES": LANES,
        "SGPR_SLOTS": SGPR_SLOTS,
        "SHARED_APERTURE": SHARED_APERTURE,
        "PRIVATE_APERTURE": PRIVATE_APERTURE,
        "ENDED": ENDED,
        "AT_BARRIER": AT_BARRIER,
        "STOPPED": STOPPED,
        "AT_GWS": AT_GWS,
        **{f"GWS_{name.upper()}": number for number, name in enumerate(GWS_OPERATIONS)},
        "WRITABLE": WRITABLE,
        "WHOLE_DWORDS": WHOLE_DWORDS,
        "GDS_BYTES": GDS_BYTES,
        **FAULT_NAMES,
        **{name.upper(): 1 << n for n, name in enumerate(TRAITS_IN_C)},
        **{f"IS_{name.upper()}": 1 << n for n, name in enumerate(BUFFER_FLAGS)},
    }
    lines = "".join(f"#define {name} {value}\n" for name, value in constants.items())
    return c_declarations(*SHARED) + lines + Path(__file__).with_name("buffers.h").read_text()


SHARED: Final = (BLOCK, FAULT, ALLOCATION, SLOT, ARENA_SLOT, WAVE, DISPATCH, BUFFER)
"""The structures that C and Python share."""
