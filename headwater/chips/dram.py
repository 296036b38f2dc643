"""Input: the kind of a board's memory. Output: how its DRAM works, from makers' data sheets.

Times are in nanoseconds, as data sheets state them, because they hardly depend on the clock. Sources, by letter: [H]
Hynix, H5GQ1H24AFR, 1-Gbit GDDR5, at 6 Gbit/s, as DRAMsim3 states its figures (configs/GDDR5_1Gb_x32.ini); [Q] Qimonda,
HYB18H512321AF, 512-Mbit GDDR3, table 39, at 700 MHz; [1] [2] JEDEC HBM and HBM2, as DRAMsim3 has them
(configs/HBM1_4Gb_x128.ini, HBM2_8Gb_x128.ini); [M] Micron, MT41J1G4-15E, DDR3-1333, as psiegl/sim-hmc has it
(include/cfg/bob_ddr3_1333.h). (e): an estimate, that of the nearest kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Dram:
    """A kind of memory. A *channel* has commands and a bus of ``channel_bits`` of its own and ``banks`` of rows of
    ``row_bytes``.

    ``row_ns``: between two activations of a bank (tRC); ``activation_ns``: of a channel, the longer of tRRD and a
    quarter of tFAW. ``turn_ns``: for which the bus is idle when it turns to writes and back to reads: latency of a
    read (CL) and tWTR. ``refresh``: the part of the time that refresh takes, tRFC over tREFI.
    """

    channel_bits: int
    banks: int
    row_bytes: int
    row_ns: float
    activation_ns: float
    turn_ns: float
    refresh: float


_GDDR5: Final = Dram(32, 16, 2048, 40.0, 6.0, 21.3, 65 / 7800)  # [H] tRC 60, tRRD 9, CL 24, tWTR 8 of 0.667 ns
_GDDR3: Final = Dram(32, 8, 2048, 43.0, 10.0, 22.9, 54 / 3900)  # [Q] tRC 30, tRRD 7, CL 11, tWTR 5 of 1.43 ns; (e) tRFC
_DDR3: Final = Dram(64, 8, 8192, 49.5, 7.5, 21.0, 160 / 7800)  # [M] tRC 33, tFAW 20, CL 9, tWTR 5 of 1.5 ns
_HBM: Final = Dram(128, 16, 2048, 48.0, 7.5, 20.0, 260 / 3900)  # [1] tRC 24, tFAW 15, CL 7, tWTR 3 of 2 ns
_HBM2: Final = Dram(64, 16, 1024, 48.0, 7.5, 20.0, 260 / 3900)  # [2] tRC 48, tFAW 30, CL 14, tWTR 6 of 1 ns
KINDS: Final[dict[str, Dram]] = {
    "DDR3": _DDR3,
    "GDDR3": _GDDR3,
    "GDDR4": _GDDR3,  # (e)
    "GDDR5": _GDDR5,
    "HBM": _HBM,
    "HBM2": _HBM2,
    "HBM2e": _HBM2,  # (e)
    "HBM3": Dram(32, 16, 1024, 48.0, 7.5, 20.0, 260 / 3900),  # (e), with its narrower channels
}
"""By the name that chips' files have in ``memory.kind``."""

MAPPINGS: Final = (
    "row column bank channel",
    "row column bank^row channel",
    "row bank column channel",
    "row bank^row column channel",
    "row bank row2 column channel^bank",
)
"""Ways to find a place by an address, from its high bits to its low ones; ``bank^row``: the bank's number is combined
with the row's low bits (Zhang et al., A permutation-based page interleaving scheme, 2000), ``channel^bank``: the
channel's with the bank's. ``row2``: the row's two lowest bits, the others of which come first."""
BATCH_LINES: Final = 16  # (f) writes that a channel collects: copies of BabelStream on HD 7970 and R9 Nano, rows open
