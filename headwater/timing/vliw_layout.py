"""What the engine of VLIW chips and Python share: its structures and the names of what it counts."""

from __future__ import annotations

from typing import Final

from headwater.native.structure import Struct
from headwater.timing.layout import DRAM, Family

CAUSES: Final = (
    ("ISSUE", "issue"),
    ("SWITCH", "clause switch"),
    ("QUEUE_WAIT", "fetch queue"),
    ("FETCH_WAIT", "fetch"),
    ("LDS_WAIT", "LDS"),
    ("WRITE_WAIT", "write"),
    ("CODE_WAIT", "code"),
    ("BARRIER_WAIT", "barrier"),
    ("START", "start"),
)
"""Why a SIMD engine has no group to issue, or a wavefront waits, by its name in the engine."""
KINDS: Final = ("FLOW", "ALU", "GROUP", "FETCHES", "FETCH", "WRITE", "WAIT_ACK")
"""What an instruction is."""
FLAGS: Final = ("LOCAL", "POPS", "BARRIER", "UNCACHED", "PIXEL", "COMPLETE", "VERTEX", "BUFFER")
"""Bits of an instruction's ``flags``."""
CLAUSES: Final = (("SHOW_ALU", "ALU clause"), ("SHOW_FETCH", "fetch clause"), ("SHOW_WRITE", "write"))
"""Happenings behind those of wavefronts, by their names in the engine."""
TWO_BLOCKS: Final = 1 << 14
"""Of a window: it has two blocks."""

CHIP: Final = Struct(
    "chip",
    ("u64", "turns", 1),
    *(
        ("u32", name, 1)
        for name in (
            *("units", "engines", "groups_per_unit", "wave_dispatch_cycles", "waves_per_record", "last_quads"),
            *("group_cycles", "pair", "switch_cycles", "sequencer_cycles", "barrier_cycles"),
            *("quad_sixteenths", "local_cycles", "local_least"),
            *("port_sixteenths", "wide_port_sixteenths", "atomic_sixteenths"),
            *("pixels_per_cycle", "write_buffer_cycles", "l1_cycles", "l2_cycles", "memory_more_cycles"),
            *("l1_sets", "l1_ways", "l1_line_shift", "units_per_l1", "vertex_sets", "vertex_ways"),
            *("code_sets", "code_ways", "blocks_ahead", "program_blocks"),
            *("constant_sets", "constant_ways", "units_per_constant_cache"),
            *("has_l2", "l2_sets", "l2_ways", "l2_banks", "l2_line_bytes"),
            *("interleave_line_bits", "channel_hash", "channel_thirds", "bank_bucket_bytes"),
            *DRAM,
            *("tlb_entries", "page_line_bits", "tlb_miss_cycles"),
        )
    ),
)
"""A chip as the engine wants it: counts, bytes and cycles of the core clock; ``turns``: the address of the
work-groups' numbers in the order in which they begin, or 0."""

OP: Final = Struct(
    "op",
    *(("u8", name, 1) for name in ("kind", "flags", "dwords", "cycles")),
    *(("u16", name, 1) for name in ("count", "sites", "site", "blocks")),
    ("u32", "block", 1),
    ("u16", "windows", 4),
    align=0,
)
"""An instruction of control flow, a group, a fetch. ``count``: groups or fetches behind the head of their clause;
``cycles``: of the export bus for an element of 64 lanes that follow each other; ``dwords``: of a lane. ``block``: the
first of the ``blocks`` of the program that a clause lies in; ``windows``: the constants that it locks."""

SUMS: Final = (
    *("cycles", "instructions", "waves", "wave_cycles", "groups", "failed", "happenings", "occupancy_step"),
    *(
        "traffic_step",
        "alu_busy",
        "fetch_busy",
        "vertex_busy",
        "export_busy",
        "sequencer_busy",
        "lds_busy",
        "lds_conflict_cycles",
    ),
    *("clauses", "loads", "stores", "load_lines", "store_lines", "l1_hits", "l1_misses"),
    *("vertex_hits", "vertex_misses", "code_hits", "code_misses", "constant_hits", "constant_misses"),
    *("l2_hits", "l2_misses"),
    *("channel_busy", "row_activations", "bus_turns"),
    *(
        "bank_bytes",
        "channel_bytes",
        "written_bytes",
        "fast_bytes",
        "complete_bytes",
        "lane_bytes",
        "port_cycles",
        "pixels",
        "moved",
        "reads",
        "writes",
        "atomics",
    ),
)

NUMBERS: Final = (("TWO_BLOCKS", TWO_BLOCKS), *((name, len(CAUSES) + n) for n, (name, _) in enumerate(CLAUSES, 1)))

VLIW: Final = Family("vliw", CHIP, OP, SUMS, CAUSES, KINDS, (FLAGS,), is_vliw=True, files=("vliw.c",), numbers=NUMBERS)
