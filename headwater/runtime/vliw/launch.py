"""Input: a VLIW shader, what its resources are and a launch's sizes. Output: a `ShaderLaunch`, which runs it emulated.

How it runs is every launch's (`headwater.runtime.host.launch`). Here are descriptors of resources, the arena, constant
buffers, faults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from headwater.base.arrays import Array, address, aligned_bytes
from headwater.emulate.vliw.bindings import RAW, Bindings, Bound, Format, Name, Sampler
from headwater.emulate.vliw.layout import LAUNCH, RESOURCE, SHARED_BYTES
from headwater.emulate.vliw.native import SYMBOL, NativeShader, native_shader
from headwater.emulate.vliw.raster import BLOCK, Wavefronts, rasterised
from headwater.emulate.vliw.watch import ARENA_KEY, TILED_KEY, tiled_bytes
from headwater.emulate.watch import unwritten
from headwater.emulate.watch.hooks import Region, Watcher
from headwater.emulate.wave import layout
from headwater.emulate.wave.launched import SimulatedTask
from headwater.errors import LaunchError, ResourceError
from headwater.isa.vliw.model import MOST_WORK_ITEMS
from headwater.native import launch_block
from headwater.native.faults import Extent, Forbidden
from headwater.opencl.kernels import ARENA_START
from headwater.runtime.host.arguments import layout as format_of, packing
from headwater.runtime.host.launch import Entry, Grid, HostLaunch
from headwater.runtime.host.packer import ArgumentPacker, LocalMemory
from headwater.runtime.simulated.launch import overtime_hint, placing, run, wave_instructions

if TYPE_CHECKING:
    from headwater.chips import Chip
    from headwater.emulate.vliw.kernel import Kernel
    from headwater.opencl.kernels import KernelInfo
    from headwater.runtime.events import Event
    from headwater.runtime.host.kernel import HostKernel
    from headwater.runtime.interface import Prepared, Queue

ARENA_END = 0xFFFE0000
"""Where it ends: the addresses from here on are those that a generic pointer has for local and private memory
(`headwater.il.from_llvm.constants.APERTURES`)."""
_ARENA_ALIGNMENT = 256
_NO_SGPRS = tuple(name for kind, name, _ in layout.DISPATCH.fields if kind == "i32")
_WORD = (1 << 64) - 1


@dataclass(frozen=True)
class View:
    """Memory that a resource is: a contiguous array from byte ``offset`` on.

    ``width``, ``height``, ``depth`` and ``pitch`` (from row to row) are elements of ``format``; ``slice`` likewise from
    one 2-D slice to the next; 0 stands for what follows from the others. ``stride``: bytes from one index of a vertex
    fetch to the next.
    """

    memory: Array
    format: Format = RAW
    width: int = 0
    height: int = 1
    depth: int = 1
    pitch: int = 0
    slice: int = 0
    dimensions: int = 1
    stride: int = 1
    offset: int = 0
    label: str = ""

    @property
    def bound(self) -> Bound:
        """What of it translated code depends on."""
        return Bound(self.format, stride=self.stride, dimensions=self.dimensions)

    @property
    def nbytes(self) -> int:
        """Bytes from the offset to the memory's end."""
        return max(self.memory.nbytes - self.offset, 0)


ARENA = Bound(RAW, arena=True)
"""What a resource is bound to that stands for the whole arena."""


@dataclass(frozen=True)
class Allocation:
    """Memory in the arena: what a message calls it, and where it lies there."""

    name: str
    memory: Array
    start: int
    writable: bool
    forbidden: Forbidden = ""


