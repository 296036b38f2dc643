"""Input: a kernel of a code object and a launch's sizes. Output: a `GcnLaunch`, which runs it emulated.

How it runs is every launch's (`headwater.runtime.host.launch`). Here are the kernarg segment with its hidden arguments,
the dispatch structure, the table of allocations, and faults.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from headwater.base.arrays import Array, address, aligned_bytes
from headwater.emulate.gcn import dispatch
from headwater.emulate.gcn.native import SYMBOL, native_kernel
from headwater.emulate.watch import unwritten
from headwater.emulate.watch.hooks import Region
from headwater.emulate.wave import layout
from headwater.emulate.wave.launched import SimulatedTask
from headwater.errors import LaunchError, ResourceError
from headwater.native import launch_block
from headwater.native.faults import Extent, Forbidden
from headwater.runtime import signature
from headwater.runtime.host.arguments import (
    Packing,
    image_address,
    image_key,
    layout as format_of,
    packing,
    sampler_bits,
)
from headwater.runtime.host.launch import MAX_SCRATCH, Entry, Grid, HostLaunch
from headwater.runtime.host.memory import forbidden as forbidden_of, memory_of
from headwater.runtime.host.packer import ArgumentPacker, LocalMemory, Placement
from headwater.runtime.simulated import printf_memory, reachable
from headwater.runtime.simulated.launch import overtime_hint, placing, run, wave_instructions

if TYPE_CHECKING:
    from headwater.chips import Chip
    from headwater.emulate.watch.hooks import Watcher
    from headwater.isa.gcn.objects import CodeObject, KernelArg, KernelObject
    from headwater.opencl.kernels import ArgInfo
    from headwater.runtime.events import Event
    from headwater.runtime.gcn.device import GcnKernel
    from headwater.runtime.interface import Prepared, Queue


class LoadedCode:
    """A code object's segments as they lie in memory, address 0 first, with relocations applied."""

    def __init__(self, code: CodeObject) -> None:
        image = code.image()
        self.memory = aligned_bytes(max(len(image), 1), 4096)
        self.memory[: len(image)] = np.frombuffer(image, np.uint8)
        self.address = address(self.memory)
        for relocation in code.relocations:
            place = self.memory[relocation.offset : relocation.offset + 8].view(np.uint64)
            place[0] = (self.address + relocation.value) & (2**64 - 1)


_loaded: weakref.WeakKeyDictionary[CodeObject, LoadedCode] = weakref.WeakKeyDictionary()
_GRID = 1 << 32
"""Work-items of a dimension that a dispatch packet can count to, and one (hsa_kernel_dispatch_packet_t: grid_size_x
is a uint32)."""


class ArgumentPassing(Protocol):
    """How kernels of a code object get their arguments."""

    def places(self, args: Sequence[KernelArg]) -> tuple[int, ...]:
        """Where each argument is packed."""
        ...

    def new_task(self, block: Array, args_bytes: int) -> SimulatedTask: ...

    def dispatch_fields(self, launch: GcnLaunch, task: SimulatedTask, args: Sequence[Any]) -> dict[str, Any]:
        """What the dispatch structure of a launch has of its own for it, when its arguments are packed."""
        ...


class KernargSegment:
    """The arguments lie in the kernarg segment, where the code object says."""

    def places(self, args: Sequence[KernelArg]) -> tuple[int, ...]:
        return tuple(arg.offset for arg in args)

    def new_task(self, block: Array, args_bytes: int) -> SimulatedTask:
        return SimulatedTask(block, args_bytes)

    def dispatch_fields(self, launch: GcnLaunch, task: SimulatedTask, args: Sequence[Any]) -> dict[str, Any]:
        return {}


