"""Input: a launch's arguments. Output: where each thread should use its own counters, the launch that does so.

The purpose of such a launch is described in `headwater.vectorise.prepare.privatized_counters`. Whether it is may differ
by the arguments: a table must be small beside the work, and no other argument may lie in the same memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.base.host import caches_bytes
from headwater.native import pool as _pool
from headwater.opencl.kernels import ArgInfo
from headwater.runtime.host.arguments import layout
from headwater.runtime.host.memory import HostBuffer
from headwater.runtime.host.packer import LocalMemory, Placement
from headwater.runtime.streams import Stream
from headwater.vectorise.layout import COUNTER_SLACK_BYTES, COUNTER_TABLE

if TYPE_CHECKING:
    from headwater.opencl.host import KernelCode
    from headwater.runtime.cpu.launch import CpuLaunch

ITEMS_PER_WORD = 4
"""Work-items for each 4 bytes of a thread's table from which on it pays: emptying and adding one up costs about as much
as one locked operation (24 and 18 cycles, Emerald Rapids), and not every work-item counts."""
_WORD_BYTES = 4


class PrivateTables:
    """The tables of threads that count for themselves, behind their local memory; ``counters``: the arguments that they
    stand for."""

    def __init__(self, counters: Sequence[int]) -> None:
        self._counters = tuple(counters)

    def layout(self, codes: Sequence[str], code: KernelCode) -> str:
        """The `struct` format of the argument block of code for them: behind the arguments, a record for each table of
        the address and bytes of what it is added to."""
        records = len(self._counters)
        arguments_bytes = code.args_bytes - records * COUNTER_TABLE.size_bytes
        return layout(codes, code.arg_offsets, arguments_bytes) + records * COUNTER_TABLE.format

    def locating(self, memory: LocalMemory) -> Callable[[Sequence[Any], list[Any]], Placement]:
        """The function that puts their places among the values to be packed."""

        def locate(args: Sequence[Any], values: list[Any]) -> Placement:
            nbytes = [args[i].nbytes for i in self._counters]
            placed = memory.at((*memory.sizes(args), *(size + 2 * COUNTER_SLACK_BYTES for size in nbytes)))
            locals_end = len(memory.indices)
            for i, offset in zip(memory.indices, placed.offsets, strict=False):
                values[i] = offset
            for i, size, offset in zip(self._counters, nbytes, placed.offsets[locals_end:], strict=True):
                record = {"to": values[i], "bytes": size}
                values += [record[field] for field in COUNTER_TABLE.offset]
                values[i] = offset + COUNTER_SLACK_BYTES
            return placed

        return locate


class PrivatisedCounters:
    """Tells for arguments whether threads should count for themselves; ``make`` makes the launch that does.

    ``most_bytes``: of a thread's tables, up to which it pays.
    """

    def __init__(
        self,
        arguments: Sequence[ArgInfo],
        counters: Sequence[int],
        global_size: Sequence[int],
        make: Callable[[], CpuLaunch],
    ) -> None:
        self._counters = tuple(counters)
        self._count = len(arguments)
        self._pointers = tuple(i for i, arg in enumerate(arguments) if arg.kind in ("buffer", "constant"))
        self._possible = all(arg.kind != "image" for arg in arguments)  # whose memory is not looked at
        items = prod(global_size) // (ITEMS_PER_WORD * _pool.pool().size)
        self.most_bytes = min(items * _WORD_BYTES, caches_bytes()[0] // 2)
        self._make = make
        self._launch: CpuLaunch | None = None

    def __call__(self, args: Sequence[Any]) -> CpuLaunch | None:
        """The launch for these arguments, or None."""
        if not self._possible or len(args) != self._count:
            return None
        nbytes = 0
        for i in self._counters:
            nbytes += getattr(args[i], "nbytes", 0) or self.most_bytes + 1
        if nbytes > self.most_bytes:
            return None
        extents = [_extent(args[i]) for i in self._pointers]
        if None in extents:
            return None
        for i, one in zip(self._pointers, extents, strict=True):
            others = (other for k, other in zip(self._pointers, extents, strict=True) if k != i)
            if i in self._counters and any(_overlap(one, other) for other in others):
                return None
        if self._launch is None:
            self._launch = self._make()
        return self._launch


def _extent(value: Any) -> tuple[int, int] | None:
    """Where an argument's memory begins and ends; None if that is not simply known."""
    if value is None:
        return 0, 0
    if type(value) is np.ndarray:
        start: int = value.__array_interface__["data"][0]
        return (start, start + value.nbytes) if value.flags.c_contiguous else None
    buffer = value.buffer if type(value) is Stream else value
    return (buffer.address, buffer.address + buffer.nbytes) if type(buffer) is HostBuffer else None


def _overlap(one: tuple[int, int] | None, other: tuple[int, int] | None) -> bool:
    return one is None or other is None or (one[0] < other[1] and other[0] < one[1])
