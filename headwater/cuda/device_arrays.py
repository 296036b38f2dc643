"""Input: arrays and shapes. Output: arrays on the current device, as Numba-CUDA's programs handle them."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from headwater.errors import UsageError
from headwater.runtime.streams import Stream, stream as make_stream

_by_address: weakref.WeakValueDictionary[int, DeviceArray] = weakref.WeakValueDictionary()


class DeviceArray:
    """An array in a device's memory; kernels take it as it is. ``stream``: the same memory as a `headwater.Stream`."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.shape, self.dtype, self.ndim = stream.shape, stream.dtype, stream.ndim
        self.size, self.nbytes = stream.size, stream.nbytes
        _by_address[self.address] = self

    @property
    def address(self) -> int:
        """Where it lies, for programs that pass addresses to kernels."""
        return int(getattr(self.stream.buffer, "address", 0)) or id(self.stream.buffer)

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, in each dimension."""
        sizes = [prod(self.shape[axis + 1 :]) for axis in range(self.ndim)]
        return tuple(n * self.dtype.itemsize for n in sizes)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "version": 3}

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> Any:
        """The contents as a NumPy array: a new one, or ``ary``. Waits for ``stream``."""
        if stream:
            stream.synchronize()
        return self.stream.read(ary)

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Replace the contents."""
        if stream:
            stream.synchronize()
        if isinstance(ary, DeviceArray):
            ary = ary.stream.read()
        self.stream.write(np.asarray(ary, self.dtype).reshape(self.shape))

    def reshape(self, *shape: Any) -> DeviceArray:
        """The same memory in another shape."""
        extents = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        made = np.broadcast_to(np.empty((), self.dtype), self.shape).reshape(extents).shape
        return DeviceArray(Stream(self.stream.device, made, self.dtype, self.stream.buffer))

    def ravel(self) -> DeviceArray:
        """The same memory as an array of one dimension."""
        return self.reshape(self.size)

    def __len__(self) -> int:
        return len(self.stream)

    def __getitem__(self, index: Any) -> Any:
        """An element, or a copy of several, on the host."""
        return self.stream.read()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        contents = self.stream.read()
        contents[index] = value.stream.read() if isinstance(value, DeviceArray) else value
        self.stream.write(contents)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.stream.read())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.stream.__array__(dtype, copy)

    def __repr__(self) -> str:
        return f"<DeviceArray {self.dtype} {self.shape} on {self.stream.device.name}>"


def at_address(address: int) -> DeviceArray:
    """The device array that begins at an address. UsageError if there is none."""
    found = _by_address.get(address)
    if found is None:
        raise UsageError(f"no device array begins at address {address:#x}")
    return found


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: DeviceArray | None = None) -> DeviceArray:
    """A copy of an array on the current device, or in ``to``."""
    if isinstance(obj, DeviceArray):
        return obj
    array = np.ascontiguousarray(obj)
    if to is not None:
        to.copy_to_device(array, stream)
        return to
    return DeviceArray(make_stream(array.reshape(np.shape(obj))))


def device_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0) -> Any:
    """An array on the current device. UsageError for another order than C's."""
    if strides is not None or order != "C":
        raise UsageError("device arrays have elements in C order, without gaps", hint="leave strides and order out")
    return DeviceArray(make_stream(shape=shape, dtype=dtype))


def device_array_like(ary: Any, stream: Any = 0) -> DeviceArray:
    """An array of the same shape and type on the current device."""
    made: DeviceArray = device_array(ary.shape, ary.dtype)
    return made


def pinned_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C") -> Any:
    """An array on the host: every array's memory can be copied from."""
    return np.empty(shape, dtype, order)  # type: ignore[call-overload]


mapped_array = pinned_array


@contextlib.contextmanager
def pinned(*arrays: Any) -> Iterator[None]:
    """Nothing has to be pinned."""
    yield


def is_cuda_array(obj: Any) -> bool:
    """Whether it has the CUDA array interface."""
    return hasattr(obj, "__cuda_array_interface__")


def as_cuda_array(obj: Any) -> DeviceArray:
    """A device array of this module's as it is. UsageError for memory of other libraries."""
    if isinstance(obj, DeviceArray):
        return obj
    raise UsageError("memory of another library's device is not shared", hint="cuda.to_device(numpy_array)")
