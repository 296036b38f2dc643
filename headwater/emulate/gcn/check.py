"""Input: a launch on a GCN chip. Output: a `KernelFault` that names races, unwritten memory, bad barriers and
misaligned accesses in it.

What is looked for is said in docs/checks.md; `headwater.emulate.watch.check` looks. Here is what such launches know.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from headwater.chips.gcn_isas import traits_of
from headwater.emulate.gcn import waitcnt
from headwater.emulate.watch.check import CheckedFamily, Checker
from headwater.emulate.wave.layout import LANES
from headwater.errors import Span
from headwater.native.faults import Extent

if TYPE_CHECKING:
    from headwater.emulate.gcn.launched import ObservedGcnLaunch
    from headwater.emulate.wave.launched import SimulatedTask


class _GcnFamily(CheckedFamily):
    has_cmpxchg_loops = True

    def name(self, launch: ObservedGcnLaunch) -> str:
        return launch.machine_kernel.name

    def in_step(self, launch: ObservedGcnLaunch) -> bool:
        """Groups that are declared to be of one wavefront: compilers leave their barriers out, in code that was not
        made for checks."""
        if launch.kernel.program_source:
            return False
        kernel = launch.machine_kernel
        most = prod(kernel.reqd_group_size) if kernel.reqd_group_size else kernel.max_flat_group
        return 0 < most <= LANES

    def unaligned(self, launch: ObservedGcnLaunch) -> int:
        """LLVM puts private structures among the kernel's own variables, and chips from GFX9 on take any address
        (FeatureUnalignedDSAccess)."""
        return int(launch.static_local_bytes) if traits_of(launch.code.target).has_unaligned_lds else 0

    def front(self, launch: ObservedGcnLaunch) -> str:
        from headwater.opencl.gcn_build import front

        kernel = launch.kernel
        return front(kernel.program_source, kernel.program_filename, kernel.options, launch.code.target).ir

    def group_width(self, launch: ObservedGcnLaunch) -> int:
        return launch.sizes[1][0]

    def extents(self, launch: ObservedGcnLaunch, task: SimulatedTask) -> list[Extent]:
        return task.extents

    def host(self, extent: Extent) -> int:
        return extent.start

    def written(self, launch: ObservedGcnLaunch, task: SimulatedTask) -> set[int] | None:
        written = launch.native.observed.get("written")
        if written is None:
            return None
        args = [launch.machine_kernel.args[number] for number in written]
        return {int.from_bytes(task.args[arg.offset : arg.offset + 8].tobytes(), "little") for arg in args}

    def further(self, launch: ObservedGcnLaunch, in_lds: set[int]) -> list[str]:
        return waitcnt.texts(launch, in_lds)

    def ids(self, launch: ObservedGcnLaunch, group: int, lane: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        global_size, local_size, offset = launch.sizes
        groups = [-(-g // size) for g, size in zip(global_size, local_size, strict=True)]
        where = group % groups[0], group // groups[0] % groups[1], group // prod(groups[:2])
        size = [min(local_size[n], global_size[n] - where[n] * local_size[n]) for n in range(3)]
        local = lane % size[0], lane // size[0] % size[1], lane // (size[0] * size[1])
        item = tuple(offset[n] + where[n] * local_size[n] + local[n] for n in range(3))
        return item[: launch.work_dim], where[: launch.work_dim]

    def place(self, launch: ObservedGcnLaunch, pc: int) -> Span | None:
        place = launch.code.line_of(pc)
        return None if place is None or not place[1] else Span(*place)

    def instruction(self, launch: ObservedGcnLaunch, pc: int) -> str:
        from headwater.emulate.gcn.faults import instruction_text

        return instruction_text(launch, pc)


def checker() -> Checker:
    """A watcher of a launch on a GCN chip."""
    return Checker(_GcnFamily())
