"""Input: a code object, arguments and sizes. Output: the arguments' arrays as the kernel leaves them, by the
interpreter."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from headwater.emulate.gcn.control import mode_bits
from headwater.emulate.gcn.dispatch import (
    PACKET_BYTES,
    Abi,
    Size,
    abi_of,
    hidden_values,
    packet_bytes,
    queue_bytes,
    sgpr_template,
)
from headwater.emulate.gcn.program import flow, read_program
from headwater.emulate.gcn.reference import run_groups
from headwater.emulate.gcn.reference_registers import Wave, mask_of
from headwater.emulate.wave.layout import LANES
from headwater.emulate.wave.reference_memory import FlatMemory, LocalMemory, Memories, PrivateMemory
from headwater.errors import LaunchError
from headwater.isa.gcn.model import EXEC, Instruction
from headwater.isa.gcn.objects import CodeObject, KernelObject

Watch = Callable[[Wave, Instruction], None]


def launch(
    code: CodeObject,
    name: str,
    arguments: Sequence[Any],
    global_size: Sequence[int],
    local_size: Sequence[int],
    *,
    limit: int = 10_000_000,
    watch: Watch | None = None,
) -> int:
    """Run a kernel; returns how many wave-instructions were executed.

    ``arguments``: a C-contiguous array for a pointer, a NumPy scalar for a value, a number of bytes for local memory.
    Raises KernelFault as `run_group` does, LaunchError for arguments that do not fit.
    """
    kernel = code.kernel(name)
    sizes, group = _three(global_size), _three(local_size)
    memory = FlatMemory()
    abi = abi_of(kernel, code.target)
    base = memory.add(0x5_0000_0000, _image(code))
    kernarg, lds_bytes = _kernarg(kernel, memory, arguments, len(global_size), sizes, group)
    first, count = kernel.preload
    preloaded = struct.unpack(f"<{count}I", memory.read(kernarg + 4 * first, 4 * count))
    packet = memory.allocate(PACKET_BYTES)
    queue = memory.add(memory.allocate(4096) + 8192, memoryview(bytearray(queue_bytes())))
    content = packet_bytes(len(global_size), sizes, group, abi.scratch_lane_bytes, lds_bytes, kernarg)
    memory.write(packet, content)
    fetch = code.instruction
    executed = 0
    template = sgpr_template(abi, packet, queue)
    scratch_bytes = max(abi.scratch_lane_bytes, 4) * LANES * -(-_items(group) // LANES)
    scratch = memory.allocate(scratch_bytes)
    synchronised = _synchronises(kernel, code, fetch)
    groups: list[list[Wave]] = []
    for z, y, x in product(*(range(-(-sizes[axis] // group[axis])) for axis in (2, 1, 0))):
        lds = LocalMemory("LDS", bytearray(lds_bytes))
        actual = _three([min(group[axis], sizes[axis] - at * group[axis]) for axis, at in enumerate((x, y, z))])
        waves = []
        for index in range(-(-_items(actual) // LANES)):
            start = scratch + index * abi.scratch_lane_bytes * LANES
            private = PrivateMemory(memory, start, abi.scratch_lane_bytes)
            wave = Wave(Memories(memory, lds, private), code.isa, kernel.entry, mode=mode_bits(kernel.mode))
            wave.code_base = base
            _registers(wave, abi, template, kernarg, preloaded, (x, y, z), actual, index)
            waves.append(wave)
        groups.append(waves)
        if synchronised:
            scratch = memory.allocate(scratch_bytes)
        else:
            run_groups(groups, fetch, limit=limit, watch=watch)
            executed += sum(wave.executed for wave in waves)
            groups.clear()
    run_groups(groups, fetch, limit=limit, watch=watch)
    return executed + sum(wave.executed for waves in groups for wave in waves)


def _synchronises(kernel: KernelObject, code: CodeObject, fetch: Callable[[int], Instruction]) -> bool:
    """Whether work-groups may wait for each other."""
    program = read_program(fetch, kernel.entry, code.isa, lambda at: code.text_start <= at < code.text_end)
    return any(
        instruction.row.encoding == "DS"
        for block in program.blocks.values()
        for instruction in block.instructions
        if flow(instruction) == "barrier"
    )


def _three(sizes: Sequence[int]) -> Size:
    whole = (*sizes, 1, 1)
    return int(whole[0]), int(whole[1]), int(whole[2])


def _items(group: Size) -> int:
    return group[0] * group[1] * group[2]


def _image(code: CodeObject) -> memoryview:
    image = bytearray(code.image())
    for relocation in code.relocations:
        struct.pack_into("<Q", image, relocation.offset, 0x5_0000_0000 + relocation.value)
    return memoryview(image)


def _kernarg(
    kernel: KernelObject, memory: FlatMemory, arguments: Sequence[Any], work_dim: int, sizes: Size, group: Size
) -> tuple[int, int]:
    """The address of the kernarg segment and the bytes of LDS that a group takes."""
    explicit = [a for a in kernel.args if not a.value_kind.startswith("hidden_")]
    if len(explicit) != len(arguments):
        raise LaunchError(f"{kernel.name} takes {len(explicit)} arguments, not {len(arguments)}")
    lds_bytes = kernel.group_segment_bytes
    segment = bytearray(max(kernel.kernarg_bytes, 4 * sum(kernel.preload), 16))
    for arg, value in zip(explicit, arguments, strict=True):
        if arg.value_kind == "dynamic_shared_pointer":
            lds_bytes = -(-lds_bytes // 16) * 16
            segment[arg.offset : arg.offset + arg.size] = lds_bytes.to_bytes(arg.size, "little")
            lds_bytes += int(value)
        elif isinstance(value, np.ndarray) and value.ndim:
            end = memory.allocate(256) + 4096
            address = memory.add(-(-end // 256) * 256, value.reshape(-1).view(np.uint8).data)
            segment[arg.offset : arg.offset + 8] = address.to_bytes(8, "little")
        else:
            data = np.asarray(value).tobytes()
            if len(data) != arg.size:
                raise LaunchError(f"{arg.name} of {kernel.name} takes {arg.size} bytes, not {len(data)}")
            segment[arg.offset : arg.offset + arg.size] = data
    hidden = hidden_values(work_dim, sizes, group, (0, 0, 0), printf=0, queue=0, lds_bytes=lds_bytes)
    for arg in kernel.args:
        if arg.value_kind in hidden:
            value = hidden[arg.value_kind] & (1 << 8 * arg.size) - 1
            segment[arg.offset : arg.offset + arg.size] = value.to_bytes(arg.size, "little")
    return memory.add(memory.allocate(256) + 8192, memoryview(segment), writable=False), lds_bytes


def _registers(
    wave: Wave,
    abi: Abi,
    template: Sequence[int],
    kernarg: int,
    preloaded: Sequence[int],
    group_id: Size,
    group: Size,
    index: int,
) -> None:
    """What a wavefront starts with (AMDGPUUsage, "Initial Kernel Execution State")."""
    wave.scalars[: len(template)] = template
    private = wave.memories.private.start

    def put(register: int, *words: int) -> None:
        if register >= 0:
            wave.scalars[register : register + len(words)] = words

    if abi.private_buffer >= 0:
        high = int(wave.scalars[abi.private_buffer + 1])
        put(abi.private_buffer, private & 0xFFFFFFFF, high | private >> 32)
    put(abi.kernarg, kernarg & 0xFFFFFFFF, kernarg >> 32)
    put(abi.preload, *preloaded)
    put(abi.flat_scratch, private & 0xFFFFFFFF, private >> 32)
    for axis in range(3):
        put(abi.group_id[axis], group_id[axis])
    put(abi.wave_offset, 0)
    flat = np.arange(LANES) + index * LANES
    ids = [flat % group[0], flat // group[0] % group[1], flat // (group[0] * group[1])]
    wave.set_pair(EXEC, mask_of(flat < _items(group)))
    if abi.packed_ids:
        wave.vectors[0] = ids[0] | ids[1] << 10 | ids[2] << 20
    else:
        wave.vectors[:3] = ids
