"""Input: a row of the table and a chip. Output: the cycles that its instruction takes.

The table's cost column has the facts that depend on the operation alone; a chip's file has the rates. The analyzer and
the cycle model both ask here, and so agree.

Sources, by letter: [C] CLRX, documentation, "GCN instruction timings", whose DPFACTOR is 1 / `Rates.float64_add`; [P]
sebbbi, perftest, README: loads from the L1 (R9 390X, Fury, RX 480, Vega FE, Radeon VII); [S] RRZE-HPC, gpu-benches,
gpu-strides, MI210; [L] LLVM, AMDGPUTargetTransformInfo, getQuarterRateInstrCost; [M] AMD, matrix instruction
calculator. The table's columns come from [C] (vector, scalar and LDS instructions), [M] (passes of matrix instructions)
and, for floating-point operations, from what AMD's performance counters SQ_INSTS_VALU_ADD, MUL, FMA and TRANS count
(AMD, MI200 performance counters and metrics), with minimum and maximum counted as additions; a fused multiply-addition
is two operations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from headwater.chips import Chip
    from headwater.isa.cost import Cost

UNITS: Final = ("VALU", "SALU", "SMEM", "VMEM", "LDS", "branch", "other")
"""Kinds of instructions that the hardware issues side by side, at most one of each kind in a cycle: AMD, Vega ISA
Reference Guide, "Instruction scheduling". The instruction buffer itself executes "other" instructions."""
PASS_CYCLES: Final = 4
"""Cycles of one pass of a matrix instruction [M]."""
MISSING_RATE_TURNS: Final = 16
"""Turns of an operation that the chip lacks (rate 0), such as one of double precision: its code cannot run there."""
LEAST_INT64_RATE: Final = 0.25
"""64-bit shifts and comparisons run at the rate of additions in double precision [C], but never below a quarter [L]."""
_SHARES: Final = {"full": 1.0, "half": 0.5, "quarter": 0.25}
# Cycles of the address unit for 64 lanes, by dwords of each lane: lanes that access consecutive addresses, and others.
_CONSECUTIVE_CYCLES: Final = (4, 4, 16, 16, 16)  # [P], [S] for doubles
_SCATTERED_CYCLES: Final = (16, 16, 16, 32, 18)  # [P]
_EIGHT_BYTES_BEFORE_GFX9: Final = 18  # [P]
# AMD, Graphics Cores Next Architecture, white paper: a compute unit's texture units filter four elements a cycle. They
# join no lanes' accesses to neighbours or to one address, as they do in buffers [P].
_IMAGE_CYCLES: Final = 16
_STORE_CYCLES, _CMPSWAP_CYCLES = 16, 32  # [C] BUFFER_STORE_*, BUFFER_ATOMIC_*
_DWORDS_OF_ADDRESS_TABLES: Final = 4


class AddressCycles(NamedTuple):
    """Cycles of a compute unit's address unit for one instruction whose lanes access ``consecutive`` addresses, or
    ``scattered`` ones."""

    consecutive: int
    scattered: int


def alu_cycles(cost: Cost, chip: Chip) -> int:
    """Cycles that a vector ALU instruction occupies its SIMD."""
    turn = chip.compute.turn_cycles
    if cost.rate == "matrix":
        return PASS_CYCLES * cost.number
    rates = chip.rates
    if cost.rate == "int64":
        rate = max(LEAST_INT64_RATE, rates.float64_add)
    else:
        rate = _SHARES[cost.rate] if cost.rate in _SHARES else getattr(rates, cost.rate)
    return max(turn, round(turn / rate)) if rate > 0 else MISSING_RATE_TURNS * turn


def scalar_cycles(cost: Cost, chip: Chip) -> int:
    """Cycles that a scalar ALU or scalar memory instruction or a branch occupies the scalar unit."""
    return round(chip.compute.turn_cycles / _SHARES[cost.rate])


def address_cycles(cost: Cost, nbytes: int, generation: int) -> AddressCycles:
    """Cycles of the address unit for a vector memory instruction of ``nbytes`` a lane; ``generation``: 6 to 9."""
    if cost.rate in ("atomic", "cmpswap", "store"):
        cycles = _CMPSWAP_CYCLES if cost.rate == "cmpswap" else _STORE_CYCLES
        return AddressCycles(cycles, cycles)
    if cost.rate == "image":
        return AddressCycles(_IMAGE_CYCLES, _IMAGE_CYCLES)
    dwords = min(_DWORDS_OF_ADDRESS_TABLES, max(1, nbytes // 4))
    if dwords == 2 and generation < 9:
        return AddressCycles(_EIGHT_BYTES_BEFORE_GFX9, _EIGHT_BYTES_BEFORE_GFX9)
    return AddressCycles(_CONSECUTIVE_CYCLES[dwords], _SCATTERED_CYCLES[dwords])
