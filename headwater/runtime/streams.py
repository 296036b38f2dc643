"""Input: an array or a shape. Output: a `Stream`: an array that stays on its device between launches."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.base.arrays import Array, describe, view
from headwater.base.tools import tool
from headwater.errors import LaunchError, UsageError
from headwater.runtime.values import whole_numbers

if TYPE_CHECKING:
    from headwater.runtime.interface import Buffer, Device

_SHOWN_BYTES = 1 << 20
"""Bytes of a stream of which a notebook shows values."""


class Stream:
    """Numbers of one ``dtype`` in a ``shape`` (slowest dimension first, as in NumPy) in the memory of ``device``.

    Pass it to kernels where an array would go; nothing is copied then. ``read`` and ``numpy.asarray`` bring it back.
    """

    __slots__ = ("__weakref__", "buffer", "device", "dtype", "shape", "token")

    def __init__(self, device: Device, shape: Sequence[int], dtype: Any, buffer: Buffer) -> None:
        self.device = device
        self.shape = extents = tuple(shape)
        self.dtype: np.dtype[Any] = dtype if isinstance(dtype, np.dtype) else np.dtype(dtype)
        self.buffer = buffer
        self.token = object()
        """Stands for the stream where it has to be known again and its memory must not be kept alive."""
        if prod(extents) * self.dtype.itemsize > buffer.nbytes:
            raise UsageError(f"a stream of {self.nbytes} bytes does not fit a buffer of {buffer.nbytes} bytes")

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return prod(self.shape) * self.dtype.itemsize

    def read(self, out: Array | None = None) -> Array:
        """The contents as an array: a new one, or ``out``, which has the same shape and dtype. Waits for the device."""
        if out is None:
            out = np.empty(self.shape, self.dtype)
        elif out.shape != self.shape or out.dtype != self.dtype:
            raise UsageError(f"the stream is {self.dtype} of shape {self.shape}, out is {describe(out)}")
        if not out.size:
            return out
        if out.flags.c_contiguous:
            self.device.download(self.buffer, out)
        else:
            whole = np.empty(self.shape, self.dtype)
            self.device.download(self.buffer, whole)
            out[...] = whole
        return out

    def write(self, array: Any) -> None:
        """Replace the contents by an array's of the same shape; numbers are converted to the stream's dtype."""
        source, _ = view(array)
        if source.shape != self.shape:
            raise UsageError(f"the stream has shape {self.shape}, the array {source.shape}")
        if source.dtype != self.dtype and not np.can_cast(source.dtype, self.dtype, "same_kind"):
            raise UsageError(f"the stream holds {self.dtype}, the array {source.dtype}", hint="convert it with .astype")
        if source.size:
            self.device.write(self.buffer, np.ascontiguousarray(source, self.dtype))

    def fill(self, value: Any) -> None:
        """Set every element to ``value``."""
        try:
            element = np.array(value, self.dtype)
        except (TypeError, ValueError, OverflowError):
            raise UsageError(f"{value!r:.60} is no {self.dtype}") from None
        if self.size:
            self.device.fill(self.buffer, element.tobytes())

    def copy(self, device: Device | str | None = None) -> Stream:
        """A new stream with the same contents, on the same device or another."""
        from headwater.runtime.interface import resolve

        target = self.device if device is None else resolve(device)
        if target is self.device:
            buffer = target.allocate(self.nbytes)
            target.copy(self.buffer, buffer)
            return Stream(target, self.shape, self.dtype, buffer)
        return Stream(target, self.shape, self.dtype, target.upload(self.read()))

    def domain(self, start: int | Sequence[int], end: int | Sequence[int]) -> SubStream:
        """The part from ``start`` to before ``end``, slowest dimension first, as Brook+'s ``domain()``."""
        return SubStream(self, start, end)

    def outline(self) -> Array:
        """An array of the same shape and dtype without contents, for checks."""
        return np.broadcast_to(np.empty((), self.dtype), self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("a stream's contents are on its device: they cannot become an array without a copy")
        contents = self.read()
        return contents if dtype is None else contents.astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """``np.matmul(stream, stream)``, ``np.exp(stream)`` …: on the device; see `headwater.acml.streams`."""
        return tool("array_ufunc")(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """``np.linalg.solve(stream, stream)``, ``np.fft.fft(stream)`` …: likewise; others get arrays."""
        return tool("array_function")(function, args, kwargs)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a stream without dimensions has no length")
        return self.shape[0]

    def _repr_html_(self) -> str:
        """What a notebook shows: of up to a mebibyte some values, which are read from the device."""
        from headwater.views import notebook

        values = self.read() if self.buffer.nbytes <= _SHOWN_BYTES else None
        shape = " × ".join(map(str, self.shape))
        return notebook.array(f"Stream {self.dtype}, {shape}", f"on {self.device.name}", values)

    def __repr__(self) -> str:
        return f"<Stream {self.dtype} {self.shape} on {self.device.name}>"


class SubStream:
    """The part ``[start, end)`` of a stream ``base``; both slowest dimension first."""

    __slots__ = ("base", "end", "start")

    def __init__(self, base: Stream, start: int | Sequence[int], end: int | Sequence[int]) -> None:
        self.base = base
        self.start = _corner(start)
        self.end = _corner(end)
        if not 1 <= len(self.start) == len(self.end) <= base.ndim:
            raise UsageError(f"a domain of a stream of shape {base.shape} cannot be {start} to {end}")
        for first, last, extent in zip(self.start, self.end, base.shape, strict=False):
            if not 0 <= first < last <= extent:
                raise UsageError(f"the domain {self.start} to {self.end} is not inside the stream's shape {base.shape}")

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the part; dimensions that start and end do not name are whole."""
        named = tuple(last - first for first, last in zip(self.start, self.end, strict=True))
        return named + self.base.shape[len(named) :]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The stream's dtype."""
        return self.base.dtype

    @property
    def device(self) -> Device:
        """The stream's device."""
        return self.base.device

    @property
    def index(self) -> tuple[slice, ...]:
        """What an array of the stream's shape is indexed with to get the part."""
        return tuple(slice(first, last) for first, last in zip(self.start, self.end, strict=True))

    def read(self) -> Array:
        """The part's contents as a new array."""
        return np.ascontiguousarray(self.base.read()[self.index])

    def compact(self) -> Stream:
        """The part as a stream of its own: over the same memory where it is one run of it and the device can, else a
        copy.
        """
        device, shape, itemsize = self.device, self.shape, self.dtype.itemsize
        nbytes = prod(shape) * itemsize
        first = self._first_of_run()
        buffer = None if first is None else device.part(self.base.buffer, first * itemsize, nbytes)
        if buffer is None:
            buffer = device.allocate(nbytes)
            device.copy_part(self.base.buffer, buffer, self.base.shape, self.index, itemsize)
        return Stream(device, shape, self.dtype, buffer)

    def _first_of_run(self) -> int | None:
        """Which of the stream's elements the part begins with, if it is one run of memory."""
        shape, whole = self.shape, self.base.shape
        narrowed = [axis for axis, (n, m) in enumerate(zip(shape, whole, strict=True)) if n != m]
        if narrowed and prod(shape[: narrowed[-1]]) != 1:
            return None
        return sum(first * prod(whole[axis + 1 :]) for axis, first in enumerate(self.start))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("a stream's contents are on its device: they cannot become an array without a copy")
        contents = self.read()
        return contents if dtype is None else contents.astype(dtype)


def _corner(value: int | Sequence[int]) -> tuple[int, ...]:
    numbers = whole_numbers(value)
    if numbers is None:
        raise UsageError(f"extents and positions are whole numbers, not {value!r}")
    return numbers


def stream(
    array: Any = None,
    dtype: Any = None,
    *,
    shape: int | Sequence[int] | None = None,
    device: Device | str | None = None,
) -> Stream:
    """A stream with a copy of ``array``, or of a ``shape`` (an int or a tuple of ints), filled with zeros.

    ``dtype``: of the elements, by default the array's, or float32 for a shape. UsageError for what is neither,
    ResourceError if the device has not enough memory.
    """
    from headwater.runtime.interface import resolve

    target = resolve(device)
    if array is not None and shape is not None:
        raise UsageError("give an array or a shape, not both")
    if array is None and shape is None:
        raise UsageError("a stream is made from an array or a shape", hint="hw.stream(array) or hw.stream((480, 640))")
    if shape is None and (hasattr(array, "__index__") and not hasattr(array, "ndim")):
        shape = array
    if shape is None and isinstance(array, tuple) and all(hasattr(part, "__index__") for part in array):
        shape = array
    if shape is not None:
        extents = _corner(shape)
        if min(extents, default=0) < 0:
            raise UsageError(f"a stream's extents are at least 0, not {shape!r}")
        kind = _dtype(np.float32 if dtype is None else dtype)
        nbytes = prod(extents) * kind.itemsize
        made = Stream(target, extents, kind, target.allocate(nbytes))
        if nbytes:
            target.fill(made.buffer, bytes(kind.itemsize))
        return made
    if isinstance(array, Stream):
        contents = array.read() if dtype is not None or array.device is not target else None
        if contents is None:
            return array.copy()
    elif isinstance(array, (list, tuple)):
        contents = np.array(array, _dtype(np.float32 if dtype is None else dtype))
    else:
        contents, _ = view(array)
    if dtype is not None:
        contents = contents.astype(_dtype(dtype))
    if contents.dtype.hasobject:
        raise LaunchError("an array of Python objects cannot become a stream", hint="convert it with .astype")
    return Stream(target, contents.shape, contents.dtype, target.upload(contents))


def _dtype(value: Any) -> np.dtype[Any]:
    try:
        made: np.dtype[Any] = np.dtype(value)
    except (TypeError, ValueError) as error:
        raise UsageError(f"not a dtype: {value!r} ({error})") from None
    if not made.itemsize:
        raise UsageError(f"elements of dtype {value!r} have no bytes")
    return made
