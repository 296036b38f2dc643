"""Input: compiled code for one kernel and its sizes. Output: a `CpuLaunch`, which packs arguments and runs it."""

from __future__ import annotations

import contextlib
import ctypes
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from headwater.base import native_library
from headwater.base.arrays import ALIGNMENT
from headwater.errors import KernelFault, ResourceError
from headwater.native import launch_block, pool as _pool
from headwater.native.pool import Task, scratch_address
from headwater.runtime.cpu.access_modes import AccessModes
from headwater.runtime.cpu.bounds import ArrayBounds
from headwater.runtime.host import interrupt
from headwater.runtime.host.arguments import layout, packing
from headwater.runtime.host.events import HostEvent
from headwater.runtime.host.launch import MAX_SCRATCH, OVERTIME, Entry, Grid, HostLaunch, function
from headwater.runtime.host.memory import write_back
from headwater.runtime.host.packer import ArgumentPacker, LocalMemory, Placement

if TYPE_CHECKING:
    from headwater.opencl.host import KernelCode
    from headwater.runtime.cpu.checked import CheckedRun
    from headwater.runtime.cpu.device import CpuKernel
    from headwater.runtime.cpu.privatised import PrivateTables
    from headwater.runtime.interface import Queue

# A launch shorter than this is not worth waking other threads: waking one takes about 10 µs of the caller's time.
INLINE_NS = 40_000
# A launch longer than this runs on workers while the caller waits, where Python runs signal handlers. In shorter ones
# the caller works along, and keeps its processor: a worker that is woken may be put beside another one.
BOUNDED_NS = 100_000_000
ALONE_NS = 1_000_000
"""The work of a launch with helpers up to which one is run alone now and then, to see what it takes: helpers that have
slept come late, or to the very processor that works, and such a launch of 20 µs was taken for one of 400."""

_MAIN_THREAD = threading.main_thread().ident
_get_ident = threading.get_ident
_now = time.perf_counter_ns


