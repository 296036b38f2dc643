"""Input: a launch on a GCN chip. Output: its wavefronts, run by the reference interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.base.arrays import Array, address, aligned_bytes
from headwater.chips.gcn_isas import TRAITS
from headwater.emulate.gcn.control import mode_bits
from headwater.emulate.gcn.reference import step
from headwater.emulate.gcn.reference_registers import ACC, Wave
from headwater.emulate.wave import layout
from headwater.emulate.wave.layout import LANES
from headwater.emulate.wave.reference_memory import Allocation, FlatMemory, LocalMemory, Memories, PrivateMemory
from headwater.errors import KernelFault, LaunchError
from headwater.isa.gcn.decode import decode
from headwater.isa.gcn.listing import lines_of
from headwater.isa.gcn.model import EXEC, FLOWS, M0, VCC, Instruction, Register
from headwater.isa.gcn.printer import register_name
from headwater.native import launch_block
from headwater.runtime.signature import element_dtype
from headwater.step.machine import Machine, Memory, Place, Size, host_memory, item_ids, named

if TYPE_CHECKING:
    from headwater.emulate.wave.launched import SimulatedTask


class GcnMachine(Machine):
    """A launch of a code object's kernel."""

    family = "gcn"

    def __init__(self, launch: Any, task: SimulatedTask) -> None:
        super().__init__(launch, task)
        if launch.native.uses_gws:
            raise LaunchError(
                f"{self.kernel} synchronises all work-groups (ds_gws_…), and such launches cannot be stepped through",
                hint="headwater run and headwater simulate take it",
            )
        self._code = code = launch.code
        self._kernel = launch.machine_kernel
        self._abi = abi = launch.abi
        self._mode = mode_bits(self._kernel.mode)
        self._scratch = aligned_bytes(max(abi.scratch_lane_bytes, 4) * LANES * launch.waves)
        self._scratch[:] = 0
        table = task.table.reshape(-1, 3).tolist()
        places = [(start, end - start, bool(flags & layout.WRITABLE)) for start, end, flags in table]
        places.append((address(self._scratch), self._scratch.nbytes, True))
        self._memory = FlatMemory(
            [
                Allocation(start, self.journal.noted(host_memory(start, nbytes)), writable)
                for start, nbytes, writable in sorted(places)
            ]
        )
        self.lds = memoryview(bytearray(int(task.block[launch_block.LOCAL_BYTES])))
        self._lds = LocalMemory("LDS", self.journal.noted(self.lds))
        gds = bytearray(layout.GDS_BYTES if launch.native.uses_gds else 0)
        self._gds = LocalMemory("GDS", self.journal.noted(memoryview(gds)))
        dispatch = np.frombuffer(
            host_memory(int(task.block[launch_block.DISPATCH]), layout.DISPATCH.size_bytes), np.uint8
        )
        self._template: Array = layout.DISPATCH.read(dispatch, "sgprs")
        image = code.image()
        self._vgprs = max(self._kernel.vgpr_count, 3)
        self._agprs = self._kernel.agpr_count

        @cache
        def fetch(at: int) -> Instruction:
            if not code.text_start <= at < code.text_end:
                raise KernelFault(f"a wavefront of {self.kernel} runs at {at:#x}, which is no code")
            return decode(image, at, code.isa)

        self._fetch = fetch

    @property
    def groups(self) -> Size:
        return self.launch.host.grid.groups  # type: ignore[no-any-return]

    @property
    def total(self) -> int:
        return int(self.launch.total)

    @property
    def local_size(self) -> Size:
        return self.launch.sizes[1]  # type: ignore[no-any-return]

    @property
    def global_size(self) -> Size:
        return self.launch.sizes[0]  # type: ignore[no-any-return]

    def begin(self, number: int) -> None:
        self.group = group = self.position(number)
        x, y, z = (
            min(local, whole - at * local)
            for local, whole, at in zip(self.local_size, self.global_size, group, strict=True)
        )
        count = -(-prod((x, y, z)) // LANES)
        if len(self.lds):
            self._lds.data[0 : len(self.lds)] = bytes(len(self.lds))
        self.waves = [self._wave((x, y, z), index, count) for index in range(count)]

    def _wave(self, size: Size, index: int, count: int) -> Wave:
        """A wavefront as it begins: what ``start_wave`` of ``emulate/wave/support.c`` sets up."""
        abi, lane_bytes = self._abi, self._abi.scratch_lane_bytes
        base = address(self._scratch)
        private = PrivateMemory(self._memory, base + index * lane_bytes * LANES, lane_bytes)
        memories = Memories(self._memory, self._lds, private, self._gds)
        wave = Wave(memories, self._code.isa, self._kernel.entry, mode=self._mode)
        wave.code_base = self.launch.image_memory.address
        wave.scalars[: len(self._template)] = self._template

        def put(register: int, *words: int) -> None:
            if register >= 0:
                wave.scalars[register : register + len(words)] = words

        if abi.private_buffer >= 0:
            high = int(wave.scalars[abi.private_buffer + 1])
            put(abi.private_buffer, base & 0xFFFFFFFF, high | base >> 32 & 0xFFFF)
        kernarg = int(self.task.args_address)
        put(abi.kernarg, kernarg & 0xFFFFFFFF, kernarg >> 32)
        put(abi.flat_scratch, base & 0xFFFFFFFF, base >> 32)
        for axis in range(3):
            put(abi.group_id[axis], self.group[axis])
        put(abi.group_info, count | (1 << 31 if index == 0 else 0))
        put(abi.wave_offset, index * lane_bytes * LANES)
        first, dwords = self._kernel.preload
        put(abi.preload, *host_memory(kernarg + 4 * first, 4 * dwords).cast("I").tolist())
        ids, mask = item_ids(size, index)
        wave.set_pair(EXEC, mask)
        if abi.packed_ids:
            wave.vectors[0] = ids[0] | ids[1] << np.uint32(10) | ids[2] << np.uint32(20)
        else:
            wave.vectors[:3] = ids
        return wave

    def step(self, wave: Wave) -> None:
        step(wave, self._fetch(wave.pc))

    @cached_property
    def _places(self) -> dict[int, Place]:
        code = self._code
        lines = [
            (line, line.instruction)
            for line in lines_of(code, self._kernel.start, self._kernel.code_end)
            if line.instruction is not None
        ]
        targets = {instruction.target for _, instruction in lines if instruction.target is not None}
        found: dict[int, Place] = {}
        block = 0
        for line, instruction in lines:
            at, name = line.address, instruction.row.name
            if at in targets:
                block += 1
            where = code.line_of(at)
            file, number = (where[0], where[1]) if where is not None else ("", 0)
            found[at] = Place(at, f"{at:x}", line.shown, (name,), block, file, number)
            block += not FLOWS.isdisjoint(instruction.row.flags)
        return found

    def place(self, wave: Wave) -> Place:
        return self._place(wave.pc)

    def _place(self, at: int) -> Place:
        known = self._places.get(at)
        if known is None:  # of a function that the kernel calls
            from headwater.isa.gcn.printer import text

            instruction = self._fetch(at)
            where = self._code.line_of(at)
            file, number = (where[0], where[1]) if where is not None else ("", 0)
            known = Place(at, f"{at:x}", text(instruction, self._code.isa), (instruction.row.name,), -1, file, number)
            self._places[at] = known
        return known

    @cached_property
    def code(self) -> Sequence[Place]:
        return list(self._places.values())

    def active(self, wave: Wave) -> int:
        return wave.pair(EXEC)

    @cached_property
    def vectors(self) -> Mapping[str, int]:
        found = {f"v{n}": n for n in range(self._vgprs)}
        return found | {f"a{n}": ACC + n for n in range(self._agprs)}

    def vector(self, wave: Wave, number: int) -> Array:
        found: Array = wave.vectors[number]
        return found

    @cached_property
    def _scalars(self) -> dict[str, int]:
        names = {f"s{n}": n for n in range(min(max(self._kernel.sgpr_count, layout.SGPR_SLOTS), 102))}
        traits = TRAITS[self._code.isa]
        special = {
            register_name(Register("s", pair + half, 1), traits): pair + half
            for pair in traits.named_pairs
            if pair < 128
            for half in (0, 1)
        }
        return {**names, **special, "m0": M0}

    @cached_property
    def scalars(self) -> Sequence[str]:
        return ["exec", "vcc", "scc", *self._scalars, "mode", "pc"]

    def scalar(self, wave: Wave, name: str) -> int:
        if name in ("exec", "vcc"):
            return wave.pair(EXEC if name == "exec" else VCC)
        if name in ("scc", "mode", "pc"):
            return int(getattr(wave, name))
        return int(wave.scalars[self._scalars[name]])

    @cached_property
    def memories(self) -> Sequence[Memory]:
        names = named(self.task.extents)
        writable = {start: bool(flags & layout.WRITABLE) for start, _, flags in self.task.table.reshape(-1, 3).tolist()}
        types = {arg.name: arg for arg in self.launch.info.args}
        found = []
        for extent in self.task.extents:
            name = names[extent.start]
            data = host_memory(extent.start, extent.end - extent.start)
            element = element_dtype(types[name]) if name in types else None
            found.append(Memory(name, extent.start, data, writable.get(extent.start, True), element))
        return found

    def saved(self) -> Any:
        kept = [
            (
                wave.pc,
                wave.scalars.copy(),
                wave.vectors[: self._vgprs].copy(),
                wave.vectors[ACC : ACC + self._agprs].copy(),
                (wave.scc, wave.mode, wave.state, wave.indexing, wave.executed),
            )
            for wave in self.waves
        ]
        return self.group, self.executed, list(self.waves), kept

    def restore(self, saved: Any) -> None:
        self.group, self.executed, waves, kept = saved
        self.waves = list(waves)
        for wave, (pc, scalars, vectors, others, rest) in zip(self.waves, kept, strict=True):
            wave.pc = pc
            wave.scalars[:] = scalars
            wave.vectors[: self._vgprs] = vectors
            wave.vectors[ACC : ACC + self._agprs] = others
            wave.scc, wave.mode, wave.state, wave.indexing, wave.executed = rest
