"""Input: the environment. Output: the devices that are offered, with what OpenCL asks about them."""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from headwater.base import cache
from headwater.base.freshness import code_state
from headwater.base.version import VERSION
from headwater.chips.gcn_isas import traits_of
from headwater.errors import DeviceError
from headwater.icd.constants import CL
from headwater.opencl import extensions
from headwater.runtime.interface import Device, resolve

if TYPE_CHECKING:
    from headwater.runtime.simulated.device import SimulatedDevice

VARIABLE = "HEADWATER_ICD_DEVICES"
LARGEST_ALLOCATION = 1 << 31
"""Bytes of a memory object: with more, 32-bit indices of elements of a byte would not reach its end."""
BASE_ALIGNMENT_BITS = 1024
"""The largest type, long16, has 128 bytes."""
_READ_ORDERS = ("R", "A", "RG", "RA", "RGBA", "BGRA", "ARGB", "ABGR", "INTENSITY", "LUMINANCE")
_ALL_TYPES = (
    "SNORM_INT8 SNORM_INT16 UNORM_INT8 UNORM_INT16 SIGNED_INT8 SIGNED_INT16 SIGNED_INT32 UNSIGNED_INT8 UNSIGNED_INT16"
    " UNSIGNED_INT32 HALF_FLOAT FLOAT"
).split()
_NORMALISED = ("SNORM_INT8", "SNORM_INT16", "UNORM_INT8", "UNORM_INT16", "HALF_FLOAT", "FLOAT")
_BYTES = ("SNORM_INT8", "UNORM_INT8", "SIGNED_INT8", "UNSIGNED_INT8")
# OpenCL 3.0 API specification, table of formats: which types an order of channels may have.
_TYPES_OF_ORDER = {
    "BGRA": _BYTES, "ARGB": _BYTES, "ABGR": _BYTES, "INTENSITY": _NORMALISED, "LUMINANCE": _NORMALISED,
}  # fmt: skip


# Extensions that are the platform's own, whatever the device.
_OF_HOST = (
    "cl_khr_icd", "cl_khr_extended_versioning", "cl_khr_create_command_queue", "cl_khr_suggested_local_work_size",
)  # fmt: skip


_PROMISE_PROGRESS = {"cl_khr_subgroups"}
"""Sub-groups are offered as OpenCL 3.0's feature; the extension also promises that they make progress independently."""


def offered() -> list[tuple[Device, str]]:
    """The devices in order, with the names that they were asked for by. DeviceError as `named`."""
    return named(os.environ.get(VARIABLE, ""), VARIABLE)


