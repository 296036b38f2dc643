"""A kernel of a code object and a launch's sizes pass in; a `SimulatedLaunch` passes out, which runs it emulated.

It is a `CpuLaunch` of the emulator's native code: threads, queues, time limits and Ctrl-C are the same. What differs is
here: the kernarg segment with its hidden arguments, the dispatch structure, the table of allocations, and faults.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.base.arrays import ALIGNMENT, address, aligned_bytes
from headwater.emulate.gcn import dispatch
from headwater.emulate.gcn.native import SYMBOL, native_kernel
from headwater.emulate.watch import unwritten
from headwater.emulate.watch.hooks import Region
from headwater.emulate.wave import layout
from headwater.emulate.wave.launched import SimulatedTask
from headwater.errors import LaunchError, ResourceError
from headwater.native import launch_block
from headwater.native.faults import Extent
from headwater.native.pool import Task
from headwater.runtime import printf_memory, reachable, signature
from headwater.runtime.cpu.launch import MAX_SCRATCH, Slot, image_address, memory_of, sampler_bits
from headwater.runtime.emulated import EmulatedKernel, EmulatedLaunch

if TYPE_CHECKING:
    from headwater.chips import Chip
    from headwater.emulate.watch.hooks import Watcher
    from headwater.isa.gcn.objects import CodeObject, KernelArg, KernelObject
    from headwater.opencl.kernels import ArgInfo
    from headwater.runtime.gcn.device import SimulatedKernel


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


class SimulatedLaunch(EmulatedLaunch):
    """One kernel with its sizes fixed. Calling it packs the kernarg segment, emulates the kernel and returns the
    event."""

    kernel: SimulatedKernel

    def __init__(
        self,
        kernel: SimulatedKernel,
        code: CodeObject,
        global_size: tuple[int, int, int],
        local_size: tuple[int, int, int],
        offset: tuple[int, int, int],
        work_dim: int,
        watcher: Watcher | None = None,
        lds_bytes: int = 0,
    ) -> None:
        if max(global_size) >= _GRID:
            raise LaunchError(
                f"the global size {global_size[:work_dim]} has a dimension of 2**32 or more",
                hint="launch parts of it, or spread it over two dimensions",
            )
        self.code = code
        self.lds_bytes = lds_bytes
        self.machine_kernel: KernelObject = code.kernels[kernel.info.name]
        self.device = kernel.device
        items = prod(local_size)
        whole = all(size % local == 0 for size, local in zip(global_size, local_size, strict=True))
        self.watcher = watcher
        observer = None if watcher is None else watcher.observer
        full = whole and items % layout.LANES == 0
        native = native_kernel(code, kernel.info.name, full=full, observer=observer)
        self.native = native
        self.abi = dispatch.abi_of(self.machine_kernel, code.target)
        self.waves = -(-items // layout.LANES)
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
        args_bytes = layout.round_up(last, 64)
        host = EmulatedKernel(
            library=native.library,
            symbol=SYMBOL,
            local_size=local_size,
            arg_offsets=self._argument_offsets(explicit),
            args_bytes=args_bytes,
            static_local_bytes=self.machine_kernel.group_segment_bytes + lds_bytes,
            frame_bytes=0,
        )
        self._residents = 0
        if native.uses_gws and watcher is not None:
            raise LaunchError(
                f"{kernel.info.name} synchronises all work-groups (ds_gws_…), and such launches cannot be watched",
                hint="leave --check out; traces, statistics and simulated time are for kernels without it",
            )
        super().__init__(kernel, host, global_size, offset, work_dim, check=False)
        self._inline = False
        if native.uses_gds:
            self.tickets = 1
        self.sizes = global_size, local_size, offset
        self._make_dispatch()

    # -- what all launches share
    # ------------------------------------------------------------------------------------------

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
            self.host.static_local_bytes,
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
        self.block[launch_block.DISPATCH] = address(memory)

    def place_locals(self, sizes: tuple[int, ...]) -> None:
        super().place_locals(sizes)
        if not self.native.uses_gws:
            return
        # Work-groups that synchronise are run side by side, as many as the chip holds at once.
        from headwater.chips.occupancy import Needs, occupancy

        kernel = self.machine_kernel
        needs = Needs(prod(self.host.local_size), max(kernel.vgpr_count, 1), kernel.sgpr_count, self.group_bytes)
        held = occupancy(self.chip, needs).work_groups * self.chip.compute.compute_units
        self._residents = max(1, min(held, self.total))
        total = layout.resident_bytes(self._residents, self.scratch_bytes)
        if total > MAX_SCRATCH:
            raise ResourceError(
                f"{self.info.name} synchronises {self._residents} work-groups that run side by side, and they need "
                f"{total} bytes of private memory and frames",
                hint="launch fewer or smaller work-groups, or use smaller private arrays",
            )
        self.scratch_bytes = total

    def _argument_offsets(self, explicit: Sequence[KernelArg]) -> tuple[int, ...]:
        """Where each argument lies in the kernarg segment."""
        return tuple(arg.offset for arg in explicit)

    def _add_slot(self, index: int, arg: ArgInfo) -> str:
        if arg.kind == "local":
            return self.add("local", "I", None)
        if arg.kind == "image":
            return self.add("other", "Q", lambda value, task: self._bound_image(arg, index + 1, value, task))
        if arg.kind == "sampler":
            return self.add("other", "Q", lambda value, task: _sampler_address(arg, index + 1, value))
        return super()._add_slot(index, arg)

    def _bound_image(self, arg: ArgInfo, position: int, value: object, task: Any) -> int:
        """The address of an image's description."""
        from headwater.runtime.gcn.images import BoundImage

        image_address(arg, position, value)
        known = task.images.get(id(value))
        if known is None or known.image is not value:
            image: Any = value
            known = BoundImage(image, arg, self.code.isa, described=self.native.uses_texels)
            task.images[id(value)] = task.keep(known)
        known.writes |= arg.access != "read"
        return int(known.address)

    @property
    def chip(self) -> Chip:
        """The chip that is simulated."""
        return self.device.chip

    @property
    def local_limit_bytes(self) -> int:
        """LDS that a work-group may have, known without the chip's file."""
        return self.device.outline.work_group_bytes

    def watched(self, watcher: Watcher) -> SimulatedLaunch:
        """The same launch, of code that tells ``watcher`` what happens."""
        whole, group, offset = (size[: self.work_dim] for size in self.sizes)
        return self.kernel.watched(whole, group, offset, watcher, self.lds_bytes)

    # -- one launch
    # -------------------------------------------------------------------------------------------------------

    def _prepare(self, args: Sequence[Any]) -> Task:
        task = super()._prepare(args)
        assert isinstance(task, SimulatedTask)
        task.record[:] = 0
        self._write_hidden(task)
        self._write_table(task, args)
        block = task.block
        if self._residents:
            # A launch of its own number of groups side by side may still be running.
            layout.DISPATCH.write(self.dispatch, {"residents": self._residents, "gws": address(self.device.gws)})
            dispatch = task.keep(aligned_bytes(layout.DISPATCH.size_bytes))
            dispatch[:] = self.dispatch
            block[launch_block.DISPATCH] = address(dispatch)
        block[launch_block.ERROR] = address(task.record)
        block[launch_block.BOUNDS] = address(task.table)
        block[launch_block.BOUNDS_COUNT] = len(task.table) * 8 // layout.ALLOCATION.size_bytes
        block[launch_block.WAVE_INSTRUCTIONS] = 0
        if self.watcher is not None:
            self.watcher.begin(self, task)
        return task

    def _refresh(self, task: Task) -> None:
        super()._refresh(task)
        assert isinstance(task, SimulatedTask)
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
        values = dispatch.hidden_values(
            self.work_dim,
            global_size,
            local_size,
            offset,
            printf=printf,
            queue=address(self._queue),
            lds_bytes=self.group_bytes - self.machine_kernel.group_segment_bytes,
        )
        for arg in self._hidden:
            value = values.get(arg.value_kind, 0)
            task.args[arg.offset : arg.offset + arg.size] = value.to_bytes(arg.size, "little")

    def _write_table(self, task: SimulatedTask, args: Sequence[Any]) -> None:
        """The allocations that the kernel may access: its arguments' and its own."""
        task.images = {
            id(v): task.images[id(v)] for v, a in zip(args, self.info.args, strict=True) if a.kind == "image"
        }
        for image in task.images.values():
            image.copy_in()
        entries: list[tuple[int, int, int]] = []
        extents: list[Extent] = []

        def add(name: str, start: int, nbytes: int, writable: bool) -> None:
            if nbytes:
                entries.append((start, start + nbytes, layout.WRITABLE if writable else 0))
                extents.append(Extent(name, start, start + nbytes))

        for value, arg in zip(args, self.info.args, strict=True):
            if arg.kind == "image":
                bound = task.images[id(value)]
                writable = bool(value.array.flags.writeable)
                add(f"the pixels of `{arg.name}`", address(bound.pixels), bound.pixels.nbytes, writable)
                add(f"the descriptor of `{arg.name}`", bound.address, bound.memory.nbytes, False)
            elif arg.kind == "sampler":
                from headwater.runtime.gcn.images import samplers

                add("the samplers", address(samplers()), samplers().nbytes, False)
            elif arg.kind in ("buffer", "constant") and value is not None:
                memory = memory_of(value, task)
                if memory.size:
                    add(f"`{signature.declaration(arg)}`", address(memory), memory.nbytes, bool(memory.flags.writeable))
        for name, memory in reachable.current():
            add(name, address(memory), memory.nbytes, bool(memory.flags.writeable))
        loaded = self.image_memory
        add("the code object", loaded.address, loaded.memory.nbytes, self.code.has_writable_data)
        add("the kernarg segment", task.args_address, self.host.args_bytes, False)
        add("the dispatch packet", address(self._packet), dispatch.PACKET_BYTES, False)
        add("the queue", address(self._queue), dispatch.QUEUE_BYTES, False)
        for name, memory in task.own.items():
            add(name, address(memory), memory.nbytes, False)
        if task.printf is not None:
            add("the printf buffer", address(task.printf), task.printf.nbytes, True)
        task.extents = extents
        if self.watcher is None or not self.watcher.notes_written:
            for extent in extents:
                unwritten.written(extent.start)
        task.table = np.array([word for entry in merged(entries) for word in entry], np.uint64)

    def arguments_of(self, extents: Sequence[Extent]) -> list[Extent]:
        """The allocations that are the kernel's arguments, which a caller knows."""
        return [extent for extent in extents if "`" in extent.name]

    def _inspect(self, task: Task) -> None:
        """Called when a launch has ended: print what it printed, and raise its fault."""
        assert isinstance(task, SimulatedTask)
        for image in task.images.values():
            image.copy_back()
        task.images.clear()
        task.told = [] if task.printf is None else printf_memory.show(task.printf, self.code.printf_formats)
        if self.watcher is not None:
            self.watcher.end(self, task)
        if task.record[0]:
            from headwater.emulate.gcn.faults import explain
            from headwater.opencl.check_findings import beside, sentences

            found = explain(self, task.record.tolist(), task.extents)
            raise beside(found, sentences(task.told, self.kernel, self.work_dim))

    # -- what headwater.emulate.watch.hooks.Watched says
    # ------------------------------------------------------------------------------------------

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


__all__ = ["ALIGNMENT", "LaunchError", "SimulatedLaunch", "Slot", "merged"]