class GcnLaunch:
    """One kernel with its sizes fixed. Calling it packs the arguments, emulates the kernel and returns the event."""

    def __init__(
        self,
        kernel: GcnKernel,
        code: CodeObject,
        grid: Grid,
        convention: ArgumentPassing,
        watcher: Watcher | None = None,
        lds_bytes: int = 0,
    ) -> None:
        global_size, local_size, offset, work_dim = grid
        if max(global_size) >= _GRID:
            raise LaunchError(
                f"the global size {global_size[:work_dim]} has a dimension of 2**32 or more",
                hint="launch parts of it, or spread it over two dimensions",
            )
        self.kernel = kernel
        self.info = kernel.info
        self.code = code
        self.lds_bytes = lds_bytes
        self.machine_kernel: KernelObject = code.kernels[kernel.info.name]
        self.device = kernel.device
        self.work_dim = work_dim
        self.sizes = global_size, local_size, offset
        items = prod(local_size)
        whole = all(size % local == 0 for size, local in zip(global_size, local_size, strict=True))
        self.watcher = watcher
        observer = None if watcher is None else watcher.observer
        full = whole and items % layout.LANES == 0
        native = native_kernel(code, kernel.info.name, full=full, observer=observer)
        self.native = native
        self.abi = dispatch.abi_of(self.machine_kernel, code.target)
        self.waves = -(-items // layout.LANES)
        if native.uses_gws and watcher is not None:
            raise LaunchError(
                f"{kernel.info.name} synchronises all work-groups (ds_gws_…), and such launches cannot be watched",
                hint="leave --check out; traces, statistics and simulated time are for kernels without it",
            )
        explicit = [a for a in self.machine_kernel.args if not a.value_kind.startswith("hidden_")]
        self._hidden = [a for a in self.machine_kernel.args if a.value_kind.startswith("hidden_")]
        last = max(
            [
                self.machine_kernel.kernarg_bytes,
                4 * sum(self.machine_kernel.preload),
                *(a.offset + a.size for a in self.machine_kernel.args),
            ]
        )
        # Compilers load whole cache lines of it.
        self.args_bytes = layout.round_up(last, 64)
        self._convention = convention
        self.arg_offsets = convention.places(explicit)
        self.static_local_bytes = self.machine_kernel.group_segment_bytes + lds_bytes
        self.total = grid.total
        packings = [self._packing(arg, i + 1) for i, arg in enumerate(self.info.args)]
        packer: ArgumentPacker[SimulatedTask] = ArgumentPacker(
            self.device,
            self.info,
            packings,
            format_of([one.code for one in packings], self.arg_offsets, self.args_bytes),
            LocalMemory(self.info.args, self._placing()),
        )
        entry = Entry(native.library, SYMBOL, self.args_bytes)
        self.host = HostLaunch(self, kernel, entry, grid, packer, convention.new_task)
        self.tickets = 1 if native.uses_gds else self.host.threads
        self._make_dispatch()

    def __call__(self, args: Sequence[Any], queue: Queue | None = None, time_limit: float | None = None) -> Event:
        """Run over ``args``, see `headwater.runtime.simulated.launch.run`."""
        return run(self, args, queue, time_limit)

    # -- what all launches share -----------------------------------------------------------------------------------

    def _make_dispatch(self) -> None:
        """The dispatch structure, and what it points at."""
        global_size, local_size, _ = self.sizes
        loaded = _loaded.get(self.code)
        if loaded is None:
            loaded = _loaded[self.code] = LoadedCode(self.code)
        self.image_memory = loaded
        self._queue = aligned_bytes(dispatch.QUEUE_BYTES)
        self._queue[:] = np.frombuffer(dispatch.queue_bytes(), np.uint8)
        self._packet = aligned_bytes(dispatch.PACKET_BYTES)
        self._gds = aligned_bytes(layout.GDS_BYTES if self.native.uses_gds else 8)
        self._gds[:] = 0
        packet = dispatch.packet_bytes(
            self.work_dim,
            global_size,
            local_size,
            self.abi.scratch_lane_bytes,
            self.static_local_bytes,
            0,
        )
        self._packet[:] = np.frombuffer(packet, np.uint8)
        abi = self.abi
        memory = aligned_bytes(layout.DISPATCH.size_bytes)
        memory[:] = 0
        fields: dict[str, Any] = {
            "code": loaded.address,
            "gds": address(self._gds),
            "local": local_size,
            "packed_ids": int(abi.packed_ids),
            "waves": self.waves,
            "frame_bytes": self.native.frame_bytes,
            "scratch_lane_bytes": abi.scratch_lane_bytes,
            "cache_slots": self.native.cache_slots,
            "sgpr_private_buffer": abi.private_buffer,
            "sgpr_kernarg": abi.kernarg,
            "sgpr_flat_scratch": abi.flat_scratch,
            "sgpr_group_id": abi.group_id,
            "sgpr_group_info": abi.group_info,
            "sgpr_wave_offset": abi.wave_offset,
            "sgpr_preload": abi.preload,
            "preload_first": self.machine_kernel.preload[0],
            "preload_count": self.machine_kernel.preload[1],
            "sgprs": dispatch.sgpr_template(abi, address(self._packet), address(self._queue)),
        }
        if self.watcher is not None:
            fields["hooks"] = self.watcher.hooks(self)
        layout.DISPATCH.write(memory, fields)
        self.dispatch = memory
        self.host.block[launch_block.DISPATCH] = address(memory)

    def _placing(self) -> Callable[[tuple[int, ...]], Placement]:
        """Where dynamic local arguments lie."""
        return placing(
            self.info, self.device.name, self.device.outline.work_group_bytes, self.static_local_bytes,
            self._scratch_bytes,
        )  # fmt: skip

    def _scratch_bytes(self, group_bytes: int) -> int:
        """What a thread needs for a work-group, or all that it runs side by side."""
        native = self.native
        one = layout.scratch_bytes(
            self.waves, native.frame_bytes, self.private_lane_bytes, native.cache_slots, group_bytes
        )
        if not native.uses_gws:
            return one
        residents = self._residents(group_bytes)
        total = layout.resident_bytes(residents, one)
        if total > MAX_SCRATCH:
            raise ResourceError(
                f"{self.info.name} synchronises {residents} work-groups that run side by side, and they need "
                f"{total} bytes of private memory and frames",
                hint="launch fewer or smaller work-groups, or use smaller private arrays",
            )
        return total

    def _residents(self, group_bytes: int) -> int:
        """Work-groups with that much local memory that synchronise: they are run side by side, as many as the chip
        holds at once."""
        from headwater.chips.occupancy import Needs, occupancy

        kernel = self.machine_kernel
        needs = Needs(prod(self.sizes[1]), max(kernel.vgpr_count, 1), kernel.sgpr_count, group_bytes)
        held = occupancy(self.chip, needs).work_groups * self.chip.compute.compute_units
        return max(1, min(held, self.total))

    def _packing(self, arg: ArgInfo, position: int) -> Packing:
        if arg.kind == "local":
            return Packing("local", "I")
        if arg.kind == "image":
            return Packing("other", "Q", lambda value, task: self._bound_image(arg, position, value, task))
        if arg.kind == "sampler":
            return Packing("other", "Q", lambda value, task: _sampler_address(arg, position, value))
        return packing(self.device, arg, position)

    def _bound_image(self, arg: ArgInfo, position: int, value: object, task: Any) -> int:
        """The address of an image's description."""
        from headwater.runtime.gcn.images import BoundImage

        image_address(arg, position, value)
        key = image_key(arg, value)
        known = task.images.get(key)
        if known is None or known.image is not value:
            image: Any = value
            known = BoundImage(image, arg, self.code.isa, described=self.native.uses_texels)
            task.images[key] = task.keep(known)
        known.writes |= arg.access != "read"
        return int(known.address)

    @property
    def chip(self) -> Chip:
        """The chip that is simulated."""
        return self.device.chip

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
        """Instructions that the wavefronts of the last launch executed."""
        return wave_instructions(self)

    def watched(self, watcher: Watcher) -> Prepared:
        """The same launch, of code that tells ``watcher`` what happens."""
        whole, group, offset = (size[: self.work_dim] for size in self.sizes)
        return self.kernel.watched(whole, group, offset, watcher, self.lds_bytes)

    # -- one launch ------------------------------------------------------------------------------------------------

    def prepared(self, args: Sequence[Any]) -> SimulatedTask:
        """A task with its arguments packed and its table of allocations made."""
        task = self.host.pack(args)
        task.record[:] = 0
        self._write_hidden(task)
        self._write_table(task, args)
        block = task.block
        if own := self._own_fields(task, args):
            # Others of these sizes may be running.
            dispatch = task.keep(aligned_bytes(layout.DISPATCH.size_bytes))
            dispatch[:] = self.dispatch
            layout.DISPATCH.write(dispatch, own)
            block[launch_block.DISPATCH] = address(dispatch)
        block[launch_block.ERROR] = address(task.record)
        block[launch_block.BOUNDS] = address(task.table)
        block[launch_block.BOUNDS_COUNT] = len(task.table) * 8 // layout.ALLOCATION.size_bytes
        block[launch_block.WAVE_INSTRUCTIONS] = 0
        if self.watcher is not None:
            self.watcher.begin(self, task)
        return task

    def _own_fields(self, task: SimulatedTask, args: Sequence[Any]) -> dict[str, Any]:
        """What of the dispatch structure is not the same for all launches of these sizes."""
        fields = self._convention.dispatch_fields(self, task, args)
        if self.native.uses_gws:
            residents = self._residents(task.block[launch_block.LOCAL_BYTES])
            fields |= {"residents": residents, "gws": address(self.device.gws)}
        return fields

    def starts(self, task: SimulatedTask, queued: bool) -> None:
        """The threads are about to begin."""
        if task.hostcalls is not None:
            task.hostcalls.start()
        if queued:
            for image in task.images.values():
                image.copy_in()

    def _write_hidden(self, task: SimulatedTask) -> None:
        if not self._hidden:
            return
        global_size, local_size, offset = self.sizes
        task.printf = None
        printf = 0
        if any(a.value_kind == "hidden_printf_buffer" for a in self._hidden) and self.code.printf_formats:
            task.printf = task.keep(printf_memory.new_memory())
            printf = address(task.printf)
        task.hostcalls = None
        if any(a.value_kind == "hidden_hostcall_buffer" for a in self._hidden):
            from headwater.runtime.gcn.hostcalls import Hostcalls

            task.hostcalls = Hostcalls()
        values = dispatch.hidden_values(
            self.work_dim,
            global_size,
            local_size,
            offset,
            printf=printf,
            hostcalls=0 if task.hostcalls is None else address(task.hostcalls.memory),
            queue=address(self._queue),
            lds_bytes=task.block[launch_block.LOCAL_BYTES] - self.machine_kernel.group_segment_bytes,
        )
        for arg in self._hidden:
            value = values.get(arg.value_kind, 0)
            task.args[arg.offset : arg.offset + arg.size] = value.to_bytes(arg.size, "little")

    def _write_table(self, task: SimulatedTask, args: Sequence[Any]) -> None:
        """The allocations that the kernel may access: its arguments' and its own."""
        keys = [image_key(a, v) for v, a in zip(args, self.info.args, strict=True) if a.kind == "image"]
        task.images = {key: task.images[key] for key in keys}
        for image in task.images.values():
            image.copy_in()
        entries: list[tuple[int, int, int]] = []
        extents: list[Extent] = []

        def add(name: str, start: int, nbytes: int, writable: bool, forbidden: Forbidden = "") -> None:
            if nbytes:
                # Atomic functions of halves are on the dwords that they lie in: also the last of an odd number.
                ragged = self.native.updates_dwords and nbytes % 4 == 2
                flags = (layout.WRITABLE if writable else 0) | (layout.WHOLE_DWORDS if ragged else 0)
                entries.append((start, start + nbytes, flags))
                extents.append(Extent(name, start, start + nbytes, forbidden))

        for value, arg in zip(args, self.info.args, strict=True):
            if arg.kind == "image":
                bound = task.images[image_key(arg, value)]
                writable = bool(value.array.flags.writeable)
                add(f"the pixels of `{arg.name}`", address(bound.pixels), bound.pixels.nbytes, writable)
                add(f"the descriptor of `{arg.name}`", bound.address, bound.memory.nbytes, False)
            elif arg.kind == "sampler":
                from headwater.runtime.gcn.images import samplers

                add("the samplers", address(samplers()), samplers().nbytes, False)
            elif arg.kind in ("buffer", "constant") and value is not None:
                memory = memory_of(value, task)
                if memory.size:
                    writable = bool(memory.flags.writeable)
                    name = f"`{signature.declaration(arg)}`"
                    add(name, address(memory), memory.nbytes, writable, forbidden_of(value))
        for name, memory in reachable.current():
            add(name, address(memory), memory.nbytes, bool(memory.flags.writeable))
        loaded = self.image_memory
        add("the code object", loaded.address, loaded.memory.nbytes, self.code.has_writable_data)
        add("the kernarg segment", task.args_address, self.args_bytes, False)
        add("the dispatch packet", address(self._packet), dispatch.PACKET_BYTES, False)
        add("the queue", address(self._queue), dispatch.QUEUE_BYTES, False)
        for name, memory in task.own.items():
            add(name, address(memory), memory.nbytes, False)
        if task.printf is not None:
            add("the printf buffer", address(task.printf), task.printf.nbytes, True)
        if task.hostcalls is not None:
            memory = task.hostcalls.memory
            add("the memory of calls to the host", address(memory), memory.nbytes, True)
        task.extents = extents
        self._refuse_shared_copies(task, args)
        if self.watcher is None or not self.watcher.notes_written:
            for extent in extents:
                unwritten.written(extent.start)
        task.table = np.array([word for entry in merged(entries) for word in entry], np.uint64)

    def _refuse_shared_copies(self, task: SimulatedTask, args: Sequence[Any]) -> None:
        """LaunchError where an image is copied for the launch and another argument is over the same memory: what is
        written to one would not be seen in the other, or be lost."""
        copied = [image for image in task.images.values() if image.copied]
        for value, arg in zip(args, self.info.args, strict=True):
            own = task.images[image_key(arg, value)] if arg.kind == "image" else None
            for image in copied:
                if arg.kind not in ("buffer", "constant", "image") or value is None or image is own:
                    continue
                memory = value.array if arg.kind == "image" else memory_of(value, task)
                if np.may_share_memory(memory, image.image.array) and (image.writes or arg.access != "read"):
                    raise LaunchError(
                        f"`{arg.name}` and an image of three channels are over the same memory",
                        hint="such an image is copied for the launch; give the arguments arrays of their own",
                    )

    def arguments_of(self, extents: Sequence[Extent]) -> list[Extent]:
        """The allocations that are the kernel's arguments, which a caller knows."""
        return [extent for extent in extents if "`" in extent.name]

    def ended(self, task: SimulatedTask, nanoseconds: int) -> None:
        """Print what the launch printed, and raise its fault."""
        for image in task.images.values():
            image.copy_back()
        task.images.clear()
        if task.hostcalls is not None:
            task.hostcalls.stop()
            task.hostcalls.show()
        task.printed = [] if task.printf is None else printf_memory.show(task.printf, self.code.printf_formats)
        if self.watcher is not None:
            self.watcher.end(self, task)
        if task.hostcalls is not None:
            task.hostcalls.check()
        if task.record[0]:
            from headwater.emulate.gcn.faults import explain
            from headwater.opencl.check_findings import beside, sentences

            found = explain(self, task.record.tolist(), task.extents)
            raise beside(found, sentences(task.printed, self.kernel, self.work_dim))

    def overtime_hint(self) -> str:
        """What to tell of a launch that has been stopped at its time limit."""
        return overtime_hint(self.kernel.program_source)

    # -- what headwater.emulate.watch.hooks.Watched says -----------------------------------------------------------

    fetches_by_quads = False

    @property
    def private_lane_bytes(self) -> int:
        """Private memory of a lane."""
        return self.abi.scratch_lane_bytes

    def header(self, task: SimulatedTask, place: Callable[[int], int]) -> Mapping[str, Any]:
        """What a trace's header says of this launch."""
        global_size, local_size, _ = self.sizes
        return {
            "machine": "gcn",
            "kernel": self.machine_kernel.name,
            "target": self.code.target,
            "code": self.code.digest,
            "global_size": global_size,
            "local_size": local_size,
            "vgprs": self.machine_kernel.vgpr_count,
            "sgprs": self.machine_kernel.sgpr_count,
            "lds_bytes": self.group_bytes,
        }

    def regions(self, task: SimulatedTask) -> list[Region]:
        """The launch's allocations, by the host's addresses."""
        return [Region(one.name, ((one.start, one.end - one.start),), one.start) for one in task.extents]


def _sampler_address(arg: ArgInfo, position: int, value: object) -> int:
    from headwater.runtime.gcn.images import sampler_address

    return sampler_address(sampler_bits(arg, position, value))


def merged(entries: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Sorted allocations; those that overlap become one, writable if one of them is."""
    result: list[tuple[int, int, int]] = []
    for start, end, flags in sorted(entries):
        if result and start < result[-1][1]:
            first, last, known = result[-1]
            result[-1] = first, max(last, end), known | flags
        else:
            result.append((start, end, flags))
    return result
