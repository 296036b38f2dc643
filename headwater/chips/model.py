"""What a GPU is made of, as plain data: every size, limit and rate that a compiler, emulator or cycle model asks for.

Units stand in the names. Each field's `Range` says its unit and what it may be; the TOML files beside this module give
every figure with its source.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from headwater.chips.dram import BATCH_LINES, KINDS, MAPPINGS, Dram
from headwater.chips.families import VLIW
from headwater.errors import UsageError

Family = Literal["gcn", "vliw"]
SCRATCH_BUFFER_ELEMENTS = 4096
"""vec4 of scratch that a work-item of a VLIW chip may have: ARRAY_SIZE has 12 bits (AMD, R600-Family ISA,
CF_ALLOC_IMP_EXP_DWORD1_BUF)."""


REPLACEMENTS = ("least recent", "random")
"""Policies of an L2: the line that was not used for longest goes, or any."""


class Range(NamedTuple):
    """What a number may be: its unit ("" for a count), the least and the greatest value."""

    unit: str
    low: float
    high: float


def _number(unit: str, low: float, high: float, default: Any = None, *, only: str = "") -> Any:
    """A figure of every chip, or of those of one family: ``only`` "gcn" or "vliw"."""
    metadata = {"range": Range(unit, low, high), "only": only}
    return field(metadata=metadata) if default is None else field(metadata=metadata, default=default)


@dataclass(frozen=True)
class Compute:
    """The parts that compute.

    A compute unit (a SIMD engine, on VLIW chips) has ``simds_per_compute_unit`` SIMDs of ``lanes_per_simd`` lanes; a
    wavefront takes ``wavefront_size`` / ``lanes_per_simd`` cycles for an instruction. ``vliw_width``: operations that
    one lane starts in a cycle (5 or 4 on VLIW chips). ``wavefronts_per_simd`` and ``work_groups_per_compute_unit``:
    how many can be resident. ``clock_mhz``: the highest one that the maker states for load. ``dies``: with a share of
    the compute units and of the L2 each, to which work-groups are dealt in turn.
    """

    shader_engines: int = _number("", 1, 64)
    compute_units: int = _number("", 1, 1024)
    clock_mhz: float = _number("MHz", 1, 10_000)
    wavefronts_per_simd: int = _number("", 1, 512)
    simds_per_compute_unit: int = _number("", 1, 8, 4)
    lanes_per_simd: int = _number("", 4, 64, 16)
    vliw_width: int = _number("", 1, 5, 1, only="vliw")
    wavefront_size: int = _number("work-items", 16, 64, 64)
    work_groups_per_compute_unit: int = _number("", 1, 64, 16)
    work_group_size: int = _number("work-items", 1, 4096, 1024)
    dies: int = _number("", 1, 16, 1)

    @property
    def turn_cycles(self) -> int:
        """Cycles that a SIMD takes for a full-rate instruction of a wavefront: 4 where 16 lanes run 64 work-items."""
        return max(1, self.wavefront_size // self.lanes_per_simd)


@dataclass(frozen=True)
class Rates:
    """Operations a lane starts in a cycle; 1 is the rate of a 32-bit addition, 0 that there are none. On VLIW chips a
    rate is a share of the lane's ``vliw_width`` operations: 0.2 is one of five.

    ``float64_add``, ``float64_fma``: in double precision (``float64_fma`` also multiplication). ``float16``: 2 where
    packed. ``float32_fma``: fused multiply-add. ``transcendental``: reciprocal, roots, exp, log, sin, cos.
    ``int32_multiply``: a full 32-bit product. ``matrix_…``: operations that a compute unit does in a cycle by matrix
    instructions with factors of a type, two for each multiplication and addition; what one instruction takes is in the
    instruction tables.
    """

    float64_add: float = _number("per cycle", 0, 2)
    float64_fma: float = _number("per cycle", 0, 2)
    float32_fma: float = _number("per cycle", 0, 2)
    float16: float = _number("per cycle", 0, 4)
    transcendental: float = _number("per cycle", 0, 1, 0.25)
    int32_multiply: float = _number("per cycle", 0, 1, 0.25)
    matrix_float64: int = _number("per cycle", 0, 65_536, 0)
    matrix_float32: int = _number("per cycle", 0, 65_536, 0)
    matrix_xf32: int = _number("per cycle", 0, 65_536, 0)
    matrix_float16: int = _number("per cycle", 0, 65_536, 0)
    matrix_bfloat16: int = _number("per cycle", 0, 65_536, 0)
    matrix_float8: int = _number("per cycle", 0, 65_536, 0)
    matrix_int8: int = _number("per cycle", 0, 65_536, 0)

    @property
    def matrix(self) -> dict[str, int]:
        """The rates of matrix instructions by the type of their factors."""
        prefix = "matrix_"
        return {f.name.removeprefix(prefix): getattr(self, f.name) for f in fields(self) if f.name.startswith(prefix)}


@dataclass(frozen=True)
class Registers:
    """Register files of one SIMD.

    ``vgprs``: vector registers a lane's share of the file holds, for all resident wavefronts, given out in steps of
    ``vgpr_granule``; ``vgprs_per_wavefront``: the most that one may use. ``accumulation_vgprs``: a second file of as
    many for matrix instructions. The same for scalar registers, of which VLIW chips have none. A register of a VLIW
    chip is 128 bits wide.
    """

    vgprs: int = _number("registers", 16, 4096)
    vgpr_granule: int = _number("registers", 1, 64)
    vgprs_per_wavefront: int = _number("registers", 16, 1024)
    accumulation_vgprs: int = _number("registers", 0, 1024, 0)
    sgprs: int = _number("registers", 0, 8192, 0, only="gcn")
    sgpr_granule: int = _number("registers", 1, 128, 1, only="gcn")
    sgprs_per_wavefront: int = _number("registers", 0, 128, 0, only="gcn")


@dataclass(frozen=True)
class LocalMemory:
    """The local data share of a compute unit, and the global data share."""

    bytes: int = _number("bytes", 0, 1 << 20)
    work_group_bytes: int = _number("bytes", 0, 1 << 20)
    granule_bytes: int = _number("bytes", 1, 4096)
    banks: int = _number("", 1, 128, 32)
    bytes_per_cycle: int = _number("bytes per cycle", 1, 1024, 128)
    global_bytes: int = _number("bytes", 0, 1 << 20, 65_536)


@dataclass(frozen=True)
class Caches:
    """From the compute unit outwards: vector L1 of each, scalar and instruction cache of a few, L2 of all.

    A ``line`` is what a cache keeps under one tag; an L2's lies in one channel of memory, of 256 bytes in a row.
    Bytes are those of whole sets, of ``ways`` lines each, in each of ``l2_banks``; rates are those of one L1 and of one
    of ``l2_banks``. On VLIW chips the scalar cache is that of constants, and each shader engine has an instruction
    cache; ``vertex_bytes``: of the chip's cache for vertex fetches alone, 0 where they go the texture units' way;
    ``l2_replacement``: which line of a set goes, one of `REPLACEMENTS`.
    ``memory_side_bytes``: of a cache between the L2 and memory, with ``memory_side_banks``, one for each channel.
    ``compute_units_per_l1``: that share an L1 (VLIW chips only). ``l1_bank_conflicts``: whether lanes that read
    different words of one L1 bank wait for each other (RRZE-HPC, gpu-benches, gpu-strides, measured it on MI210;
    perftest's chips, up to Radeon VII, do not show it).
    """

    l1_bytes: int = _number("bytes", 0, 1 << 24)
    l2_bytes: int = _number("bytes", 0, 1 << 30)
    l2_banks: int = _number("", 1, 256)
    l1_line_bytes: int = _number("bytes", 64, 256, 64)
    l1_bytes_per_cycle: int = _number("bytes per cycle", 1, 1024, 64)
    l1_ways: int = _number("", 1, 256, 64)
    l2_line_bytes: int = _number("bytes", 64, 256, 64)
    l2_bank_bytes_per_cycle: int = _number("bytes per cycle", 1, 1024, 64)
    l2_ways: int = _number("", 1, 256, 16)
    l2_replacement: str = "least recent"
    scalar_bytes: int = _number("bytes", 0, 1 << 20, 16_384)
    instruction_bytes: int = _number("bytes", 0, 1 << 20, 32_768)
    compute_units_per_scalar_cache: int = _number("", 1, 64, 4)
    texture_units_per_compute_unit: int = _number("", 0, 64, 4)
    vertex_bytes: int = _number("bytes", 0, 1 << 20, 0, only="vliw")
    compute_units_per_l1: int = _number("", 1, 64, 1, only="vliw")
    l1_bank_conflicts: bool = False
    memory_side_bytes: int = _number("bytes", 0, 1 << 32, 0, only="gcn")
    memory_side_banks: int = _number("", 0, 256, 0, only="gcn")
    memory_side_ways: int = _number("", 1, 256, 16, only="gcn")
    memory_side_bytes_per_cycle: int = _number("bytes per cycle", 1, 1024, 64, only="gcn")


@dataclass(frozen=True)
class Features:
    """What a VLIW chip's machine code must reckon with; GCN chips have none of these figures.

    ``stack_entries``: of the control-flow stack, for all wavefronts of a SIMD; a wavefront's share is counted in
    entries of ``stack_elements_per_entry`` pushes. ``stack_entry_bug``: ALU_PUSH_BEFORE and its like fail at an
    entry's end, PUSH has to stand before the clause. ``loop_push_bug``: they fail inside nested loops.
    ``vertex_cache``: vertex fetches have a cache of their own, else they go the texture units' way.
    ``relative_addressing_bug``: the address register is written by MOVA_GPR_INT, and a write to a relative
    destination wants a NOP behind it. ``fused_doubles``: multiply-additions of doubles round once. ``bit_operations``:
    there are instructions for bit fields, counts and funnel
    shifts. ``alu_slots_per_clause``: 64-bit words, literals included; ``fetches_per_clause``. ``clause_temporaries``:
    registers that live as long as a clause. ``constant_buffers``, each of ``constant_buffer_elements`` 128-bit
    elements; ``constant_lines``: windows of 16 or 32 elements that a clause may open. ``textures`` and ``samplers``
    that a program may use, ``texture_texels`` a side. ``outputs``: colour outputs of a pixel shader.
    ``unordered_views``: RATs, 0 where memory is written through the one global buffer only. ``compute_shader``: there
    are work-groups. ``shared_local_memory``: a work-item writes where it likes in LDS, not only in its own part.
    ``texture_units`` and ``render_back_ends``: of the whole chip. ``wavefronts``: resident on the whole chip.
    ``flow_instructions``: control-flow instructions that a SIMD's sequencer has under way.
    ``export_buffer_elements``: of the export unit.
    """

    stack_entries: int = _number("", 1, 4096)
    stack_elements_per_entry: int = _number("", 1, 16)
    stack_entry_bug: bool = False
    loop_push_bug: bool = False
    relative_addressing_bug: bool = False
    bit_operations: bool = True
    fused_doubles: bool = True
    vertex_cache: bool = True
    compute_shader: bool = True
    shared_local_memory: bool = True
    alu_slots_per_clause: int = _number("", 1, 128, 128)
    fetches_per_clause: int = _number("", 1, 64, 16)
    clause_temporaries: int = _number("registers", 0, 8, 4)
    constant_buffers: int = _number("", 1, 32, 16)
    constant_buffer_elements: int = _number("", 1, 65_536, 4096)
    constant_lines: int = _number("", 1, 4, 4)
    textures: int = _number("", 1, 256, 128)
    samplers: int = _number("", 1, 32, 16)
    texture_texels: int = _number("", 1, 65_536, 16_384)
    outputs: int = _number("", 1, 12, 8)
    unordered_views: int = _number("", 0, 16, 12)
    texture_units: int = _number("", 1, 1024, 16)
    render_back_ends: int = _number("", 1, 64, 4)
    wavefronts: int = _number("", 1, 4096, 248)
    flow_instructions: int = _number("", 1, 8, 2)
    export_buffer_elements: int = _number("", 1, 4096, 128)

    @property
    def stream_texels(self) -> int:
        """A side of the largest texture where Brook+ streams are textures, before there were views; 0 elsewhere."""
        return 0 if self.unordered_views else self.texture_texels


@dataclass(frozen=True)
class Memory:
    """The board's memory: ``clock_mhz`` is the memory clock as its maker states it, ``bytes`` the size.

    ``mapping``: how addresses are dealt to channels, banks, rows and columns, one of `headwater.chips.dram.MAPPINGS`.
    The default is AMD's for linear surfaces (AMD, address library, egbaddrlib.cpp: banks above pipes).
    ``page_bytes``: what one translation of addresses covers, on GCN and CDNA; drivers make tables for fragments of up
    to 2 MiB (Linux, amdgpu_vm_pt.c), or for pages of 4 KiB, as the first ones for GCN did.
    """

    kind: str
    bus_bits: int = _number("bits", 8, 65_536)
    clock_mhz: float = _number("MHz", 1, 20_000)
    gigabytes_per_second: float = _number("GB/s", 0.1, 100_000)
    bytes: int = _number("bytes", 1 << 20, 1 << 50)
    mapping: str = MAPPINGS[0]
    page_bytes: int = _number("bytes", 4096, 1 << 30, 1 << 21, only="gcn")

    @property
    def dram(self) -> Dram:
        """How memory of its kind works."""
        return KINDS[self.kind]


@dataclass(frozen=True)
class Latencies:
    """Cycles from issue to use where nothing is in the way: what an access costs that ends at each level.

    ``memory_side_cycles``: where the memory-side cache has it. ``scalar_cycles``: of the scalar cache; the default is
    that of s_memtime, which takes the same way (gem5, pull request 1053, measured on Vega).
    """

    local_cycles: int = _number("cycles", 1, 10_000)
    l1_cycles: int = _number("cycles", 1, 10_000)
    l2_cycles: int = _number("cycles", 1, 10_000)
    memory_cycles: int = _number("cycles", 1, 100_000)
    scalar_cycles: int = _number("cycles", 1, 10_000, 41)
    memory_side_cycles: int = _number("cycles", 0, 100_000, 0, only="gcn")


@dataclass(frozen=True)
class Link:
    """The way to the host: PCI Express. ``copy_engines``: DMA engines of the board; with two, copies in both directions
    run at the same time. ``start_microseconds``: what timestamps around a kernel hold beside its wavefronts, and what
    lies between two kernels. Its default is fitted to vcopy on MI100 (ROCm, rocprofiler-compute), 19.2 µs."""

    pcie_generation: int = _number("", 1, 7)
    pcie_lanes: int = _number("", 1, 32, 16)
    copy_engines: int = _number("", 1, 16, 1)
    start_microseconds: float = _number("µs", 0, 1000, 6.0)


@dataclass(frozen=True)
class Chip:
    """A GPU board. ``name``: its own; ``chip``: the silicon's; ``target``: LLVM's processor.

    ``family``: "gcn", a compute unit with scalar and vector instructions, or "vliw", clauses of wide instructions.
    ``features`` is there for "vliw" only. ``file``: where the figures stand.
    """

    name: str
    chip: str
    family: Family
    generation: str
    target: str
    aliases: tuple[str, ...]
    compute: Compute
    rates: Rates
    registers: Registers
    local_memory: LocalMemory
    caches: Caches
    memory: Memory
    latencies: Latencies
    link: Link
    features: Features | None = None
    file: str = ""

    @cached_property
    def digest(self) -> str:
        """Of all figures, whatever the chip is called."""
        from headwater.base import cache

        return cache.key(repr(replace(self, name="", aliases=(), file="")))

    @property
    def stream_efficiency(self) -> float:
        """The part of the memory's bandwidth that a long copy reaches: refresh takes time, and the bus turns around for
        each batch of lines that are written."""
        memory, dram = self.memory, self.memory.dram
        per_ns = memory.gigabytes_per_second / max(1.0, memory.bus_bits / dram.channel_bits)
        moving = 2 * BATCH_LINES * self.caches.l2_line_bytes / per_ns
        return 1 / (1 / (1 - dram.refresh) + dram.turn_ns / moving)

    @property
    def is_vliw(self) -> bool:
        """Whether instructions are clauses of wide ones."""
        return self.family == VLIW

    @property
    def vliw(self) -> Features:
        """The `Features` of a VLIW chip; UsageError for others."""
        if self.features is None:
            raise UsageError(f"{self.name} is not a VLIW chip", hint="choose one from HD 2400 to HD 6970, as hd5870")
        return self.features

    @property
    def has_float64(self) -> bool:
        """Whether there is arithmetic in double precision."""
        return self.rates.float64_add > 0

    @property
    def lanes(self) -> int:
        """Lanes of all compute units; "stream processors", on VLIW chips times `Compute.vliw_width`."""
        compute = self.compute
        return compute.compute_units * compute.simds_per_compute_unit * compute.lanes_per_simd

    @property
    def float32_gflops(self) -> float:
        """Peak of fused or unfused multiply-additions in single precision, two operations each."""
        return 2e-3 * self.lanes * self.compute.vliw_width * self.compute.clock_mhz

    @property
    def float64_gflops(self) -> float:
        """Peak of multiply-additions in double precision."""
        return self.float32_gflops * self.rates.float64_fma
