"""Input: a checked launch's task. Output: memory for its findings, and afterwards its fault."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.base.arrays import ALIGNMENT, Array, address, aligned_bytes
from headwater.native import launch_block
from headwater.native.faults import FORBIDDEN_KINDS, Extent, Forbidden, explain
from headwater.native.launch_block import ACCESS_ERROR
from headwater.native.pool import Task
from headwater.runtime import signature
from headwater.runtime.host.memory import forbidden, memory_of

if TYPE_CHECKING:
    from headwater.opencl.host import KernelCode
    from headwater.runtime.host.kernel import HostKernel
    from headwater.runtime.host.packer import LocalMemory


class CheckedTask(Task):
    """A task of a checked run, with the error record and the allocations that its messages name."""

    __slots__ = ("extents", "record")

    def __init__(self, block: Array, args_bytes: int) -> None:
        super().__init__(block, args_bytes)
        self.record = np.zeros(ACCESS_ERROR.size_bytes // 8, np.int64)
        self.extents: list[Extent] = []

    def release(self) -> None:
        super().release()
        self.extents = []


class CheckedRun:
    """What checked launches of a kernel do more than others. ``memory``: its local arguments; ``dimensions``: of a
    work-item's number."""

    task_type = CheckedTask

    def __init__(self, kernel: HostKernel, code: KernelCode, memory: LocalMemory, dimensions: int) -> None:
        self._kernel = kernel
        self._code = code
        self._memory = memory
        self._dimensions = dimensions

    def prepare(self, task: Task, args: Sequence[Any]) -> None:
        """Point the launch block at an error record and at the table of everything that the kernel may touch."""
        assert isinstance(task, CheckedTask)
        memory = self._memory
        placed = memory.at(memory.sizes(args))
        scratch = task.keep(aligned_bytes(max(placed.scratch_bytes, ALIGNMENT)))
        start = address(scratch)
        extents = []
        info, code = self._kernel.info, self._code
        for index, offset, size in zip(memory.indices, placed.offsets, placed.sizes, strict=True):
            name = f"`{signature.declaration(info.args[index])}`"
            extents.append(Extent(name, start + offset, start + offset + size))
        if code.dynamic_local_bytes:
            end = start + code.static_local_bytes
            extents.append(Extent("the launch's local memory", end - code.dynamic_local_bytes, end))
        for value, arg in zip(args, info.args, strict=True):
            if arg.kind == "image":
                extents.append(_extent(f"the pixels of `{arg.name}`", value.array))
                extents.append(_extent(f"the descriptor of `{arg.name}`", value.descriptor))
            elif arg.kind in ("buffer", "constant") and value is not None:
                name = f"`{signature.declaration(arg)}`"
                extents.append(_extent(name, memory_of(value, task), forbidden(value)))
        extents = [extent for extent in extents if extent.end > extent.start] or [Extent("nothing", start, start)]
        task.extents = extents
        task.record[:] = 0
        table = task.keep(np.array([(e.start, e.end, FORBIDDEN_KINDS[e.forbidden]) for e in extents], np.uint64))
        block = task.block
        block[launch_block.ERROR] = address(task.record)
        block[launch_block.BOUNDS] = address(table)
        block[launch_block.BOUNDS_COUNT] = len(extents)
        block[launch_block.OWN_SCRATCH] = start

    def inspect(self, task: Task, findings: Callable[[], list[str]]) -> None:
        """Raise the fault of a launch that has ended, if it has one, with the ``findings`` of code for checks."""
        assert isinstance(task, CheckedTask)
        if task.record[0]:
            from headwater.opencl import units
            from headwater.opencl.check_findings import beside

            kernel, record = self._kernel, task.record.tolist()
            file = kernel.source_file
            line_of = functools.partial(units.line_of, kernel.program_source, kernel.program_filename, file)
            found = explain(record, kernel.title, file, line_of, task.extents, self._dimensions)
            raise beside(found, findings())


def _extent(name: str, array: Array, forbidden: Forbidden = "") -> Extent:
    start = address(array) if array.size else 0
    return Extent(name, start, start + array.nbytes, forbidden)
