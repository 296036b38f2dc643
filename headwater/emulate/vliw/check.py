"""A launch of an OpenCL kernel on a VLIW chip in; a `KernelFault` that names races, unwritten memory, bad barriers and
misaligned accesses in it, out.

What is looked for is said in docs/checks.md; `headwater.emulate.check` looks. Here is what differs: buffers lie in the
arena, and machine code has lines by its groups, fetches and writes.
"""

from __future__ import annotations

from typing import Any

from headwater.emulate.check import Checker
from headwater.emulate.layout import LANES
from headwater.emulate.vliw.clause import PC_CF_SHIFT, PC_OP_BITS
from headwater.emulate.vliw.watch import ARENA_KEY
from headwater.errors import Span
from headwater.runtime.arrays import address
from headwater.runtime.faults import Extent


class VliwChecker(Checker):
    """A `headwater.emulate.hooks.Watcher` whose launches, `headwater.runtime.vliw_opencl.OpenClLaunch`, end in a
    KernelFault if anything was found."""

    def __init__(self) -> None:
        super().__init__()
        self._hosts: dict[int, int] = {}
        """Where memory lies, by the first of the addresses that accesses are told with."""

    def _name(self, launch: Any) -> str:
        return str(launch.kernel.title)

    def _group_width(self, launch: Any) -> int:
        return int(launch.sizes.local[0])

    def _extents(self, launch: Any, task: Any) -> list[Extent]:
        allocations = task.keep.arena.allocations
        self._hosts = {ARENA_KEY + one.start: address(one.memory) for one in allocations}
        return [Extent(e.name, ARENA_KEY + e.start, ARENA_KEY + e.end) for e in task.extents]

    def _host(self, extent: Extent) -> int:
        return self._hosts[extent.start]

    def _further(self, launch: Any) -> list[str]:
        return []

    def _ids(self, launch: Any, tag: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        columns, rows, _ = launch.sizes.groups
        number = self._group(tag)
        group = number % columns, number // columns % rows, number // (columns * rows)
        item, whole = launch.called(launch.work_item(group, self._wavefront(tag) * LANES + tag % LANES), group)
        return item, whole

    def _place(self, launch: Any, pc: int) -> Span | None:
        line = launch.line_of(pc >> PC_CF_SHIFT, (pc & (1 << PC_CF_SHIFT) - 1) >> PC_OP_BITS)
        return Span(launch.kernel.program_filename, line) if line and launch.kernel.program_filename else None

    def _instruction(self, launch: Any, pc: int) -> str:
        from headwater.runtime.vliw_faults import instruction_text

        return instruction_text(launch, pc)


__all__ = ["VliwChecker"]
