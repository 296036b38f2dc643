"""What every device, its kernels, buffers and queues can do, whatever they are; none of them is known here by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from headwater.base.arrays import Array
from headwater.base.tools import tool
from headwater.errors import DeviceError, UsageError
from headwater.runtime.events import Event
from headwater.runtime.shapes import Size

if TYPE_CHECKING:
    from headwater.opencl.kernels import KernelInfo


class Buffer(ABC):
    """A piece of a device's memory: ``nbytes`` bytes on ``device``."""

    __slots__ = ("__weakref__", "device", "nbytes")

    device: Device
    nbytes: int

    def __repr__(self) -> str:
        return f"<Buffer of {self.nbytes} bytes on {self.device.name}>"


class Prepared(Protocol):
    """A kernel with its sizes fixed: called with the arguments it launches."""

    def __call__(self, args: Sequence[Any], queue: Queue | None = None, time_limit: float | None = None) -> Event: ...


class DeviceKernel(ABC):
    """One kernel built for one device."""

    __slots__ = ("__weakref__", "_title", "device", "info")

    device: Device
    info: KernelInfo

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.info.name

    @property
    def title(self) -> str:
        """What messages call it: its name, unless it was generated from one in another language."""
        return getattr(self, "_title", self.info.name)

    @title.setter
    def title(self, title: str) -> None:
        self._title = title

    @abstractmethod
    def prepare(
        self,
        global_size: Size,
        local_size: Size | None,
        offset: Size = (),
        *,
        check: bool | None = None,
        lds_bytes: int = 0,
    ) -> Prepared:
        """Fix the sizes; ``lds_bytes``: local memory for each group behind what the kernel declares. Cached: the same
        sizes give the same object. LaunchError if they cannot be launched."""


class DeviceProgram:
    """A source text built for one device: its ``kernels`` by name, the compiler's ``warnings``, and the size of the
    variables in global memory of OpenCL C that Headwater compiled."""

    __slots__ = ("__weakref__", "device", "kernels", "variable_bytes", "warnings")

    def __init__(
        self, device: Device, kernels: Mapping[str, DeviceKernel], warnings: str = "", variable_bytes: int = 0
    ) -> None:
        self.device = device
        self.kernels = kernels
        self.warnings = warnings
        self.variable_bytes = variable_bytes


