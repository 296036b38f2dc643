"""Memory of this machine that kernels access: `HostBuffer`, and what arrays a launch's pointer arguments stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.base.arrays import Array, address, same_elements, share_memory, view
from headwater.errors import LaunchError
from headwater.native.faults import Forbidden
from headwater.runtime.images import Image
from headwater.runtime.interface import Buffer
from headwater.runtime.streams import Stream
from headwater.runtime.values import Local

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.native.pool import Task
    from headwater.opencl.kernels import ArgInfo, KernelInfo

_ENDLESS = (1 << 62) - 1
"""The bytes of what bounds its accesses itself: an image."""


class HostBuffer(Buffer):
    """Host memory: ``memory`` (bytes) at ``address``; ``forbidden``: what checked kernels may not do with it."""

    __slots__ = ("address", "forbidden", "memory")

    def __init__(self, device: Any, memory: Array) -> None:
        self.device = device
        self.memory = memory
        self.nbytes = memory.nbytes
        self.address = address(memory) if memory.nbytes else 0
        self.forbidden: Forbidden = ""

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
    array = _passed(value, task)
    for original, copy in task.copies or ():
        if same_elements(original, array):
            return copy
    return array


def forbidden(value: Any) -> Forbidden:
    """What checked kernels may not do with what is passed for a pointer."""
    return value.forbidden if isinstance(value, HostBuffer) else ""


def _passed(value: Any, task: Task) -> Array:
    """The array that is passed for a pointer."""
    if isinstance(value, Stream):
        value = value.buffer
    if isinstance(value, HostBuffer):
        return value.memory
    array = next((array for given, array in task.views or () if given is value), None)
    return array if array is not None else view(value)[0]


def refuse_shared_copies(info: KernelInfo, args: Sequence[Any], task: Task) -> None:
    """LaunchError where an array is copied for the launch, another argument is over a part of its memory, and one of
    both is written: what is written to one would not be seen in the other, or be lost. The same elements twice share a
    copy."""
    memories: list[tuple[ArgInfo, Array]] = []
    for arg, value in zip(info.args, args, strict=True):
        if arg.kind == "image":
            memories.append((arg, value.array))
        elif arg.kind in ("buffer", "constant") and value is not None:
            memories.append((arg, _passed(value, task)))
    for array, _ in task.copies or ():
        users = [arg for arg, memory in memories if same_elements(memory, array)]
        written = any(arg.access != "read" for arg in users)
        for arg, memory in memories:
            if arg not in users and (written or arg.access != "read") and share_memory(memory, array):
                raise LaunchError(
                    f"`{users[0].name}` and `{arg.name}` are over the same memory",
                    hint=f"the array `{users[0].name}` has gaps and is copied for the launch; give the arguments "
                    "arrays of their own",
                )


def write_back(task: Task) -> None:
    """Copy what was written to contiguous copies back to the arrays that they stand for; a copy of a copy first."""
    copies, task.copies = task.copies, None
    for array, copy in reversed(copies or ()):
        if array.flags.writeable:
            np.copyto(array, copy)