def named(text: str, where: str) -> list[tuple[Device, str]]:
    """The devices that a list of names with commas means, with these: all, if there are none. DeviceError for a name
    that there is not, and for a device of another platform; ``where`` the list stands."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        from headwater import chips

        names = ["cpu", *chips.names()]
    try:
        found = [(resolve(name), name) for name in names]
    except DeviceError as error:
        raise DeviceError(f"{where}: {error.message}", hint=error.hint) from None
    for device, name in found:
        if device.kind not in ("cpu", "simulated"):
            raise DeviceError(
                f"{where}: {name!r} is a device of another OpenCL platform",
                hint="offer cpu and simulated chips; programs find the other platform by themselves",
            )
    return found


def descriptions(*, svm: bool) -> tuple[list[Device], list[Any]]:
    """The devices and their records of `headwater.icd.protocol`; ``svm``: hosts share addresses with the cpu."""
    found = offered()
    return [device for device, _ in found], [_record(device, svm=svm) for device, _ in found]


def _record(device: Device, *, svm: bool) -> tuple[Any, Any]:
    facts = _facts(device)
    infos = [(CL[name], value) for name, value in _infos(facts, svm=svm and device.kind == "cpu").items()]
    return infos, _formats() if _abilities(facts).writes else []


def abilities_of(device: Device) -> extensions.Abilities:
    """What is optional in OpenCL C and the device has."""
    return _abilities(_facts(device))


def _abilities(facts: dict[str, Any]) -> extensions.Abilities:
    return extensions.Abilities(**facts["abilities"])


def _facts(device: Device) -> dict[str, Any]:
    """What differs between devices: of a chip from the cache, as reading its file takes longer than all else."""
    if device.kind != "simulated":
        return _own_facts(device)
    simulated = cast("SimulatedDevice", device)
    with open(simulated.outline.file, "rb") as file:
        text = file.read()
    key = cache.key("icd device 3", code_state(__name__), text, device.name)
    entry = cache.get(key)
    if entry is None:
        entry = cache.put(key, {"facts.json": json.dumps(_chip_facts(simulated)).encode()})
    known: dict[str, Any] = json.loads((entry / "facts.json").read_bytes())
    return known


def _own_facts(device: Device) -> dict[str, Any]:
    """Those of a device of this machine."""
    return {
        "type": "cpu" if device.kind == "cpu" else "gpu",
        "name": device.description.rpartition(",")[0] or device.description,
        "vendor": "Headwater",
        "vendor_id": 0x4857,
        "units": device.compute_units,
        "group": device.max_group_size,
        "mhz": _clock_mhz(),
        "memory": device.memory_bytes or 1 << 30,
        "local": 64 << 10,
        "local_memory": True,
        "cache": 1 << 20,
        "line": 64,
        "abilities": asdict(extensions.ALL),
        "sub_group": 1,
        "multiple": 16,
        "bits": 64,
        "denormal_floats": True,
    }


def _chip_facts(device: SimulatedDevice) -> dict[str, Any]:
    chip = device.chip
    gcn = not chip.is_vliw
    return {
        "type": "gpu",
        "name": f"{chip.name} ({device.name}, simulated)",
        "vendor": "Advanced Micro Devices, Inc. (simulated by Headwater)",
        "vendor_id": 0x1002,
        "units": chip.compute.compute_units,
        "group": device.max_group_size,
        "mhz": int(chip.compute.clock_mhz),
        "memory": device.memory_bytes,
        "local": chip.local_memory.work_group_bytes if device.has_local_memory else 0,
        "local_memory": device.has_local_memory,
        "cache": chip.caches.l2_bytes,
        "line": chip.caches.l2_line_bytes,
        "abilities": asdict(extensions.of_chip(chip)),
        "sub_group": chip.compute.wavefront_size if gcn else 0,
        "multiple": chip.compute.wavefront_size,
        "bits": 64 if gcn else 32,
        "denormal_floats": gcn and traits_of(chip.target).generation >= 9,  # as LLVM sets up the hardware
    }


def _clock_mhz() -> int:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            found = [float(line.partition(":")[2]) for line in lines if line.startswith("cpu MHz")]
        return round(max(found)) if found else 1000
    except (OSError, ValueError):
        return 1000


def _u32(number: int) -> bytes:
    return struct.pack("<I", number)


def _size(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}Q", *numbers)


def _text(text: str) -> bytes:
    return text.encode() + b"\0"


def _version(major: int, minor: int, patch: int = 0) -> int:
    return major << 22 | minor << 12 | patch


def _named(entries: Sequence[tuple[int, str]]) -> bytes:
    """An array of cl_name_version."""
    return b"".join(struct.pack("<I64s", version, name.encode()) for version, name in entries)


def _infos(facts: dict[str, Any], *, svm: bool) -> dict[str, bytes]:
    """clGetDeviceInfo's answers, by name without ``CL_``."""
    memory = facts["memory"]
    allocation = min(max(memory // 4, 128 << 20), LARGEST_ALLOCATION, memory)
    group, can = facts["group"], _abilities(facts)
    double, half, images = can.doubles, "cl_khr_fp16" in extensions.extensions(can), can.writes
    normal = (
        CL["FP_INF_NAN"] | CL["FP_ROUND_TO_NEAREST"] | CL["FP_FMA"] | CL["FP_ROUND_TO_ZERO"] | CL["FP_ROUND_TO_INF"]
    )
    full = normal | CL["FP_DENORM"]
    exact = CL["FP_CORRECTLY_ROUNDED_DIVIDE_SQRT"] if facts["type"] == "cpu" else 0
    widths = {
        "CHAR": 16,
        "SHORT": 8,
        "INT": 4,
        "LONG": 2,
        "FLOAT": 4,
        "DOUBLE": 2 if double else 0,
        "HALF": 8 if half else 0,
    }
    if facts["bits"] == 64 and facts["type"] != "cpu":
        widths |= dict.fromkeys(("CHAR", "SHORT", "INT", "LONG", "FLOAT"), 1)
        widths |= {"DOUBLE": int(double), "HALF": int(half)}
    orders = CL["DEVICE_ATOMIC_ORDER_RELAXED"] | CL["DEVICE_ATOMIC_ORDER_ACQ_REL"] | CL["DEVICE_ATOMIC_ORDER_SEQ_CST"]
    scopes = CL["DEVICE_ATOMIC_SCOPE_WORK_GROUP"] | CL["DEVICE_ATOMIC_SCOPE_DEVICE"]
    scopes |= CL["DEVICE_ATOMIC_SCOPE_ALL_DEVICES"]
    if not can.writes:  # what every device has
        orders, scopes = CL["DEVICE_ATOMIC_ORDER_RELAXED"], CL["DEVICE_ATOMIC_SCOPE_WORK_GROUP"]
    fences = orders | CL["DEVICE_ATOMIC_ORDER_ACQ_REL"] | scopes | CL["DEVICE_ATOMIC_SCOPE_WORK_ITEM"]
    version = _version(3, 0)
    standards = [(1, 0), (1, 1), (1, 2), (2, 0), (3, 0)] if can.generic else [(1, 0), (1, 1), (1, 2), (3, 0)]
    names = sorted({*_OF_HOST, *extensions.extensions(can)} - _PROMISE_PROGRESS)
    capabilities = CL["EXEC_KERNEL"] | (CL["EXEC_NATIVE_KERNEL"] if facts["type"] == "cpu" else 0)
    queues = CL["QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE"] | CL["QUEUE_PROFILING_ENABLE"]
    side = 16384 if images else 0
    variables = 64 << 10 if can.variables else 0
    kind = {"cpu": "DEVICE_TYPE_CPU", "gpu": "DEVICE_TYPE_GPU"}[facts["type"]]
    return {
        "DEVICE_TYPE": _size(CL[kind]),
        "DEVICE_VENDOR_ID": _u32(facts["vendor_id"]),
        "DEVICE_MAX_COMPUTE_UNITS": _u32(facts["units"]),
        "DEVICE_MAX_WORK_ITEM_DIMENSIONS": _u32(3),
        "DEVICE_MAX_WORK_GROUP_SIZE": _size(group),
        "DEVICE_MAX_WORK_ITEM_SIZES": _size(group, group, group),
        **{f"DEVICE_PREFERRED_VECTOR_WIDTH_{name}": _u32(width) for name, width in widths.items()},
        **{f"DEVICE_NATIVE_VECTOR_WIDTH_{name}": _u32(width) for name, width in widths.items()},
        "DEVICE_MAX_CLOCK_FREQUENCY": _u32(facts["mhz"]),
        "DEVICE_ADDRESS_BITS": _u32(facts["bits"]),
        "DEVICE_MAX_MEM_ALLOC_SIZE": _size(allocation),
        "DEVICE_IMAGE_SUPPORT": _u32(images),
        "DEVICE_MAX_READ_IMAGE_ARGS": _u32(128 if images else 0),
        "DEVICE_MAX_WRITE_IMAGE_ARGS": _u32(64 if images else 0),
        "DEVICE_MAX_READ_WRITE_IMAGE_ARGS": _u32(64 if images else 0),
        "DEVICE_IMAGE2D_MAX_WIDTH": _size(side),
        "DEVICE_IMAGE2D_MAX_HEIGHT": _size(side),
        "DEVICE_IMAGE3D_MAX_WIDTH": _size(2048 if images else 0),
        "DEVICE_IMAGE3D_MAX_HEIGHT": _size(2048 if images else 0),
        "DEVICE_IMAGE3D_MAX_DEPTH": _size(2048 if images else 0),
        "DEVICE_IMAGE_MAX_BUFFER_SIZE": _size(65536 if images else 0),
        "DEVICE_IMAGE_MAX_ARRAY_SIZE": _size(2048 if images else 0),
        "DEVICE_IMAGE_PITCH_ALIGNMENT": _u32(0),
        "DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT": _u32(0),
        "DEVICE_MAX_SAMPLERS": _u32(16 if images else 0),
        "DEVICE_MAX_PARAMETER_SIZE": _size(1024),
        "DEVICE_MEM_BASE_ADDR_ALIGN": _u32(BASE_ALIGNMENT_BITS),
        "DEVICE_MIN_DATA_TYPE_ALIGN_SIZE": _u32(128),
        "DEVICE_SINGLE_FP_CONFIG": _size((full if facts["denormal_floats"] else normal) | exact),
        "DEVICE_DOUBLE_FP_CONFIG": _size(full if double else 0),
        "DEVICE_HALF_FP_CONFIG": _size(full if half else 0),
        "DEVICE_GLOBAL_MEM_CACHE_TYPE": _u32(CL["READ_WRITE_CACHE"]),
        "DEVICE_GLOBAL_MEM_CACHELINE_SIZE": _u32(facts["line"]),
        "DEVICE_GLOBAL_MEM_CACHE_SIZE": _size(facts["cache"]),
        "DEVICE_GLOBAL_MEM_SIZE": _size(memory),
        "DEVICE_MAX_CONSTANT_BUFFER_SIZE": _size(64 << 10),
        "DEVICE_MAX_CONSTANT_ARGS": _u32(8),
        "DEVICE_MAX_GLOBAL_VARIABLE_SIZE": _size(variables),
        "DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE": _size(variables),
        "DEVICE_LOCAL_MEM_TYPE": _u32(CL["LOCAL"] if facts["type"] == "gpu" else CL["GLOBAL"]),
        "DEVICE_LOCAL_MEM_SIZE": _size(facts["local"]),
        "DEVICE_ERROR_CORRECTION_SUPPORT": _u32(0),
        "DEVICE_HOST_UNIFIED_MEMORY": _u32(1),
        "DEVICE_ENDIAN_LITTLE": _u32(sys.byteorder == "little"),
        "DEVICE_AVAILABLE": _u32(1),
        "DEVICE_COMPILER_AVAILABLE": _u32(1),
        "DEVICE_LINKER_AVAILABLE": _u32(1),
        "DEVICE_EXECUTION_CAPABILITIES": _size(capabilities),
        "DEVICE_QUEUE_ON_HOST_PROPERTIES": _size(queues),
        "DEVICE_QUEUE_ON_DEVICE_PROPERTIES": _size(0),
        "DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE": _u32(0),
        "DEVICE_QUEUE_ON_DEVICE_MAX_SIZE": _u32(0),
        "DEVICE_MAX_ON_DEVICE_QUEUES": _u32(0),
        "DEVICE_MAX_ON_DEVICE_EVENTS": _u32(0),
        "DEVICE_DEVICE_ENQUEUE_CAPABILITIES": _size(0),
        "DEVICE_BUILT_IN_KERNELS": _text(""),
        "DEVICE_BUILT_IN_KERNELS_WITH_VERSION": b"",
        "DEVICE_NAME": _text(facts["name"]),
        "DEVICE_VENDOR": _text(facts["vendor"]),
        "DRIVER_VERSION": _text(VERSION),
        "DEVICE_PROFILE": _text("FULL_PROFILE"),
        "DEVICE_VERSION": _text(f"OpenCL 3.0 Headwater {VERSION}"),
        "DEVICE_NUMERIC_VERSION": _u32(version),
        "DEVICE_OPENCL_C_VERSION": _text("OpenCL C 1.2 Headwater"),
        "DEVICE_OPENCL_C_NUMERIC_VERSION_KHR": _u32(_version(1, 2)),
        "DEVICE_OPENCL_C_ALL_VERSIONS": _named([(_version(*standard), "OpenCL C") for standard in standards]),
        "DEVICE_OPENCL_C_FEATURES": _named([(version, name) for name in extensions.features(can)]),
        "DEVICE_EXTENSIONS": _text(" ".join(names)),
        "DEVICE_EXTENSIONS_WITH_VERSION": _named([(_version(1, 0), name) for name in names]),
        "DEVICE_IL_VERSION": _text(""),
        "DEVICE_ILS_WITH_VERSION": b"",
        "DEVICE_LATEST_CONFORMANCE_VERSION_PASSED": _text("v0000-01-01-00"),  # none, in its format
        "DEVICE_PARTITION_MAX_SUB_DEVICES": _u32(0),
        "DEVICE_PARTITION_PROPERTIES": _size(0),
        "DEVICE_PARTITION_AFFINITY_DOMAIN": _size(0),
        "DEVICE_PARTITION_TYPE": b"",
        "DEVICE_PREFERRED_INTEROP_USER_SYNC": _u32(1),
        "DEVICE_PRINTF_BUFFER_SIZE": _size(1 << 20),
        "DEVICE_SVM_CAPABILITIES": _size(CL["DEVICE_SVM_COARSE_GRAIN_BUFFER"] if svm else 0),
        "DEVICE_MAX_PIPE_ARGS": _u32(0),
        "DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS": _u32(0),
        "DEVICE_PIPE_MAX_PACKET_SIZE": _u32(0),
        "DEVICE_PIPE_SUPPORT": _u32(0),
        "DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT": _u32(0),
        "DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT": _u32(0),
        "DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT": _u32(0),
        "DEVICE_MAX_NUM_SUB_GROUPS": _u32(group // facts["sub_group"] if facts["sub_group"] else 0),
        "DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS": _u32(0),
        "DEVICE_ATOMIC_MEMORY_CAPABILITIES": _size(orders | scopes),
        "DEVICE_ATOMIC_FENCE_CAPABILITIES": _size(fences),
        "DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT": _u32(1),
        "DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE": _size(facts["multiple"]),
        "DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT": _u32(can.local_memory),
        "DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT": _u32(can.generic),
    }  # fmt: skip


def _formats() -> list[tuple[int, int, int, int, int]]:
    """Image formats: those that the device library reads and writes."""
    found = []
    for order in _READ_ORDERS:
        for kind in _TYPES_OF_ORDER.get(order, _ALL_TYPES):
            found.append((CL[order], CL[kind], 1, 1, 1))
    return found
