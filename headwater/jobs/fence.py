"""Input: an array. Output: a copy in its own memory, so that a kernel's accesses out of bounds are noticed.

A kernel on this machine's processor writes wherever its pointers point: a few elements too many land in the
interpreter's own objects, and the process ends wrongly, much later or not at all. Between fences the first page
beyond stops it (`headwater.cli.crash` tells of that), and what it wrote before that page is seen afterwards.
"""

from __future__ import annotations

import ctypes
import mmap
import sys

import numpy as np

from headwater.errors import KernelFault
from headwater.files import Array
from headwater.jobs import CHECK_HINT

_FENCE_BYTES = 2 << 20
"""Of each fence, which takes no memory: some rows of a picture; and a multiple of a huge page of x86-64, so that
large arrays are laid in such pages as NumPy's own are."""
_ALIGNMENT_BYTES = 128  # of double16, the largest OpenCL type (OpenCL C 3.0, 6.3.5)
_UNTOUCHED = 0xA5  # no part of a likely number: neither 0 nor of all ones
_PROT_NONE = 0  # sys/mman.h, on Linux and macOS


class Fenced:
    """A copy of ``array``, C-contiguous, in ``copy``; MemoryError if there is no room. ``name`` is for messages."""

    def __init__(self, name: str, array: Array) -> None:
        self._name = name
        if sys.platform not in ("linux", "darwin"):
            self.copy = array.copy()
            self._before = self._after = np.empty(0, np.uint8)
            return
        room = -(-max(array.nbytes, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
        try:
            memory = mmap.mmap(-1, room + 2 * _FENCE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError as error:
            raise MemoryError(f"no room for {array.nbytes} bytes") from error
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
        whole = np.frombuffer(memory, np.uint8)
        protect = ctypes.CDLL(None).mprotect
        protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        start = whole.ctypes.data
        for fence in (start, start + _FENCE_BYTES + room):
            protect(fence, _FENCE_BYTES, _PROT_NONE)  # without it the array is but an array
        inside = whole[_FENCE_BYTES : _FENCE_BYTES + room]
        # As near to the end as its alignment lets it: kernels go too far more often than too low.
        begin = room - -(-array.nbytes // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
        self._before = inside[:begin]
        self._after = inside[begin + array.nbytes :]
        self._before[:] = self._after[:] = _UNTOUCHED
        self.copy = inside[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
        self.copy[...] = array

    def check(self) -> None:
        """KernelFault if the memory before or behind the array was written."""
        for place, beyond in (("behind the end", self._after), ("before the start", self._before)):
            if (beyond != _UNTOUCHED).any():
                raise KernelFault(f"the kernel wrote {place} of {self._name}", hint=CHECK_HINT)
