"""Input: a launch's arguments. Output: a PyOpenCL kernel with them set, and what must be copied back after it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.base.arrays import Array, same_elements, share_memory
from headwater.errors import DeviceError, LaunchError
from headwater.runtime import signature
from headwater.runtime.images import CHANNEL_ORDERS, CHANNEL_TYPES, Image
from headwater.runtime.opencl.calls import UNCHANGING, UNKNOWN
from headwater.runtime.opencl.device import ClBuffer, ClDevice, pyopencl
from headwater.runtime.signature import check_image
from headwater.runtime.streams import Stream
from headwater.runtime.values import CL_ADDRESSING, CL_FILTER, Local, Sampler

if TYPE_CHECKING:
    from headwater.opencl.kernels import ArgInfo, KernelInfo


class Setting:
    """One PyOpenCL kernel, whose arguments one thread at a time sets."""

    __slots__ = ("bound", "kernel", "set_bytes", "set_memory")

    def __init__(self, kernel: Any, bound: tuple[Any, ...]) -> None:
        self.kernel = kernel
        # All at once is half as dear as one after the other.
        self.set_memory: Callable[[tuple[Any, ...]], None] = getattr(kernel, "_set_arg_multi", None) or _one_by_one(
            kernel.set_arg
        )
        # set_arg works for a value's bytes too, but tries everything else first, which takes 6 µs.
        self.set_bytes: Callable[[tuple[Any, ...]], None] = getattr(kernel, "_set_arg_buf_multi", None) or _one_by_one(
            kernel.set_arg
        )
        self.bound = bound
        """What is set, argument by argument: a stream's token, another's object, or what no argument is."""


class Arguments:
    """What launches of one kernel set.

    A thread takes a `Setting` for the time of a launch, as clSetKernelArg is not safe to call from several threads with
    one kernel. Where Ctrl-C interrupts it the setting is lost and another one made; a lock would stay locked.
    """

    def __init__(self, device: ClDevice, info: KernelInfo, kernel: Any, make: Callable[[], Any]) -> None:
        self._device = device
        self.info = info
        self._make = make
        self._memory = [i for i, arg in enumerate(info.args) if arg.kind != "value"]
        self.packers: dict[int, Callable[[Any], bytes]] = {
            i: signature.value_packer(arg, i + 1) for i, arg in enumerate(info.args) if arg.kind == "value"
        }
        """From values to their bytes."""
        self.unknown = (UNKNOWN,) * len(info.args)
        self.plain: list[np.dtype[Any] | None] = [
            signature.element_dtype(arg)
            if arg.kind in ("buffer", "constant") and (signature.argument_type(arg) or ("", 3))[1] != 3
            else None
            for arg in info.args
        ]
        """The dtype of streams that need no look at the argument's type; 3-vectors always do."""
        self.idle = [Setting(kernel, self.unknown)]
        """Those that no thread has taken."""

    def another(self) -> Setting:
        """A new setting, for when none is idle."""
        return Setting(self._make(), self.unknown)

    def set(self, setting: Setting, args: Sequence[Any], backend: Any) -> list[Transfer] | None:
        """Set all arguments; what must be brought back after the launch is returned.

        There are as many as the kernel has. LaunchError for one that does not fit, ``pyopencl.Error`` where the driver
        refuses one.
        """
        setting.bound = self.unknown
        bound = list(self.unknown)
        to_set, transfers = self._look_at(args, backend, bound)
        if to_set:
            setting.set_memory(to_set)
        if self.packers:
            data: list[Any] = []
            for index, pack in self.packers.items():
                value = args[index]
                data += (index, pack(value))
                if type(value) in UNCHANGING:
                    bound[index] = value
            setting.set_bytes(tuple(data))
        setting.bound = tuple(bound)
        return transfers

    def _look_at(
        self, args: Sequence[Any], backend: Any, bound: list[Any]
    ) -> tuple[tuple[Any, ...], list[Transfer] | None]:
        """What to set for the memory arguments, and what must be brought back after the launch.

        Into ``bound`` goes what tells arguments again: never their memory, which no kernel may keep alive.
        """
        to_set: list[Any] = []
        transfers: list[Transfer] = []
        plain, device = self.plain, self._device
        for index in self._memory:
            value = args[index]
            if type(value) is Stream and value.dtype is plain[index] and value.device is device:
                native, transfer = value.buffer.memory, None  # type: ignore[attr-defined]
            else:
                native, transfer = self._native(index, value, backend, transfers)
            to_set += (index, native)
            if transfer is not None:
                transfers.append(transfer)
            elif type(value) is Stream:
                bound[index] = value.token
            elif type(value) in (Local, Sampler):
                bound[index] = value
        if len(transfers) > 1:
            _refuse_shared(transfers)
        return tuple(to_set), transfers or None

    def _native(self, index: int, value: Any, backend: Any, lent: Sequence[Transfer]) -> tuple[Any, Transfer | None]:
        """What to set for an argument that is no value, and what to bring back. ``lent``: what is brought already."""
        arg: ArgInfo = self.info.args[index]
        position = index + 1
        if arg.kind == "local":
            if not isinstance(value, Local):
                raise signature.fail(arg, position, "local memory is expected", "pass hw.Local(number_of_bytes)")
            return pyopencl().LocalMemory(value.nbytes), None
        if arg.kind == "sampler":
            if not isinstance(value, Sampler):
                raise signature.fail(arg, position, "a sampler is expected", "pass hw.Sampler(…)")
            return self._sampler(value), None
        if arg.kind == "image":
            if not isinstance(value, Image):
                raise signature.fail(
                    arg, position, f"an image is expected, {type(value).__name__} given", "pass hw.Image(array)"
                )
            check_image(arg, position, value)
            transfer: Transfer = _ImageTransfer(self._device, arg, value, backend)
            return transfer.memory, transfer
        return self._pointer(arg, position, value, backend, lent)

    def _pointer(
        self, arg: ArgInfo, position: int, value: Any, backend: Any, lent: Sequence[Transfer]
    ) -> tuple[Any, Transfer | None]:
        """What to set for a pointer, and what to bring back. An array that is lent already has its buffer."""
        if value is None:
            return None, None
        if isinstance(value, (Stream, ClBuffer)):
            if value.device is not self._device:
                raise signature.fail(
                    arg,
                    position,
                    f"this memory is on {value.device.name}, the launch on {self._device.name}",
                    "use stream.copy(device), or launch where it is",
                )
            if isinstance(value, Stream):
                signature.check_array(arg, position, value.outline(), untyped=False, writes=False)
            buffer = value.buffer if isinstance(value, Stream) else value
            assert isinstance(buffer, ClBuffer)
            return buffer.memory, None
        if isinstance(value, pyopencl().MemoryObject):
            return value, None
        array, untyped = signature.given_array(arg, position, value)
        writes = arg.access != "read"
        signature.check_array(arg, position, array, untyped, writes)
        for known in lent:
            if type(known) is Transfer and same_elements(known.array, array):
                if writes:
                    known.is_written(array)
                return known.memory, None
        if not array.flags.c_contiguous:
            backend.finish()  # what launches of the queue write to it is copied now
        transfer = Transfer(self._device, arg, array, backend)
        return transfer.memory, transfer

    def _sampler(self, sampler: Sampler) -> Any:
        made = self._device.samplers.get(sampler)
        if made is None:
            cl = pyopencl()
            made = cl.Sampler(
                self._device.context, sampler.normalized, CL_ADDRESSING[sampler.addressing], CL_FILTER[sampler.filter]
            )
            self._device.samplers[sampler] = made
        return made


