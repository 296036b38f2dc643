"""Input: a file of kernels and its macros. Output: the program for a device, compiled once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from headwater.errors import ResourceError, UsageError
from headwater.runtime import Device, Stream, compile, stream

TYPES = {
    np.dtype(np.float32): "float",
    np.dtype(np.float64): "double",
    np.dtype(np.complex64): "float2",
    np.dtype(np.complex128): "double2",
}
"""Elements that the kernels compute with, and OpenCL C's names for them."""


@cache
def program(file: str, options: str, device: Device) -> Any:
    """The kernels of a file beside this one, for a device."""
    return compile(Path(__file__).with_name(file), options=options, device=device)


def type_of(value: Any, what: str) -> str:
    """OpenCL C's name of a stream's elements. UsageError naming what they are where no kernel takes them."""
    name = TYPES.get(value.dtype)
    if name is None:
        raise UsageError(
            f"{what}: streams of {value.dtype} are not computed with", hint="use float32, float64 or complex"
        )
    return name


def operand(value: Any) -> Any:
    """A stream, or the array that NumPy makes of anything else."""
    return value if isinstance(value, Stream) else np.asarray(value)


def empty(like: Stream, shape: tuple[int, ...], dtype: Any = None) -> Stream:
    """A stream on the same device, whose contents are to be written."""
    kind = like.dtype if dtype is None else np.dtype(dtype)
    size = 1
    for extent in shape:
        size *= extent
    if size >= 2**31:
        raise ResourceError(f"{size} elements: the kernels count them with 32 bits", hint="cut the problem in parts")
    return Stream(like.device, shape, kind, like.device.allocate(size * kind.itemsize))


def floats(value: Stream) -> Any:
    """The stream as kernels take it: complex numbers are pairs of floats."""
    if value.dtype.kind != "c":
        return value
    real = np.dtype(np.float32 if value.dtype == np.complex64 else np.float64)
    return Stream(value.device, (*value.shape, 2), real, value.buffer)


def scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number as a kernel's argument of the type."""
    number = complex(value)
    return (number.real, number.imag) if dtype.kind == "c" else number.real


def on_device(value: Any, device: Device, dtype: Any = None) -> Stream:
    """A stream on the device: the value itself if it is one there."""
    if isinstance(value, Stream):
        same = value if value.device is device else value.copy(device)
        return same if dtype is None or same.dtype == dtype else stream(same.read().astype(dtype), device=device)
    return stream(np.ascontiguousarray(value, dtype), device=device)


def groups(count: int, size: int) -> int:
    """The count in whole groups of ``size``."""
    return -(-count // size) * size
