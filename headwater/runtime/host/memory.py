"""Memory of this machine that kernels access: `HostBuffer`, and what arrays a launch's pointer arguments stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.base.arrays import Array, address, view
from headwater.runtime.images import Image
from headwater.runtime.interface import Buffer
from headwater.runtime.streams import Stream
from headwater.runtime.values import Local

if TYPE_CHECKING:
    from headwater.native.pool import Task

_ENDLESS = (1 << 62) - 1
"""The bytes of what bounds its accesses itself: an image."""


class HostBuffer(Buffer):
    """Host memory: ``memory`` (bytes) at ``address``."""

    __slots__ = ("address", "memory")

    def __init__(self, device: Any, memory: Array) -> None:
        self.device = device
        self.memory = memory
        self.nbytes = memory.nbytes
        self.address = address(memory) if memory.nbytes else 0

    def numpy(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
        """The memory itself as an array."""
        return self.memory.view(dtype).reshape(shape)


def bytes_of(value: Any) -> int:
    """The bytes of what is passed for a pointer."""
    if type(value) is np.ndarray:
        return value.nbytes
    if value is None:
        return 0
    if isinstance(value, Stream):
        return value.buffer.nbytes
    if isinstance(value, (Buffer, Local)):
        return value.nbytes
    if isinstance(value, Image):
        return _ENDLESS
    return len(value) if isinstance(value, (bytes, bytearray)) else view(value)[0].nbytes


def memory_of(value: Any, task: Task) -> Array:
    """The array that the kernel sees for a pointer argument."""
    if isinstance(value, Stream):
        value = value.buffer
    if isinstance(value, HostBuffer):
        return value.memory
    array = next((array for given, array in task.views or () if given is value), None)
    if array is None:
        array, _ = view(value)
    for original, copy in task.copies or ():
        if original is array:
            return copy
    return array


def write_back(task: Task) -> None:
    """Copy what was written to contiguous copies back to the arrays that they stand for."""
    copies, task.copies = task.copies, None
    for array, copy in copies or ():
        if array.flags.writeable:
            np.copyto(array, copy)