class CpuLaunch:
    """One kernel with its sizes fixed. Calling it packs the arguments, runs them and returns the event.

    ``privatised``, where there is one, gives another launch that is better for some arguments; ``careful`` makes the
    one for arguments that the code is not for (`headwater.vectorise.prepare.overflow_guards`). ``given``: the group
    size that was asked for, which may not be the one that it runs in. ``tables``: of threads that count for themselves.

    Short launches run in the calling thread, longer ones with the pool's help, the longest on the pool alone while the
    caller waits where signal handlers reach it. Which of these it is follows from how long the last launch took.
    """

    def __init__(
        self,
        kernel: CpuKernel,
        code: KernelCode,
        grid: Grid,
        check: bool,
        careful: Callable[[], CpuLaunch] | None = None,
        given: tuple[int, ...] | None = None,
        tables: PrivateTables | None = None,
    ) -> None:
        info = kernel.info
        self.kernel = kernel
        self.code = code
        self.tables = tables
        self.privatised: Callable[[Sequence[Any]], CpuLaunch | None] | None = None
        self._careful = careful
        self._other: CpuLaunch | None = None
        if code.variables:
            native_library.share(code.library)
        test = code.bounds
        bounds: ArrayBounds | None = None
        if test is not None and test.symbol and grid.total and not check:
            outside = function(code.library, test.symbol, ctypes.c_int)
            bounds = ArrayBounds(kernel, kernel.access_lines, test, outside, grid.whole[: grid.dimensions])
        self._fits = function(code.library, code.fits, ctypes.c_int) if code.fits and careful and grid.total else None
        key = code.library.parent.name  # the compiled code's key in the cache
        self.access_modes = AccessModes(key, info, code.streaming, code.fetches_ahead)
        packings = [packing(kernel.device, arg, i + 1) for i, arg in enumerate(info.args)]
        memory = LocalMemory(info.args, self._place)
        codes, args_bytes = [one.code for one in packings], code.args_bytes
        packer: ArgumentPacker[Task] = ArgumentPacker(
            kernel.device,
            info,
            packings,
            layout(codes, code.arg_offsets, args_bytes) if tables is None else tables.layout(codes, code),
            memory,
            bounds,
            self.access_modes,
            None if tables is None else tables.locating(memory),
        )
        self.checked: CheckedRun | None = None
        if check:  # what knows of faults is not imported for other launches
            from headwater.runtime.cpu.checked import CheckedRun

            self.checked = CheckedRun(kernel, code, memory, grid.dimensions)
        task_type: type[Task] = Task if self.checked is None else self.checked.task_type
        entry = Entry(code.library, code.symbol, args_bytes)
        self.host = HostLaunch(self, kernel, entry, grid, packer, task_type, given)
        self._findings: list[str] = []
        self._callback = _printf(code.formats, self._findings) if code.formats else None
        if self._callback is not None:
            self.host.block[launch_block.PRINTF] = ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        self.threads = 1 if check else self.host.threads
        self._total, self._entry, self._pack, self._free = grid.total, self.host.entry, self.host.pack, self.host.free
        self._local_size = self.host.local_size
        self._straight = code.straight
        self._inline = not check and not code.traps and (interrupt.SUPPORTED or not code.unbounded)
        self._bounded = BOUNDED_NS * self.threads
        self._cost = self._bounded  # nothing is known of the first launch: it may be a long one
        self._helped = 0  # launches with helpers that one alone might have been as good as
        self._next_alone = 1

    @property
    def private_lane_bytes(self) -> int:
        """0: work-items have registers and the stack, no scratch memory of their own."""
        return 0

    def _place(self, sizes: tuple[int, ...]) -> Placement:
        """Dynamic local arguments lie behind the static local memory, and the frames behind both."""
        position = self.code.static_local_bytes
        offsets = []
        for size in sizes:
            position = _round_up(position, ALIGNMENT)
            offsets.append(position)
            position += size
        frames = _round_up(position, ALIGNMENT)
        total = frames + self.code.frame_bytes
        if total > MAX_SCRATCH:
            raise ResourceError(
                f"{self.kernel.title} needs {total} bytes of local memory and frames for each group, "
                f"the cpu device has {MAX_SCRATCH}",
                hint="use smaller groups or less local memory",
            )
        return Placement(sizes, tuple(offsets), frames, total)

    # -- running -------------------------------------------------------------------------------------------------------

    def __call__(self, args: Sequence[Any], queue: Queue | None = None, time_limit: float | None = None) -> HostEvent:
        """Run over ``args``; without a queue the launch has ended on return, with one it may still be running.

        A launch that takes longer than ``time_limit`` seconds is stopped: KernelFault. LaunchError for arguments that
        do not fit the kernel's; nothing has run then.
        """
        if self.privatised is not None and (launch := self.privatised(args)) is not None:
            return launch(args, queue, time_limit)
        task = self._pack(args)
        if self._fits is not None and not self._fits(task.block_address, task.args_address, 0):
            return self._carefully(task)(args, queue, time_limit)
        if queue is not None or time_limit is not None or not self._inline or self._cost >= self._bounded:
            if self.checked is not None:
                self.checked.prepare(task, args)
            return self.host.submit(task, args, queue, time_limit, self.threads)
        if self._total == 0:
            return self.host.nothing(task)
        if self._cost < INLINE_NS or self.threads == 1 or (self._cost < ALONE_NS and self._tries_alone()):
            # Also for loops that end by themselves: they may have been short so far only for the launches' arguments.
            short = self._straight and self._cost < INLINE_NS
            tries = self.access_modes.trial is not None
            if tries:
                self.access_modes.begins(task, leads=True)
            if not short and interrupt.SUPPORTED and _get_ident() == _MAIN_THREAD:
                start, end = self._watched(task)
            else:
                scratch = scratch_address(task.block[launch_block.SCRATCH_BYTES])
                start = _now()
                self._entry(task.block_address, task.args_address, scratch)
                end = _now()
            self._cost = end - start
            if tries:
                self.access_modes.ended(task, leads=True)
        else:
            start, end = self._with_help(task, args)
        if task.owned is not None:
            write_back(task)
            task.release()
        self._free.append(task)
        return HostEvent(start, start, end, self._local_size)

    def _carefully(self, task: Task) -> CpuLaunch:
        """Another launch instead of a task that is not to be run."""
        self.host.give_back(task)
        assert self._careful is not None
        if self._other is None:
            self._other = self._careful()
        return self._other

    def _tries_alone(self) -> bool:
        """Whether it is this launch's turn to run alone; each is twice as far from the one before."""
        self._helped += 1
        if self._helped < self._next_alone:
            return False
        self._next_alone *= 2
        return True

    def _watched(self, task: Task) -> tuple[int, int]:
        """Run a kernel in the main thread, so that Ctrl-C gets out of it; when it began and ended."""
        interrupt.begin(task)
        start, raised = _now(), True
        try:
            self._entry(task.block_address, task.args_address, scratch_address(task.block[launch_block.SCRATCH_BYTES]))
            raised = False
        finally:
            end = _now()
            interrupt.end(task, raised)
        return start, end

    def _with_help(self, task: Task, args: Sequence[Any]) -> tuple[int, int]:
        """Run in this thread, with others joining; when it began and ended."""
        task.given = args
        watched = interrupt.SUPPORTED and _get_ident() == _MAIN_THREAD
        if watched:
            interrupt.begin(task)
        self.access_modes.begins(task, leads=True)
        start, raised = _now(), True
        try:
            _pool.pool().lead(task, self.threads - 1, self._cost // self.threads)
            raised = False
        finally:
            if watched:
                interrupt.end(task, raised)
        end = _now()
        self._cost = (end - start) * (1 + int(task.block[launch_block.JOINED]))
        self.access_modes.ended(task, leads=True)
        task.given = None
        if task.error is not None:
            raise self.host.failure(task)
        return start, end

    # -- what `headwater.runtime.host.launch.LaunchOwner` says ---------------------------------------------------------

    def starts(self, task: Task, queued: bool) -> None:
        """The pool's threads are about to begin."""
        self.access_modes.begins(task, leads=False)

    def ended(self, task: Task, nanoseconds: int) -> None:
        """All threads have left: raise what they found wrong."""
        self._cost = nanoseconds
        self.access_modes.ended(task, leads=False)
        if self.checked is not None:
            self.checked.inspect(task, self._sentences)
        if task.block[launch_block.STOP] == launch_block.TRAPPED:
            raise KernelFault(
                f"{self.kernel.title} executed a trap: one of its assertions failed",
                hint="a checked run (--check, HEADWATER_CHECK=1) reports the line",
            )
        if texts := self._sentences():
            from headwater.opencl.check_findings import fault

            raise fault(texts)

    def overtime_hint(self) -> str:
        return OVERTIME

    def _sentences(self) -> list[str]:
        """What code for checks has found in this launch."""
        if not self._findings:
            return []
        from headwater.opencl.check_findings import sentences

        lines = self._findings[:]
        self._findings.clear()
        return sentences(lines, self.kernel, self.host.grid.dimensions)


def _round_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def _printf(formats: tuple[str, ...], findings: list[str]) -> Any:
    from headwater.opencl.check_findings import MARK
    from headwater.opencl.printf import callback

    def write(text: str) -> None:
        if text.startswith(MARK):  # a finding of code for checks
            findings.append(text)
        else:
            _print(text)

    return callback(formats, write)


_print_lock = threading.Lock()


def _print(text: str) -> None:
    """One printf call's text to standard output, whole, as several threads may print.

    An error of writing would be told at each call, and by whom nobody hears: the text stays in ``sys.stdout``, whose
    next flush tells it, once.
    """
    with _print_lock, contextlib.suppress(OSError):
        print(text, end="")
