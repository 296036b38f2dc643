"""Input: a VLIW chip and a shader. Output: the cost of each clause, group, fetch and write, as numbers for the engine.

Sources, by letter behind each figure: [G] AMD, APP OpenCL Programming Guide rev. 1.3f, chapter 4; [S] AMD, Technical
Overview, ATI Stream Computing; [I] AMD, Evergreen-Family Instruction Set Architecture; [K] Linux, radeon driver; [A]
AnandTech, The Radeon HD 4850 and 4870; [H] SHOC, results of HD 5870 and HD 5670. (e): an estimate, nobody has published
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from headwater.chips.checks import CODE_LINE_BYTES, CODE_WAYS, LINE_BYTES, VERTEX_WAYS
from headwater.chips.occupancy import Occupancy
from headwater.emulate.vliw.clause import place
from headwater.emulate.wave.layout import LANES
from headwater.isa.vliw import table
from headwater.isa.vliw.encode import clause_words, layout
from headwater.isa.vliw.model import LDS_OQ_A, LDS_OQ_B_POP
from headwater.timing.layout import SEGMENT, Memory, filled
from headwater.timing.memory import dram_numbers
from headwater.timing.vliw_layout import CHIP, FLAGS, KINDS, OP, TWO_BLOCKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.chips import Chip
    from headwater.emulate.watch.staging import Segment, Site
    from headwater.isa.vliw.model import AluGroup, Cf, Shader

BLOCK_BYTES: Final = CODE_LINE_BYTES["vliw"]
BLOCKS_AHEAD: Final = 4  # (e) of instructions that are asked for behind those that were missing
PAIR: Final = 2  # [G] 4.11: an even and an odd wavefront take turns, so that one issues every 8 cycles
SWITCH_CYCLES: Final = 40  # [G] 4.14: from the end of a clause to the same wavefront's next one
SEQUENCER_CYCLES: Final = 4  # (e) of the sequencer for one instruction of control flow
BARRIER_CYCLES: Final = 8  # (e)
WAVE_DISPATCH_CYCLES: Final = 4  # (e) 16 pixels a cycle of each rasteriser
WRITE_BUFFER_CYCLES: Final = 256  # (e) how long pixels may wait for the render back-ends before their engine waits
INTERLEAVE_BYTES: Final = 256  # [G] 4.6: a channel changes every 256 bytes
EXPORT_CYCLES: Final = 4  # [G] 4.6: a quarter of a wavefront a cycle, two if its addresses do not follow each other
PIXELS_OF_BACK_END: Final = 4  # [A] of 32 bits a cycle of each render back-end
# What a 32-bit channel of memory takes a cycle where each work-item writes a dword. Fitted to [H], 52.1 GB/s written on
# HD 5870 and 24.1 on HD 5670, which are 7.7 and 7.8 bytes, and to [G] table 4.5, 96 GB/s copied.
PORT_BYTES_PER_CYCLE: Final = 7.4
WIDE_PORT: Final = 2  # (e) times as much where it writes two or four
# Fitted to [G] table 4.5: 18 GB/s copied on the complete path of HD 5870, where loads are atomic operations, too.
ATOMIC_CYCLES: Final = 1.5
CHANNEL_BITS: Final = 32  # [G]

(FLOW, ALU, GROUP, FETCHES, FETCH, WRITE, WAIT_ACK) = range(len(KINDS))
LOCAL, POPS, BARRIER, UNCACHED, PIXEL, COMPLETE, VERTEX, BUFFER = (1 << n for n in range(len(FLAGS)))
WINDOW: Final = 1 << 15
LOCK_TWO: Final = 2
SHARED_MODES: Final = (5, 6)  # [I] INDEX_GLOBAL and INDEX_GLOBAL_AR_X
MOST_RECORDS: Final = 64  # what the engine has room for in a SIMD engine
QUADS: Final = 16
"""Quads of 2 × 2 work-items in a record of 64 lanes."""

_GLOBAL_BUFFER: Final = frozenset(("fetch 126", "fetch 127", "global 0"))


def chip_numbers(
    chip: Chip,
    held: Occupancy,
    records: int,
    local_size: int,
    program_bytes: int,
    turns: int = 0,
) -> Memory:
    """The chip for the engine; ``held`` says how many work-groups of ``local_size`` a SIMD engine takes, ``records``
    of 64 lanes each, running a program of ``program_bytes``. ``turns``: where the order stands in which
    pixels' wavefronts are made, which are the work-groups then.
    """
    compute, caches, memory, latencies, features = chip.compute, chip.caches, chip.memory, chip.latencies, chip.vliw
    banks = caches.l2_banks
    channels = max(1, memory.bus_bits // CHANNEL_BITS) / banks
    l2_bytes = caches.l2_bytes or banks * caches.l2_line_bytes * caches.l2_ways
    port = 16 * LINE_BYTES / (PORT_BYTES_PER_CYCLE * channels)
    ways = CODE_WAYS["vliw"]
    waves = max(1, LANES // compute.wavefront_size)
    # A record is 64 lanes: of a chip with smaller wavefronts that is two or four of them, which take turns themselves.
    groups = max(1, held.work_groups // waves) if turns else held.work_groups
    last = local_size % LANES or LANES
    last_waves = -(-last // compute.wavefront_size)
    return filled(
        CHIP,
        {
            "turns": turns,
            "units": compute.compute_units,
            "engines": min(compute.shader_engines, compute.compute_units),
            "groups_per_unit": min(groups, MOST_RECORDS // records),
            "wave_dispatch_cycles": WAVE_DISPATCH_CYCLES,
            "waves_per_record": waves,
            "last_quads": QUADS * last_waves // waves,
            "group_cycles": max(1, LANES // compute.lanes_per_simd),
            "pair": PAIR if waves == 1 else 1,
            "switch_cycles": SWITCH_CYCLES,
            "sequencer_cycles": SEQUENCER_CYCLES,
            "barrier_cycles": BARRIER_CYCLES,
            "quad_sixteenths": max(1, round(16 * 4 * compute.compute_units / features.texture_units)),
            "local_cycles": latencies.local_cycles,
            "local_least": LANES // chip.local_memory.banks,
            "port_sixteenths": round(port),
            "wide_port_sixteenths": round(port / WIDE_PORT),
            "atomic_sixteenths": round(16 * ATOMIC_CYCLES / channels),
            "pixels_per_cycle": PIXELS_OF_BACK_END * features.render_back_ends,
            "write_buffer_cycles": WRITE_BUFFER_CYCLES,
            "l1_cycles": latencies.l1_cycles,
            "l2_cycles": latencies.l2_cycles,
            "memory_more_cycles": latencies.memory_cycles - latencies.l2_cycles,
            "l1_sets": caches.l1_bytes // (caches.l1_line_bytes * caches.l1_ways),
            "l1_ways": caches.l1_ways,
            "l1_line_shift": (caches.l1_line_bytes // LINE_BYTES).bit_length() - 1,
            "units_per_l1": caches.compute_units_per_l1,
            "vertex_sets": caches.vertex_bytes // (caches.l1_line_bytes * VERTEX_WAYS),
            "vertex_ways": VERTEX_WAYS,
            "code_sets": caches.instruction_bytes // (BLOCK_BYTES * ways),
            "code_ways": ways,
            "blocks_ahead": BLOCKS_AHEAD,
            "program_blocks": -(-program_bytes // BLOCK_BYTES),
            "constant_sets": caches.scalar_bytes // (BLOCK_BYTES * ways),
            "constant_ways": ways,
            "units_per_constant_cache": caches.compute_units_per_scalar_cache,
            "has_l2": int(caches.l2_bytes > 0),
            "l2_sets": l2_bytes // (banks * caches.l2_line_bytes * caches.l2_ways),
            "l2_ways": caches.l2_ways,
            "l2_banks": banks,
            "l2_line_bytes": caches.l2_line_bytes,
            "interleave_line_bits": (INTERLEAVE_BYTES // LINE_BYTES).bit_length() - 1,
            "channel_hash": 0,  # [G] 4.6: bits 8 to 10 of the address are the channel
            "channel_thirds": 0,
            "bank_bucket_bytes": 16 * caches.l2_bank_bytes_per_cycle,
            **dram_numbers(chip, INTERLEAVE_BYTES),
            "tlb_entries": 0,
            "page_line_bits": 0,
            "tlb_miss_cycles": 0,
        },
    )


def program_bytes(shader: Shader) -> int:
    """Of its instructions, clauses included."""
    words, clauses = layout(shader)
    ends = [at + clause_words(cf) for cf, at in zip(shader.cf, clauses, strict=True) if at is not None]
    return 8 * max([words[-1], *ends])


def locked_blocks(shader: Shader) -> set[int]:
    """The lines of constants that its clauses lock, below their buffers' numbers."""
    found = set()
    for window in (window for cf in shader.cf for window in _windows(cf) if window):
        first = window & ~(WINDOW | TWO_BLOCKS)
        found |= {first, first + 1} if window & TWO_BLOCKS else {first}
    return found


