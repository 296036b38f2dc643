"""A kernel of AMD's OpenCL 1.x driver and sizes pass in; a launch that gives it what that driver gave passes out.

Such kernels have no kernarg segment: arguments come in constant buffers and tables of descriptors, whose contents
`headwater.isa.gcn.amdcl` knows, and scalar registers point at them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.emulate import layout
from headwater.isa.gcn import amdcl
from headwater.runtime.arrays import Array, address, aligned_bytes
from headwater.runtime.cpu_launch import _memory
from headwater.runtime.emulated import SimulatedTask
from headwater.runtime.pool import Task
from headwater.runtime.simulated_launch import SimulatedLaunch

if TYPE_CHECKING:
    from headwater.isa.gcn.objects import KernelArg

_BUFFERS, _DISPATCH = "the constant buffers", "the dispatch structure"


class LegacyLaunch(SimulatedLaunch):
    """One kernel of such a binary with its sizes fixed."""

    def __init__(self, kernel: Any, code: Any, *rest: Any) -> None:
        amdcl.check(code.kernels[kernel.info.name])
        super().__init__(kernel, code, *rest)

    def _argument_offsets(self, explicit: Sequence[KernelArg]) -> tuple[int, ...]:
        """Arguments are packed one after the other first, to be taken from there."""
        places, position = [], 0
        for arg in explicit:
            places.append(position)
            position += layout.round_up(max(arg.size, 8), 16)
        self._packed_bytes = position
        return tuple(places)

    def _new_task(self) -> Task:
        task = SimulatedTask(self._entry, self._block, max(self.host.args_bytes, self._packed_bytes))
        task.own = {
            _BUFFERS: aligned_bytes(amdcl.block_bytes(self.machine_kernel), 256),
            _DISPATCH: aligned_bytes(layout.DISPATCH.size_bytes),
        }
        return task

    def _prepare(self, args: Sequence[Any]) -> Task:
        task = super()._prepare(args)
        assert isinstance(task, SimulatedTask)
        buffers, dispatch = task.own[_BUFFERS], task.own[_DISPATCH]
        global_size, local_size, offset = self._sizes
        filled = amdcl.block(
            self.machine_kernel,
            address(buffers),
            self._image_memory.address,
            [self._value(task, number, value) for number, value in enumerate(args)],
            global_size,
            local_size,
            offset,
            self._work_dim,
        )
        buffers[:] = np.frombuffer(filled, np.uint8)
        dispatch[:] = self._dispatch
        start = layout.DISPATCH.offset["sgprs"]
        registers: Array = dispatch[start : start + 4 * layout.SGPR_SLOTS].view(np.uint32)
        for register, content in amdcl.registers(self.machine_kernel, address(buffers), filled).items():
            registers[register] = content
        task.block[layout.BLOCK_DISPATCH] = address(dispatch)
        return task

    def _value(self, task: SimulatedTask, number: int, value: Any) -> tuple[int, int] | bytes | int:
        """An argument as `amdcl.block` takes it, from where it was packed."""
        arg, at = self._info.args[number], self.host.arg_offsets[number]
        packed = bytes(task.args[at : at + max(arg.size_bytes, 8)])
        if arg.kind in ("buffer", "constant"):
            nbytes = 0 if value is None else _memory(value, task).nbytes
            return int.from_bytes(packed[:8], "little"), nbytes
        if arg.kind == "local":
            return int.from_bytes(packed[:4], "little")
        return packed[: arg.size_bytes]
