"""Input: a chip and machine code. Output: the cost of each instruction on that chip, as numbers for the engine.

Sources, by letter behind each figure: [C] CLRX, documentation, "GCN instruction timings"; [P] sebbbi, perftest, README:
loads from the L1 (R9 390X, Fury, RX 480, Vega FE, Radeon VII); [S] RRZE-HPC, gpu-benches, gpu-strides, MI210; [G] AMD,
Graphics Cores Next (GCN) Architecture; [V] AMD, Vega Instruction Set Architecture; [M] AMD, amd-lab-notes, Matrix
cores; [O] AMD Accelerated Parallel Processing, OpenCL Optimization Guide; [R] RRZE-HPC, gpu-benches, gpu-latency; [T]
Linux, radeon driver, radeon_vm.c and "add large PTE support for NI, SI and CIK" (2014).
(e): an estimate, nobody has published it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headwater.chips.checks import CODE_WAYS, LINE_BYTES
from headwater.chips.gcn_isas import traits_of
from headwater.chips.occupancy import Occupancy
from headwater.isa.gcn.cost import address_cycles, alu_cycles, scalar_cycles
from headwater.isa.gcn.model import Register
from headwater.timing.layout import CHIP, FLAGS, KINDS, MORE_FLAGS, OP, SEGMENT, Memory, filled
from headwater.timing.memory import dram_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.chips import Chip
    from headwater.emulate.watch.staging import Segment, Site
    from headwater.isa.gcn.model import Instruction
    from headwater.isa.gcn.objects import CodeObject

TAKEN_CYCLES: Final = 16  # [C] a branch that is taken, 4 if it is not
MASK_CYCLES: Final = 20  # [C] a scalar instruction that reads what a vector one wrote: 16 more
BARRIER_CYCLES: Final = 4  # (e)
# From a work-group's end to the first instruction of the next one in its place. Fitted to RRZE-HPC, gpu-benches,
# gpu-stream/mi100.txt, four rows of one or two work-groups a compute unit.
LAUNCH_CYCLES: Final = 220
WAVE_DISPATCH_CYCLES: Final = 1  # (e) [G] one wavefront a cycle and shader engine
QUEUE_CYCLES: Final = 64  # (e) instructions that wait for the address unit or the LDS without stopping their SIMD
WRITE_BUFFER_CYCLES: Final = 256  # (e) how long a line that leaves the L2 may be under way before others wait
INTERLEAVE_BYTES: Final = 256  # [O] "Channel conflicts": a channel changes every 256 bytes
TLB_ENTRIES, TLB_MISS_CYCLES = 64, 75  # [R] 60 to 90 cycles more from 64 to 128 MB on; fitted
# [T] a directory and tables of 8 bytes a page: those of 4 KiB pages no cache holds, so that both entries are read from
# memory, one after the other. Linear stores on Pitcairn reach 60 GB/s with such pages, and 125 with those of 64 KiB.
WALK_READS, LARGE_PAGE_BYTES = 2, 1 << 16
UNIFORM_CYCLES: Final = (4, 4, 4, 6, 8, 8, 8, 8)  # [P] all lanes one address, by dwords
# Conflicts of the L1's banks, of tags and of data, are counted in the trace as MI210 has them [S]: at most 64 cycles,
# those of lines among them. Whether chips before it have them, [P] does not tell, whose lanes read one line: 16 cycles,
# and a cycle for each line (e).
MOST_CYCLES, MOST_CYCLES_BEFORE = 64, 16
LINE_CYCLES, LINE_CYCLES_BEFORE = 0, 1

(_VALU, _SCALAR, _VMEM, _LDS, _BRANCH, _WAIT, _NOP, _BARRIER, _END) = range(len(KINDS))
WRITES, ATOMIC, GLC, MAKES_MASK, NEEDS_MASK, NEW_LINE, FLAT, RETURNS = (1 << n for n in range(len(FLAGS)))
_SMEM, _MATRIX, _INVALIDATES, _FORMATTED = (1 << n for n in range(len(MORE_FLAGS)))


def chip_numbers(chip: Chip, held: Occupancy) -> Memory:
    """The chip for the engine; ``held`` says how many work-groups a compute unit takes."""
    compute, caches, latencies, memory = chip.compute, chip.caches, chip.latencies, chip.memory
    banks = caches.l2_banks
    ways = CODE_WAYS["gcn"]
    large_pages = memory.page_bytes >= LARGE_PAGE_BYTES
    banked = caches.l1_bank_conflicts
    return filled(
        CHIP,
        {
            "units": compute.compute_units,
            "simds": compute.simds_per_compute_unit,
            "period": 1 << (compute.simds_per_compute_unit - 1).bit_length(),
            "engines": min(compute.shader_engines, compute.compute_units),
            "groups_per_unit": held.work_groups,
            "issue_cycles": chip.compute.turn_cycles,
            "taken_cycles": TAKEN_CYCLES,
            "mask_cycles": MASK_CYCLES,
            "barrier_cycles": BARRIER_CYCLES,
            "launch_cycles": LAUNCH_CYCLES,
            "wave_dispatch_cycles": WAVE_DISPATCH_CYCLES,
            "queue_cycles": QUEUE_CYCLES,
            "vm_counter": traits_of(chip.target).most_vmcnt,  # [V] s_waitcnt: 6 bits, 4 before
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
            **_channels(chip),
            "bank_bucket_bytes": 16 * caches.l2_bank_bytes_per_cycle,
            **dram_numbers(chip, INTERLEAVE_BYTES),
            "write_buffer_cycles": WRITE_BUFFER_CYCLES,
            "tlb_entries": TLB_ENTRIES,
            "page_line_bits": (memory.page_bytes // LINE_BYTES).bit_length() - 1,
            "tlb_miss_cycles": TLB_MISS_CYCLES if large_pages else WALK_READS * latencies.memory_cycles,
            "uniform_cycles": UNIFORM_CYCLES,
        },
    )


def _channels(chip: Chip) -> dict[str, int]:
    """How chunks of memory are dealt to channels, from "Channel conflicts" in [O]: by the address bits above a chunk's,
    and of 12 channels (HD 79XX) by these and a remainder of what is above. (e): of other GDDR5, as on HD 77XX and 78XX,
    and that those of HBM are scrambled."""
    channels = chip.caches.memory_side_banks or chip.caches.l2_banks
    scrambled = chip.memory.kind.startswith("HBM") or channels & (channels - 1) != 0
    return {
        "channel_hash": max(1, channels.bit_length() - 1) if scrambled else 0,
        "channel_thirds": int(channels % 3 == 0 and (channels // 3).bit_count() == 1),
    }


class Table:
    """The instructions of a traced kernel for the engine: ``ops`` (`OP`), ``segments`` (`SEGMENT`), and each op's
    ``instructions`` and their ``addresses`` in the same order. ``base``: where the code lies for the trace."""

    def __init__(
        self, segments: Sequence[Segment], sites: Sequence[Site], code: CodeObject, chip: Chip, base: int
    ) -> None:
        self.instructions = [code.instruction(address) for segment in segments for address in segment.addresses]
        self.addresses = [instruction.address for instruction in self.instructions]
        self.ops = np.zeros(len(self.instructions), OP.dtype)
        self.segments = np.zeros(len(segments), SEGMENT.dtype)
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
                instruction = self.instructions[at]
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
        name, cost, kind = row.name, row.cost, row.cost.unit
        writes = _scalars(d.register for d in instruction.dests)
        reads = _scalars(s.value for s in instruction.sources) | (3 << 106 if "vcc" in name else 0)
        op["cycles"] = chip.compute.turn_cycles
        op["sites"] = len(own)
        op["site"] = own[0] if own else 0
        if kind == "VALU":
            op["kind"] = _VALU
            if cost.rate == "matrix":
                op["more"] = _MATRIX
                op["other"] = alu_cycles(cost, chip)
            else:
                op["cycles"] = alu_cycles(cost, chip)
            if writes:
                op["flags"] |= MAKES_MASK
            return made | writes
        if reads & made:
            op["flags"] |= NEEDS_MASK
        if kind == "branch":
            op["kind"] = _BRANCH
        elif kind == "other" or row.encoding == "SOPP":
            _internal(op, instruction, chip)
        elif kind in ("SALU", "SMEM"):
            op["kind"], op["more"] = _SCALAR, _SMEM if kind == "SMEM" else 0
            op["cycles"] = scalar_cycles(cost, chip)
        elif kind == "LDS":
            op["kind"], op["other"] = _LDS, cost.number
        else:
            _vector_memory(op, instruction, own, sites, chip)
        return made & ~writes


def _scalars(values: Any) -> int:
    bits = 0
    for value in values:
        if isinstance(value, Register) and value.file == "s":
            bits |= ((1 << value.dwords) - 1) << value.index
    return bits


def _formatted_dwords(instruction: Instruction) -> int:
    """Registers of a lane that an image or formatted buffer instruction fills or stores; its sites are of all sizes
    that elements may have."""
    data, dest = instruction.source("DATA"), instruction.dest("D")
    register = data.value if data is not None else dest.register if dest is not None else None
    return min(4, register.dwords) if isinstance(register, Register) else 1


def _internal(op: Any, instruction: Instruction, chip: Chip) -> None:
    from headwater.isa.gcn.printer import waitcnt_fields

    name, simm = instruction.row.name, instruction.fields.get("simm16", 0)
    op["kind"] = _NOP
    if name == "s_waitcnt":
        op["kind"] = _WAIT
        traits = traits_of(chip.target)
        vm, exp, lgkm = waitcnt_fields(simm, traits)
        most = traits.most_vmcnt
        op["vm"], op["exp"], op["lgkm"] = 255 if vm >= most else vm, exp, 255 if lgkm >= 15 else lgkm
    elif name == "s_barrier":
        op["kind"] = _BARRIER
    elif "exit" in instruction.row.flags:
        op["kind"] = _END
    elif name == "s_nop":
        op["cycles"] = min(255, chip.compute.turn_cycles * ((simm & 15) + 1))  # [V]
    elif name == "s_sleep":
        op["cycles"] = min(255, 64 * (simm & 127))  # [V] about 64 cycles for each


def _vector_memory(op: Any, instruction: Instruction, own: list[int], sites: Sequence[Site], chip: Chip) -> None:
    cost = instruction.row.cost
    op["kind"] = _VMEM
    site = sites[own[0]] if own else None
    dwords = min(4, max(1, site.nbytes // 4)) if site is not None else 1
    op["more"] = dwords << 4
    if site is None:
        op["more"] |= _INVALIDATES if cost.rate == "invalidate" else 0
        return
    if any(sites[n].kind == "flat" for n in own) or instruction.row.encoding == "FLAT":
        op["flags"] |= FLAT
    if site.atomic:
        op["flags"] |= ATOMIC | WRITES | (RETURNS if instruction.dests else 0)
    elif site.writes:
        op["flags"] |= WRITES
    elif instruction.fields.get("glc", 0):
        op["flags"] |= GLC
    nbytes = site.nbytes
    if instruction.row.encoding == "MIMG" or "format" in instruction.row.flags:
        dwords = _formatted_dwords(instruction)
        op["more"], nbytes = dwords << 4 | _FORMATTED, 4 * dwords
    op["cycles"], op["other"] = address_cycles(cost, nbytes, traits_of(chip.target).generation)