class Device(ABC):
    """Something that runs kernels. As a context manager it is the current device inside the block."""

    name: str
    kind: Literal["cpu", "opencl", "simulated"]
    description: str

    @property
    def is_gpu(self) -> bool:
        """Whether it is a graphics processor."""
        return False

    @property
    def driver(self) -> str:
        """What runs the kernels, with its version, for reports."""
        return ""

    @property
    def memory_bytes(self) -> int:
        """How much memory the device has."""
        return 0

    @property
    def compute_units(self) -> int:
        """How many cores or compute units work side by side."""
        return 1

    @property
    def max_group_size(self) -> int:
        """The largest number of work-items in a group."""
        return 1

    @property
    def has_local_memory(self) -> bool:
        """Whether the work-items of a group share memory."""
        return True

    @property
    def local_memory_bytes(self) -> int:
        """How much local memory a group can have: at least what OpenCL guarantees."""
        return 32768

    @property
    def stream_texels(self) -> int:
        """A side of the largest texture where Brook+ streams are textures and colour outputs; 0 where they are
        buffers."""
        return 0

    def expect_source(self) -> None:
        """Begin to get ready for a `build` of what is not in the cache; returns at once."""
        return None

    @abstractmethod
    def build(self, source: str, filename: str, options: str = "", only: tuple[str, ...] = ()) -> DeviceProgram:
        """Compile OpenCL C for this device, or take it from the cache; SourceError with the position if it is wrong.

        ``only``: the kernels that are wanted, if any are named; a device may build all the same.
        """

    @abstractmethod
    def allocate(self, nbytes: int) -> Buffer:
        """Uninitialised device memory; ResourceError if there is not enough."""

    @abstractmethod
    def wrap(self, array: Array) -> Buffer:
        """A buffer with the contents of a C-contiguous array: its own memory on cpu, a copy elsewhere."""

    @abstractmethod
    def upload(self, array: Array) -> Buffer:
        """A new buffer with a copy of the array, in C order."""

    @abstractmethod
    def write(self, buffer: Buffer, array: Array, offset: int = 0) -> None:
        """Copy an array into a buffer from byte ``offset`` on."""

    @abstractmethod
    def download(self, buffer: Buffer, array: Array, offset: int = 0) -> None:
        """Copy a buffer from byte ``offset`` on into an array, after all launches before it on the default queue."""

    @abstractmethod
    def copy(self, source: Buffer, target: Buffer) -> None:
        """Copy one buffer of this device to another, as far as the shorter goes."""

    def part(self, buffer: Buffer, offset: int, nbytes: int) -> Buffer | None:
        """A buffer that is a part of another's memory; None if this device has none that begin there."""
        return None

    def copy_part(
        self, source: Buffer, target: Buffer, stored: Sequence[int], index: Sequence[slice], itemsize: int
    ) -> None:
        """Copy the part ``index`` of an array of shape ``stored``, elements of ``itemsize`` bytes, without gaps."""
        whole = np.empty(tuple(stored), f"V{itemsize}")
        self.download(source, whole)
        self.write(target, np.ascontiguousarray(whole[tuple(index)]))

    @abstractmethod
    def fill(self, buffer: Buffer, pattern: bytes) -> None:
        """Repeat the bytes all over the buffer; its size is a multiple of the pattern's."""

    @abstractmethod
    def new_queue(self, profiling: bool = True) -> Any:
        """What a `Queue` of this device works with; ``profiling``: its events know the device's times."""

    @abstractmethod
    def finish_queue(self, backend: Any) -> None:
        """Wait for a queue made by `new_queue`."""

    @abstractmethod
    def finish(self) -> None:
        """Wait for everything launched on the device's default queue."""

    def flush(self) -> None:
        """Have what was launched on the default queue begin, if the device has not begun it by itself."""
        return

    def prepare(
        self, kernel: DeviceKernel, global_size: Size, local_size: Size | None = None, offset: Size = ()
    ) -> Prepared:
        """A kernel of this device with its sizes fixed; call the result with the arguments."""
        if kernel.device is not self:
            raise UsageError(f"kernel {kernel.name} was built for {kernel.device.name}, not for {self.name}")
        return kernel.prepare(global_size, local_size, offset)

    def launch(
        self,
        kernel: DeviceKernel,
        global_size: Size,
        local_size: Size | None,
        args: Sequence[Any],
        *,
        offset: Size = (),
        queue: Queue | None = None,
        time_limit: float | None = None,
    ) -> Event:
        """Run a kernel over ``global_size`` work-items in groups of ``local_size`` (None: the device chooses).

        ``args``: buffers, streams, arrays, values, `Local`, `Image`, `Sampler` in the kernel's order.
        """
        return self.prepare(kernel, global_size, local_size, offset)(args, queue, time_limit)

    def __enter__(self) -> Device:
        _stack.set((*_stack.get(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _stack.set(_stack.get()[:-1])

    def __repr__(self) -> str:
        return f"<Device {self.name!r}: {self.description}>"


_stack: ContextVar[tuple[Device, ...]] = ContextVar("headwater_device", default=())


class Queue:
    """Launches one after the other while Python goes on: ``Queue("gpu")``, or ``Queue()`` for the current device.

    Several queues run at the same time. As a context manager it waits at the end of the block::

        with hw.Queue("cpu") as queue:
            event = prog.k[(n,), None](a, b, n, queue=queue)

    Without ``profiling`` the events of an OpenCL queue have no times, and a launch costs less (on an NVIDIA H200 7 µs
    instead of 12).
    """

    __slots__ = ("__weakref__", "_backend", "device")

    def __init__(self, device: Device | str | None = None, profiling: bool = True) -> None:
        self.device = resolve(device)
        self._backend = self.device.new_queue(profiling)

    @property
    def backend(self) -> Any:
        """The device's own queue object; a ``pyopencl.CommandQueue`` on OpenCL devices."""
        return self._backend

    def wait(self) -> None:
        """Wait for everything put in so far; the first error of a launch is raised."""
        self.device.finish_queue(self._backend)

    finish = wait

    def __enter__(self) -> Queue:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.wait()

    def __repr__(self) -> str:
        return f"Queue({self.device.name!r})"


def backend_for(queue: Queue, device: Device) -> Any:
    """The queue's backend, if it belongs to ``device``; UsageError otherwise."""
    if not isinstance(queue, Queue):
        raise UsageError(f"queue= takes a Queue, not a {type(queue).__name__}")
    if queue.device is not device:
        raise UsageError(
            f"this queue belongs to {queue.device.name}, the launch goes to {device.name}",
            hint=f"make one with hw.Queue({device.name!r})",
        )
    return queue._backend


# -- which device ------------------------------------------------------------------------------------------------------


def current() -> Device | None:
    """The device of the innermost ``with`` block, None outside of any."""
    stack = _stack.get()
    return stack[-1] if stack else None


def resolve(device: Device | str | None = None) -> Device:
    """The device meant: itself, by its name, or if None the current one, the environment's, or the cpu.

    DeviceError names the devices that exist if there is none of that name.
    """
    if isinstance(device, Device):
        return device
    if device is None:
        return current() or default()
    if not isinstance(device, str):
        raise DeviceError(f"a device is meant by a name or a Device, not by a {type(device).__name__}")
    found: Device = tool("device")(device)
    return found


def default() -> Device:
    """The device that the environment names, else the cpu."""
    found: Device = tool("default device")()
    return found
