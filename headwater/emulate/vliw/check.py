"""Input: a launch of an OpenCL kernel on a VLIW chip. Output: a `KernelFault` that names races, unwritten memory, bad
barriers and misaligned accesses in it.

What is looked for is said in docs/checks.md; `headwater.emulate.watch.check` looks. Here is what differs: buffers lie
in the arena, and machine code has lines by its groups, fetches and writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headwater.base.arrays import address
from headwater.emulate.vliw.clause import PC_CF_SHIFT, PC_OP_BITS
from headwater.emulate.vliw.watch import ARENA_KEY
from headwater.emulate.watch.check import CheckedFamily, Checker, CheckObserver
from headwater.errors import Span
from headwater.native.faults import Extent
from headwater.opencl.access_locations import AccessPlaces

if TYPE_CHECKING:
    from headwater.emulate.watch.hooks import AccessOrigin


_FETCHES = ("vertex", "texture")
"""Units that only read: see `AccessOrigin`."""


class _VliwObserver(CheckObserver):
    name = f"{CheckObserver.name} vliw"

    def _is_still(self, origin: AccessOrigin, site: int) -> bool:
        """Any fetch may be: which memory a launch does not write is known of its arguments, not of its fetches."""
        if origin.unit not in _FETCHES:
            return False
        self.still.add(site)
        return True


class _OpenClFamily(CheckedFamily):
    """Of launches that `headwater.runtime.vliw.opencl.launch` made."""

    def __init__(self) -> None:
        self.hosts: dict[int, int] = {}
        """Where memory lies, by the first of the addresses that accesses are reported with."""

    def observer(self) -> CheckObserver:
        return _VliwObserver()

    def name(self, launch: Any) -> str:
        return str(launch.kernel.title)

    def group_width(self, launch: Any) -> int:
        return int(launch.sizes.local[0])

    def extents(self, launch: Any, task: Any) -> list[Extent]:
        allocations = task.inputs.arena.allocations
        self.hosts = {ARENA_KEY + one.start: address(one.memory) for one in allocations}
        return [Extent(e.name, ARENA_KEY + e.start, ARENA_KEY + e.end, e.forbidden) for e in task.extents]

    def host(self, extent: Extent) -> int:
        return self.hosts[extent.start]

    def front(self, launch: Any) -> str:
        from headwater.opencl import extensions
        from headwater.opencl.clang import compile_to_ir
        from headwater.opencl.platforms import vliw

        kernel, chip = launch.kernel, launch.kernel.device.chip
        abilities = extensions.of_chip(chip)
        target = (*vliw(work_groups=abilities.local_memory).clang, *extensions.flags(abilities))
        return compile_to_ir(
            kernel.program_source, kernel.program_filename, kernel.options, debug=True, target=target
        ).ir

    def written(self, launch: Any, task: Any) -> set[int] | None:
        written = launch.passing.convention.written
        if written is None:
            return None
        places, packed = (
            launch.passing.convention.places,
            task.inputs.views["constant", launch.passing.convention.bank].memory,
        )
        arguments = [int.from_bytes(packed[at : at + 4].tobytes(), "little") for at in places]
        # What is no argument's is the program's own: its constants, printf's memory, pictures.
        own = {one.start for one in task.inputs.arena.allocations if one.writable} - set(arguments)
        return {ARENA_KEY + start for start in own | {arguments[number] for number in written}}

    def ids(self, launch: Any, group: int, lane: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        columns, rows, _ = launch.sizes.groups
        where = group % columns, group // columns % rows, group // (columns * rows)
        item, whole = launch.called(launch.work_item(where, lane), where)
        return item, whole

    def place(self, launch: Any, pc: int) -> Span | None:
        line = launch.line_of(pc >> PC_CF_SHIFT, (pc & (1 << PC_CF_SHIFT) - 1) >> PC_OP_BITS)
        return Span(launch.kernel.source_file, line) if line and launch.kernel.source_file else None

    def instruction(self, launch: Any, pc: int) -> str:
        from headwater.emulate.vliw.faults import instruction_text

        return instruction_text(launch, pc)


class _ShaderFamily(_OpenClFamily):
    """The same for a `headwater.runtime.vliw.launch.ShaderLaunch` of anything else: IL programs, Brook+ kernels that
    draw. Their resources' memory lies by the host's addresses; pixels know no groups."""

    def extents(self, launch: Any, task: Any) -> list[Extent]:
        arena = super().extents(launch, task)
        regions = [region for region in launch.regions(task) if region.keys[0][0] < ARENA_KEY]
        return [*arena, *(Extent(_called(r.name), r.host, r.host + r.keys[0][1]) for r in regions)]

    def host(self, extent: Extent) -> int:
        return self.hosts.get(extent.start, extent.start)

    def source_places(self, launch: Any) -> AccessPlaces:
        return AccessPlaces()

    def written(self, launch: Any, task: Any) -> set[int] | None:
        keys = {host: key for key, host in self.hosts.items()}
        return {keys.get(start, start) for start in launch.writable(task)}

    def order(self, launch: Any, same: bool) -> str:
        return "pixels are drawn in any order" if launch.mode == "pixel" else super().order(launch, same)


def _called(name: str) -> str:
    """A resource by its label, or by its name in a trace."""
    return name if name.startswith("`") else f"resource {name}"


def opencl_checker() -> Checker:
    """A watcher of a launch of an OpenCL kernel on a VLIW chip."""
    return Checker(_OpenClFamily())


def shader_checker() -> Checker:
    """A watcher of a launch of any other shader."""
    return Checker(_ShaderFamily())
