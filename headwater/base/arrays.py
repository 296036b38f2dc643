"""Input: an object that holds numbers (array, DLPack, buffer protocol). Output: a NumPy view of the same memory."""

from __future__ import annotations

from ctypes import addressof, c_char
from typing import Any

import numpy as np

from headwater.errors import LaunchError

Array = np.ndarray[Any, np.dtype[Any]]
_from_buffer: Any = c_char.from_buffer
_MOST_SHARING_WORK: Any = 1000  # NumPy's stubs have only its two special values
"""Solutions that NumPy tries, some microseconds; arrays that programs slice need a few."""
ALIGNMENT = 128  # bytes; the widest OpenCL C type (double16) and a pair of cache lines


def view(value: object) -> tuple[Array, bool]:
    """The memory of ``value`` as an array without copying, and whether it is untyped bytes.

    Taken: NumPy arrays, objects with ``__array_interface__`` or ``__dlpack__`` on the host, and the buffer protocol
    (``bytearray``, ``memoryview``, ``array.array``, ``mmap``). LaunchError for anything else.
    """
    if type(value) is np.ndarray:
        return value, False
    if isinstance(value, np.ndarray):  # those of subclasses take shape, or compare, in ways of their own
        if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
            raise LaunchError(
                "a kernel would take masked elements for values", hint="pass .filled(…), or .data if that is meant"
            )
        return value.view(np.ndarray), False
    if hasattr(value, "__array_interface__"):
        try:
            return np.asarray(value), False
        except Exception as error:  # the interface is the object's own: anything may be wrong with it
            raise LaunchError(
                f"cannot take this {type(value).__name__} as an array: {type(error).__name__}: {error}"
            ) from None
    if hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value), False
        except Exception as error:  # the object's own code may raise anything
            raise LaunchError(
                f"cannot take this {type(value).__name__} without copying: {error}",
                hint="bring it to host memory first",
            ) from None
    try:
        memory = memoryview(value)  # type: ignore[arg-type]
    except TypeError:
        raise LaunchError(
            f"a {type(value).__name__} is not an array",
            hint="pass a NumPy array, a stream, or an object with the buffer protocol, __array_interface__ or DLPack",
        ) from None
    untyped = memory.format in ("B", "b", "c") and memory.ndim == 1
    if memory.format == "c":
        memory = memory.cast("B")
    return np.asarray(memory), untyped


def address(array: Array) -> int:
    """Where a C-contiguous array's memory begins."""
    try:
        return addressof(_from_buffer(array))  # the quickest way, for writable arrays that are not empty
    except (TypeError, ValueError, BufferError):
        return int(array.__array_interface__["data"][0])


def contiguous_address(array: Array) -> int:
    """The same for any array; -1, which is a multiple of nothing, if it is not C-contiguous."""
    try:
        return addressof(_from_buffer(array))
    except (TypeError, ValueError, BufferError):
        return int(array.__array_interface__["data"][0]) if array.flags.c_contiguous else -1


def same_elements(one: Array, other: Array) -> bool:
    """Whether two arrays are the same elements of the same memory, or all bytes of the same contiguous memory."""
    if one is other:
        return True
    if one.__array_interface__["data"][0] != other.__array_interface__["data"][0] or one.nbytes != other.nbytes:
        return False
    if one.flags.c_contiguous and other.flags.c_contiguous:
        return True
    return (one.shape, one.strides, one.itemsize) == (other.shape, other.strides, other.itemsize)


def overlaps_itself(array: Array) -> bool:
    """Whether elements of an array have bytes in common, as those of ``as_strided`` may; slices' never do. True as well
    for rows that lie between each other's elements."""
    reach = array.itemsize
    for stride, count in sorted((abs(stride), count) for stride, count in zip(array.strides, array.shape, strict=True)):
        if count > 1:
            if stride < reach:
                return array.size > 0
            reach += stride * (count - 1)
    return False


def share_memory(one: Array, other: Array) -> bool:
    """Whether two arrays have a byte in common. True as well where NumPy would have to search for long."""
    if not np.may_share_memory(one, other):
        return False
    try:
        return np.shares_memory(one, other, max_work=_MOST_SHARING_WORK)
    except RuntimeError:  # numpy's TooHardError, which has another place in each version
        return True


def aligned_bytes(nbytes: int, alignment: int = ALIGNMENT) -> Array:
    """Uninitialised memory of ``nbytes`` bytes, from a multiple of ``alignment``; MemoryError if none is left."""
    base = np.empty(nbytes + alignment, np.uint8)
    start = -addressof(_from_buffer(base)) % alignment
    return base[start : start + nbytes]


def describe(array: Array) -> str:
    """An array in the words of a message: ``a float64 array of shape (3, 4)``."""
    name = str(array.dtype)
    return f"{'an' if name.startswith('int') else 'a'} {name} array of shape {array.shape}"