class Arena:
    """The 32-bit addresses by which a launch's buffers are known to it."""

    def __init__(self) -> None:
        self.allocations: list[Allocation] = []
        self._next = ARENA_START
        self._places: dict[tuple[int, int], int] = {}  # indices of allocations, by address and bytes

    def add(self, name: str, memory: Array, *, writable: bool = True, forbidden: Forbidden = "") -> int:
        """The address of an array's memory, which is given one if it has none yet. It is writable if one of those
        who add it says so, and ``forbidden`` to checked kernels is only what all of them say. Raises ResourceError if
        4 GiB are full."""
        if not memory.size:
            return 0
        host = address(memory)
        known = self._places.get((host, memory.nbytes))
        if known is not None:
            found = self.allocations[known]
            if writable and not found.writable:
                self.allocations[known] = replace(found, name=name, writable=True)
            if forbidden != found.forbidden:
                self.allocations[known] = replace(self.allocations[known], forbidden="")
            return found.start
        # What is added to an address to get the host's is a multiple of 256.
        start = self._next + (host - self._next) % _ARENA_ALIGNMENT
        self._next = layout.round_up(start + memory.nbytes, _ARENA_ALIGNMENT) + _ARENA_ALIGNMENT
        if self._next >= ARENA_END:
            raise ResourceError(
                f"the kernel's buffers take more than 4 GiB: {name} with {memory.nbytes} bytes does not fit",
                hint="pointers of this chip have 32 bits",
            )
        self._places[host, memory.nbytes] = len(self.allocations)
        self.allocations.append(Allocation(name, memory, start, writable, forbidden))
        return start

    def table(self) -> list[int]:
        """The allocations as support.c wants them: start, end, and what is added with the flag."""
        words: list[int] = []
        for one in self.allocations:
            delta = (address(one.memory) - one.start) & _WORD
            words += [one.start, one.start + one.memory.nbytes, delta | (layout.WRITABLE if one.writable else 0)]
        return words

    def extents(self) -> list[Extent]:
        """The allocations by the arena's addresses."""
        return [Extent(a.name, a.start, a.start + a.memory.nbytes, a.forbidden) for a in self.allocations]


