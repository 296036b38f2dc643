"""How kernels of AMD's OpenCL 1.x driver get their arguments: as that driver gave them.

Such kernels have no kernarg segment: arguments come in constant buffers and tables of descriptors, whose contents
`headwater.isa.gcn.amdcl` knows, and scalar registers point at them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.base.arrays import Array, address, aligned_bytes
from headwater.emulate.wave import layout
from headwater.emulate.wave.launched import SimulatedTask
from headwater.isa.gcn import amdcl
from headwater.runtime.gcn.images import samplers
from headwater.runtime.host.arguments import image_key
from headwater.runtime.host.memory import memory_of

if TYPE_CHECKING:
    from headwater.isa.gcn.objects import KernelArg, KernelObject
    from headwater.runtime.gcn.images import BoundImage
    from headwater.runtime.gcn.launch import GcnLaunch

_BUFFERS = "the constant buffers"
_IMAGE_BYTES = 32
_ADDRESSING = (0, 6, 2, 4, 8)
"""CLK_ADDRESS_… as clang encodes them, in the driver's order: none, repeat, clamp to edge, clamp, mirrored repeat
(CLRadeonExtender, "AMD Catalyst OpenCL ABI description", "Sampler arguments"). Other bits are the same."""


class ConstantBuffers:
    """The convention of a kernel of such a binary. UsageError if it needs what the run-time does not give."""

    def __init__(self, kernel: KernelObject) -> None:
        amdcl.check(kernel)
        self._kernel = kernel
        self._packed_bytes = 0

    def places(self, args: Sequence[KernelArg]) -> tuple[int, ...]:
        """Arguments are packed one after the other first, to be taken from there."""
        places, position = [], 0
        for arg in args:
            places.append(position)
            position += layout.round_up(max(arg.size, 8), 16)
        self._packed_bytes = position
        return tuple(places)

    def new_task(self, block: Array, args_bytes: int) -> SimulatedTask:
        task = SimulatedTask(block, max(args_bytes, self._packed_bytes))
        task.own = {_BUFFERS: aligned_bytes(amdcl.block_bytes(self._kernel), 256)}
        return task

    def dispatch_fields(self, launch: GcnLaunch, task: SimulatedTask, args: Sequence[Any]) -> dict[str, Any]:
        """The scalar registers, which point at the buffers, now filled."""
        buffers = task.own[_BUFFERS]
        filled = amdcl.block(
            self._kernel,
            address(buffers),
            launch.image_memory.address,
            [_value(launch, task, number, value) for number, value in enumerate(args)],
            self._samplers(args),
            amdcl.NdRange(*launch.sizes, launch.work_dim),
        )
        buffers[:] = np.frombuffer(filled, np.uint8)
        start = layout.DISPATCH.offset["sgprs"]
        registers: Array = launch.dispatch[start : start + 4 * layout.SGPR_SLOTS].view(np.uint32).copy()
        for register, content in amdcl.registers(self._kernel, address(buffers), filled).items():
            registers[register] = content
        return {"sgprs": registers.tolist()}

    def _samplers(self, args: Sequence[Any]) -> dict[int, bytes]:
        """The descriptors of all samplers, by their numbers."""
        legacy = self._kernel.legacy
        assert legacy is not None
        found = {number: _descriptor(_ours(value)) for number, value in legacy.samplers}
        for place, value in zip(legacy.args, args, strict=True):
            if place.kind == "sampler":
                found[place.resource] = _descriptor(value.bits)
        return found


def _value(
    launch: GcnLaunch, task: SimulatedTask, number: int, value: Any
) -> tuple[int, int] | amdcl.ImageValue | bytes | int:
    """An argument as `amdcl.block` takes it, from where it was packed."""
    arg, at = launch.info.args[number], launch.arg_offsets[number]
    packed = bytes(task.args[at : at + max(arg.size_bytes, 8)])
    if arg.kind == "image":
        return _image_value(task.images[image_key(arg, value)])
    if arg.kind == "sampler":
        return _theirs(value.bits).to_bytes(4, "little")
    if arg.kind in ("buffer", "constant"):
        nbytes = 0 if value is None else memory_of(value, task).nbytes
        return int.from_bytes(packed[:8], "little"), nbytes
    if arg.kind == "local":
        return int.from_bytes(packed[:4], "little")
    return packed[: arg.size_bytes]


def _image_value(bound: BoundImage) -> amdcl.ImageValue:
    image = bound.image
    _, width, height, depth, layers, *_, order, kind, _ = map(int, image.descriptor)
    return amdcl.ImageValue(bytes(bound.memory[:_IMAGE_BYTES]), (width, height, max(depth, layers)), kind, order)


def _descriptor(bits: int) -> bytes:
    """The S# of a sampler, given as clang encodes it."""
    return bytes(samplers()[bits << 4 : (bits << 4) + 16])


def _ours(bits: int) -> int:
    """A sampler's value as the driver has it, as clang encodes it; what is reserved is "none"."""
    addressing = bits >> 1 & 7
    return bits & 0x31 | (_ADDRESSING[addressing] if addressing < len(_ADDRESSING) else 0)


def _theirs(bits: int) -> int:
    """The way back."""
    return bits & 0x31 | _ADDRESSING.index(bits & 14) << 1