def _one_by_one(set_arg: Callable[[int, Any], None]) -> Callable[[tuple[Any, ...]], None]:
    """For versions of PyOpenCL that cannot set several arguments in one call."""

    def set_all(indices_and_values: tuple[Any, ...]) -> None:
        for index, value in zip(indices_and_values[::2], indices_and_values[1::2], strict=True):
            set_arg(index, value)

    return set_all


def _refuse_shared(transfers: Sequence[Transfer]) -> None:
    """LaunchError where two arrays share memory and one of them is written: on the device each has its own."""
    for one, other in itertools.combinations(transfers, 2):
        if (one.writes or other.writes) and share_memory(one.array, other.array):
            raise LaunchError(
                f"`{one.name}` and `{other.name}` are over the same memory",
                hint="each is copied to the device; give the arguments arrays of their own, or one stream",
            )


class Transfer:
    """An array lent to a launch: copied to the device before, and back after if the kernel may write to it."""

    def __init__(self, device: ClDevice, arg: ArgInfo, array: Array, backend: Any) -> None:
        self.name = arg.name
        self.array = array
        self.writes = arg.access != "read"
        self.host = np.ascontiguousarray(array)
        self.memory = self._upload(device, backend)

    def _upload(self, device: ClDevice, backend: Any) -> Any:
        self.buffer = device.allocate(self.host.nbytes)
        if self.host.size:
            pyopencl().enqueue_copy(backend, self.buffer.memory, self.host, is_blocking=False)
        return self.buffer.memory

    def is_written(self, array: Array) -> None:
        """The kernel writes to these elements by ``array``; the one that was lent may be read-only."""
        self.writes = True
        if not self.array.flags.writeable:
            self.array = array
            self.host = array if array.flags.c_contiguous else self.host.view(array.dtype)

    def read(self, backend: Any) -> Any:
        """Enqueue the copy back; its event."""
        cl = pyopencl()
        if not self.host.size:
            return cl.enqueue_marker(backend)
        return cl.enqueue_copy(backend, self.host, self.memory, is_blocking=False)


