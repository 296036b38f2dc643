"""A device's name, or none, passes in; the `Device` to run on passes out, with the interface that every kind has."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from operator import index
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from headwater.base.arrays import Array
from headwater.errors import DeviceError, LaunchError, UsageError
from headwater.runtime.events import Event, Queue

if TYPE_CHECKING:
    from headwater.opencl.kernels import KernelInfo

Size = Sequence[int] | int


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
    """A source text built for one device: its ``kernels`` by name, and what the compiler ``warned`` of."""

    __slots__ = ("__weakref__", "device", "kernels", "warnings")

    def __init__(self, device: Device, kernels: Mapping[str, DeviceKernel], warnings: str = "") -> None:
        self.device = device
        self.kernels = kernels
        self.warnings = warnings


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
    def stream_texels(self) -> int:
        """A side of the largest texture where Brook+ streams are textures and colour outputs; 0 where they are
        buffers."""
        return 0

    def expect_source(self) -> None:
        """Begin to get ready for a `build` of what is not in the cache; returns at once."""
        return None

    @abstractmethod
    def build(self, source: str, filename: str, options: str = "") -> DeviceProgram:
        """Compile OpenCL C for this device, or take it from the cache; SourceError with the position if it is wrong."""

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


def sizes(value: Size, what: str, low: int = 0) -> tuple[int, ...]:
    """One to three whole numbers, at least ``low`` each; LaunchError otherwise."""
    given: Any = value
    parts = given if isinstance(given, Sequence) or (isinstance(given, np.ndarray) and given.ndim == 1) else (given,)
    if isinstance(given, (str, bytes, bytearray)) or not 1 <= len(parts) <= 3:
        raise LaunchError(f"the {what} has one to three dimensions, not {value!r:.60}")
    out = []
    for part in parts:
        try:
            number = -1 if isinstance(part, (bool, np.bool_)) else index(part)
        except Exception:  # whatever an __index__ may raise
            number = -1
            part = repr(part)
        if isinstance(part, (bool, np.bool_, str)):
            raise LaunchError(f"the {what} is made of whole numbers, not {part!s:.60}", hint="use // instead of /")
        if number < low:
            raise LaunchError(f"the {what} {tuple(parts)} has a dimension below {low}")
        if number >= 1 << 63:
            raise LaunchError(f"the {what} {tuple(parts)} is beyond 64 bits")
        out.append(number)
    return tuple(out)


# -- choosing ----------------------------------------------------------------------------------------------------------


def current() -> Device | None:
    """The device of the innermost ``with`` block, None outside of any."""
    stack = _stack.get()
    return stack[-1] if stack else None


def resolve(device: Device | str | None = None) -> Device:
    """The device meant: itself, by its name, or if None the current one, the environment's, or the cpu.

    DeviceError names the devices that exist if there is none of that name.
    """
    if device is None:
        return current() or default()
    if isinstance(device, Device):
        return device
    if not isinstance(device, str):
        raise DeviceError(f"a device is meant by a name or a Device, not by a {type(device).__name__}")
    return _by_name(device)


def default() -> Device:
    """The device that the environment names: HEADWATER_DEVICE, or Brook+'s BRT_RUNTIME, BRT_ADAPTER; else the cpu."""
    name = os.environ.get("HEADWATER_DEVICE", "").strip()
    if name:
        try:
            return _by_name(name)
        except DeviceError as error:
            raise DeviceError(f"HEADWATER_DEVICE={name}: {error.message}", hint=error.hint) from None
    runtime = os.environ.get("BRT_RUNTIME", "").strip().lower()
    if runtime == "cal":
        # Brook+ 1.4 ran "cal" kernels on the GPU number BRT_ADAPTER.
        adapter = os.environ.get("BRT_ADAPTER", "").strip() or "0"
        if not adapter.isdecimal():
            raise DeviceError(f"BRT_ADAPTER={adapter}: not a number", hint="it counts GPUs from 0")
        try:
            return _by_name(f"gpu:{adapter}")
        except DeviceError as error:
            raise DeviceError(
                f"BRT_RUNTIME=cal asks for a GPU: {error.message}", hint=error.hint or "set BRT_RUNTIME=cpu"
            ) from None
    if runtime not in ("", "cpu"):
        raise DeviceError(f"BRT_RUNTIME={runtime}: no such run-time", hint="use cpu or cal")
    return _cpu()


def _cpu() -> Device:
    from headwater.runtime.cpu.device import cpu_device

    return cpu_device()


def _by_name(text: str) -> Device:
    name = text.strip()
    lower = name.lower()
    if lower == "cpu":
        return _cpu()
    if lower == "gpu" or lower.startswith(("gpu:", "opencl:")) or lower == "opencl":
        from headwater.runtime.opencl.device import find

        return find(name)
    found = _simulated(name) or _opencl_by_device_name(name)
    if found is not None:
        return found
    raise unknown_device(name)


def _simulated(name: str) -> Device | None:
    from headwater.runtime.gcn.device import find

    return find(name)


def _opencl_by_device_name(name: str) -> Device | None:
    from headwater.runtime.opencl.device import available, enumerate_devices

    if not name or not available():
        return None
    matches = [device for device in enumerate_devices() if name.lower() in device.description.lower()]
    exact = [device for device in matches if device.description.lower() == name.lower()]
    found = exact or matches
    return found[0] if found else None


def unknown_device(name: str, reason: str = "") -> DeviceError:
    """A DeviceError that says which devices exist, and which the name is nearest to."""
    import difflib

    from headwater import chips

    existing = devices()
    names = [*(device.name for device in existing), *chips.names(), "gpu"]
    known = {**{n.lower(): n for n in names}, **{d.description.lower(): d.description for d in existing}}
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    listing = ", ".join(f"{device.name} ({device.description})" for device in existing)
    suggestion = f"did you mean {known[near[0]]!r}? " if near and near[0] != name.lower() else ""
    return DeviceError(
        f"no device {name!r}{f': {reason}' if reason else ''}",
        hint=f"{suggestion}the devices here are {listing}; headwater devices lists the simulated chips, too",
    )


def device(name: Device | str | None = None) -> Device:
    """A device by name: ``"cpu"``, ``"gpu"``, ``"gpu:1"``, ``"opencl"``, ``"opencl:0:1"`` (platform, device),
    ``"opencl:NVIDIA"`` (part of a platform's or device's name), or part of a device's name.

    Without a name: the current device, else HEADWATER_DEVICE, BRT_RUNTIME/BRT_ADAPTER, else the cpu.
    DeviceError if there is none. A device is a context manager: ``with hw.device("gpu"): …``.
    """
    return resolve(name)


def devices() -> list[Device]:
    """Every device of this machine, the cpu first; OpenCL devices are listed if PyOpenCL is installed."""
    from headwater.runtime.opencl.device import available, enumerate_devices

    return [_cpu(), *(enumerate_devices() if available() else [])]
