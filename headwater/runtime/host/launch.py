"""Input: native code for a kernel and its sizes. Output: a `HostLaunch`, which runs it on the pool's threads.

It knows no device: those that run kernels on this machine's processor (the cpu device and simulated chips) have one for
each launch that they prepare, and are asked by it, see `LaunchOwner`, what to do when it begins and ends.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar, cast

import numpy as np

from headwater.base import native_library
from headwater.errors import KernelFault, OutOfMemoryError
from headwater.native import launch_block, pool as _pool
from headwater.native.pool import Task
from headwater.runtime.events import Gate
from headwater.runtime.host.events import HostEvent
from headwater.runtime.host.memory import write_back
from headwater.runtime.interface import backend_for

if TYPE_CHECKING:
    from headwater.base.arrays import Array
    from headwater.runtime.host.packer import ArgumentPacker, LocalMemory
    from headwater.runtime.interface import Device, Queue

T = TypeVar("T", bound=Task)
T_contra = TypeVar("T_contra", bound=Task, contravariant=True)

MAX_SCRATCH = 1 << 31  # bytes for each thread
OVERTIME = "what it has written so far is incomplete; give it more time if it is not an endless loop"
"""The hint for a launch that has been stopped at its time limit."""
_BATCHES_PER_THREAD = 16  # enough for balance, few enough that the shared counter costs nothing
_now = time.perf_counter_ns


class Titled(Protocol):
    """What a launch asks of its kernel: where it runs, and what messages call it."""

    @property
    def device(self) -> Device: ...
    @property
    def title(self) -> str: ...


class LaunchOwner(Protocol[T_contra]):
    """A device's side of a launch on the pool's threads."""

    def starts(self, task: T_contra, queued: bool) -> None:
        """The threads are about to begin; ``queued``: others may have run since the task was prepared."""
        ...

    def ended(self, task: T_contra, nanoseconds: int) -> None:
        """All threads have left, which took so long in all. What is raised is the launch's error."""
        ...

    def overtime_hint(self) -> str:
        """What to tell of a launch that has been stopped at its time limit."""
        ...


