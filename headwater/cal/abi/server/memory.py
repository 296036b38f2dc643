"""Input: sizes. Output: memory for resources that the host can map, and parts of the memory that the host pins."""

from __future__ import annotations

import mmap
import os
import threading
import weakref

import numpy as np

from headwater.base.arrays import Array

PAGE = mmap.PAGESIZE


class SharedMemory:
    """Where resources' bytes come from: a file for each, which the host maps when it maps the resource."""

    def __init__(self) -> None:
        self._files: dict[int, tuple[int, int]] = {}
        self._lock = threading.Lock()
        _allow_many_files()

    def take(self, nbytes: int, alignment_bytes: int) -> Array:
        """Zeroed memory, at the start of a page. MemoryError if there is none."""
        assert PAGE % alignment_bytes == 0
        size = -(-max(nbytes, 1) // PAGE) * PAGE
        try:
            file = os.memfd_create("headwater-cal", os.MFD_CLOEXEC)
            try:
                os.ftruncate(file, size)
                memory = np.frombuffer(mmap.mmap(file, size), np.uint8)
            except BaseException:
                os.close(file)
                raise
        except OSError as error:
            raise MemoryError(str(error)) from None
        address = memory.ctypes.data
        with self._lock:
            self._files[address] = file, size
        weakref.finalize(memory, self._close, address, file)
        return memory[:nbytes]

    def _close(self, address: int, file: int) -> None:
        os.close(file)
        with self._lock:
            if self._files.get(address, (-1, 0))[0] == file:
                del self._files[address]

    def file(self, memory: Array) -> tuple[int, int] | None:
        """The file behind memory that was taken, and its bytes; None for other memory."""
        with self._lock:
            return self._files.get(memory.ctypes.data)


def _allow_many_files() -> None:
    """As many open files as the system allows: each resource has one."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def pinned(file: int, address: int, nbytes: int) -> Array:
    """The bytes at an address of the host, which the file has at that offset. ValueError if it cannot have them."""
    start = address // PAGE * PAGE
    end = -(-(address + nbytes) // PAGE) * PAGE
    if nbytes < 1 or end > os.fstat(file).st_size:
        raise ValueError(f"{nbytes} bytes at {address:#x} are no memory of the host")
    whole = np.frombuffer(mmap.mmap(file, end - start, offset=start), np.uint8)
    return whole[address - start : address - start + nbytes]