@dataclass
class Sizes:
    """A launch: the work-items of each dimension, those of a work-group, and where a pixel shader's domain begins."""

    whole: tuple[int, int, int]
    local: tuple[int, int, int]
    origin: tuple[int, int, int] = (0, 0, 0)
    dimensions: int = 3

    @property
    def groups(self) -> tuple[int, int, int]:
        """Work-groups of each dimension."""
        x, y, z = (-(-size // part) for size, part in zip(self.whole, self.local, strict=True))
        return x, y, z


def _whole_quads(sizes: Sizes) -> Sizes:
    """A domain with all pixels of its quads, 2 × 2 from even places on."""
    begins = [at & ~1 for at in sizes.origin[:2]]
    ends = [at + size for at, size in zip(sizes.origin, sizes.whole, strict=True)]
    width, height = (layout.round_up(end, 2) - begin for begin, end in zip(begins, ends, strict=False))
    return replace(sizes, whole=(width, height, 1), local=(BLOCK, BLOCK, 1), origin=(begins[0], begins[1], 0))


def _copy_constants(view: View, memory: Array) -> None:
    """Fill a constant buffer's memory, and what it lacks with zeros."""
    source = np.ascontiguousarray(view.memory).reshape(-1).view(np.uint8)[view.offset :]
    memory[: source.nbytes] = source
    memory[source.nbytes :] = 0


@dataclass
class Owner:
    """Whose launch it is: the device, None if it is for no queue, and what messages tell of the shader."""

    device: Any
    info: KernelInfo
    program_source: str = ""
    program_filename: str = ""

    @property
    def title(self) -> str:
        """What messages call it."""
        return self.info.name

    @property
    def source_file(self) -> str:
        """What messages call the file that it stands in."""
        return self.program_filename


class SharedRegisters:
    """The shared registers of all SIMD engines, for launches that leave them to each other."""

    def __init__(self) -> None:
        self._memory: Array | None = None

    def memory(self, chip: Chip) -> Array:
        """Their memory on a chip, zeros at first."""
        if self._memory is None:
            self._memory = aligned_bytes(chip.compute.compute_units * SHARED_BYTES)
            self._memory[:] = 0
        return self._memory


@dataclass
class Inputs:
    """What one launch is given: memory for the resources, and the arena."""

    views: Mapping[Name, View]
    arena: Arena = field(default_factory=Arena)
    shared: SharedRegisters | None = None
    """Shared registers with what earlier launches left there; else they begin as zero."""


@dataclass(frozen=True)
class Packed:
    """A kernel's arguments behind the descriptors: each one's place there, and the bytes of all."""

    places: tuple[int, ...]
    nbytes: int


class InputPassing(Protocol):
    """How a kernel gets its arguments, and what its work-items and source lines are called.

    ``in_line``: whether work-items are made one after the other even where they run as pixels, which the rasteriser
    makes. ``packed``: the arguments behind the descriptors.
    """

    @property
    def in_line(self) -> bool: ...
    @property
    def packed(self) -> Packed: ...

    def prepared(self, launch: ShaderLaunch, args: Sequence[Any]) -> tuple[SimulatedTask, Inputs]:
        """A task whose arguments are packed, and its resources."""
        ...

    def printed(self, task: SimulatedTask) -> list[str]:
        """Print what a launch printed; what is returned is findings of code for checks."""
        ...

    def source_line(self, line: int) -> int:
        """The line of the source, by that of the text that was compiled."""
        ...

    def called(
        self, launch: ShaderLaunch, item: tuple[int, int, int], group: tuple[int, int, int]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """How a message calls a work-item of the launch's grid or domain, and its group."""
        ...


class GivenInputs:
    """The only argument is `Inputs`."""

    in_line = False
    packed = Packed((), 0)

    def prepared(self, launch: ShaderLaunch, args: Sequence[Any]) -> tuple[SimulatedTask, Inputs]:
        return launch.host.pack(()), args[0]

    def printed(self, task: SimulatedTask) -> list[str]:
        return []

    def source_line(self, line: int) -> int:
        return line

    def called(
        self, launch: ShaderLaunch, item: tuple[int, int, int], group: tuple[int, int, int]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return item[: launch.sizes.dimensions], group[: launch.sizes.dimensions]


_GIVEN = GivenInputs()


class ShaderLaunch:
    """A kernel with its sizes and the kinds of its resources fixed. Called with the arguments that ``passing``
    takes."""

    def __init__(
        self,
        kernel: Owner | HostKernel,
        machine: Kernel,
        chip: Chip,
        sizes: Sizes,
        bindings: Bindings,
        passing: InputPassing = _GIVEN,
        watcher: Watcher | None = None,
    ) -> None:
        self.kernel = kernel
        self.passing = passing
        self.info = kernel.info
        self.machine = machine
        self._chip = chip
        self.watcher = watcher
        self.wavefronts: Wavefronts | None = None
        if watcher is not None and self.mode == "pixel":
            sizes = replace(sizes, local=(BLOCK, BLOCK, 1))
        if prod(sizes.groups) * prod(sizes.local) > MOST_WORK_ITEMS:
            raise LaunchError(
                f"{' x '.join(map(str, sizes.whole[: sizes.dimensions]))} work-items: {chip.name} numbers up to 2**31",
                hint="split the launch",
            )
        self._domain = (*sizes.origin[:2], *(at + size for at, size in zip(sizes.origin, sizes.whole, strict=True)))[:4]
        self.bindings = bindings
        items = prod(sizes.local)
        aligned = all(size % part == 0 for size, part in zip(sizes.whole, sizes.local, strict=True))
        full = aligned and items % layout.LANES == 0
        observer = None if watcher is None else watcher.observer
        self.native: NativeShader = native_shader(machine, bindings, full=full, observer=observer)
        if self.mode == "pixel" and self.native.quads:
            sizes = _whole_quads(sizes)
        if self.mode == "pixel" and (watcher is not None or self.native.quads):
            self.wavefronts = rasterised(*sizes.whole[:2])
        self.sizes = sizes
        self.work_dim = sizes.dimensions
        self.waves = -(-prod(sizes.local) // layout.LANES)
        self.descriptors = LAUNCH.size_bytes + RESOURCE.size_bytes * len(self.native.order)
        grid = Grid(sizes.whole, sizes.local, sizes.origin, sizes.dimensions)
        self.total = grid.total
        self.host = self._host_launch(grid, passing.packed)
        # One work-group after the other.
        self.tickets = 1 if self.native.uses_gds or self.native.shared else self.host.threads
        self._make_dispatch()

    def _host_launch(self, grid: Grid, packed: Packed) -> HostLaunch[SimulatedTask]:
        info, native, chip = self.info, self.native, self._chip
        args_bytes = self.descriptors + packed.nbytes
        packings = [packing(self.kernel.device, arg, i + 1) for i, arg in enumerate(info.args)]
        offsets = [self.descriptors + place for place in packed.places]

        def scratch_bytes(group_bytes: int) -> int:
            return layout.scratch_bytes(
                self.waves, native.frame_bytes, self.private_lane_bytes, native.cache_slots, group_bytes
            )

        place = placing(info, chip.name, chip.local_memory.work_group_bytes, self.machine.lds_bytes, scratch_bytes)
        packer: ArgumentPacker[SimulatedTask] = ArgumentPacker(
            self.kernel.device,
            info,
            packings,
            format_of([one.code for one in packings], offsets, args_bytes),
            LocalMemory(info.args, place),
        )
        return HostLaunch(self, self.kernel, Entry(native.library, SYMBOL, args_bytes), grid, packer, SimulatedTask)

    def __call__(self, args: Sequence[Any], queue: Queue | None = None, time_limit: float | None = None) -> Event:
        """Run over ``args``, see `headwater.runtime.simulated.launch.run`."""
        return run(self, args, queue, time_limit)

    def _make_dispatch(self) -> None:
        self._gds = aligned_bytes(layout.GDS_BYTES if self.native.uses_gds else 8)
        self._gds[:] = 0
        memory = aligned_bytes(layout.DISPATCH.size_bytes)
        memory[:] = 0
        fields: dict[str, Any] = {
            "gds": address(self._gds),
            "local": self.sizes.local,
            "waves": self.waves,
            "frame_bytes": self.native.frame_bytes,
            "scratch_lane_bytes": self.private_lane_bytes,
            "cache_slots": self.native.cache_slots,
            "flush_denormals": int(self.native.flushing),
            **dict.fromkeys(_NO_SGPRS, -1),
        }
        if self.watcher is not None:
            fields["hooks"] = self.watcher.hooks(self)
        if self.wavefronts is not None:
            self._quads = np.ascontiguousarray(self.wavefronts.quads)
            fields["quads"], fields["drawn"] = address(self._quads), len(self._quads)
        layout.DISPATCH.write(memory, fields)
        self.dispatch = memory
        self.host.block[launch_block.DISPATCH] = address(memory)

    def watched(self, watcher: Watcher) -> Prepared:
        """The same launch, of code that tells ``watcher`` what happens."""
        return ShaderLaunch(self.kernel, self.machine, self.chip, self.sizes, self.bindings, self.passing, watcher)

    def prepared(self, args: Sequence[Any]) -> SimulatedTask:
        """A task with its arguments packed and its descriptors made."""
        task, inputs = self.passing.prepared(self, args)
        self._bind(task, inputs)
        return task

    def _bind(self, task: SimulatedTask, inputs: Inputs) -> None:
        """Write the descriptors and the arena's table. LaunchError for a resource that is missing."""
        task.record[:] = 0
        arguments = np.frombuffer(task.args, np.uint8)
        sizes = self.sizes
        launch: dict[str, Any] = {"local": sizes.local, "groups": sizes.groups, "origin": sizes.origin}
        launch["domain"] = self._domain
        if self.native.shared:
            memory = task.keep((inputs.shared or SharedRegisters()).memory(self.chip))
            launch |= {"shared": address(memory), "engines": self.chip.compute.compute_units}
        LAUNCH.write(arguments, launch)
        for number, name in enumerate(self.native.order):
            view = inputs.views.get(name)
            if view is None:
                continue  # part of the arena, or nothing: then its use is a fault
            memory, start, size = self._memory(task, name, view)
            at = LAUNCH.size_bytes + RESOURCE.size_bytes * number
            fields = {"start": start, "size": size, **self._extents(view, size)}
            RESOURCE.write(arguments[at:], fields)
            task.keep(memory)
        task.table = np.array(inputs.arena.table(), np.uint64)
        task.extents = inputs.arena.extents()
        task.inputs = task.keep(inputs)
        block = task.block
        block[launch_block.ERROR] = address(task.record)
        block[launch_block.BOUNDS] = address(task.table) if len(task.table) else 0
        block[launch_block.BOUNDS_COUNT] = len(task.table) * 8 // layout.ALLOCATION.size_bytes
        block[launch_block.WAVE_INSTRUCTIONS] = 0
        if self.watcher is None or not self.watcher.notes_written:
            for start in self.writable(task):
                unwritten.written(start)
        if self.watcher is not None:
            self.watcher.begin(self, task)

    def starts(self, task: SimulatedTask, queued: bool) -> None:
        """The threads are about to begin."""
        if queued:
            for view, memory in task.constants:
                _copy_constants(view, memory)

    def writable(self, task: SimulatedTask) -> Iterator[int]:
        """The host's addresses of memory that a launch may write."""
        yield from (address(one.memory) for one in task.inputs.arena.allocations if one.writable)
        yield from (start for name, _, start, _ in self._viewed(task) if name[0] != "fetch")

    def _extents(self, view: View, size: int) -> dict[str, int]:
        """A descriptor's extents, in elements, of a view of ``size`` bytes."""
        width = view.width or size // view.format.nbytes
        pitch = view.pitch or width
        most = 2**32 - 1
        return {
            "width": min(width, most),
            "height": view.height,
            "depth": view.depth,
            "pitch": min(pitch, most),
            "slice": min(view.slice or pitch * view.height, most),
        }

    def _memory(self, task: SimulatedTask, name: Name, view: View) -> tuple[Array, int, int]:
        """A resource's memory, its address and size; constant buffers are copied, and filled up with zeros."""
        if name[0] != "constant":
            if not view.memory.flags.c_contiguous:
                raise LaunchError(f"{view.label or name[0]} is not contiguous", hint="pass np.ascontiguousarray(…)")
            flat = view.memory.reshape(-1).view(np.uint8)
            return flat, address(flat) + view.offset if flat.size else 0, view.nbytes
        wanted = max(16 * self.native.constants.get(name[1], 0), layout.round_up(view.nbytes, 16), 16)
        memory = aligned_bytes(wanted)
        _copy_constants(view, memory)
        task.constants.append((view, memory))
        return memory, address(memory), wanted

    def ended(self, task: SimulatedTask, nanoseconds: int) -> None:
        """Print what the launch printed, and raise its fault."""
        task.printed = self.passing.printed(task)
        if self.watcher is not None:
            self.watcher.end(self, task)
        if task.record[0]:
            from headwater.emulate.vliw.faults import explain
            from headwater.opencl.check_findings import beside, sentences

            found = explain(self, task.record.tolist(), task.extents)
            raise beside(found, sentences(task.printed, self.kernel, self.work_dim))

    def overtime_hint(self) -> str:
        """What to tell of a launch that has been stopped at its time limit."""
        return overtime_hint(self.kernel.program_source)

    def line_of(self, index: int, number: int) -> int:
        """The source line of a group, fetch or write (``number``) of a control-flow instruction; 0 if none is known."""
        known = self.machine.lines[index] if index < len(self.machine.lines) else ()
        return self.passing.source_line(known[min(number, len(known) - 1)]) if known else 0

    def called(
        self, item: tuple[int, int, int], group: tuple[int, int, int]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """How a message calls a work-item of the grid or domain, and its group."""
        return self.passing.called(self, item, group)

    def work_item(self, group: tuple[int, int, int], lane: int) -> tuple[int, int, int]:
        """The number of a work-item, by its group and its lane of all the group's."""
        sizes, (left, above, front) = self.sizes, self.sizes.origin
        if self.wavefronts is not None:
            quad = int(self.wavefronts.quads[group[1] * sizes.groups[0] + group[0], lane // 4])
            return left + 2 * (quad & 0xFFFF) + lane % 2, above + 2 * (quad >> 16) + lane // 2 % 2, front
        x, y, z = (group[n] * sizes.local[n] for n in range(3))
        across, down = (max(min(sizes.local[n], sizes.whole[n] - at), 1) for n, at in ((0, x), (1, y)))
        return left + x + lane % across, above + y + lane // across % down, front + z + lane // across // down

    # ---- what headwater.emulate.watch.hooks.Watched says

    fetches_by_quads = True

    @property
    def mode(self) -> str:
        """How work-items are made: "pixel" or "compute"."""
        return "pixel" if self.machine.kind == "ps" and not self.passing.in_line else "compute"

    @property
    def chip(self) -> Chip:
        """The chip that is simulated."""
        return self._chip

    @property
    def local_banks(self) -> int:
        """Banks of the chip's LDS."""
        return self.chip.local_memory.banks

    @property
    def group_bytes(self) -> int:
        """Local memory of a work-group."""
        return self.host.local.placed.group_bytes

    @property
    def wave_instructions(self) -> int:
        """ALU groups, fetches and control-flow instructions that the wavefronts of the last launch executed."""
        return wave_instructions(self)

    @property
    def private_lane_bytes(self) -> int:
        """Scratch memory of a work-item."""
        return layout.round_up(self.machine.scratch_bytes, 16)

    def header(self, task: SimulatedTask, place: Callable[[int], int]) -> Mapping[str, Any]:
        """What a trace's header says of this launch."""
        machine = self.machine
        return {
            "machine": "vliw",
            "kernel": self.info.name,
            "target": self.chip.target,
            "generation": machine.shader.generation,
            "code": machine.digest,
            "mode": self.mode,
            "global_size": self.sizes.whole,
            "local_size": self.sizes.local,
            "origin": self.sizes.origin,
            "lanes": layout.LANES,
            "wavefront_size": self.chip.compute.wavefront_size,
            "gprs": machine.gprs,
            "clause_temporaries": machine.clause_temporaries,
            "stack_entries": machine.stack_entries,
            "lds_bytes": self.group_bytes,
            "resources": list(self._resources(task, place)),
        }

    def _resources(self, task: SimulatedTask, place: Callable[[int], int]) -> Iterator[dict[str, Any]]:
        """What is bound to the shader's resources, but constant buffers and the arena."""
        for name, view, start, size in self._viewed(task):
            extents = self._extents(view, size)
            yield {
                "name": f"{name[0]} {name[1]}",
                "address": place(start),
                "nbytes": size,
                **extents,
                "dimensions": view.dimensions,
                "stride": view.stride,
                "lanes": view.format.lanes,
                "bits": view.format.bits,
                "kind": view.format.kind,
                "element_bytes": view.format.nbytes,
                "layout": "linear" if view.dimensions == 1 else "tiled",
            }

    def regions(self, task: SimulatedTask) -> list[Region]:
        """The memory of resources, by the host's address and by that of elements in tiles; the arena's allocations."""
        found: dict[int, tuple[str, int, int]] = {}
        for name, view, start, size in self._viewed(task):
            label, most, tiled = found.get(start, (view.label or f"{name[0]} {name[1]}", 0, 0))
            if view.dimensions > 1:
                extents = self._extents(view, size)
                rows = extents["slice"] // max(extents["pitch"], 1)
                tiled = max(tiled, tiled_bytes(extents["pitch"], rows, view.depth, view.format.nbytes))
            found[start] = label, max(most, size), tiled
        regions = []
        for start, (label, size, tiled) in found.items():
            keys = ((start, size),) if not tiled else ((start, size), (start + TILED_KEY, tiled))
            regions.append(Region(label, keys, start))
        for one in task.inputs.arena.allocations:
            regions.append(Region(one.name, ((one.start + ARENA_KEY, one.memory.nbytes),), address(one.memory)))
        return regions

    def _viewed(self, task: SimulatedTask) -> Iterator[tuple[Name, View, int, int]]:
        """The shader's resources with their host addresses and sizes."""
        inputs = task.inputs
        assert isinstance(inputs, Inputs)
        for name in self.native.order:
            view = inputs.views.get(name)
            if view is not None and name[0] != "constant" and view.nbytes:
                yield name, view, address(view.memory.reshape(-1).view(np.uint8)) + view.offset, view.nbytes


__all__ = ["ARENA", "Allocation", "Arena", "Inputs", "Owner", "Sampler", "ShaderLaunch", "Sizes", "View"]
