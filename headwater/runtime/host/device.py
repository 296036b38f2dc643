"""What devices whose memory is this machine's do with it (`HostDevice`). Input: arrays. Output: buffers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import prod

import numpy as np

from headwater.base.arrays import ALIGNMENT, Array, aligned_bytes
from headwater.errors import OutOfMemoryError, UsageError
from headwater.runtime.host.events import HostQueue
from headwater.runtime.host.memory import HostBuffer
from headwater.runtime.interface import Buffer, Device


class HostDevice(Device):
    """A device whose memory is this machine's, and whose kernels its processor runs."""

    @property
    def memory_bytes(self) -> int:
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, ValueError, OSError):
            return 0

    def expect_source(self) -> None:
        from headwater.native.worker import WORKER

        WORKER.start("opencl.codegen")

    def allocate(self, nbytes: int) -> HostBuffer:
        if nbytes < 0:
            raise UsageError(f"a buffer cannot have {nbytes} bytes")
        try:
            return HostBuffer(self, aligned_bytes(nbytes))
        except (MemoryError, ValueError, OverflowError):
            raise OutOfMemoryError(f"not enough memory for a buffer of {nbytes} bytes") from None

    def wrap(self, array: Array) -> HostBuffer:
        if not array.flags.c_contiguous:
            raise UsageError("only C-contiguous arrays can be wrapped", hint="pass np.ascontiguousarray(…)")
        return HostBuffer(self, array.reshape(-1).view(np.uint8))

    def upload(self, array: Array) -> HostBuffer:
        buffer = self.allocate(array.nbytes)
        if array.size:
            np.copyto(buffer.memory.view(array.dtype).reshape(array.shape), array)
        return buffer

    def write(self, buffer: Buffer, array: Array, offset: int = 0) -> None:
        target = self._part(buffer, array.nbytes, offset)
        if array.size:
            np.copyto(target.view(array.dtype).reshape(array.shape), array)

    def download(self, buffer: Buffer, array: Array, offset: int = 0) -> None:
        source = self._part(buffer, array.nbytes, offset)
        if array.size:
            np.copyto(array, source.view(array.dtype).reshape(array.shape))

    def copy(self, source: Buffer, target: Buffer) -> None:
        nbytes = min(source.nbytes, target.nbytes)
        np.copyto(self._part(target, nbytes, 0), self._part(source, nbytes, 0))

    def part(self, buffer: Buffer, offset: int, nbytes: int) -> HostBuffer | None:
        made = HostBuffer(self, self._part(buffer, nbytes, offset))
        return None if made.address % ALIGNMENT else made

    def copy_part(
        self, source: Buffer, target: Buffer, stored: Sequence[int], index: Sequence[slice], itemsize: int
    ) -> None:
        whole = self._part(source, prod(stored) * itemsize, 0).view(f"V{itemsize}").reshape(tuple(stored))
        wanted = whole[tuple(index)]
        np.copyto(self._part(target, wanted.nbytes, 0).view(f"V{itemsize}").reshape(wanted.shape), wanted)

    def fill(self, buffer: Buffer, pattern: bytes) -> None:
        memory = self._part(buffer, buffer.nbytes, 0)
        if not any(pattern):
            memory.fill(0)
        else:
            memory.view(f"V{len(pattern)}")[:] = np.frombuffer(pattern, f"V{len(pattern)}")[0]

    def _part(self, buffer: Buffer, nbytes: int, offset: int) -> Array:
        if not isinstance(buffer, HostBuffer) or buffer.device is not self:
            raise UsageError(f"this buffer is on {buffer.device.name}, not on {self.name}")
        if offset < 0 or offset + nbytes > buffer.nbytes:
            raise UsageError(f"{nbytes} bytes at {offset} are not inside a buffer of {buffer.nbytes} bytes")
        return buffer.memory[offset : offset + nbytes]

    def new_queue(self, profiling: bool = True) -> HostQueue:
        return HostQueue()

    def finish_queue(self, backend: HostQueue) -> None:
        backend.finish()

    def finish(self) -> None:
        """Nothing to do: launches without a queue have ended when they return."""
