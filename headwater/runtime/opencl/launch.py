"""Input: a kernel built by an OpenCL driver and its sizes. Output: a `ClLaunch`, which enqueues it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeVar

import numpy as np

from headwater.base.arrays import Array
from headwater.errors import HeadwaterError, KernelFault, LaunchError, UsageError
from headwater.runtime.events import Event
from headwater.runtime.interface import Queue, backend_for
from headwater.runtime.opencl.arguments import Transfer
from headwater.runtime.opencl.calls import caller
from headwater.runtime.opencl.device import ClDevice, ClDeviceKernel, pyopencl, translate_error
from headwater.runtime.shapes import Size, check_sizes, sizes
from headwater.runtime.signature import count_error


class ClEvent(Event):
    """A launch on an OpenCL device; the clock is the device's."""

    __slots__ = ("_event", "_launch", "_queue")

    # Set by the one who makes it, without __init__.
    _event: Any  # the kernel's; None for a launch without work-items
    _queue: Any
    _launch: ClLaunch

    @property
    def local_size(self) -> tuple[int, ...] | None:
        return self._launch.group

    @property
    def _last(self) -> Any:
        """The event of what comes last: the kernel, or copies back to arrays."""
        return self._event

    @property
    def cl_event(self) -> Any:
        """The kernel's ``pyopencl.Event``."""
        return self._event

    @property
    def done(self) -> bool:
        if self._last is None:
            return True
        self._queue.flush()
        status: int = self._last.command_execution_status
        return status <= 0  # CL_COMPLETE is 0, errors are negative

    def wait(self, timeout: float | None = None) -> ClEvent:
        if self._last is None:
            return self
        if timeout is not None:
            deadline = time.monotonic() + timeout
            while not self.done:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"the launch is still running after {timeout} s")
                time.sleep(0.0005)
        try:
            self._last.wait()
        except pyopencl().Error as error:
            raise translate_error(error, "the launch failed") from None
        return self

    def _time(self, which: str) -> float:
        self.wait()
        if self._event is None:
            return 0.0
        try:
            return float(getattr(self._event.profile, which)) * 1e-9
        except pyopencl().Error:
            raise UsageError(
                "this queue keeps no times", hint="make it with hw.Queue(device, profiling=True)"
            ) from None

    @property
    def queued(self) -> float:
        return self._time("queued")

    @property
    def started(self) -> float:
        return self._time("start")

    @property
    def ended(self) -> float:
        return self._time("end")


class ClCopyingEvent(ClEvent):
    """A launch on arrays of the host, whose results are copied back after it."""

    __slots__ = ("_after", "_copies")

    _after: Any
    _copies: Sequence[tuple[Array, Array]]  # (array, contiguous copy); they also keep alive what the device uses

    @property
    def _last(self) -> Any:
        return self._after

    def wait(self, timeout: float | None = None) -> ClEvent:
        super().wait(timeout)
        copies, self._copies = self._copies, ()
        for array, copy in copies:
            if copy is not array:
                np.copyto(array, copy)
        return self


E = TypeVar("E", bound=ClEvent)


