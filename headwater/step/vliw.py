"""Input: a launch of a VLIW shader. Output: its wavefronts, run by the reference interpreter."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.base.arrays import Array, address
from headwater.emulate.vliw.clause import place as number_of
from headwater.emulate.vliw.layout import LAUNCH, RESOURCE, SHARED_BYTES
from headwater.emulate.vliw.reference import Wave, step
from headwater.emulate.vliw.reference_memory import Memories, Resource
from headwater.emulate.vliw.registers import AR, PIXEL, PREDICATE, PS, PV
from headwater.emulate.vliw.translate import starts
from headwater.emulate.wave.layout import LANES
from headwater.emulate.wave.reference_memory import Allocation, FlatMemory
from headwater.errors import KernelFault
from headwater.isa.vliw.model import Cf
from headwater.isa.vliw.printer import cf_texts, fetch_text, group_text
from headwater.native import launch_block
from headwater.runtime.signature import element_dtype
from headwater.step.machine import Machine, Memory, Place, Size, host_memory, item_ids, mask_of, named

if TYPE_CHECKING:
    from headwater.emulate.wave.launched import SimulatedTask

_READ_ONLY = ("fetch", "constant")
_EXTENTS = ("width", "height", "depth")


class VliwMachine(Machine):
    """A launch of a shader: compute, or pixels."""

    family = "vliw"

    def __init__(self, launch: Any, task: SimulatedTask) -> None:
        super().__init__(launch, task)
        self._kernel = launch.machine
        self._shader = launch.machine.shader
        self._arguments = np.frombuffer(task.args, np.uint8)
        self._domain: list[int] = LAUNCH.read(self._arguments, "domain").tolist()
        self.lds = memoryview(bytearray(int(task.block[launch_block.LOCAL_BYTES])))
        self._lds = self.journal.noted(self.lds)
        self._memories: list[Memory] = []
        names = named(task.extents)
        types = {arg.name: arg for arg in launch.info.args}
        allocations = []
        for one in sorted(task.inputs.arena.allocations, key=lambda a: a.start):
            data = host_memory(address(one.memory), one.memory.nbytes)
            allocations.append(Allocation(one.start, self.journal.noted(data), one.writable))
            name = names[one.start]
            element = element_dtype(types[name]) if name in types else None
            self._memories.append(Memory(name, one.start, data, one.writable, element))
        self._resources: dict[tuple[str, int], Resource] = {}
        self._strides: dict[tuple[str, int], int] = {}
        for number, name_of in enumerate(launch.native.order):
            self._bind(name_of, LAUNCH.size_bytes + RESOURCE.size_bytes * number)
        self._arena = FlatMemory(allocations)
        self._scratch: dict[tuple[int, int], int] = {}
        self._shared: Array | None = None
        self._engines = 1
        if launch.native.shared:
            self._engines = int(LAUNCH.read(self._arguments, "engines"))
            registers = host_memory(int(LAUNCH.read(self._arguments, "shared")), self._engines * SHARED_BYTES)
            self._shared = np.frombuffer(registers, np.uint32).reshape(self._engines, -1, LANES)

    def _bind(self, name: tuple[str, int], at: int) -> None:
        """A resource by its descriptor, or as part of the arena."""
        bound = self.launch.bindings.bound(name)
        if bound is None:
            return
        if bound.arena:
            self._strides[name] = bound.stride
            return
        fields = {field: int(RESOURCE.read(self._arguments[at:], field)) for _, field, _ in RESOURCE.fields}
        data = host_memory(fields["start"], fields["size"])
        extents = tuple(fields[axis] for axis in _EXTENTS[: bound.dimensions])
        noted = self.journal.noted(data)
        self._resources[name] = Resource(noted, bound.format, extents, fields["pitch"], fields["slice"], bound.stride)
        view = self.task.inputs.views.get(name)
        label = view.label if view is not None and view.label else f"{name[0]} {name[1]}"
        if any(one.name == label for one in self._memories):
            label = f"{name[0]} {name[1]}"
        kind = np.dtype(np.float32) if bound.format.kind == "f" and bound.format.bits == 32 else None
        self._memories.append(Memory(label, fields["start"], data, name[0] not in _READ_ONLY, kind))

    @property
    def groups(self) -> Size:
        return self.launch.sizes.groups  # type: ignore[no-any-return]

    @property
    def total(self) -> int:
        drawn = self.launch.wavefronts
        return int(self.launch.total) if drawn is None else len(drawn.quads)

    @property
    def local_size(self) -> Size:
        return self.launch.sizes.local  # type: ignore[no-any-return]

    @property
    def global_size(self) -> Size:
        return self.launch.sizes.whole  # type: ignore[no-any-return]

    def begin(self, number: int) -> None:
        self.group = group = self.position(number)
        if len(self.lds):
            self._lds[0 : len(self.lds)] = bytes(len(self.lds))
        memories = Memories(
            self._resources, self._arena, self.launch.bindings.samplers, self._lds, scratch=self._scratch,
            strides=self._strides,
        )  # fmt: skip
        if self._shared is not None:
            memories.shared = self._shared[number % self._engines]
        if self.launch.wavefronts is not None:
            self.waves = [self._wave(memories, number, 0, *self._pixels(number))]
            return
        x, y, z = (
            min(local, whole - at * local)
            for local, whole, at in zip(self.local_size, self.global_size, group, strict=True)
        )
        count = -(-prod((x, y, z)) // LANES)
        self.waves = [self._wave(memories, number, index, *item_ids((x, y, z), index)) for index in range(count)]

    def _pixels(self, number: int) -> tuple[list[Array], int]:
        """Ids and lanes of a wavefront of quads: what ``fill_pixels`` of ``emulate/wave/support.c`` makes."""
        quads = np.repeat(self.launch.wavefronts.quads[number].astype(np.int64), 4)
        lane = np.arange(LANES)
        x, y = 2 * (quads & 0xFFFF) + (lane & 1), 2 * (quads >> 16) + (lane >> 1 & 1)
        inside = (quads != 0xFFFFFFFF) & (x < self.global_size[0]) & (y < self.global_size[1])
        left = [np.where(inside, at - self.group[n] * self.local_size[n], 0) for n, at in ((0, x), (1, y))]
        return [*(axis.astype(np.uint32) for axis in left), np.zeros(LANES, np.uint32)], mask_of(inside)

    def _wave(self, memories: Memories, number: int, index: int, ids: list[Array], mask: int) -> Wave:
        """A wavefront as it begins: its first registers as the translated code sets them."""
        wave = Wave(memories, self._kernel.gprs, index)
        wave.begun = np.array([bool(mask >> lane & 1) for lane in range(LANES)])
        wave.active = wave.begun.copy()
        origin = self.launch.sizes.origin
        pixel = [ids[n] + np.uint32(self.group[n] * self.local_size[n] + origin[n]) for n in range(2)]
        if self.launch.native.quads:
            left, above, right, below = self._domain
            wave.valid = (pixel[0] >= left) & (pixel[0] < right) & (pixel[1] >= above) & (pixel[1] < below)
        for component, what in starts(self._kernel):
            wave.registers[component] = self._start(what, number, index, ids, pixel)
        return wave

    def _start(self, what: str, number: int, index: int, ids: list[Array], pixel: list[Array]) -> Array:
        """What a register holds when the wavefront begins."""
        kind, _, which = what.partition("_")
        axis = "xyz".find(which) if which in ("x", "y", "z") else -1
        if what == "local_flat":
            return np.arange(LANES, dtype=np.uint32) + np.uint32(LANES * index)
        if what == "group_flat":
            return np.full(LANES, number, np.uint32)
        if kind == "local":
            return ids[axis]
        if kind == "group":
            return np.full(LANES, self.group[axis], np.uint32)
        if kind == "pixel":
            return pixel[axis]
        if what == "object":
            left, above, right, _ = self._domain
            flat = (pixel[1] - np.uint32(above)) * np.uint32(right - left) + pixel[0] - np.uint32(left)
            return np.asarray(flat.astype(np.float32).view(np.uint32))
        return np.asarray((pixel[axis].astype(np.float32) + np.float32(0.5)).view(np.uint32))

    def step(self, wave: Wave) -> None:
        try:
            step(self._shader, wave)
        except KeyError as error:
            name = error.args[0]
            if not isinstance(name, tuple):
                raise
            raise KernelFault(f"{' '.join(map(str, name))} is used and nothing is bound to it") from None

    @cached_property
    def _places(self) -> dict[tuple[int, int], Place]:
        texts = cf_texts(self._shader)
        return {
            (index, n): self._described(index, n, cf, texts[index])
            for index, cf in enumerate(self._shader.cf)
            for n in range(max(len(cf.groups), len(cf.fetches), 1))
        }

    def _described(self, index: int, n: int, cf: Cf, header: str) -> Place:
        generation = self._shader.generation
        label = f"{index:02}.{n}"
        if cf.groups:
            ops = cf.groups[n].ops
            text = " | ".join(" ".join(line.split()) for line in group_text(cf.groups[n], generation, n))
            names = tuple(op.row.mnemonic for op in ops)
        elif cf.fetches:
            text, names = fetch_text(cf.fetches[n], generation), (cf.fetches[n].row.mnemonic,)
        else:
            label, text, names = f"{index:02}", " ".join(header.split()), (cf.row.mnemonic,)
        line = self.launch.line_of(index, n)
        return Place(number_of(index, n), label, text, names, index, self.filename if line else "", line)

    def place(self, wave: Wave) -> Place:
        number = wave.clause.number if wave.clause is not None else 0
        found = self._places.get((wave.at, number))
        if found is None:
            return Place(number_of(wave.at), f"{wave.at:02}", "(behind the end of the program)", (), wave.at)
        return found

    @cached_property
    def code(self) -> Sequence[Place]:
        return list(self._places.values())

    def active(self, wave: Wave) -> int:
        return mask_of(wave.active)

    @cached_property
    def vectors(self) -> Mapping[str, int]:
        count = self._kernel.clause_temporaries
        found = {f"R{n}.{c}": 4 * n + at for n in range(self._kernel.gprs) for at, c in enumerate("xyzw")}
        found |= {f"T{n}.{c}": 4 * (127 - n) + at for n in range(count) for at, c in enumerate("xyzw")}
        found |= {f"PV.{c}": PV + at for at, c in enumerate("xyzw")}
        found["PS"] = PS
        channels = self._shader.traits.address_registers
        found |= {f"AR.{c}": AR + at for at, c in enumerate("xyzw"[:channels])}
        found["PRED"] = PREDICATE
        if self._kernel.kind == "ps":
            found |= {"pixel.x": PIXEL, "pixel.y": PIXEL + 1}
        return found

    def vector(self, wave: Wave, number: int) -> Array:
        found: Array = wave.registers[number]
        return found

    @cached_property
    def scalars(self) -> Sequence[str]:
        return ["exec", "cf", "stack", "loops", "calls"]

    def scalar(self, wave: Wave, name: str) -> int:
        if name == "exec":
            return mask_of(wave.active)
        return wave.at if name == "cf" else len(getattr(wave, name))

    @property
    def memories(self) -> Sequence[Memory]:
        return self._memories

    def saved(self) -> Any:
        kept = [
            (
                wave.registers.copy(), wave.active.copy(),
                copy.deepcopy((wave.stack, wave.loops, wave.calls, wave.clause)), wave.at, wave.state, wave.executed,
            )
            for wave in self.waves
        ]  # fmt: skip
        shared = None if self._shared is None else self._shared.copy()
        return self.group, self.executed, list(self.waves), kept, dict(self._scratch), shared

    def restore(self, saved: Any) -> None:
        self.group, self.executed, waves, kept, scratch, shared = saved
        self.waves = list(waves)
        for wave, (registers, active, control, at, state, executed) in zip(self.waves, kept, strict=True):
            wave.registers[:] = registers
            wave.active = active.copy()
            wave.stack, wave.loops, wave.calls, wave.clause = copy.deepcopy(control)
            wave.at, wave.state, wave.executed = at, state, executed
        self._scratch.clear()
        self._scratch.update(scratch)
        if self._shared is not None:
            self._shared[:] = shared


def machine_of(launch: Any, task: SimulatedTask) -> Machine:
    """The launch, of either family, to be stepped through."""
    from headwater.step.gcn import GcnMachine

    return VliwMachine(launch, task) if hasattr(launch, "machine") else GcnMachine(launch, task)
