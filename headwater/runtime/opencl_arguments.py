"""A launch's arguments pass in; a PyOpenCL kernel with them set passes out, and what must be brought back after it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.runtime import signature
from headwater.runtime.arrays import Array
from headwater.runtime.cpu_launch import check_image
from headwater.runtime.images import CHANNEL_ORDERS, CHANNEL_TYPES, Image
from headwater.runtime.opencl import ClBuffer, ClDevice, pyopencl
from headwater.runtime.streams import Stream
from headwater.runtime.values import CL_ADDRESSING, CL_FILTER, Local, Sampler

if TYPE_CHECKING:
    from headwater.opencl.kernels import ArgInfo, KernelInfo

_KNOWN_SETS = 64  # combinations of memory arguments that are remembered
_NULL = object()  # what is held for a null pointer: None means that the value cannot be known again

_reference = weakref.ref
Ids = tuple[int, ...]
_Set = tuple[tuple[Any, ...], list[Any]]
"""Positions and values to set, alternating; and what to hold for each (None: it cannot be known again)."""


class Arguments:
    """What is set in one PyOpenCL kernel. Not safe to use from several threads at once.

    Objects are known again by their ids. What keeps an id from being given to another object is held: the object,
    or for memory, which must not be kept alive, a weak reference that makes everything unknown when the object goes.
    """

    def __init__(self, device: ClDevice, info: KernelInfo, cl_kernel: Any) -> None:
        self._device = device
        self._info = info
        self._memory = [i for i, arg in enumerate(info.args) if arg.kind != "value"]
        self._pick = _picker(self._memory)
        self._values = [(i, signature.value_packer(a, i + 1)) for i, a in enumerate(info.args) if a.kind == "value"]
        # The dtype of streams that need no look at the argument's type; 3-vectors always do.
        self._plain = [
            signature.element_dtype(arg)
            if arg.kind in ("buffer", "constant") and (signature.argument_type(arg) or ("", 3))[1] != 3
            else None
            for arg in info.args
        ]
        # All at once is half as dear as one after the other.
        self.set_memory = getattr(cl_kernel, "_set_arg_multi", None) or _one_by_one(cl_kernel.set_arg)
        # set_arg works for a value's bytes too, but tries everything else first, which takes 6 µs.
        self._set_bytes = getattr(cl_kernel, "_set_arg_buf_multi", None) or _one_by_one(cl_kernel.set_arg)
        self._last: Ids | None = None
        """The ids of the arguments whose values are set; None if that cannot be told."""
        self.known: dict[Ids, _Set] = {}
        """What to set, by `set_memory`, for arguments of these ids. Streams are among them, by which a launch finds its
        device; all values are set already."""
        self._sets: dict[Ids, _Set] = {}  # the same by the ids of what is no value
        self.bound: _Set | None = None
        """What of `known` is set."""
        self._held: list[Any] = [None] * len(info.args)
        self.forget = self._forget  # bound once: a bound method takes time to make

    def _forget(self, _: object = None) -> None:
        """Take everything for unknown: also called when memory goes, whose id may come back as another object's."""
        self._last = self.bound = None
        self._sets.clear()
        self.known.clear()

    def set(self, args: Sequence[Any], backend: Any) -> list[Transfer] | None:
        """Set what is not set already; what must be brought back after the launch is returned.

        There are as many as the kernel has. LaunchError for one that does not fit, ``pyopencl.Error`` where the driver
        refuses one.
        """
        ids = (*map(id, args),)
        last, self._last = self._last, None
        memory = self._pick(ids)
        wanted, transfers = self._sets.get(memory), None
        if wanted is None:
            wanted, transfers = self._look_at(args, backend)
            if None not in wanted[1]:  # else it must not be kept: it holds copies of arrays in the device's memory
                if len(self._sets) >= _KNOWN_SETS:
                    self._sets.clear()
                    self.known.clear()
                self._sets[memory] = wanted
        if wanted is not self.bound:
            self.bound = None
            if wanted[0]:
                self.set_memory(wanted[0])
        recognisable = None not in wanted[1]
        if recognisable:
            self.bound = wanted
        changed = False
        for index, pack in self._values:
            if last is None or last[index] != ids[index]:
                value = args[index]
                self._set_bytes((index, pack(value)))
                self._held[index] = value
                changed = True
                recognisable = recognisable and type(value) in _UNCHANGING
        if changed:
            self.known.clear()
        if recognisable:
            self._last = ids
            if any(type(value) is Stream for value in args):
                self.known[ids] = wanted
        return transfers

    def _look_at(self, args: Sequence[Any], backend: Any) -> tuple[_Set, list[Transfer] | None]:
        """What to set for the memory arguments, and what must be brought back after the launch."""
        to_set: list[Any] = []
        holds: list[Any] = []
        transfers: list[Transfer] = []
        plain, device = self._plain, self._device
        for index in self._memory:
            value = args[index]
            if type(value) is Stream and value.dtype is plain[index] and value.device is device:
                to_set += (index, value.buffer.mem)  # type: ignore[attr-defined]
                holds.append(_reference(value, self.forget))
                continue
            native, transfer, hold = self._native(index, value, backend)
            to_set += (index, native)
            holds.append(hold)
            if transfer is not None:
                transfers.append(transfer)
        return (tuple(to_set), holds), transfers or None

    def _native(self, index: int, value: Any, backend: Any) -> tuple[Any, Transfer | None, Any]:
        """What to set for an argument that is no value, what to bring back, and what to hold to know it again."""
        arg: ArgInfo = self._info.args[index]
        position = index + 1
        if arg.kind == "local":
            if not isinstance(value, Local):
                raise signature.fail(arg, position, "local memory is wanted", "pass hw.Local(number_of_bytes)")
            return pyopencl().LocalMemory(value.nbytes), None, value
        if arg.kind == "sampler":
            if not isinstance(value, Sampler):
                raise signature.fail(arg, position, "a sampler is wanted", "pass hw.Sampler(…)")
            return self._sampler(value), None, value
        if arg.kind == "image":
            if not isinstance(value, Image):
                raise signature.fail(
                    arg, position, f"an image is wanted, {type(value).__name__} given", "pass hw.Image(array)"
                )
            check_image(arg, position, value)
            transfer = _ImageTransfer(self._device, value, arg.access != "read", backend)
            return transfer.memory, transfer, None
        return self._pointer(arg, position, value, backend)

    def _pointer(self, arg: ArgInfo, position: int, value: Any, backend: Any) -> tuple[Any, Transfer | None, Any]:
        """What to set for a pointer, what to bring back, and how to know the value again."""
        if value is None:
            return None, None, _NULL
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
            return buffer.mem, None, _reference(value, self.forget)
        if isinstance(value, pyopencl().MemoryObject):
            return value, None, None
        array, untyped = signature.given_array(arg, position, value)
        writes = arg.access != "read"
        signature.check_array(arg, position, array, untyped, writes)
        transfer = Transfer(self._device, array, writes, backend)
        return transfer.memory, transfer, None

    def _sampler(self, sampler: Sampler) -> Any:
        made = self._device._samplers.get(sampler)
        if made is None:
            cl = pyopencl()
            made = cl.Sampler(
                self._device.context, sampler.normalized, CL_ADDRESSING[sampler.addressing], CL_FILTER[sampler.filter]
            )
            self._device._samplers[sampler] = made
        return made


