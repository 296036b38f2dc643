"""What launches on simulated chips of both families have in common: `run` has the pool's threads run the emulator's
native code; watched launches are of code that tells a watcher what happens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from headwater.emulate.watch.hooks import wanted
from headwater.emulate.wave import layout
from headwater.emulate.wave.launched import SimulatedTask
from headwater.errors import ResourceError, UsageError
from headwater.native import launch_block
from headwater.runtime.host.launch import OVERTIME, HostLaunch
from headwater.runtime.host.packer import Placement

if TYPE_CHECKING:
    from headwater.emulate.watch.hooks import Watcher
    from headwater.opencl.kernels import KernelInfo
    from headwater.runtime.events import Event
    from headwater.runtime.interface import Prepared, Queue

_MEMORY_LIMIT = 1 << 31

_LEAST_ALIGNMENT, _MOST_ALIGNMENT = 16, 128
"""Bytes: what narrower elements get, and what long16 wants, the largest type."""


def _alignment(element_bytes: int) -> int:
    """Of a local argument whose elements have so many bytes; 0 if it is not known. A type's size is a multiple of its
    alignment, a power of two."""
    if not element_bytes:
        return _MOST_ALIGNMENT
    return min(max(element_bytes & -element_bytes, _LEAST_ALIGNMENT), _MOST_ALIGNMENT)


_TAKES_A_LOCK = re.compile(r"\batom(?:ic)?_(?:cmpxchg|xchg|compare_exchange|exchange|flag_test)|_cmp_xchg|_read_xchg")
"""The operations by which spin locks are taken, in OpenCL C and in IL."""
_IN_STEP = (
    "if it takes a lock in a loop: the work-items of a wavefront run in lockstep, so the one that has the lock waits "
    "for those that still try to take it, and never releases it; do the work in a branch inside the loop, or let one "
    "work-item of each wavefront take the lock"
)


class Emulated(Protocol):
    """A launch of either family, as `run` takes it. ``watcher``: whom its code tells what happens."""

    host: HostLaunch[SimulatedTask]
    tickets: int
    """Threads that run it, at most."""
    watcher: Watcher | None

    def prepared(self, args: Sequence[Any]) -> SimulatedTask:
        """A task with all that the code reads, its arguments among it."""
        ...

    def watched(self, watcher: Watcher) -> Prepared:
        """The same launch, of code that tells ``watcher`` what happens."""
        ...


Taker = Callable[[Any, SimulatedTask], bool]
"""Runs a launch, an `Emulated`, in its own way, or returns False: then nothing has changed, and native code does."""
_taker: ContextVar[Taker | None] = ContextVar("headwater_taker", default=None)


@contextmanager
def taking(take: Taker) -> Iterator[None]:
    """Launches on simulated devices inside are run by ``take``, which is called with each and its task. What it raises
    is the launch's error."""
    token = _taker.set(take)
    try:
        yield
    finally:
        _taker.reset(token)


def run(launch: Emulated, args: Sequence[Any], queue: Queue | None, time_limit: float | None) -> Event:
    """Emulate a kernel over ``args``; without a queue the launch has ended on return. KernelFault for bad accesses and
    when ``time_limit`` seconds are over."""
    take = _taker.get()
    if take is not None:
        if launch.watcher is not None:
            raise UsageError("a launch that is checked cannot be stepped through", hint="leave --check out")
        if queue is not None:
            queue.wait()
        task = launch.prepared(args)
        event = launch.host.run_aside(task, args, lambda: take(launch, task))
        if event is not None:
            return event
    # Callers keep launches; who watches may come and go.
    watcher = wanted() if launch.watcher is None else None
    if watcher is not None:
        return launch.watched(watcher)(args, queue, time_limit)
    event = launch.host.submit(launch.prepared(args), args, queue, time_limit, launch.tickets)
    if launch.watcher is not None and queue is not None:
        # A watcher follows one launch at a time, and the next may be of this one. The event keeps the error.
        with suppress(Exception):
            event.wait()
    return event


def placing(
    info: KernelInfo,
    chip: str,
    limit_bytes: int,
    static_bytes: int,
    scratch_bytes: Callable[[int], int],
) -> Callable[[tuple[int, ...]], Placement]:
    """The function that lays dynamic local arguments behind a kernel's ``static_bytes`` of local memory, up to the
    ``limit_bytes`` that a work-group has on ``chip``; ``scratch_bytes``: what a thread needs for a work-group, by its
    local memory."""
    arguments = [arg for arg in info.args if arg.kind == "local"]

    def place(sizes: tuple[int, ...]) -> Placement:
        position = static_bytes
        offsets = []
        for argument, size in zip(arguments, sizes, strict=False):
            position = layout.round_up(position, _alignment(argument.pointee_bytes))
            offsets.append(position)
            position += size
        if position > limit_bytes:
            raise ResourceError(
                f"{info.name} needs {position} bytes of local memory a group, {chip} has {limit_bytes}",
                hint="use smaller tiles or groups",
            )
        total = scratch_bytes(position)
        if total > _MEMORY_LIMIT:
            raise ResourceError(
                f"{info.name} needs {total} bytes of private memory and frames for each group emulated",
                hint="use smaller groups or smaller private arrays",
            )
        return Placement(sizes, tuple(offsets), position, total)

    return place


def overtime_hint(source: str) -> str:
    """The hint for a launch of a kernel from ``source`` that has been stopped at its time limit."""
    return f"{_IN_STEP}; else: {OVERTIME}" if _TAKES_A_LOCK.search(source) else OVERTIME


def wave_instructions(launch: Emulated) -> int:
    """Instructions that the wavefronts of the last launch executed; of VLIW shaders ALU groups, fetches and
    control-flow instructions."""
    free = launch.host.free
    return int(free[-1].block[launch_block.WAVE_INSTRUCTIONS]) if free else 0
