"""A kernel built by an OpenCL driver and its sizes pass in; a `ClLaunch`, which enqueues it, passes out."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from headwater.errors import HeadwaterError, KernelFault, LaunchError, UsageError
from headwater.runtime import signature
from headwater.runtime.arrays import Array, view
from headwater.runtime.cpu import check_sizes
from headwater.runtime.cpu_launch import check_image
from headwater.runtime.devices import Size, sizes
from headwater.runtime.events import Event, Queue, backend_for
from headwater.runtime.images import CHANNEL_ORDERS, CHANNEL_TYPES, Image
from headwater.runtime.opencl import ClBuffer, ClDevice, ClDeviceKernel, pyopencl, translate_error
from headwater.runtime.streams import Stream
from headwater.runtime.values import CL_ADDRESSING, CL_FILTER, Local, Sampler

if TYPE_CHECKING:
    from headwater.opencl.kernels import ArgInfo

_reference = weakref.ref
_NULL = object()  # what is held for a null pointer: None means that the value cannot be known again


class ClEvent(Event):
    """A launch on an OpenCL device; the clock is the device's."""

    __slots__ = ("_event", "_launch", "_queue")

    # Set by the one who makes it, without __init__, which would cost as much as all the rest of a repeated launch.
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
    """One kernel with its sizes fixed. Arguments that are those of the last launch are not set again."""

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
        self._count = len(kernel.info.args)
        # The dtype of streams that need no look at the argument's type; 3-vectors always do.
        self._fast = [
            signature.element_dtype(arg)
            if arg.kind in ("buffer", "constant") and (signature.argument_type(arg) or ("", 3))[1] != 3
            else None
            for arg in kernel.info.args
        ]
        cl = pyopencl()
        self._error = cl.Error
        self._enqueue = cl.enqueue_nd_range_kernel
        self._queue = device.queue
        self.quick = self._make_quick()

    def __call__(self, args: Sequence[Any], queue: Queue | None = None, time_limit: float | None = None) -> ClEvent:
        """Launch over ``args``. Arrays have their results on return, or with a queue once the event was waited for.

        An OpenCL kernel cannot be stopped: after ``time_limit`` seconds a KernelFault is raised while it runs on.
        """
        return self.quick(args, queue, time_limit)

    def _make_quick(self) -> Callable[..., ClEvent]:
        """The launch as a function whose constants are its own: what PyOpenCL itself does takes some microseconds."""
        kernel, cl_kernel, lock, enqueue = self.kernel, self.kernel.cl_kernel, self.kernel.lock, self._enqueue
        own_queue, whole, group, offset = self._queue, self._whole, self.group, self._offset
        new_event, refused, launch, device = object.__new__, self._error, self, self.device

        def quick(args: Sequence[Any], queue: Queue | None = None, time_limit: float | None = None) -> ClEvent:
            if queue is None:
                backend = own_queue
            elif type(queue) is Queue and queue.device is device:
                backend = queue._backend
            else:
                backend = backend_for(queue, device)
            ids = tuple(map(id, args))
            transfers = None
            with lock:
                if ids == kernel.last and not launch._empty:
                    try:
                        event = enqueue(backend, cl_kernel, whole, group, offset)
                    except refused as error:
                        raise launch._failure(error) from None
                else:
                    event, transfers = launch._set_and_enqueue(args, ids, backend)
            if transfers is not None or time_limit is not None:
                return launch._finish(event, backend, transfers or [], queue is not None, time_limit)
            made = new_event(ClEvent)
            made._event = event
            made._queue = backend
            made._launch = launch
            return made

        return quick

    def _set_and_enqueue(
        self, args: Sequence[Any], ids: tuple[int, ...], backend: Any
    ) -> tuple[Any, list[_Transfer] | None]:
        """Launch with arguments that must be set, the kernel's lock being held: the event, and what to bring back."""
        kernel = self.kernel
        if len(args) != self._count:
            raise signature.count_error(kernel.info, len(args))
        try:
            transfers = self._set_all(args, ids, backend)
            if self._empty:
                return None, None
            return self._enqueue(backend, kernel.cl_kernel, self._whole, self.group, self._offset), transfers
        except self._error as error:
            kernel.last = None
            raise self._failure(error) from None
        except BaseException:
            kernel.last = None
            raise

    def _event(self, kind: type[E], event: Any, backend: Any) -> E:
        made = object.__new__(kind)
        made._event, made._queue, made._launch = event, backend, self
        return made

    def _finish(
        self, event: Any, backend: Any, transfers: list[_Transfer], asynchronous: bool, time_limit: float | None
    ) -> ClEvent:
        """Bring arrays back; wait unless the launch is asynchronous."""
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
        if transfers and not asynchronous:
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

    # -- arguments -----------------------------------------------------------------------------------------------------

    def _set_all(self, args: Sequence[Any], ids: tuple[int, ...], backend: Any) -> list[_Transfer] | None:
        """Set every argument that is not set already; what must be brought back afterwards is returned."""
        kernel = self.kernel
        last = kernel.last or (0,) * self._count
        kernel.last = None
        transfers: list[_Transfer] = []
        known = True
        fast, device, held_all, set_arg = self._fast, self.device, kernel.held, kernel.cl_kernel.set_arg
        for i, value in enumerate(args):
            if last[i] == ids[i]:
                continue
            if type(value) is Stream and value.dtype is fast[i] and value.device is device:
                set_arg(i, value.buffer.mem)  # type: ignore[attr-defined]
                held_all[i] = _reference(value, kernel.forget)
                continue
            transfer, held = self._set(i, value, backend)
            if transfer is not None:
                transfers.append(transfer)
            known = known and held is not None
            held_all[i] = held
        if known:
            kernel.last = ids
        return transfers or None

    def _set(self, index: int, value: Any, backend: Any) -> tuple[_Transfer | None, Any]:
        """Set one argument; what must be brought back afterwards, and what to hold to know the value by its id."""
        kernel = self.kernel
        arg: ArgInfo = kernel.info.args[index]
        position = index + 1
        held: Any = None
        transfer: _Transfer | None = None
        if arg.kind == "value":
            native: Any = signature.pack_value(arg, position, value)
            held = value if isinstance(value, (int, float, np.generic, bytes)) else None
        elif arg.kind == "local":
            if not isinstance(value, Local):
                raise signature.fail(arg, position, "local memory is wanted", "pass hw.Local(number_of_bytes)")
            native, held = pyopencl().LocalMemory(value.nbytes), value
        elif arg.kind == "sampler":
            if not isinstance(value, Sampler):
                raise signature.fail(arg, position, "a sampler is wanted", "pass hw.Sampler(…)")
            native, held = self._sampler(value), value
        elif arg.kind == "image":
            if not isinstance(value, Image):
                raise signature.fail(
                    arg, position, f"an image is wanted, {type(value).__name__} given", "pass hw.Image(array)"
                )
            check_image(arg, position, value)
            transfer = _ImageTransfer(self, value, arg.access != "read", backend)
            native = transfer.memory
        else:
            native, transfer, held = self._pointer(arg, position, value, backend)
        if arg.kind == "value":
            kernel.set_bytes(index, native)
        else:
            kernel.cl_kernel.set_arg(index, native)
        return transfer, held

    def _pointer(self, arg: ArgInfo, position: int, value: Any, backend: Any) -> tuple[Any, _Transfer | None, Any]:
        """What to set for a pointer, what to bring back, and how to know the value again."""
        if value is None:
            return None, None, _NULL
        if isinstance(value, (Stream, ClBuffer)):
            if value.device is not self.device:
                raise signature.fail(
                    arg,
                    position,
                    f"this memory is on {value.device.name}, the launch on {self.device.name}",
                    "use stream.copy(device), or launch where it is",
                )
            if isinstance(value, Stream):
                signature.check_array(arg, position, value.outline(), untyped=False, writes=False)
            buffer = value.buffer if isinstance(value, Stream) else value
            assert isinstance(buffer, ClBuffer)
            return buffer.mem, None, _reference(value, self.kernel.forget)
        if isinstance(value, pyopencl().MemoryObject):
            return value, None, None
        if isinstance(value, (int, float, complex, np.generic, Local, Sampler, Image, str, list, tuple)):
            raise signature.fail(
                arg,
                position,
                f"an array is wanted, {type(value).__name__} given",
                "pass np.array(…, dtype=…)" if isinstance(value, (list, tuple)) else "",
            )
        try:
            array, untyped = view(value)
        except LaunchError as error:
            raise signature.fail(arg, position, error.message, error.hint) from None
        writes = arg.access != "read"
        signature.check_array(arg, position, array, untyped, writes)
        transfer = _Transfer(self, array, writes, backend)
        return transfer.memory, transfer, None

    def _sampler(self, sampler: Sampler) -> Any:
        made = self.device._samplers.get(sampler)
        if made is None:
            cl = pyopencl()
            made = cl.Sampler(
                self.device.context, sampler.normalized, CL_ADDRESSING[sampler.addressing], CL_FILTER[sampler.filter]
            )
            self.device._samplers[sampler] = made
        return made