class _ImageTransfer(Transfer):
    """The same for an image."""

    def __init__(self, device: ClDevice, arg: ArgInfo, image: Image, backend: Any) -> None:
        self.image = image
        super().__init__(device, arg, image.array, backend)

    def _upload(self, device: ClDevice, backend: Any) -> Any:
        cl = pyopencl()
        image = self.image
        order, kind = CHANNEL_ORDERS[image.channel_order][0], CHANNEL_TYPES[image.channel_type][0]
        layered = image.dimensions.endswith("array")
        if image.dimensions == "1d_array":
            # pyopencl.create_image tells the driver of one layer, whatever the shape: PoCL then writes beyond it.
            raise DeviceError(
                "PyOpenCL makes no arrays of 1-D images",
                hint="use image2d_array_t with images one pixel high, or run it on the cpu device",
            )
        memory = cl.create_image(
            device.context,
            cl.mem_flags.READ_WRITE,
            cl.ImageFormat(order, kind),
            shape=tuple(reversed(image.shape)),
            is_array=layered,
        )
        self._region = tuple(reversed(image.shape))
        if len(self._region) == 1:
            mapped = self._mapped(memory, cl.map_flags.WRITE, backend)
            mapped[...] = self.host
            mapped.base.release(backend)
            return memory
        cl.enqueue_copy(
            backend, memory, self.host, origin=(0,) * len(self._region), region=self._region, is_blocking=False
        )
        return memory

    def _mapped(self, memory: Any, flags: Any, backend: Any) -> Any:
        """The device's memory of a 1-D image, which pyopencl.enqueue_copy does not take, as an array of the host's."""
        host = self.host
        return pyopencl().enqueue_map_image(backend, memory, flags, (0,), self._region, host.shape, host.dtype)[0]

    def read(self, backend: Any) -> Any:
        if len(self._region) == 1:
            mapped = self._mapped(self.memory, pyopencl().map_flags.READ, backend)
            self.host[...] = mapped
            return mapped.base.release(backend)
        return pyopencl().enqueue_copy(
            backend,
            self.host,
            self.memory,
            origin=(0,) * len(self._region),
            region=self._region,
            is_blocking=False,
        )
