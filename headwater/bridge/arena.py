"""Input: the arena that a host shares, and its address there. Output: arrays over parts of that memory."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from pathlib import PureWindowsPath
from typing import Any

import numpy as np

from headwater.base.arrays import Array
from headwater.bridge.protocol import NULL_OFFSET
from headwater.bridge.transport import Shared

# Linux, include/uapi/linux/mman.h.
_MAP_FIXED_NOREPLACE = 0x100000
_MAP_NORESERVE = 0x4000
_FAILED = ctypes.c_void_p(-1).value


class Arena:
    """Memory that this process shares with its host; ``same_address``: it has the same addresses on both sides."""

    def __init__(self, shared: Shared, base: int, nbytes: int) -> None:
        self.same_address = False
        if isinstance(shared, str):
            self._memory: Array = np.frombuffer(_map_named(shared, nbytes), np.uint8)
            return
        address = _map_at(shared, base, nbytes) if sys.platform == "linux" else None
        if address is not None:
            self.same_address = True
            self._memory = np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))
        else:
            self._memory = np.frombuffer(mmap.mmap(shared, nbytes), np.uint8)
        os.close(shared)

    def part(self, offset: int, nbytes: int) -> Array | None:
        """The bytes that a request means; None for a null pointer. ValueError for what is not in the arena."""
        if offset == NULL_OFFSET:
            return None
        if offset + nbytes > self._memory.nbytes:
            raise ValueError(f"{nbytes} bytes at {offset} are not in the arena")
        return self._memory[offset : offset + nbytes]


def _map_named(path: str, nbytes: int) -> mmap.mmap:
    """A mapping of Windows, whose name is that of its file."""
    mapping: Any = mmap.mmap  # elsewhere it takes no name
    made: mmap.mmap = mapping(-1, nbytes, tagname=PureWindowsPath(path).name)
    return made


def _map_at(file: int, base: int, nbytes: int) -> int | None:
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    flags = mmap.MAP_SHARED | _MAP_FIXED_NOREPLACE | _MAP_NORESERVE
    address = libc.mmap(base, nbytes, mmap.PROT_READ | mmap.PROT_WRITE, flags, file, 0)
    if address == base:
        return base
    if address not in (None, _FAILED):  # kernels before 4.17 take the address for a wish
        libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(nbytes))
    return None
