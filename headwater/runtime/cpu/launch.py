"""Compiled code for one kernel and its sizes passes in; a `CpuLaunch` passes out, which packs arguments and runs it."""

from __future__ import annotations

import contextlib
import ctypes
import struct
import threading
import time
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

import numpy as np

from headwater.base import native_library
from headwater.base.arrays import ALIGNMENT, Array, address, aligned_bytes, view
from headwater.base.host import caches_bytes
from headwater.errors import InternalError, KernelFault, LaunchError, ResourceError
from headwater.native import launch_block, pool as _pool
from headwater.native.faults import Extent, explain
from headwater.native.launch_block import ACCESS_ERROR
from headwater.native.pool import Task, scratch_address
from headwater.runtime import interrupt, signature
from headwater.runtime.cpu.bounds import ArrayBounds, nbytes
from headwater.runtime.cpu.calls import Kind, Pattern, packer
from headwater.runtime.cpu.events import CpuEvent
from headwater.runtime.events import Gate
from headwater.runtime.images import Image
from headwater.runtime.interface import Buffer, Queue, backend_for
from headwater.runtime.streams import Stream
from headwater.runtime.values import Local, Sampler

if TYPE_CHECKING:
    from headwater.opencl.kernels import ArgInfo, BoundsTest
    from headwater.runtime.cpu.device import CpuKernel
    from headwater.runtime.cpu.trials import Trial

MAX_SCRATCH = 1 << 31  # bytes for each thread
# A launch shorter than this is not worth waking other threads: waking one takes about 10 µs of the caller's time.
INLINE_NS = 40_000
# A launch longer than this runs on workers while the caller waits, where Python runs signal handlers. In shorter ones
# the caller works along, and keeps its processor: a worker that is woken may be put beside another one.
BOUNDED_NS = 100_000_000
ALONE_NS = 1_000_000
"""The work of a launch with helpers up to which one is run alone now and then, to see what it takes: helpers that have
slept come late, or to the very processor that works, and such a launch of 20 µs was taken for one of 400."""
_BATCHES_PER_THREAD = 16  # enough for balance, few enough that the shared counter costs nothing

_MAIN_THREAD = threading.main_thread().ident
_get_ident = threading.get_ident
_now = time.perf_counter_ns
_from_buffer: Any = ctypes.c_char.from_buffer


class HostKernel(Protocol):
    """What `headwater.opencl.host` gives for one kernel and its sizes."""

    @property
    def library(self) -> Path: ...
    @property
    def symbol(self) -> str: ...
    @property
    def local_size(self) -> tuple[int, int, int]: ...
    @property
    def arg_offsets(self) -> tuple[int, ...]: ...
    @property
    def args_bytes(self) -> int: ...
    @property
    def static_local_bytes(self) -> int: ...
    @property
    def dynamic_local_bytes(self) -> int: ...
    @property
    def frame_bytes(self) -> int: ...
    @property
    def unbounded(self) -> bool: ...
    @property
    def formats(self) -> tuple[str, ...]: ...
    @property
    def streaming(self) -> tuple[int, ...]: ...
    @property
    def fetches_ahead(self) -> bool: ...
    @property
    def straight(self) -> bool: ...
    @property
    def traps(self) -> bool: ...
    @property
    def fits(self) -> str: ...
    @property
    def bounds(self) -> BoundsTest | None: ...


Slot = Callable[[Any, Task], Any]


class CpuBuffer(Buffer):
    """Host memory: ``memory`` (bytes) at ``address``."""

    __slots__ = ("address", "memory")

    def __init__(self, device: Any, memory: Array) -> None:
        self.device = device
        self.memory = memory
        self.nbytes = memory.nbytes
        self.address = address(memory) if memory.nbytes else 0

    def numpy(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
        """The memory itself as an array."""
        return self.memory.view(dtype).reshape(shape)


def _function(host: HostKernel, symbol: str, result: Any = None) -> Callable[[int, int, int], Any]:
    return native_library.function(host.library, symbol, result, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p))


def _round_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