class Grid(NamedTuple):
    """A launch's work-items: all of them, those of a group, and the first one's id."""

    whole: tuple[int, int, int]
    local: tuple[int, int, int]
    offset: tuple[int, int, int]
    dimensions: int

    @property
    def groups(self) -> tuple[int, int, int]:
        """Work-groups of each dimension."""
        x, y, z = (-(-size // part) for size, part in zip(self.whole, self.local, strict=True))
        return x, y, z

    @property
    def total(self) -> int:
        """Work-groups."""
        return prod(self.groups) if prod(self.whole) else 0


class Entry(NamedTuple):
    """Where native code begins, and the bytes of its arguments."""

    library: Path
    symbol: str
    args_bytes: int


def function(library: Path, symbol: str, result: Any = None) -> Callable[[int, int, int], Any]:
    """A function of a kernel's library, which takes the launch block, the argument block and scratch memory."""
    return native_library.function(library, symbol, result, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p))


class HostLaunch(Generic[T]):
    """One kernel with its sizes fixed: tasks, which ``pack`` gives with arguments in them, and their way through the
    pool, which `submit` begins.

    ``block`` is the launch block that tasks begin with; ``task_type`` makes them. ``given``: the group size that was
    asked for, which may not be the one that it runs in.
    """

    def __init__(
        self,
        owner: LaunchOwner[T],
        kernel: Titled,
        entry: Entry,
        grid: Grid,
        packer: ArgumentPacker[T],
        task_type: Callable[[Array, int], T],
        given: tuple[int, ...] | None = None,
    ) -> None:
        self.owner = owner
        self.kernel = kernel
        self.grid = grid
        self.local: LocalMemory = packer.memory
        self.local_size = given if given is not None else grid.local[: grid.dimensions]
        self.entry = function(entry.library, entry.symbol)
        self.total = grid.total
        size = _pool.pool().size
        self.threads = max(1, min(size, self.total))
        """Threads that are worth to be woken."""
        block = np.zeros(launch_block.BLOCK_FIELDS, np.int64)
        block[launch_block.TOTAL] = self.total
        block[launch_block.BATCH] = max(1, self.total // (size * _BATCHES_PER_THREAD))
        block[launch_block.TAIL] = (2 * size - 1).bit_length()
        block[launch_block.GLOBAL : launch_block.GLOBAL + 3] = grid.whole
        block[launch_block.LOCAL : launch_block.LOCAL + 3] = grid.local
        block[launch_block.GROUPS : launch_block.GROUPS + 3] = grid.groups
        block[launch_block.OFFSET : launch_block.OFFSET + 3] = grid.offset
        block[launch_block.WORK_DIM] = grid.dimensions
        block[launch_block.ENTRY] = ctypes.cast(cast("Any", self.entry), ctypes.c_void_p).value or 0
        block[launch_block.LOCAL_BYTES] = self.local.placed.group_bytes
        block[launch_block.SCRATCH_BYTES] = self.local.placed.scratch_bytes
        self.block = block
        self.free: list[T] = []
        self.pack = packer.function(self.free, lambda: task_type(block, entry.args_bytes))

    def submit(
        self, task: T, args: Sequence[Any], queue: Queue | None, time_limit: float | None, threads: int
    ) -> HostEvent:
        """Run a task on ``threads`` of the pool's; wait for the end unless there is a queue."""
        event = HostEvent(_now(), 0, 0, self.local_size)
        if self.total == 0 and queue is None:
            return self.nothing(task)
        event._gate = Gate()
        event._task = task
        task.given = tuple(args)  # a caller may go on with a list of its own
        task.finish = cast("Callable[[Task], None]", self._finish)
        task.event = event
        timer: threading.Timer | None = None
        if time_limit is not None and queue is not None:
            timer = threading.Timer(time_limit, event.stop, (self._too_long(time_limit),))
            timer.daemon = True

        def start() -> None:
            if queue is not None:  # copy again what earlier launches of the queue may have written
                for array, copy in task.copies or ():
                    np.copyto(copy, array)
            self.owner.starts(task, queue is not None)
            event._started = _now()
            _pool.pool().submit(task, threads)
            if timer is not None:
                timer.start()

        if queue is not None:
            backend_for(queue, self.kernel.device).put(event, start, lambda: self._drop(task, event))
            return event
        start()
        if time_limit is None:
            return event.wait()
        try:
            return event.wait(time_limit)
        except TimeoutError:
            event.stop(self._too_long(time_limit))
            return event.wait()

    def run_aside(self, task: T, args: Sequence[Any], work: Callable[[], bool]) -> HostEvent | None:
        """A task that ``work`` does in this thread, and none of the pool's; what it raises is the launch's error. None
        if it returns False: it has not done it."""
        task.given = tuple(args)
        begin = _now()
        try:
            self.owner.starts(task, False)
            if not work():
                return None
            self.owner.ended(task, 0)
            if task.copies is not None:
                write_back(task)
        finally:
            self.give_back(task)
        return HostEvent(begin, begin, _now(), self.local_size)

    def nothing(self, task: T) -> HostEvent:
        """A launch without work-items: it ends where it began."""
        self.give_back(task)
        now = _now()
        return HostEvent(now, now, now, self.local_size)

    def give_back(self, task: T) -> None:
        """A task that no thread is in: another launch may have it."""
        task.release()
        self.free.append(task)

    def failure(self, task: T) -> BaseException:
        """What went wrong in one of the threads, which is noted in the task."""
        error, task.error = task.error, None
        if isinstance(error, MemoryError):
            nbytes = task.block[launch_block.SCRATCH_BYTES]
            return OutOfMemoryError(f"not enough memory for {nbytes} bytes of scratch in each thread")
        assert error is not None
        return error

    def _too_long(self, time_limit: float) -> KernelFault:
        return KernelFault(
            f"{self.kernel.title} was stopped: it ran longer than its time limit of {time_limit:g} s",
            hint=self.owner.overtime_hint(),
        )

    def _finish(self, task: T) -> None:
        """Called in the thread that left last."""
        event: HostEvent = task.event
        event._ended = _now()
        with task.lock:
            event._task = None
        try:
            if task.error is not None:
                raise self.failure(task)
            self.owner.ended(task, (event._ended - event._started) * max(1, int(task.block[launch_block.JOINED])))
            if task.copies is not None:
                write_back(task)
        except BaseException as error:
            event._error = event._error or error
        self._release(task, event)

    def _drop(self, task: T, event: HostEvent) -> None:
        """A launch cancelled before it began."""
        event._started = event._ended = _now()
        event._task = None
        task.event = None
        self.give_back(task)
        if event._gate is not None:
            event._gate.set()

    def _release(self, task: T, event: HostEvent) -> None:
        task.event = task.error = None
        task.block[launch_block.OWN_SCRATCH] = 0
        self.give_back(task)
        queue = event.queue
        assert event._gate is not None
        event._gate.set()
        if queue is not None:
            queue.ended(event)
