"""What the emulator's checks, faults and statistics know of a launch: its memory, and what they ask of its sizes and
code. `headwater.runtime` makes launches; nothing here starts one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from headwater.base.arrays import Array
from headwater.emulate.wave import layout
from headwater.native.faults import Extent
from headwater.native.pool import Task

if TYPE_CHECKING:
    from headwater.chips import Chip


class SimulatedTask(Task):
    """A task with what only emulation has: the error record, the table of allocations, the buffer of printf."""

    __slots__ = ("constants", "extents", "hostcalls", "images", "inputs", "own", "printed", "printf", "record", "table")

    def __init__(self, block: Array, args_bytes: int) -> None:
        super().__init__(block, args_bytes)
        self.record = np.zeros(layout.FAULT.size_bytes // 8, np.uint64)
        self.table: Array = np.zeros(0, np.uint64)
        self.extents: list[Extent] = []
        self.printf: Array | None = None
        self.hostcalls: Any = None
        """What answers calls to the host (`headwater.runtime.gcn.hostcalls.Hostcalls`), if the kernel may make any."""
        self.printed: list[str] = []
        """What code for checks has printed of its findings (`headwater.opencl.check_findings`)."""
        self.images: dict[tuple[int, bool], Any] = {}
        """Image arguments (`headwater.runtime.gcn.images.BoundImage`), by their
        `headwater.runtime.host.arguments.image_key`."""
        self.own: dict[str, Array] = {}
        """Further memory that the kernel reads, by what a message calls it."""
        self.inputs: Any = None
        """Of a VLIW chip's launch, its `headwater.runtime.vliw.launch.Inputs`."""
        self.constants: list[tuple[Any, Array]] = []
        """Of such a launch, constant buffers (`headwater.runtime.vliw.launch.View`) and the copies that it reads."""

    def release(self) -> None:
        super().release()
        if self.hostcalls is not None:
            self.hostcalls.stop()
            self.hostcalls = None
        self.inputs = self.printf = None
        self.images.clear()
        self.constants.clear()


class WavefrontLaunch(Protocol):
    """A launch on a chip of either family. ``kernel`` has the program's source and file name."""

    kernel: Any
    native: Any
    tickets: int
    """Threads that run it, at most."""
    waves: int
    """Wavefronts of a full work-group."""
    total: int
    """Work-groups."""
    work_dim: int

    @property
    def group_bytes(self) -> int:
        """Bytes of local memory of a work-group."""
        ...

    @property
    def chip(self) -> Chip: ...
    @property
    def local_banks(self) -> int: ...
