"""Images of OpenCL kernels pass in; kernels of a VLIW device pass out, which put buffers in the arena and arguments in
constant buffers.

How arguments are passed depends on who compiled: docs/vliw.md says it of our own images, the others are LLVM's r600
back end and AMD's OpenCL 1.x.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.emulate.layout import round_up
from headwater.emulate.vliw.bindings import Bindings, Bound, Name
from headwater.emulate.vliw.program import read_program
from headwater.runtime import signature
from headwater.runtime.arrays import Array, address, aligned_bytes
from headwater.runtime.cpu_launch import CpuLaunch, _memory
from headwater.runtime.devices import DeviceProgram, Size
from headwater.runtime.pool import Task
from headwater.runtime.simulated import SimulatedDevice
from headwater.runtime.simulated_launch import SimulatedTask
from headwater.runtime.vliw import TEXT_FETCH, ShaderKernel, machine_of
from headwater.runtime.vliw_launch import ARENA, Arena, Inputs, ShaderLaunch, Sizes, View

if TYPE_CHECKING:
    from headwater.isa.vliw.image import Image
    from headwater.opencl.kernels import ArgInfo, KernelInfo
    from headwater.runtime.vliw import VliwDevice

_SLOT_BYTES = 16
_LLVM_ARGUMENTS = 36
"""Where LLVM's arguments begin in constant buffer 0, behind groups, global and local size (LLVM, AMDGPUUsage)."""


def build(device: VliwDevice, source: str, filename: str, options: str) -> DeviceProgram:
    """Compile OpenCL C for a VLIW chip."""
    from headwater.opencl.vliw import compile_images

    images, infos, warnings = compile_images(source, filename, options, device.chip)
    found = {
        name: OpenClKernel(device, infos[name], image, source, filename, options) for name, image in images.items()
    }
    return DeviceProgram(device, found, warnings)


def kernels(device: VliwDevice, images: Sequence[Image], filename: str) -> Mapping[str, ShaderKernel]:
    """The kernels of images from a file."""
    from headwater.opencl.kernels import KernelInfo
    from headwater.runtime.simulated_arguments import argument

    found = {}
    for image in images:
        infos = tuple(argument(one.arg, number) for number, one in enumerate(image.args))
        info = KernelInfo(image.name, infos, image.group_size)
        found[image.name] = OpenClKernel(device, info, image, "", filename, "")
    return found


class OpenClKernel(ShaderKernel):
    """An OpenCL kernel as an image."""

    __slots__ = ("image",)

    def __init__(
        self, device: VliwDevice, info: KernelInfo, image: Image, source: str, filename: str, options: str
    ) -> None:
        super().__init__(device, info, source, filename, options)
        self.image = image

    def _make(self, global_size: Size, local_size: Size | None, offset: Size, check: bool) -> Any:
        shape, start = self.shape(global_size, local_size, offset)
        return OpenClLaunch(self, shape, start)


class OpenClLaunch(ShaderLaunch):
    """An OpenCL kernel with its sizes fixed: called with the kernel's arguments."""

    def __init__(self, kernel: OpenClKernel, shape: Sizes, start: tuple[int, int, int]) -> None:
        self.image = kernel.image
        self._start = start
        machine = machine_of(kernel.image)
        resources = read_program(machine.shader, machine.gprs, machine.clause_temporaries).resources
        self._packed_bytes = sum(round_up(max(_size(arg), 1), _SLOT_BYTES) for arg in kernel.info.args)
        bound: dict[Name, Bound] = dict.fromkeys(resources, ARENA)
        for name in resources:
            if name[0] == "constant" or (kernel.image.abi == "llvm" and name == ("fetch", TEXT_FETCH)):
                bound[name] = Bound()
        device = kernel.device
        assert isinstance(device, SimulatedDevice)
        super().__init__(kernel, machine, device.chip, shape, Bindings(bound, {}), self._packed_bytes)

    def _argument_offsets(self, info: KernelInfo) -> tuple[int, ...]:
        offsets, position = [], self._descriptors
        for arg in info.args:
            offsets.append(position)
            position += round_up(max(_size(arg), 1), _SLOT_BYTES)
        return tuple(offsets)

    def _prepare(self, args: Sequence[Any]) -> Task:
        task = CpuLaunch._prepare(self, args)
        assert isinstance(task, SimulatedTask)
        arena = Arena()
        values: list[bytes] = []
        for number, (value, arg) in enumerate(zip(args, self._info.args, strict=True)):
            at = self.host.arg_offsets[number]
            packed = bytes(task.args[at : at + _size(arg)])
            if arg.kind in ("buffer", "constant"):
                packed = struct.pack("<I", 0 if value is None else self._place(task, arena, arg, value))
            elif arg.kind == "local":
                packed = packed[:4]
            values.append(packed)
        views = {name: View(buffer) for name, buffer in self._constants(values).items()}
        self.bind(task, Inputs(views, arena))
        return task

    def _place(self, task: SimulatedTask, arena: Arena, arg: ArgInfo, value: Any) -> int:
        """A buffer's address in the arena. The chip accesses whole dwords, so others than these are copied."""
        memory = _memory(value, task)
        if not memory.size:
            return 0
        flat = memory.reshape(-1).view(np.uint8)
        name = f"`{signature.declaration(arg)}`"
        writable = bool(memory.flags.writeable)
        if flat.nbytes % 4 or address(flat) % 4:
            whole = aligned_bytes(round_up(flat.nbytes, 4))
            copy = whole[: flat.nbytes]
            copy[:] = flat
            task.copies = [*(task.copies or []), (flat, copy)]
            flat = whole
        return arena.add(name, flat, writable=writable)

    def _constants(self, values: Sequence[bytes]) -> dict[Name, Array]:
        """The constant buffers with sizes and arguments, as the image's calling convention has them."""
        shape = self.sizes
        if self.image.abi == "llvm":
            head = struct.pack("<9I", *shape.groups, *shape.whole, *shape.local)
            body = b""
            for arg, value in zip(self._info.args, values, strict=True):
                body += bytes(-len(body) % max(min(len(value), 16), 4)) + value
                del arg
            text: Array = np.frombuffer(self.image.data or bytes(4), np.uint8)
            return {("constant", 0): _bytes(head + body), ("fetch", TEXT_FETCH): text}
        vectors = [
            (*shape.whole, self._work_dim),
            (*shape.local, 0),
            (*shape.groups, 0),
            (*self._start, 0),
        ]
        sizes = b"".join(struct.pack("<4I", *vector) for vector in vectors)
        slots = b"".join(value + bytes(-len(value) % _SLOT_BYTES) for value in values)
        return {("constant", 0): _bytes(sizes), ("constant", 1): _bytes(slots)}


def _bytes(data: bytes) -> Array:
    memory: Array = np.frombuffer(data or bytes(16), np.uint8)
    return memory


def _size(arg: ArgInfo) -> int:
    """Bytes that an argument is packed in by the launcher: a host's pointer has 8."""
    return 8 if arg.kind in ("buffer", "constant", "local", "image") else arg.size_bytes