class ClLaunch:
    """One kernel with its sizes fixed."""

    def __init__(self, kernel: ClDeviceKernel, global_size: Size, local_size: Size | None, offset: Size) -> None:
        device = kernel.device
        assert isinstance(device, ClDevice)
        whole = sizes(global_size, "global size")
        self.kernel = kernel
        self.device: ClDevice = device
        self._whole = whole
        self.group = check_sizes(kernel.info, whole, local_size, kernel.options, device.max_group_size)
        self._offset = None if isinstance(offset, tuple) and not offset else sizes(offset, "global offset")
        if self._offset is not None and len(self._offset) != len(whole):
            raise LaunchError(f"the offset {self._offset} has not as many dimensions as the global size {whole}")
        self._empty = prod(whole) == 0
        cl = pyopencl()
        self._error = cl.Error
        self._enqueue = cl.enqueue_nd_range_kernel
        self._queue = device.queue

    def __call__(self, args: Sequence[Any], queue: Queue | None = None, time_limit: float | None = None) -> ClEvent:
        """Launch over ``args``. Arrays have their results on return, or with a queue once the event was waited for.

        An OpenCL kernel cannot be stopped: after ``time_limit`` seconds a KernelFault is raised while it runs on.
        """
        backend = self._queue if queue is None else backend_for(queue, self.device)
        info, arguments = self.kernel.info, self.kernel.arguments
        if len(args) != len(info.args):
            raise count_error(info, len(args))
        event = None
        try:
            setting = arguments.idle.pop()
        except IndexError:
            setting = arguments.another()
        try:
            transfers = arguments.set(setting, args, backend)
            if not self._empty:
                event = self._enqueue(backend, setting.kernel, self._whole, self.group, self._offset)
        except self._error as error:
            raise self._failure(error) from None
        finally:
            arguments.idle.append(setting)
        if transfers is not None or time_limit is not None:
            return self._finish(event, backend, transfers or [], queue is not None, time_limit)
        return self._event(ClEvent, event, backend)

    def repeat(self, launch: Callable[..., Event]) -> Callable[..., Event] | None:
        """A short cut for streams and values; ``launch``, which brings launches here, gets the others.

        None for kernels that have no such arguments.
        """
        arguments = self.kernel.arguments
        make = None if self._empty else caller(arguments.info.args, arguments.plain)
        if make is None:
            return None
        return make(
            launch, self, arguments, self.device, self._queue, self._enqueue, self._whole, self.group, self._offset,
            self._error, ClEvent,
        )  # fmt: skip

    def _event(self, kind: type[E], event: Any, backend: Any) -> E:
        made = object.__new__(kind)
        made._event, made._queue, made._launch = event, backend, self
        return made

    def _finish(
        self, event: Any, backend: Any, transfers: list[Transfer], asynchronous: bool, time_limit: float | None
    ) -> ClEvent:
        """Bring arrays back; wait unless the launch is asynchronous and they have no gaps."""
        last = event
        copies: list[tuple[Array, Array]] = []
        try:
            for transfer in transfers:
                if transfer.writes:
                    last = transfer.read(backend)
                copies.append((transfer.array if transfer.writes else transfer.host, transfer.host))
        except self._error as error:
            raise self._failure(error) from None
        result = self._event(ClCopyingEvent, event, backend)
        result._after, result._copies = last, copies
        if time_limit is not None:
            try:
                return result.wait(time_limit)
            except TimeoutError:
                raise KernelFault(
                    f"{self.kernel.name} is still running after its time limit of {time_limit:g} s",
                    hint=f"a kernel on {self.device.description} cannot be stopped; the cpu device can",
                ) from None
        # Arrays with gaps get their results from this thread: the queue's next launches may read them.
        gaps = any(transfer.writes and not transfer.array.flags.c_contiguous for transfer in transfers)
        if transfers and (gaps or not asynchronous):
            result.wait()
        return result

    def _failure(self, error: Exception) -> HeadwaterError:
        code = getattr(error, "code", None)
        status = pyopencl().status_code
        if code in (status.INVALID_ARG_SIZE, status.INVALID_ARG_VALUE, status.INVALID_KERNEL_ARGS):
            return LaunchError(f"{self.device.description} refuses an argument of {self.kernel.name}: {error}")
        if code in (status.INVALID_WORK_GROUP_SIZE, status.INVALID_WORK_ITEM_SIZE, status.INVALID_GLOBAL_WORK_SIZE):
            return LaunchError(
                f"{self.device.description} cannot run groups of {self.group} over {self._whole}: {error}",
                hint="pass None as the group size",
            )
        return translate_error(error, f"launching {self.kernel.name} on {self.device.description}")
