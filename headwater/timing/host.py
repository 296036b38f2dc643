"""Input: a launch's buffers and a chip's link. Output: how long copies and the launch itself take.

Data goes to the board before the kernel and back behind it, by the DMA engine over PCI Express. Memory that the driver
has not pinned is copied twice, first to memory that is (AMD Accelerated Parallel Processing, OpenCL Programming
Guide, "Data transfer optimization"). Programs of many launches: `headwater.timing.system`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from headwater.chips import Chip

LANE_BYTES_PER_SECOND: Final = {1: 0.25e9, 2: 0.5e9, 3: 0.985e9, 4: 1.969e9, 5: 3.938e9, 6: 7.563e9, 7: 15.125e9}
"""Of each generation's lane in one direction: PCI-SIG, PCI Express Base Specification."""
LINK_EFFICIENCY: Final = 0.67
"""Fitted: SHOC, BusSpeedDownload on HD 5870, 5.39 of 8 GB/s."""
STAGING_BYTES_PER_SECOND: Final = 6e9
"""An estimate: one core of the time copying from memory to memory."""
LAUNCH_SECONDS: Final = {"gcn": 77e-6, "vliw": 86e-6}
"""From submission to the start of a kernel: SHOC, QueueDelay, SSDelay (ocl_queue) on FirePro W9100, 86.3 µs, and on HD
5870, 95.4 µs. These are means of four launches at once, which wait for each other: for 1.5 `start_microseconds`."""
COMMAND_BUFFER_BYTES: Final = 65_536
"""Of commands that the driver hands over at once: Linux, radeon driver, radeon_cs.c, 16 × 1024 dwords."""
CALL_BYTES: Final = 1024
"""An estimate: commands that set up and start a kernel, beside itself and its constants."""


@dataclass(frozen=True, slots=True)
class Host:
    """What a launch costs beside the kernel: ``bytes_in`` and ``bytes_out`` over the link, once each, and the seconds
    that this takes from pinned memory. ``staging_seconds``: more if memory is not pinned; ``launch_seconds``: of the
    driver, for each launch. ``command_bytes``: what has to be in the command queue for it."""

    bytes_in: int
    bytes_out: int
    in_seconds: float
    out_seconds: float
    staging_seconds: float
    launch_seconds: float
    command_bytes: int = CALL_BYTES

    def seconds(self, kernel_seconds: float, *, pinned: bool = True) -> float:
        """Of the whole: copies, launch and kernel one after the other."""
        copies = self.in_seconds + self.out_seconds + (0.0 if pinned else self.staging_seconds)
        return copies + self.launch_seconds + kernel_seconds


def link_bytes_per_second(chip: Chip) -> float:
    """What the board's link really moves in one direction."""
    return LANE_BYTES_PER_SECOND[chip.link.pcie_generation] * chip.link.pcie_lanes * LINK_EFFICIENCY


def start_seconds(chip: Chip) -> float:
    """What timestamps around a kernel hold beside its wavefronts, and what lies between two kernels."""
    return chip.link.start_microseconds * 1e-6


def packages(command_bytes: int) -> int:
    """In how many packages commands go to the board: those that the buffer cannot hold are packed anew (AMD, Technical
    Overview, ATI Stream Computing, 3.3.7)."""
    return max(1, -(-command_bytes // COMMAND_BUFFER_BYTES))


def host(chip: Chip, bytes_in: int, bytes_out: int, code_bytes: int = 0) -> Host:
    """What it costs to bring so many bytes to the chip and back. ``code_bytes``: of the kernel and its constants, which
    are elements of the command queue (the same, 2.6.2)."""
    per_second = link_bytes_per_second(chip)
    staging = (bytes_in + bytes_out) / STAGING_BYTES_PER_SECOND
    copies = bytes_in / per_second, bytes_out / per_second
    return Host(bytes_in, bytes_out, *copies, staging, LAUNCH_SECONDS[chip.family], CALL_BYTES + code_bytes)
