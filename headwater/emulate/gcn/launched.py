"""What the emulator's checks, faults and statistics ask of a launch on a GCN chip, besides what they ask of any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from headwater.emulate.wave.launched import WavefrontLaunch
from headwater.native.faults import Extent

if TYPE_CHECKING:
    from headwater.emulate.gcn.dispatch import Abi
    from headwater.isa.gcn.objects import CodeObject, KernelObject


class ObservedGcnLaunch(WavefrontLaunch, Protocol):
    """A launch of a kernel of a code object."""

    code: CodeObject
    machine_kernel: KernelObject
    abi: Abi
    static_local_bytes: int
    """Bytes of local memory in front of its dynamic local arguments."""
    sizes: tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int, int]]
    """Global size, work-group size, offset."""

    def arguments_of(self, extents: Sequence[Extent]) -> list[Extent]:
        """The allocations that are the kernel's arguments."""
        ...
