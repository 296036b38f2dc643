"""Input: a tensor, an array or an address. Output: the host memory that a kernel may access through it."""

from __future__ import annotations

import ctypes
import gc
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from headwater.base.arrays import Array, aligned_bytes
from headwater.errors import LaunchError

_LEAST_ADDRESS = 1 << 32
"""Below it, nobody's heap or mapped memory begins on the 64-bit systems that there are."""
_MOST_ADDRESSES = 1 << 20
"""Elements of an array that are looked at for addresses; longer ones hold numbers."""


@dataclass(frozen=True)
class Place:
    """Memory from an address on (``from_there``, bytes; None for a null pointer), and what lies before it in the same
    allocation, as `headwater.runtime.simulated.reachable` takes it. ``may_hold_addresses``: its elements are 64-bit
    integers."""

    from_there: Array | None
    around: tuple[tuple[str, Array], ...] = ()
    may_hold_addresses: bool = False


def place(value: Any, name: str) -> Place:
    """What a pointer argument points at: a tensor (what ``data_ptr`` says, to the end of its storage), a NumPy array,
    or None. LaunchError for what has no memory here."""
    if value is None:
        return Place(None)
    if isinstance(value, HostArray):
        value = value.array
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            return _of_strided(value, name)
        return Place(value, may_hold_addresses=value.dtype.kind in "iu" and value.itemsize == 8)
    tensor: Any = value.base if type(value).__name__ == "TensorWrapper" else value  # triton.reinterpret
    if not hasattr(tensor, "data_ptr") or not hasattr(tensor, "untyped_storage"):
        raise LaunchError(
            f"{name}: a {type(value).__name__} has no memory that a simulated chip can access",
            hint="pass a PyTorch tensor on the CPU, or a NumPy array",
        )
    if tensor.device.type != "cpu":
        raise LaunchError(
            f"{name}: the tensor is on {tensor.device}, and a simulated chip has the host's memory",
            hint="make it with device='cpu', or device=triton.runtime.driver.active.get_active_torch_device()",
        )
    storage = tensor.untyped_storage()
    start, nbytes = int(storage.data_ptr()), int(storage.nbytes())
    at = int(tensor.data_ptr())
    whole = _bytes(start, nbytes)
    if at == start:
        around: tuple[tuple[str, Array], ...] = ()
    else:
        around = ((f"the storage of `{name}`", whole),)
    return Place(whole[at - start :], around, tensor.element_size() == 8 and not tensor.is_floating_point())


def _of_strided(array: Array, name: str) -> Place:
    """An array that is not contiguous: the kernel is given its strides, and may access all that lies between."""
    low, high = np.lib.array_utils.byte_bounds(array)
    start = int(array.__array_interface__["data"][0])
    whole = _bytes(low, high - low)
    whole.flags.writeable = array.flags.writeable
    return Place(whole[start - low :], ((f"the memory of `{name}`", whole),) if start > low else ())


def _bytes(start: int, nbytes: int) -> Array:
    if not nbytes:
        return np.empty(0, np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(start))


def targets(array: Array | None) -> list[tuple[str, Array]]:
    """The live tensors to which the array's 64-bit elements point."""
    torch = sys.modules.get("torch")
    if torch is None or array is None:
        return []
    data = array.reshape(-1).view(np.uint8)
    values = data[: data.nbytes // 8 * 8].view(np.uint64)
    if not 0 < values.size <= _MOST_ADDRESSES:
        return []
    wanted = np.unique(values[values >= _LEAST_ADDRESS])
    if not wanted.size:
        return []
    found: dict[int, Array] = {}
    for other in gc.get_objects():
        if not issubclass(type(other), torch.Tensor) or other.device.type != "cpu" or other.layout != torch.strided:
            continue
        storage = other.untyped_storage()
        start, nbytes = int(storage.data_ptr()), int(storage.nbytes())
        at = np.searchsorted(wanted, start)
        if at < len(wanted) and wanted[at] < start + nbytes:
            found[start] = _bytes(start, nbytes)
    return [(f"a tensor at {start:#x}", memory) for start, memory in found.items()]


def aligned(nbytes: int, alignment: int) -> Array | None:
    """Zeroed memory; None if none is wanted."""
    if not nbytes:
        return None
    memory = aligned_bytes(nbytes, max(alignment, 1))
    memory[:] = 0
    return memory


class HostArray:
    """A NumPy array as Triton takes tensors: what it asks of an argument is where its memory is, and its type."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.dtype = array.dtype.name
        self.shape = array.shape

    def data_ptr(self) -> int:
        """Its address."""
        return int(self.array.__array_interface__["data"][0])

    def ptr_range(self) -> int:
        """Bytes from there on."""
        return self.array.nbytes

    def numel(self) -> int:
        """Elements."""
        return self.array.size

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.array.itemsize

    def stride(self, axis: int | None = None) -> Any:
        """Elements from one index to the next."""
        strides = tuple(n // self.array.itemsize for n in self.array.strides)
        return strides if axis is None else strides[axis]
