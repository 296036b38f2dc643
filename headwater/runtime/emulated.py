"""What launches on simulated chips have in common, GCN's and VLIW ones': `EmulatedLaunch`, a `CpuLaunch` of the
emulator's native code, so that threads, queues, time limits and Ctrl-C are the cpu device's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headwater.emulate.watch.hooks import wanted
from headwater.emulate.wave import layout
from headwater.emulate.wave.launched import SimulatedTask
from headwater.errors import KernelFault, ResourceError
from headwater.native import launch_block
from headwater.native.pool import Task
from headwater.runtime.cpu.launch import CpuLaunch

if TYPE_CHECKING:
    from headwater.chips import Chip
    from headwater.emulate.watch.hooks import Watcher
    from headwater.runtime.cpu.events import CpuEvent
    from headwater.runtime.interface import Queue

_MEMORY_LIMIT = 1 << 31

_LEAST_ALIGNMENT, _MOST_ALIGNMENT = 16, 128
"""Bytes: what narrower elements get, and what long16 wants, the largest type."""


def _alignment(element_bytes: int) -> int:
    """Of a local argument whose elements have so many bytes; 0 if it is not known. A type's size is a multiple of its
    alignment, a power of two."""
    if not element_bytes:
        return _MOST_ALIGNMENT
    return min(max(element_bytes & -element_bytes, _LEAST_ALIGNMENT), _MOST_ALIGNMENT)


class EmulatedKernel(NamedTuple):
    """What `CpuLaunch` wants to know of a kernel's native code (`headwater.runtime.cpu.launch.HostKernel`)."""

    library: Path
    symbol: str
    local_size: tuple[int, int, int]
    arg_offsets: tuple[int, ...]
    args_bytes: int
    static_local_bytes: int
    frame_bytes: int
    unbounded: bool = True
    formats: tuple[str, ...] = ()
    streaming: tuple[int, ...] = ()
    fetches_ahead: bool = False
    straight: bool = False
    traps: bool = False
    fits: str = ""
    dynamic_local_bytes: int = 0
    bounds: None = None  # every access is tested where it is made


_TAKES_A_LOCK = re.compile(r"\batom(?:ic)?_(?:cmpxchg|xchg|compare_exchange|exchange|flag_test)|_cmp_xchg|_read_xchg")
"""The operations by which spin locks are taken, in OpenCL C and in IL."""
_IN_STEP = (
    "if it takes a lock in a loop: the work-items of a wavefront run in lockstep, so the one that has the lock waits "
    "for those that still try to take it, and never releases it; do the work in a branch inside the loop, or let one "
    "work-item of each wavefront take the lock"
)


class EmulatedLaunch(CpuLaunch):
    """A launch of native code that emulates a kernel's wavefronts; ``native`` has what `layout.scratch_bytes` asks."""

    native: Any

    def _too_long(self, time_limit: float) -> KernelFault:
        fault = super()._too_long(time_limit)
        if _TAKES_A_LOCK.search(getattr(self.kernel, "program_source", "") or ""):
            fault.hint = f"{_IN_STEP}; else: {fault.hint}"
        return fault

    watcher: Watcher | None
    waves: int

    @property
    def chip(self) -> Chip:
        """The chip that is simulated."""
        raise NotImplementedError

    @property
    def local_limit_bytes(self) -> int:
        """LDS that a work-group may have."""
        return self.chip.local_memory.work_group_bytes

    @property
    def private_lane_bytes(self) -> int:
        """Private (scratch) memory of a lane."""
        raise NotImplementedError

    @property
    def local_banks(self) -> int:
        """Banks of the chip's LDS."""
        return self.chip.local_memory.banks

    def watched(self, watcher: Watcher) -> EmulatedLaunch:
        """The same launch, of code that tells ``watcher`` what happens."""
        raise NotImplementedError

    def __call__(self, args: Sequence[Any], queue: Queue | None = None, time_limit: float | None = None) -> CpuEvent:
        # Callers keep launches; who watches may come and go.
        watcher = wanted() if self.watcher is None else None
        if watcher is not None:
            return self.watched(watcher)(args, queue, time_limit)
        event = super().__call__(args, queue, time_limit)
        if self.watcher is not None and queue is not None:
            # A watcher follows one launch at a time, and the next may be of this one. The event keeps the error.
            with suppress(Exception):
                event.wait()
        return event

    def _new_task(self) -> Task:
        return SimulatedTask(self.block, self.host.args_bytes)

    def place_locals(self, sizes: tuple[int, ...]) -> None:
        """Lay the dynamic local arguments behind the kernel's own local memory."""
        position = self.host.static_local_bytes
        offsets = []
        for argument, size in zip(self.local_indices, sizes, strict=False):
            position = layout.round_up(position, _alignment(self.info.args[argument].pointee_bytes))
            offsets.append(position)
            position += size
        limit = self.local_limit_bytes
        if position > limit:
            raise ResourceError(
                f"{self.info.name} needs {position} bytes of local memory a group, {self.chip.name} has {limit}",
                hint="use smaller tiles or groups",
            )
        total = layout.scratch_bytes(
            self.waves, self.native.frame_bytes, self.private_lane_bytes, self.native.cache_slots, position
        )
        if total > _MEMORY_LIMIT:
            raise ResourceError(
                f"{self.info.name} needs {total} bytes of private memory and frames for each group emulated",
                hint="use smaller groups or smaller private arrays",
            )
        self.local_sizes, self.local_offsets = sizes, tuple(offsets)
        self.group_bytes, self.scratch_bytes = position, total

    @property
    def wave_instructions(self) -> int:
        """Instructions that the wavefronts of the last launch executed; of VLIW shaders ALU groups, fetches and
        control-flow instructions."""
        return int(self.free[-1].block[launch_block.WAVE_INSTRUCTIONS]) if self.free else 0