class CpuLaunch:
    """One kernel with its sizes fixed. Calling it packs the arguments, runs them and returns the event.

    ``privatised``, where there is one, gives another launch that is better for some arguments; ``careful`` makes the
    one for arguments that the code is not for (`headwater.vectorise.prepare.overflow_guards`). ``given``: the group
    size that was asked for, which may not be the one that it runs in.

    Short launches run in the calling thread, longer ones with the pool's help, the longest on the pool alone while the
    caller waits where signal handlers reach it. Which of these it is follows from how long the last launch took.
    """

    _packs_locals = False
    """Whether `_pack_locals` is there to be called."""

    def __init__(
        self,
        kernel: CpuKernel,
        host: HostKernel,
        global_size: tuple[int, int, int],
        offset: tuple[int, int, int],
        work_dim: int,
        check: bool,
        careful: Callable[[], CpuLaunch] | None = None,
        given: tuple[int, ...] | None = None,
    ) -> None:
        info = kernel.info
        self.kernel = kernel
        self.host = host
        self.info = info
        self._check = check
        self.work_dim = work_dim
        self._local_size = given if given is not None else tuple(host.local_size[:work_dim])
        self._entry = _function(host, host.symbol)
        groups = tuple(-(-size // local) for size, local in zip(global_size, host.local_size, strict=True))
        self.total = prod(groups) if prod(global_size) else 0
        self._fits = _function(host, host.fits, ctypes.c_int) if host.fits and careful and self.total else None
        self._careful = careful
        self._other: CpuLaunch | None = None
        test = host.bounds
        self._bounds: ArrayBounds | None = None
        if test is not None and test.symbol and self.total and not check:
            self._bounds = ArrayBounds(kernel, test, _function(host, test.symbol, ctypes.c_int), global_size[:work_dim])
        pool = _pool.pool()
        self.tickets = max(1, min(pool.size, self.total))
        self._batch = max(1, self.total // (pool.size * _BATCHES_PER_THREAD))
        self._told: list[str] = []
        self._callback = _printf(host.formats, self._told) if host.formats else None

        block = np.zeros(launch_block.BLOCK_FIELDS, np.int64)
        block[launch_block.TOTAL] = self.total
        block[launch_block.BATCH] = self._batch
        block[launch_block.TAIL] = (2 * pool.size - 1).bit_length()
        block[launch_block.GLOBAL : launch_block.GLOBAL + 3] = global_size
        block[launch_block.LOCAL : launch_block.LOCAL + 3] = host.local_size
        block[launch_block.GROUPS : launch_block.GROUPS + 3] = groups
        block[launch_block.OFFSET : launch_block.OFFSET + 3] = offset
        block[launch_block.WORK_DIM] = work_dim
        block[launch_block.ENTRY] = ctypes.cast(cast("Any", self._entry), ctypes.c_void_p).value or 0
        if self._callback is not None:
            block[launch_block.PRINTF] = ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        self.block = block

        self._slots: list[Slot | None] = []
        self._kinds: list[Kind] = []
        self.local_indices = [i for i, arg in enumerate(info.args) if arg.kind == "local"]
        self.privatised: Callable[[Sequence[Any]], CpuLaunch | None] | None = None
        codes = [self._add_slot(i, arg) for i, arg in enumerate(info.args)]
        self._pack = struct.Struct(self._format(codes)).pack_into
        self.local_sizes: tuple[int, ...] = ()
        self.local_offsets: tuple[int, ...] = ()
        self.scratch_bytes = self.group_bytes = 0
        self.place_locals(())

        block[launch_block.LOCAL_BYTES] = self.group_bytes
        block[launch_block.SCRATCH_BYTES] = self.scratch_bytes
        self.free: list[Task] = []
        self._packed: Callable[[Sequence[Any]], Task] = self._write_packer
        self._streaming = host.streaming
        self._ahead = launch_block.FLAG_AHEAD if host.fetches_ahead else 0
        self._buffers = [i for i, arg in enumerate(info.args) if arg.kind in ("buffer", "constant")]
        self._trial: Trial | None = None
        self._best_ways: dict[bool, int] = {}
        self._large = False
        own, shared = caches_bytes()
        self._own_caches, self._last_level = own * pool.size, shared // 2
        self._straight = host.straight
        self._inline = not check and not host.traps and (interrupt.SUPPORTED or not host.unbounded)
        self._bounded = BOUNDED_NS * self.tickets
        self._cost = self._bounded  # nothing is known of the first launch: it may be a long one
        self._helped = 0  # launches with helpers that one alone might have been as good as
        self._next_alone = 1

    # -- arguments -----------------------------------------------------------------------------------------------------

    def _add_slot(self, index: int, arg: ArgInfo) -> str:
        """Choose how one argument is packed; its `struct` code is returned."""
        position = index + 1
        if arg.kind in ("buffer", "constant"):
            element = signature.argument_type(arg)
            # Elements of three components have the room of four, and not every array is laid out so.
            return self.add(
                "array" if element is not None and element[1] != 3 else "pointer",
                "Q",
                _pointer_slot(self.kernel, arg, position),
            )
        if arg.kind == "local":
            return self.add("local", "Q", None)
        if arg.kind == "image":
            return self.add("other", "Q", lambda value, task: image_address(arg, position, value))
        if arg.kind == "sampler":
            return self.add("other", "i", lambda value, task: sampler_bits(arg, position, value))
        code, pack = signature.value_slot(arg, position)
        if pack is None:
            return self.add("number", code, None)
        return self.add("other", code, lambda value, task: pack(value))

    def add(self, kind: Kind, code: str, slot: Slot | None) -> str:
        """Have one more argument packed as ``code`` says; ``slot`` makes what is packed of what is passed."""
        self._kinds.append(kind)
        self._slots.append(slot)
        return code

    def _format(self, codes: Sequence[str]) -> str:
        """The `struct` format of the argument block; ``codes``: of each argument."""
        return layout(codes, self.info.args, self.host.arg_offsets, self.host.args_bytes)

    def place_locals(self, sizes: tuple[int, ...]) -> None:
        """Lay the dynamic local arguments behind the static local memory, and the frames behind both."""
        position = self.host.static_local_bytes
        offsets = []
        for size in sizes:
            position = _round_up(position, ALIGNMENT)
            offsets.append(position)
            position += size
        frames = _round_up(position, ALIGNMENT)
        total = frames + self.host.frame_bytes
        if total > MAX_SCRATCH:
            raise ResourceError(
                f"{self.kernel.title} needs {total} bytes of local memory and frames for each group, "
                f"the cpu device has {MAX_SCRATCH}",
                hint="use smaller groups or less local memory",
            )
        self.local_sizes, self.local_offsets = sizes, tuple(offsets)
        self.group_bytes, self.scratch_bytes = frames, total

    def local_bytes(self, args: Sequence[Any]) -> tuple[int, ...]:
        """Of each dynamic local argument."""
        return tuple(local_bytes_of(self.info.args[i], i + 1, args[i]) for i in self.local_indices)

    def _pack_locals(self, args: Sequence[Any], values: list[Any]) -> None:
        """Put the places of what lies in the threads' memory among the values, if more than local memory does."""
        raise NotImplementedError

    def _new_task(self) -> Task:
        return Task(self.block, self.host.args_bytes)

    def _prepare(self, args: Sequence[Any]) -> Task:
        """A task with its arguments packed, ready to run."""
        return self._packed(args)

    def _write_packer(self, args: Sequence[Any]) -> Task:
        """The same the first time."""
        test = self._bounds.test if self._bounds is not None else None
        pattern = Pattern(
            tuple(self._kinds),
            test.sized if test is not None else (),
            test.values if test is not None else (),
            tuple(self._buffers) if self._streaming or self._ahead else (),
            self._packs_locals,
        )
        self._packed = packer(self, pattern, self._slots, self._pack, nbytes, CpuBuffer)
        return self._packed(args)

    def _count_error(self, args: Sequence[Any]) -> LaunchError:
        return signature.count_error(self.info, len(args))

    def _coerced(self, args: Sequence[Any], task: Task, values: list[Any]) -> None:
        """Pack numbers as C converts them, or say what is wrong with them."""
        for i, (kind, arg) in enumerate(zip(self._kinds, self.info.args, strict=True)):
            if kind == "number":
                values[i] = signature.coerce_value(arg, i + 1, args[i])
        self._pack(task.args, 0, *values)

    def _refuse(self, args: Sequence[Any], task: Task, sizes: Sequence[int]) -> NoReturn:
        """Do not run what surely accesses memory outside of an array: LaunchError."""
        assert self._bounds is not None
        refusal = self._bounds.refusal(args, task, sizes)
        task.release()
        self.free.append(task)
        raise refusal

    def _choose_way(self, nbytes: int, args: Sequence[Any]) -> int:
        """The flags of a launch on ``nbytes`` of arrays."""
        self._large = nbytes > self._last_level
        return self._way(args) if self._large else self._ahead if nbytes > self._own_caches else 0

    def _way(self, args: Sequence[Any]) -> int:
        """The flags of a large launch: whether it shall prefetch and use streaming stores."""
        around = sum([getattr(args[i], "nbytes", 0) for i in self._streaming]) > self._last_level
        best = self._best_ways.get(around)
        if best is not None:
            return best
        ways: tuple[int, ...] = (self._ahead, 0) if self._ahead else (0,)
        if around:
            ways = (*(way | launch_block.FLAG_STREAMING for way in ways), *ways)
        if len(ways) == 1:
            self._large = False
            return ways[0]
        if self._trial is None or self._trial.ways != ways:
            from headwater.runtime.cpu import trials

            code = self.host.library.parent.name  # the compiled code's key in the cache
            known, settled = trials.preferred(code, ways)
            if settled and known is not None:
                self._best_ways[around] = known
            if known is not None:
                self._trial = None
                return known
            self._trial = trials.Trial(code, ways)
        return self._trial.way()

    def _begins(self, task: Task, *, leads: bool = True) -> None:
        """A launch begins, which may be one that tries a way through memory. ``leads``: this thread works on it."""
        if self._trial is not None:
            task.began = self._trial.clock(leads)

    def _tried(self, task: Task, *, leads: bool = True) -> None:
        """The end of what `_begins` was told of."""
        trial = self._trial
        if trial is None or not self._large:
            return
        if trial.took(int(task.block[launch_block.FLAGS]), trial.clock(leads) - task.began):
            self._trial = None

    # -- running -------------------------------------------------------------------------------------------------------

    def __call__(self, args: Sequence[Any], queue: Queue | None = None, time_limit: float | None = None) -> CpuEvent:
        """Run over ``args``; without a queue the launch has ended on return, with one it may still be running.

        A launch that takes longer than ``time_limit`` seconds is stopped: KernelFault. LaunchError for arguments that
        do not fit the kernel's; nothing has run then.
        """
        if self.privatised is not None and (launch := self.privatised(args)) is not None:
            return launch(args, queue, time_limit)
        task = self._prepare(args)
        if self._fits is not None and not self._fits(task.block_address, task.args_address, 0):
            return self._carefully(task)(args, queue, time_limit)
        if queue is not None or time_limit is not None or not self._inline or self._cost >= self._bounded:
            return self._submit(task, args, queue, time_limit)
        if self.total == 0:
            return self._nothing(task)
        if self._cost < INLINE_NS or self.tickets == 1 or (self._cost < ALONE_NS and self._tries_alone()):
            # Also for loops that end by themselves: they may have been short so far only for the launches' arguments.
            short = self._straight and self._cost < INLINE_NS
            if not short and interrupt.SUPPORTED and _get_ident() == _MAIN_THREAD:
                start, end = self._watched(task)
            else:
                self._begins(task)
                start = _now()
                self._entry(task.block_address, task.args_address, scratch_address(self.scratch_bytes))
                end = _now()
            self._cost = end - start
            self._tried(task)
        else:
            start, end = self._with_help(task, args)
        if task.owned is not None:
            _write_back(task)
            task.release()
        self.free.append(task)
        return CpuEvent(start, start, end, self._local_size)

    def _carefully(self, task: Task) -> CpuLaunch:
        """Another launch instead of a task that is not to be run."""
        task.release()
        self.free.append(task)
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
        self._begins(task)
        start = _now()
        try:
            self._entry(task.block_address, task.args_address, scratch_address(self.scratch_bytes))
        finally:
            end = _now()
            interrupt.end(task)
        return start, end

    def _with_help(self, task: Task, args: Sequence[Any]) -> tuple[int, int]:
        """Run in this thread, with others joining; when it began and ended."""
        task.given = args
        watched = interrupt.SUPPORTED and _get_ident() == _MAIN_THREAD
        if watched:
            interrupt.begin(task)
        self._begins(task)
        start = _now()
        try:
            _pool.pool().lead(task, self.tickets - 1, self._cost // self.tickets)
        finally:
            if watched:
                interrupt.end(task)
        end = _now()
        self._cost = (end - start) * (1 + int(task.block[launch_block.JOINED]))
        self._tried(task)
        task.given = None
        if task.error is not None:
            raise self._failure(task)
        return start, end

    def _submit(self, task: Task, args: Sequence[Any], queue: Queue | None, time_limit: float | None) -> CpuEvent:
        """Run on the pool's threads; wait for the end unless there is a queue."""
        event = CpuEvent(_now(), 0, 0, self._local_size)
        if self.total == 0 and queue is None:
            return self._nothing(task)
        event._gate = Gate()
        event._task = task
        task.given = tuple(args)  # a caller may go on with a list of its own
        task.finish = self._finish
        task.event = event
        tickets = self.tickets
        if self._check:
            tickets = 1
            record, extents = self._prepare_check(task, args)
            task.finish = lambda task: self._finish(task, record, extents)
        timer: threading.Timer | None = None
        if time_limit is not None and queue is not None:
            fault = self._too_long(time_limit)
            timer = threading.Timer(time_limit, event.stop, (fault,))
            timer.daemon = True

        def start() -> None:
            if queue is not None:
                self._refresh(task)
            self._begins(task, leads=False)
            event._started = _now()
            _pool.pool().submit(task, tickets)
            if timer is not None:
                timer.start()

        if queue is not None:
            backend_for(queue, self.kernel.device).put(event, start, lambda: self._drop(task))
            return event
        start()
        if time_limit is None:
            return event.wait()
        try:
            return event.wait(time_limit)
        except TimeoutError:
            event.stop(self._too_long(time_limit))
            return event.wait()

    def _refresh(self, task: Task) -> None:
        """Copy again what earlier launches of the queue may have written since the task was prepared."""
        for array, copy in task.copies or ():
            np.copyto(copy, array)

    def _too_long(self, time_limit: float) -> KernelFault:
        return KernelFault(
            f"{self.kernel.title} was stopped: it ran longer than its time limit of {time_limit:g} s",
            hint="what it has written so far is incomplete; give it more time if it is not an endless loop",
        )

    def _nothing(self, task: Task) -> CpuEvent:
        """A launch without work-items: it ends where it began."""
        task.release()
        self.free.append(task)
        now = _now()
        return CpuEvent(now, now, now, self._local_size)

    def _finish(self, task: Task, record: Array | None = None, extents: Sequence[Extent] = ()) -> None:
        """Called in the thread that left last."""
        event: CpuEvent = task.event
        event._ended = _now()
        self._cost = (event._ended - event._started) * max(1, int(task.block[launch_block.JOINED]))
        self._tried(task, leads=False)
        with task.lock:
            event._task = None
        try:
            if task.error is not None:
                raise self._failure(task)
            if record is not None:
                self._raise_fault(record.tolist(), extents)
            if task.block[launch_block.STOP] == launch_block.TRAPPED:
                raise KernelFault(
                    f"{self.kernel.title} executed a trap: one of its assertions failed",
                    hint="a checked run (--check, HEADWATER_CHECK=1) reports the line",
                )
            self._inspect(task)
            if task.copies is not None:
                _write_back(task)
        except BaseException as error:
            event._error = event._error or error
        self._release(task, event)

    def _inspect(self, task: Task) -> None:
        """For launches that leave more behind than their results: raise what went wrong."""
        if texts := self._findings():
            from headwater.opencl.check_findings import fault

            raise fault(texts)

    def _findings(self) -> list[str]:
        """What code for checks has found in this launch."""
        if not self._told:
            return []
        from headwater.opencl.check_findings import sentences

        lines = self._told[:]
        self._told.clear()
        return sentences(lines, self.kernel, self.work_dim)

    def _drop(self, task: Task) -> None:
        """A launch cancelled before it began."""
        event: CpuEvent = task.event
        event._started = event._ended = _now()
        event._task = None
        task.event = None
        task.release()
        self.free.append(task)
        if event._gate is not None:
            event._gate.set()

    def _release(self, task: Task, event: CpuEvent) -> None:
        task.event = task.error = None
        task.release()
        task.block[launch_block.OWN_SCRATCH] = 0
        self.free.append(task)
        queue = event.queue
        assert event._gate is not None
        event._gate.set()
        if queue is not None:
            queue.ended(event)

    def _failure(self, task: Task) -> BaseException:
        error, task.error = task.error, None
        if isinstance(error, MemoryError):
            return ResourceError(f"not enough memory for {self.scratch_bytes} bytes of scratch in each thread")
        assert error is not None
        return error

    # -- checked runs --------------------------------------------------------------------------------------------------

    def _prepare_check(self, task: Task, args: Sequence[Any]) -> tuple[Array, list[Extent]]:
        """Point the launch block at an error record and at the table of everything that the kernel may touch; the
        record and the table's entries."""
        scratch = task.keep(aligned_bytes(max(self.scratch_bytes, ALIGNMENT)))
        start = address(scratch)
        extents = []
        for index, offset, size in zip(self.local_indices, self.local_offsets, self.local_sizes, strict=True):
            name = f"`{signature.declaration(self.info.args[index])}`"
            extents.append(Extent(name, start + offset, start + offset + size))
        if self.host.dynamic_local_bytes:
            end = start + self.host.static_local_bytes
            extents.append(Extent("the launch's local memory", end - self.host.dynamic_local_bytes, end))
        for value, arg in zip(args, self.info.args, strict=True):
            if arg.kind == "image":
                extents.append(_extent(f"the pixels of `{arg.name}`", value.array))
                extents.append(_extent(f"the descriptor of `{arg.name}`", value.descriptor))
            elif arg.kind in ("buffer", "constant") and value is not None:
                memory = memory_of(value, task)
                extents.append(_extent(f"`{signature.declaration(arg)}`", memory))
        extents = [extent for extent in extents if extent.end > extent.start] or [Extent("nothing", start, start)]
        record = task.keep(np.zeros(ACCESS_ERROR.size_bytes // 8, np.int64))
        table = task.keep(np.array([(e.start, e.end) for e in extents], np.uint64))
        block = task.block
        block[launch_block.ERROR] = address(record)
        block[launch_block.BOUNDS] = address(table)
        block[launch_block.BOUNDS_COUNT] = len(extents)
        block[launch_block.OWN_SCRATCH] = start
        return record, extents

    def _raise_fault(self, record: list[int], extents: Sequence[Extent]) -> None:
        if record[0]:
            from headwater.opencl.check_findings import beside

            kernel = self.kernel
            source, filename = kernel.program_source, kernel.program_filename
            found = explain(record, kernel.title, source, filename, extents, self.work_dim)
            raise beside(found, self._findings())


def layout(codes: Sequence[str], args: Sequence[ArgInfo], offsets: Sequence[int], total: int) -> str:
    """The `struct` format of the whole argument block, with its gaps."""
    if len(codes) != len(offsets):
        raise InternalError(f"{len(offsets)} argument offsets for {len(codes)} arguments")
    text, position = "<", 0
    for code, offset in zip(codes, offsets, strict=True):
        if offset < position:
            raise InternalError("argument offsets overlap")
        text += f"{offset - position}x{code}"
        position = offset + struct.calcsize("<" + code)
    return text + f"{max(total - position, 0)}x"


def _pointer_slot(kernel: CpuKernel, arg: ArgInfo, position: int) -> Slot:
    """From what is passed for a pointer to its address, but for arrays and streams of the very type."""
    writes = arg.access != "read"

    def slot(value: Any, task: Task) -> int:
        if type(value) is CpuBuffer:
            return value.address
        return _slow_pointer(kernel, arg, position, writes, value, task)

    return slot


def _slow_pointer(kernel: CpuKernel, arg: ArgInfo, position: int, writes: bool, value: Any, task: Task) -> int:
    """The address of anything else that can be passed for a pointer, or a LaunchError that says why it cannot."""
    if value is None:
        return 0
    if isinstance(value, (Stream, Buffer)):
        if value.device is not kernel.device:
            raise signature.fail(
                arg,
                position,
                f"this memory is on {value.device.name}, the launch on {kernel.device.name}",
                "read it into an array first, or launch where it is",
            )
        if isinstance(value, Stream):
            signature.check_array(arg, position, value.outline(), untyped=False, writes=False)
            value = value.buffer
        assert isinstance(value, CpuBuffer)
        return value.address
    array, untyped = signature.given_array(arg, position, value)
    signature.check_array(arg, position, array, untyped, writes)
    if array is not value:
        task.keep_view(value, array)
    if array.flags.c_contiguous:
        return address(array) if array.size else 0
    try:
        copy = np.ascontiguousarray(array)
    except MemoryError:
        raise ResourceError(f"not enough memory to copy argument {position} ({array.nbytes} bytes)") from None
    task.keep_copy(array, copy)
    return address(copy)


def _write_back(task: Task) -> None:
    """Bring what was written to contiguous copies back to the arrays they stand for."""
    copies, task.copies = task.copies, None
    for array, copy in copies or ():
        if array.flags.writeable:
            np.copyto(array, copy)


def memory_of(value: Any, task: Task) -> Array:
    """The array that the kernel sees for a pointer argument."""
    if isinstance(value, Stream):
        value = value.buffer
    if isinstance(value, CpuBuffer):
        return value.memory
    array = next((array for given, array in task.views or () if given is value), None)
    if array is None:
        array, _ = view(value)
    for original, copy in task.copies or ():
        if original is array:
            return copy
    return array


def _extent(name: str, array: Array) -> Extent:
    start = address(array) if array.size else 0
    return Extent(name, start, start + array.nbytes)


def local_bytes_of(arg: ArgInfo, position: int, value: object) -> int:
    """Bytes of a local argument; LaunchError for what is none."""
    if not isinstance(value, Local):
        raise signature.fail(
            arg, position, f"local memory is expected, {type(value).__name__} given", "pass hw.Local(number_of_bytes)"
        )
    return value.nbytes


def image_address(arg: ArgInfo, position: int, value: object) -> int:
    """The address of an image's descriptor; LaunchError for what is no image of that kind."""
    if not isinstance(value, Image):
        raise signature.fail(
            arg, position, f"an image is expected, {type(value).__name__} given", "pass hw.Image(array)"
        )
    signature.check_image(arg, position, value)
    value.refuse_unread()
    return value.address


def sampler_bits(arg: ArgInfo, position: int, value: object) -> int:
    """A sampler as clang encodes it; LaunchError for what is none."""
    if not isinstance(value, Sampler):
        raise signature.fail(
            arg, position, f"a sampler is expected, {type(value).__name__} given", "pass hw.Sampler(…)"
        )
    return value.bits


def _printf(formats: tuple[str, ...], told: list[str]) -> Any:
    from headwater.opencl.check_findings import MARK
    from headwater.opencl.printf import callback

    def write(text: str) -> None:
        if text.startswith(MARK):  # a finding of code for checks
            told.append(text)
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