def shared_registers(shader: Shader) -> int:
    """How many of a SIMD engine's shared registers its operations name."""
    found = 0
    for op in (op for cf in shader.cf for group in cf.groups for op in group.ops if op.index_mode in SHARED_MODES):
        numbers = [source.sel for source in op.sources if source.rel]
        found = max([found, *(number + 1 for number in (*numbers, *((op.dst_gpr,) if op.dst_rel else ())))])
    return found


class Table:
    """A shader's clauses for the engine: ``ops`` (`OP`), ``segments`` (`SEGMENT`), and each op's place as
    ``addresses``: behind the head of a clause come its groups or fetches. ``segment_of``: of each op."""

    def __init__(self, segments: Sequence[Segment], sites: Sequence[Site], shader: Shader) -> None:
        self._rows: list[tuple[int | tuple[int, ...], ...]] = []
        self._sites = sites
        self._of: dict[tuple[int, int], list[int]] = {}
        self.traits = shader.traits
        self._clauses = layout(shader)[1]
        for number, site in enumerate(sites):
            self._of.setdefault((site.address >> 12, (site.address & 0xFFF) >> 3), []).append(number)
        self.addresses: list[int] = []
        self.segment_of: list[int] = []
        self.segments = np.zeros(len(segments), SEGMENT.dtype)
        for number, segment in enumerate(segments):
            first = len(self._rows)
            for address in segment.addresses:
                self._instruction(shader.cf[address >> 12], address >> 12)
            self.segments[number] = (first, len(self._rows), -1, 0)
            self.segment_of += [number] * (len(self._rows) - first)
        self.ops = np.array(self._rows, OP.dtype)

    def _add(
        self,
        at: int,
        kind: int,
        flags: int = 0,
        count: int = 0,
        sites: Sequence[int] = (),
        cycles: int = 0,
        words: range = range(0),
        windows: tuple[int, ...] = (0, 0, 0, 0),
    ) -> None:
        """``words``: of 64 bits, from the shader's start, that a clause lies in; ``windows``: as `_windows`."""
        dwords = max((self._sites[n].nbytes + 3) // 4 for n in sites) if sites else 1
        first, end = words.start * 8 // BLOCK_BYTES, -(-words.stop * 8 // BLOCK_BYTES)
        site = sites[0] if sites else 0
        self._rows.append((kind, flags, dwords, cycles, count, len(sites), site, end - first, first, windows))
        self.addresses.append(at)

    def _instruction(self, cf: Cf, index: int) -> None:
        name = cf.row.name
        if cf.groups:
            self._alu(cf, index)
        elif cf.fetches:
            start = self._clauses[index] or 0
            vertex = VERTEX if name == "VTX" and table.named(self.traits.name, "CF", "VTX_TC") else 0
            words = range(start, start + clause_words(cf))
            self._add(place(index), FETCHES, vertex, len(cf.fetches), words=words)
            for number in range(len(cf.fetches)):
                own = self._of.get((index, number), [])
                buffer = 0 if cf.fetches[number].row.kind == "TEX" else BUFFER
                self._add(place(index, number), FETCH, vertex | buffer | self._way(own), 0, own)
        elif cf.row.kind in ("EXPORT", "MEM", "RAT"):
            own = sorted(n for (at, _), found in self._of.items() if at == index for n in found)
            flags = PIXEL if cf.row.kind == "EXPORT" else 0
            if cf.row.kind == "RAT" and "cacheless" not in cf.row.flags:
                flags |= COMPLETE
            self._add(place(index), WRITE, flags, 0, own, EXPORT_CYCLES)
        else:
            self._add(place(index), WAIT_ACK if name == "WAIT_ACK" else FLOW)

    def _alu(self, cf: Cf, index: int) -> None:
        """A clause, in parts where the wavefront may wait at a barrier."""
        begin, start, windows = 0, self._clauses[index] or 0, _windows(cf)
        for number, group in enumerate(cf.groups):
            waits = any(op.row.name == "GROUP_BARRIER" for op in group.ops)
            if not waits and number + 1 < len(cf.groups):
                continue
            part = range(begin, number + 1)
            flags = [self._group_flags(cf.groups[n], index, n) for n in part]
            head = (BARRIER if waits else 0) | (LOCAL if any(flags) else 0)
            words = range(start, start + sum(cf.groups[n].slots for n in part))
            self._add(place(index, begin), ALU, head, len(part), words=words, windows=windows)
            for n, own in zip(part, flags, strict=True):
                self._add(place(index, n), GROUP, own, 0, self._of.get((index, n), []))
            begin, start = number + 1, words.stop

    def _group_flags(self, group: AluGroup, index: int, number: int) -> int:
        takes = any(LDS_OQ_A <= source.sel <= LDS_OQ_B_POP for op in group.ops for source in op.sources)
        return (LOCAL if (index, number) in self._of else 0) | (POPS if takes else 0)

    def _way(self, own: Sequence[int]) -> int:
        """Through which caches a fetch goes."""
        if not own:
            return 0
        site = self._sites[own[0]]
        if site.unit in ("lds", "gds"):
            return LOCAL
        if site.unit == "scratch":
            return UNCACHED
        if not self.traits.has_random_access_targets and site.resource in _GLOBAL_BUFFER:
            return UNCACHED  # [S] 2.5.3: loads from a global buffer are not cached
        return 0


def _windows(cf: Cf) -> tuple[int, ...]:
    """The lines of constants that a clause locks (Evergreen ISA, "CF_ALU_WORD0", KCACHE_MODE): for each window that is
    used, how many lines, and the buffer's number above that of the first."""
    found = []
    for n in range(4):
        mode = cf.fields[f"kcache_mode{n}"]
        if mode:
            first = cf.fields[f"kcache_bank{n}"] << 8 | cf.fields[f"kcache_addr{n}"]
            found.append(WINDOW | (TWO_BLOCKS if mode == LOCK_TWO else 0) | first)
    return (*found, 0, 0, 0, 0)[:4]