class _Transfer:
    """An array lent to a launch: copied to the device before, and back after if the kernel may write to it."""

    def __init__(self, launch: ClLaunch, array: Array, writes: bool, backend: Any) -> None:
        self.array = array
        self.writes = writes
        self.host = np.ascontiguousarray(array)
        self.memory = self._upload(launch, backend)

    def _upload(self, launch: ClLaunch, backend: Any) -> Any:
        buffer = launch.device.allocate(self.host.nbytes)
        if self.host.size:
            pyopencl().enqueue_copy(backend, buffer.mem, self.host, is_blocking=False)
        return buffer.mem

    def read(self, backend: Any) -> Any:
        """Enqueue the copy back; its event."""
        cl = pyopencl()
        if not self.host.size:
            return cl.enqueue_marker(backend)
        return cl.enqueue_copy(backend, self.host, self.memory, is_blocking=False)


class _ImageTransfer(_Transfer):
    """The same for an image."""

    def __init__(self, launch: ClLaunch, image: Image, writes: bool, backend: Any) -> None:
        self.image = image
        super().__init__(launch, image.array, writes, backend)

    def _upload(self, launch: ClLaunch, backend: Any) -> Any:
        cl = pyopencl()
        image = self.image
        order, kind = CHANNEL_ORDERS[image.channel_order][0], CHANNEL_TYPES[image.channel_type][0]
        layered = image.dimensions.endswith("array")
        memory = cl.create_image(
            launch.device.context,
            cl.mem_flags.READ_WRITE,
            cl.ImageFormat(order, kind),
            shape=tuple(reversed(image.shape)),
            is_array=layered,
        )
        self._region = tuple(reversed(image.shape))
        cl.enqueue_copy(
            backend, memory, self.host, origin=(0,) * len(self._region), region=self._region, is_blocking=False
        )
        return memory

    def read(self, backend: Any) -> Any:
        return pyopencl().enqueue_copy(
            backend,
            self.host,
            self.memory,
            origin=(0,) * len(self._region),
            region=self._region,
            is_blocking=False,
        )
