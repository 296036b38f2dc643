"""A chip and machine code pass in; what each instruction costs on it, as numbers for the engine, passes out.

Sources, by letter behind each figure: [C] CLRX, documentation, "GCN instruction timings"; [P] sebbbi, perftest, README:
loads from the L1 (R9 390X, Fury, RX 480, Vega FE, Radeon VII); [S] RRZE-HPC, gpu-benches, gpu-strides, MI210; [G] AMD,
Graphics Cores Next (GCN) Architecture; [V] AMD, Vega Instruction Set Architecture; [M] AMD, amd-lab-notes, Matrix
cores; [O] AMD Accelerated Parallel Processing, OpenCL Optimization Guide; [R] RRZE-HPC, gpu-benches, gpu-latency.
(e): an estimate, nobody has published it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headwater.analyze.occupancy import Occupancy
from headwater.chips.checks import CODE_WAYS, LINE_BYTES
from headwater.isa.gcn.classes import kind_of
from headwater.isa.gcn.model import ISA_OF_TARGET, Register
from headwater.timing.layout import CHIP, OP, SEGMENT, Memory, filled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.chips import Chip
    from headwater.emulate.staging import Segment, Site
    from headwater.isa.gcn.model import Instruction

TAKEN_CYCLES: Final = 16  # [C] a branch that is taken, 4 if it is not
MASK_CYCLES: Final = 20  # [C] a scalar instruction that reads what a vector one wrote: 16 more
BARRIER_CYCLES: Final = 4  # (e)
WAVE_DISPATCH_CYCLES: Final = 1  # (e) [G] one wavefront a cycle and shader engine
QUEUE_CYCLES: Final = 64  # (e) instructions that wait for the address unit or the LDS without stopping their SIMD
WRITE_BUFFER_CYCLES: Final = 256  # (e) how long a line that leaves the L2 may be under way before others wait
INTERLEAVE_BYTES: Final = 256  # [O] "Channel conflicts": a channel changes every 256 bytes
TLB_ENTRIES, PAGE_BYTES, TLB_MISS_CYCLES = 64, 1 << 21, 75  # [R] 60 to 90 cycles more from 64 to 128 MB on; fitted
UNIFORM_CYCLES: Final = (4, 4, 4, 6, 8, 8, 8, 8)  # [P] all lanes one address, by dwords
# Cycles of the address unit for 64 lanes by dwords of each: lanes that follow each other, and others. Eight bytes take
# 18 before GFX9 [P]; [S] agrees for doubles.
LINEAR_CYCLES: Final = (4, 4, 16, 16, 16)  # [P]
OTHER_CYCLES: Final = (16, 16, 16, 32, 18)  # [P]
OLD_EIGHT_BYTES: Final = 18  # [P]
# Conflicts of the L1's banks, of tags and of data, are counted in the trace as MI210 has them [S]: at most 64 cycles,
# those of lines among them. Whether chips before it have them, [P] does not tell, whose lanes read one line: 16 cycles,
# and a cycle for each line (e).
MOST_CYCLES, MOST_CYCLES_BEFORE = 64, 16
LINE_CYCLES, LINE_CYCLES_BEFORE = 0, 1
STORE_CYCLES, CMPSWAP_CYCLES = 16, 32  # [C] BUFFER_STORE_*, BUFFER_ATOMIC_*
LDS_WRITE_CYCLES: Final = {1: 4, 2: 4, 4: 4, 8: 8, 12: 10, 16: 10}  # [C] throughput of DS_WRITE_*
LDS_ATOMIC_CYCLES: Final = {4: 4, 8: 6}  # [C] DS_ADD_*; DS_CMPST_* are 6 and 10
MATRIX_PASSES: Final = (("32x32", 16), ("16x16", 8), ("4x4x4f64", 4), ("4x4", 2))  # [M]

(_VALU, _SCALAR, _VMEM, _LDS, _BRANCH, _WAIT, _NOP, _BARRIER, _END) = range(9)
WRITES, ATOMIC, GLC, MAKES_MASK, NEEDS_MASK, NEW_LINE, FLAT, RETURNS = (1 << n for n in range(8))
_SMEM, _MATRIX, _INVALIDATES = 1, 2, 4

_TRANSCENDENTAL: Final = ("v_rcp", "v_rsq", "v_sqrt", "v_exp", "v_log", "v_sin", "v_cos")
_WIDE_PRODUCTS: Final = ("v_mul_lo_u32", "v_mul_lo_i32", "v_mul_hi_", "v_mad_u64", "v_mad_i64", "v_qsad", "v_mqsad")
_WIDE_DIVISIONS: Final = ("v_div_fixup_f32", "v_div_fmas_f32", "v_div_scale_f32")
_SLOW_DOUBLES: Final = ("v_fma_f64", "v_mul_f64", "v_div_fmas_f64", "v_rcp", "v_rsq", "v_sqrt", "v_trig_preop")


def chip_numbers(chip: Chip, held: Occupancy) -> Memory:
    """The chip for the engine; ``held`` says how many work-groups a compute unit takes."""
    compute, caches, memory, latencies = chip.compute, chip.caches, chip.memory, chip.latencies
    clock_hz = compute.clock_mhz * 1e6
    banks = caches.l2_banks
    per_cycle = memory.gigabytes_per_second * 1e9 * memory.efficiency / clock_hz / banks
    ways = CODE_WAYS["gcn"]
    banked = ISA_OF_TARGET.get(chip.target) == "gfx90a"
    return filled(
        CHIP,
        {
            "units": compute.compute_units,
            "simds": compute.simds_per_compute_unit,
            "period": 1 << (compute.simds_per_compute_unit - 1).bit_length(),
            "engines": min(compute.shader_engines, compute.compute_units),
            "groups_per_unit": held.work_groups,
            "issue_cycles": _period(chip),
            "taken_cycles": TAKEN_CYCLES,
            "mask_cycles": MASK_CYCLES,
            "barrier_cycles": BARRIER_CYCLES,
            "wave_dispatch_cycles": WAVE_DISPATCH_CYCLES,
            "queue_cycles": QUEUE_CYCLES,
            "vm_counter": 63 if _generation(chip) >= 9 else 15,  # [V] s_waitcnt: 6 bits, 4 before
            "address_cycles_most": MOST_CYCLES if banked else MOST_CYCLES_BEFORE,
            "line_cycles": LINE_CYCLES if banked else LINE_CYCLES_BEFORE,
            "local_cycles": latencies.local_cycles,
            "scalar_cycles": latencies.scalar_cycles,
            "l1_cycles": latencies.l1_cycles,
            "l2_cycles": latencies.l2_cycles,
            "memory_more_cycles": latencies.memory_cycles - latencies.l2_cycles,
            "l1_sets": caches.l1_bytes // (caches.l1_line_bytes * caches.l1_ways),
            "l1_ways": caches.l1_ways,
            "l1_line_shift": (caches.l1_line_bytes // LINE_BYTES).bit_length() - 1,
            "l1_bytes_per_cycle": caches.l1_bytes_per_cycle,
            "scalar_sets": caches.scalar_bytes // (LINE_BYTES * ways),
            "scalar_ways": ways,
            "code_sets": caches.instruction_bytes // (LINE_BYTES * ways),
            "code_ways": ways,
            "units_per_scalar_cache": caches.compute_units_per_scalar_cache,
            "l2_sets": caches.l2_bytes // (banks * caches.l2_line_bytes * caches.l2_ways),
            "l2_ways": caches.l2_ways,
            "l2_banks": banks,
            "l2_line_bytes": caches.l2_line_bytes,
            "interleave_line_bits": (INTERLEAVE_BYTES // LINE_BYTES).bit_length() - 1,
            "channel_hash": banks.bit_length() - 1 if banks & (banks - 1) == 0 else 0,  # (e)
            "bank_bucket_bytes": 16 * caches.l2_bank_bytes_per_cycle,
            "channels": banks,
            "channel_bucket_sixteenths": max(1, round(256 * per_cycle)),
            "write_buffer_cycles": WRITE_BUFFER_CYCLES,
            "tlb_entries": TLB_ENTRIES,
            "page_line_bits": (PAGE_BYTES // LINE_BYTES).bit_length() - 1,
            "tlb_miss_cycles": TLB_MISS_CYCLES,
            "uniform_cycles": UNIFORM_CYCLES,
        },
    )


def _generation(chip: Chip) -> int:
    return int(ISA_OF_TARGET.get(chip.target, "gfx9")[3])


def _period(chip: Chip) -> int:
    """Cycles in which a SIMD starts one instruction, and after which it has its turn again."""
    return max(1, chip.compute.wavefront_size // chip.compute.lanes_per_simd)


def valu_cycles(name: str, types: Sequence[str], chip: Chip) -> int:
    """Cycles that a vector instruction takes its SIMD."""
    rates = chip.rates
    rate: float = 1
    if "f64" in types:
        rate = rates.float64_fma if name.startswith(_SLOW_DOUBLES) else rates.float64_add
    elif name.startswith(_WIDE_PRODUCTS):
        rate = rates.int32_multiply
    elif name.startswith(_TRANSCENDENTAL) or name.startswith(_WIDE_DIVISIONS):
        rate = rates.transcendental
    elif name == "v_fma_f32":
        rate = rates.float32_fma
    elif name.endswith(("_b64", "_i64", "_u64")) and "sh" in name:
        rate = max(
            0.25, rates.float64_add
        )  # [C] 64-bit shifts go the way of doubles; LLVM's cost model: at most 4 times
    elif name == "v_swap_b32":
        rate = 0.5  # [C]
    return max(_period(chip), round(_period(chip) / rate)) if rate > 0 else 16 * _period(chip)


class Table:
    """The instructions of a traced kernel for the engine: ``ops`` (`OP`), ``segments`` (`SEGMENT`), and each op's
    ``instructions`` and their ``addresses`` in the same order."""

    def __init__(
        self, segments: Sequence[Segment], sites: Sequence[Site], decoded: dict[int, Instruction], chip: Chip, base: int
    ) -> None:
        self.instructions = [decoded[address] for segment in segments for address in segment.addresses]
        self.addresses = [instruction.address for instruction in self.instructions]
        self.ops = np.zeros(len(self.instructions), OP)
        self.segments = np.zeros(len(segments), SEGMENT)
        of_instruction: dict[int, list[int]] = {}
        for number, site in enumerate(sites):
            of_instruction.setdefault(site.address, []).append(number)
        begins = {segment.addresses[0]: n for n, segment in enumerate(segments) if segment.addresses}
        at = 0
        for number, segment in enumerate(segments):
            row = self.segments[number]
            row["first"], row["end"] = at, at + len(segment.addresses)
            last = self.instructions[row["end"] - 1] if segment.addresses else None
            row["falls_to"] = begins.get(last.address + last.size_bytes, -1) if last is not None else -1
            before, made = -1, 0
            for address in segment.addresses:
                instruction = decoded[address]
                made = self._fill(self.ops[at], instruction, of_instruction.get(address, []), sites, chip, made)
                line = (base + address) // LINE_BYTES
                self.ops[at]["line"] = line
                if line != before:
                    self.ops[at]["flags"] |= NEW_LINE
                before = line
                at += 1

    @staticmethod
    def _fill(op: Any, instruction: Instruction, own: list[int], sites: Sequence[Site], chip: Chip, made: int) -> int:
        """Fill in one op; ``made``: scalar registers that vector instructions wrote last, before and after."""
        row = instruction.row
        name, kind = row.name, kind_of(row)
        period = _period(chip)
        writes = _scalars(d.register for d in instruction.dests)
        reads = _scalars(s.value for s in instruction.sources) | (3 << 106 if "vcc" in name else 0)
        op["cycles"] = period
        op["sites"] = len(own)
        op["site"] = own[0] if own else 0
        if kind == "VALU":
            op["kind"] = _VALU
            op["cycles"] = valu_cycles(name, [o.type for o in row.operands], chip)
            if name.startswith("v_mfma"):
                op["more"] = _MATRIX
                op["other"] = 4 * next((n for key, n in MATRIX_PASSES if key in name), 16)
            if writes:
                op["flags"] |= MAKES_MASK
            return made | writes
        if reads & made:
            op["flags"] |= NEEDS_MASK
        if kind == "branch":
            op["kind"] = _BRANCH
        elif kind == "other" or row.encoding == "SOPP":
            _internal(op, instruction, chip)
        elif kind == "SALU":
            op["kind"] = _SCALAR
            op["cycles"] = 2 * period if "saveexec" in name or name.startswith("s_setreg") else period  # [C]
        elif kind == "SMEM":
            op["kind"], op["more"] = _SCALAR, _SMEM
            wide = 4 if name.endswith("x16") else 2 if name.endswith("x8") else 1
            op["cycles"] = 4 * wide  # [C]
        elif kind == "LDS":
            _lds(op, name, own, sites)
        else:
            _vector_memory(op, instruction, own, sites, chip)
        return made & ~writes


def _scalars(values: Any) -> int:
    bits = 0
    for value in values:
        if isinstance(value, Register) and value.file == "s":
            bits |= ((1 << value.dwords) - 1) << value.index
    return bits


def _internal(op: Any, instruction: Instruction, chip: Chip) -> None:
    from headwater.isa.gcn.printer import waitcnt_fields

    name, simm = instruction.row.name, instruction.fields.get("simm16", 0)
    op["kind"] = _NOP
    if name == "s_waitcnt":
        op["kind"] = _WAIT
        vm, exp, lgkm = waitcnt_fields(simm, ISA_OF_TARGET[chip.target])
        most = 63 if _generation(chip) >= 9 else 15
        op["vm"], op["exp"], op["lgkm"] = 255 if vm >= most else vm, exp, 255 if lgkm >= 15 else lgkm
    elif name == "s_barrier":
        op["kind"] = _BARRIER
    elif name.startswith("s_endpgm"):
        op["kind"] = _END
    elif name == "s_nop":
        op["cycles"] = min(255, _period(chip) * ((simm & 15) + 1))  # [V]
    elif name == "s_sleep":
        op["cycles"] = min(255, 64 * (simm & 127))  # [V] about 64 cycles for each


def _lds(op: Any, name: str, own: list[int], sites: Sequence[Site]) -> None:
    op["kind"] = _LDS
    nbytes = sites[own[0]].nbytes if own else 4
    if own and sites[own[0]].atomic:
        cost = LDS_ATOMIC_CYCLES.get(nbytes, 6)
        op["other"] = {4: 6, 8: 10}.get(nbytes, 10) if "cmpst" in name else cost  # [C]
    elif own and sites[own[0]].writes:
        op["other"] = LDS_WRITE_CYCLES.get(nbytes, 10)
    else:
        op["other"] = max(2, nbytes // 2)  # [C] DS_READ_*: 128 bytes a cycle


def _vector_memory(op: Any, instruction: Instruction, own: list[int], sites: Sequence[Site], chip: Chip) -> None:
    name = instruction.row.name
    op["kind"] = _VMEM
    site = sites[own[0]] if own else None
    dwords = min(4, max(1, site.nbytes // 4)) if site is not None else 1
    op["more"] = dwords << 4
    glc = bool(instruction.fields.get("glc", 0))
    if site is None:
        op["more"] |= _INVALIDATES if "inv" in name else 0
        return
    if any(sites[n].kind == "flat" for n in own) or instruction.row.encoding == "FLAT":
        op["flags"] |= FLAT
    linear, other = LINEAR_CYCLES[dwords], OTHER_CYCLES[dwords]
    if dwords == 2 and _generation(chip) < 9:
        linear = other = OLD_EIGHT_BYTES
    if site.atomic:
        linear = other = CMPSWAP_CYCLES if "cmpswap" in name else STORE_CYCLES
        op["flags"] |= ATOMIC | WRITES | (RETURNS if instruction.dests else 0)
    elif site.writes:
        linear = other = STORE_CYCLES
        op["flags"] |= WRITES
    elif glc:
        op["flags"] |= GLC
    op["cycles"], op["other"] = linear, other


def table(segments: Sequence[Segment], sites: Sequence[Site], image: bytes, isa: str, chip: Chip, base: int) -> Table:
    """From a trace's tables and its code; ``base``: where the code lies for the trace."""
    from headwater.isa.gcn.decode import decode

    decoded = {a: decode(image, a, isa) for segment in segments for a in segment.addresses}
    return Table(segments, sites, decoded, chip, base)