_UNCHANGING = frozenset({int, float, bool, bytes, *(np.dtype(code).type for code, _ in signature.SCALARS.values())})
"""Types of values that stay what they are; arrays, records and tuples of them can change behind one id."""


def _picker(positions: Sequence[int]) -> Callable[[Ids], Ids]:
    """A function that takes the items at these positions out of a tuple."""
    if not positions:
        return lambda ids: ()
    if len(positions) == 1:
        (only,) = positions
        return lambda ids: (ids[only],)
    return itemgetter(*positions)


def _one_by_one(set_arg: Callable[[int, Any], None]) -> Callable[[tuple[Any, ...]], None]:
    """For versions of PyOpenCL that cannot set several arguments in one call."""

    def set_all(indices_and_values: tuple[Any, ...]) -> None:
        for index, value in zip(indices_and_values[::2], indices_and_values[1::2], strict=True):
            set_arg(index, value)

    return set_all


class Transfer:
    """An array lent to a launch: copied to the device before, and back after if the kernel may write to it."""

    def __init__(self, device: ClDevice, array: Array, writes: bool, backend: Any) -> None:
        self.array = array
        self.writes = writes
        self.host = np.ascontiguousarray(array)
        self.memory = self._upload(device, backend)

    def _upload(self, device: ClDevice, backend: Any) -> Any:
        buffer = device.allocate(self.host.nbytes)
        if self.host.size:
            pyopencl().enqueue_copy(backend, buffer.mem, self.host, is_blocking=False)
        return buffer.mem

    def read(self, backend: Any) -> Any:
        """Enqueue the copy back; its event."""
        cl = pyopencl()
        if not self.host.size:
            return cl.enqueue_marker(backend)
        return cl.enqueue_copy(backend, self.host, self.memory, is_blocking=False)


class _ImageTransfer(Transfer):
    """The same for an image."""

    def __init__(self, device: ClDevice, image: Image, writes: bool, backend: Any) -> None:
        self.image = image
        super().__init__(device, image.array, writes, backend)

    def _upload(self, device: ClDevice, backend: Any) -> Any:
        cl = pyopencl()
        image = self.image
        order, kind = CHANNEL_ORDERS[image.channel_order][0], CHANNEL_TYPES[image.channel_type][0]
        layered = image.dimensions.endswith("array")
        memory = cl.create_image(
            device.context,
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
