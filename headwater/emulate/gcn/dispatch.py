"""Input: a kernel's descriptor and a launch's sizes. Output: what the registers and the hidden arguments hold at the
start.

LLVM, User Guide for AMDGPU Backend: "Kernel Descriptor", "Initial Kernel Execution State", "Code Object Metadata"
(the value kinds of hidden arguments), "Kernel Dispatch" (the packet).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from headwater.chips.gcn_isas import traits_of
from headwater.emulate.wave.layout import LANES, PRIVATE_APERTURE, SGPR_SLOTS, SHARED_APERTURE, round_up
from headwater.errors import LaunchError
from headwater.isa.gcn.objects import USER_REGISTERS

if TYPE_CHECKING:
    from headwater.isa.gcn.objects import KernelObject

Size = tuple[int, int, int]

DYNAMIC_STACK_BYTES = 16384
"""Private memory of a lane on top of what the descriptor says, for kernels whose call depth the compiler did not
know."""

QUEUE_BYTES = 256
_GROUP_APERTURE, _PRIVATE_APERTURE = 0x40, 0x44  # amd_queue_t's group_segment_aperture_base_hi, private_…
PACKET_BYTES = 64


class Abi(NamedTuple):
    """Where a kernel expects what it is given: indices of scalar registers, -1 if it does not ask for it."""

    private_buffer: int
    dispatch_ptr: int
    queue_ptr: int
    kernarg: int
    dispatch_id: int
    flat_scratch: int
    private_size: int
    group_id: Size
    group_info: int
    wave_offset: int
    packed_ids: bool
    """v0 holds all three work-item ids. One that is asked for alone fills v0, which LLVM's code does not mask then."""
    scratch_lane_bytes: int
    """Private memory of a lane."""
    preload: int
    """Where the preloaded dwords of the arguments go, -1 if there are none."""


def abi_of(kernel: KernelObject, target: str) -> Abi:
    """What the kernel's descriptor enables."""
    at = 0
    places = {}
    for name, registers in USER_REGISTERS:
        enabled = getattr(kernel, f"enable_{name}")
        places[name] = at if enabled else -1
        at += registers if enabled else 0
    preload = at if kernel.preload[1] else -1
    at = max(at, kernel.user_sgpr_count)
    system = []
    # Where the hardware knows the private memory, the bit asks for that instead.
    reports_scratch = kernel.enable_wave_offset and not traits_of(target).has_architected_scratch
    for enabled in (*kernel.enable_workgroup_id, kernel.enable_workgroup_info, reports_scratch):
        system.append(at if enabled else -1)
        at += enabled
    private = round_up(kernel.private_segment_bytes, 16) + (DYNAMIC_STACK_BYTES if kernel.dynamic_stack else 0)
    return Abi(
        places["private_segment_buffer"],
        places["dispatch_ptr"],
        places["queue_ptr"],
        places["kernarg_segment_ptr"],
        places["dispatch_id"],
        places["flat_scratch_init"],
        places["private_segment_size"],
        (system[0], system[1], system[2]),
        system[3],
        system[4],
        traits_of(target).packs_work_item_ids and kernel.workitem_id_count > 1,
        private,
        preload,
    )


def sgpr_template(abi: Abi, dispatch_packet: int, queue: int) -> list[int]:
    """Scalar registers that are the same for all wavefronts of all groups."""
    registers = [0] * SGPR_SLOTS

    def put(index: int, *values: int) -> None:
        if index >= 0:
            registers[index : index + len(values)] = values

    # V#: a swizzled buffer of unlimited size, 4-byte elements, 64 lanes; its base is put in when a wavefront starts.
    put(abi.private_buffer, 0, 1 << 31, 0xFFFFFFFF, 1 << 19 | 3 << 21 | 1 << 23)
    put(abi.dispatch_ptr, dispatch_packet & 0xFFFFFFFF, dispatch_packet >> 32)
    put(abi.queue_ptr, queue & 0xFFFFFFFF, queue >> 32)
    put(abi.private_size, abi.scratch_lane_bytes)
    return registers


def queue_bytes() -> bytes:
    """What old code reads of the queue: the upper halves of the apertures' addresses."""
    memory = bytearray(QUEUE_BYTES)
    struct.pack_into("<I", memory, _GROUP_APERTURE, SHARED_APERTURE)
    struct.pack_into("<I", memory, _PRIVATE_APERTURE, PRIVATE_APERTURE)
    return bytes(memory)


def packet_bytes(
    work_dim: int, global_size: Size, local_size: Size, private_bytes: int, lds_bytes: int, kernarg: int
) -> bytes:
    """The dispatch packet (HSA Platform System Architecture Specification, "AQL kernel dispatch packet")."""
    return struct.pack(
        "<HHHHHHIIIIIQQQQ",
        2,  # kernel dispatch
        work_dim,
        *local_size,
        0,
        *(min(size, 2**32 - 1) for size in global_size),
        private_bytes,
        lds_bytes,
        0,
        kernarg,
        0,
        0,
    )


def hidden_values(
    work_dim: int,
    global_size: Size,
    local_size: Size,
    offset: Size,
    *,
    printf: int,
    queue: int,
    lds_bytes: int,
    hostcalls: int = 0,
) -> dict[str, int]:
    """Values of hidden arguments by their ``.value_kind``; those that are not here are 0."""
    values = {
        "hidden_grid_dims": work_dim,
        "hidden_printf_buffer": printf,
        "hidden_hostcall_buffer": hostcalls,
        "hidden_private_base": PRIVATE_APERTURE,
        "hidden_shared_base": SHARED_APERTURE,
        "hidden_queue_ptr": queue,
        "hidden_dynamic_lds_size": lds_bytes,
    }
    for axis, name in enumerate("xyz"):
        values[f"hidden_global_offset_{name}"] = offset[axis]
        values[f"hidden_block_count_{name}"] = global_size[axis] // local_size[axis]
        values[f"hidden_group_size_{name}"] = local_size[axis]
        values[f"hidden_remainder_{name}"] = global_size[axis] % local_size[axis]
    return values


def default_group(global_size: Size, largest: int) -> Size:
    """A group size for a launch that names none: it divides the global size, and fills wavefronts if it can."""
    if largest < 1:
        raise LaunchError("a group needs room for one work-item at least")
    wanted = min(largest, 4 * LANES)
    x = _divisor(global_size[0], wanted)
    y = _divisor(global_size[1], wanted // x)
    z = _divisor(global_size[2], wanted // (x * y))
    return x, y, z


def _divisor(size: int, largest: int) -> int:
    """The largest divisor up to a limit, one of whole wavefronts if there is any."""
    divisors = [n for n in range(1, min(size, largest) + 1) if size % n == 0]
    return max(divisors, key=lambda n: (n % LANES == 0, n), default=1)
