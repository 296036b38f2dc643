"""Devices and resources: what cal.h calls calDevice… and calRes…, and the extension that pins the caller's memory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from math import lcm
from typing import Any

import numpy as np

from headwater.cal.boards import HostStorage, Storage, find_boards
from headwater.cal.compiler import VERSION
from headwater.cal.enums import CALformat, CALresallocflags, CALresult
from headwater.cal.errors import failed, last_error
from headwater.cal.formats import describe
from headwater.cal.state import (
    MEGABYTE,
    Context,
    Device,
    Mem,
    Resource,
    begin,
    end,
    guarded,
    lock,
    member,
    session,
    whole,
)
from headwater.cal.structs import CALdeviceattribs, CALdeviceinfo, CALdevicestatus


def calInit(devices: str | None = None) -> None:
    """Begin. ``devices``: names of chips, or "cpu", "gpu" …, separated by commas, which calDeviceOpen counts from 0;
    None: those of the variable HEADWATER_CAL_DEVICES, else an HD 4870.

    CAL_RESULT_ALREADY if CAL is initialised.
    """
    begin(find_boards(devices))


def calShutdown() -> None:
    """End: waits for all work, and every handle becomes invalid."""
    end()


def calGetVersion() -> tuple[int, int, int]:
    """The interface's version: major, minor, implementation."""
    return VERSION


def calGetErrorString() -> str:
    """What went wrong in the last function of the run-time that failed."""
    return last_error.runtime


# -- devices -----------------------------------------------------------------------------------------------------------


def calDeviceGetCount() -> int:
    """How many devices there are."""
    return len(session().boards)


def calDeviceGetInfo(ordinal: int) -> CALdeviceinfo:
    """What a device is for the compiler, and its largest resources."""
    board = session().boards[_ordinal(ordinal)]
    return CALdeviceinfo(board.attributes.target, board.max_width_1d, board.max_width_2d, board.max_height_2d)


def calDeviceGetAttribs(ordinal: int) -> CALdeviceattribs:
    """What a device has."""
    return session().boards[_ordinal(ordinal)].attributes


@guarded
def calDeviceGetStatus(dev: int) -> CALdevicestatus:
    """How much memory an open device has left."""
    device = session().get(dev, Device, "device")
    has = device.board.attributes
    return CALdevicestatus(
        has.localRAM - -(-device.local_bytes // MEGABYTE),
        has.uncachedRemoteRAM - -(-device.remote_bytes // MEGABYTE),
        has.cachedRemoteRAM - -(-device.cached_bytes // MEGABYTE),
    )


@guarded
def calDeviceOpen(ordinal: int) -> int:
    """Open a device; CAL_RESULT_ALREADY if it is open."""
    current = session()
    number = _ordinal(ordinal)
    if number in current.opened:
        raise failed(CALresult.ALREADY, f"device {number} is open already")
    device = current.add(lambda handle: Device(handle, number, current.boards[number]))
    current.opened[number] = device
    return device.handle


@guarded
def calDeviceClose(dev: int) -> None:
    """Close a device; CAL_RESULT_BUSY while it has contexts. Its resources are freed, those of several devices with the
    last of them."""
    current = session()
    device = current.get(dev, Device, "device")
    if device.contexts:
        raise failed(CALresult.BUSY, f"device {device.ordinal} has {len(device.contexts)} contexts")
    for handle, found in list(current.objects.items()):
        if isinstance(found, Resource) and device in found.devices:
            found.devices = tuple(other for other in found.devices if other is not device)
            if not found.devices:
                current.drop(handle)
    del current.opened[device.ordinal]
    current.drop(dev)


def _ordinal(ordinal: Any) -> int:
    count = len(session().boards)
    number = whole(ordinal, "a device's ordinal")
    if number >= count:
        raise failed(CALresult.ERROR, f"there is no device {number}", hint=f"there are {count}, counted from 0")
    return number


# -- resources ---------------------------------------------------------------------------------------------------------


def calResAllocLocal2D(dev: int, width: int, height: int, format: CALformat, flags: int = 0) -> int:
    """Device memory of height x width elements. CAL_RESULT_ERROR if there is not as much."""
    return _allocate([dev], width, height, format, flags, dimensions=2, remote=False)


def calResAllocLocal1D(dev: int, width: int, format: CALformat, flags: int = 0) -> int:
    """Device memory of ``width`` elements."""
    return _allocate([dev], width, 1, format, flags, dimensions=1, remote=False)


def calResAllocRemote2D(devs: Sequence[int], width: int, height: int, format: CALformat, flags: int = 0) -> int:
    """System memory, of height x width elements, that the devices reach over PCI Express. Each of them counts it as
    its own remote memory, has its limits, and may be the one whose context uses it: of several contexts that use it at
    a time, nobody tells in which order."""
    return _allocate(_several(devs), width, height, format, flags, dimensions=2, remote=True)


def calResAllocRemote1D(devs: Sequence[int], width: int, format: CALformat, flags: int = 0) -> int:
    """As `calResAllocRemote2D`, of ``width`` elements in one dimension."""
    return _allocate(_several(devs), width, 1, format, flags, dimensions=1, remote=True)


def calResCreate2D(
    dev: int, mem: np.ndarray[Any, Any], width: int, height: int, format: CALformat, size: int, flags: int = 0
) -> int:
    """The caller's memory as a resource, without a copy (CAL_EXT_RES_CREATE). ``size``: its bytes.

    The memory must begin at a multiple of the device's ``surface_alignment`` and the width be a multiple of its
    ``pitch_alignment``: CAL_RESULT_INVALID_PARAMETER otherwise.
    """
    return _create(dev, mem, width, height, format, size, flags, dimensions=2)


def calResCreate1D(
    dev: int, mem: np.ndarray[Any, Any], width: int, format: CALformat, size: int, flags: int = 0
) -> int:
    """As `calResCreate2D`, in one dimension."""
    return _create(dev, mem, width, 1, format, size, flags, dimensions=1)


@guarded
def calResFree(res: int) -> None:
    """Free a resource; CAL_RESULT_BUSY while a context has a memory handle of it, or while it is mapped."""
    resource = session().get(res, Resource, "resource")
    if resource.mems:
        raise failed(CALresult.BUSY, f"{len(resource.mems)} contexts' memory handles refer to the resource")
    if resource.mapped:
        raise failed(CALresult.BUSY, "the resource is mapped")
    for device in resource.devices:
        _account(device, -resource.nbytes, resource.remote, resource.flags)
    session().drop(res)


def calResMap(res: int, flags: int = 0) -> tuple[np.ndarray[Any, Any], int]:
    """The resource's memory and its pitch in elements: an array (height, pitch, components), or (pitch, components).

    Waits for the work of contexts that have the resource. CAL_RESULT_ERROR if it is mapped; while it is, no kernel can
    use it, and no copy if it is local.
    """
    with lock:
        resource = session().get(res, Resource, "resource")
        if resource.mapped:
            raise failed(
                CALresult.ERROR, "the resource is mapped already", hint="calResUnmap before the next calResMap"
            )
        _no_flags(flags)
        contexts = [session().get(handle, Mem, "memory").context for handle in resource.mems]
        resource.mapped = True  # what is launched from now on cannot use it
    for context in contexts:
        context.finish()
    elements = resource.elements(resource.storage.map())
    return (elements if resource.dimensions == 2 else elements[0]), resource.pitch


@guarded
def calResUnmap(res: int) -> None:
    """End what `calResMap` began; the array must not be used any more."""
    resource = session().get(res, Resource, "resource")
    if not resource.mapped:
        raise failed(CALresult.ERROR, "the resource is not mapped")
    resource.storage.unmap()
    resource.mapped = False


def _several(devs: Any) -> list[int]:
    found = [whole(dev, "a device's handle") for dev in (devs if isinstance(devs, Sequence) else [devs])]
    if not found or len({*found}) < len(found):
        raise failed(CALresult.INVALID_PARAMETER, "remote memory is for one device or more, each of them named once")
    return found


def _no_flags(flags: Any) -> None:
    if whole(flags, "flags"):
        raise failed(CALresult.INVALID_PARAMETER, f"flags are {flags:#x}; there are none", hint="pass 0")


@guarded
def _allocate(
    devs: Sequence[Any], width: Any, height: Any, format: Any, flags: Any, *, dimensions: int, remote: bool
) -> int:
    checked = [_checked(dev, width, height, format, flags, dimensions, remote) for dev in devs]
    devices = tuple(device for device, *_ in checked)
    _, kind, wide, high, options = checked[0]
    alignment = lcm(*(device.board.attributes.pitch_alignment for device in devices))
    # Buffers bound to g[] are linear: an element follows the one before.
    pitch = wide if dimensions == 1 or options & CALresallocflags.GLOBAL_BUFFER else -(-wide // alignment) * alignment
    nbytes = pitch * high * describe(kind).nbytes
    with ExitStack() as taken:
        for device in devices:
            _account(device, nbytes, remote, options)
            taken.callback(_account, device, -nbytes, remote, options)
        try:
            storage = _storage(devices, nbytes)
        except MemoryError:
            raise failed(CALresult.ERROR, f"this machine has no {nbytes >> 20} MiB of memory left") from None
        taken.pop_all()
    made = session().add(
        lambda handle: Resource(handle, devices, wide, high, dimensions, kind, options, pitch, remote, storage)
    )
    return made.handle


def _storage(devices: Sequence[Device], nbytes: int) -> Storage:
    """Zeroed memory that all of the devices reach: of one it may be the device's own. MemoryError if there is none."""
    if len(devices) == 1:
        return devices[0].board.storage(nbytes)
    return HostStorage.allocate(nbytes, lcm(*(device.board.attributes.surface_alignment for device in devices)))


def _checked(
    dev: Any, width: Any, height: Any, format: Any, flags: Any, dimensions: int, remote: bool
) -> tuple[Device, CALformat, int, int, CALresallocflags]:
    device = session().get(dev, Device, "device")
    board = device.board
    kind = member(CALformat, format, "format")
    wide = whole(width, "the width", 1)
    high = whole(height, "the height", 1)
    number = whole(flags, "flags")
    options = CALresallocflags(number & 3)
    if number & ~3 or (options & CALresallocflags.CACHEABLE and not remote):
        raise failed(
            CALresult.INVALID_PARAMETER,
            f"flags are {number:#x}",
            hint="CAL_RESALLOC_GLOBAL_BUFFER, and CAL_RESALLOC_CACHEABLE for remote memory",
        )
    bounds = (board.max_width_2d, board.max_height_2d) if dimensions == 2 else (board.max_width_1d, 1)
    # What is bound to g[] is addressed by element, not by the texture unit, whose coordinates have the bounds.
    if not options & CALresallocflags.GLOBAL_BUFFER and (wide > bounds[0] or high > bounds[1]):
        raise failed(
            CALresult.ERROR,
            f"{wide} x {high} elements: resources of this device have at most {bounds[0]} x {bounds[1]}",
            hint="calDeviceGetInfo returns the limits",
        )
    return device, kind, wide, high, options


@guarded
def _create(dev: Any, mem: Any, width: Any, height: Any, format: Any, size: Any, flags: Any, *, dimensions: int) -> int:
    device, kind, wide, high, _ = _checked(dev, width, height, format, 0, dimensions, True)
    _no_flags(flags)
    has = device.board.attributes
    if not isinstance(mem, np.ndarray) or not mem.flags.c_contiguous or not mem.flags.writeable:
        raise failed(CALresult.INVALID_PARAMETER, "memory is passed as a C-contiguous array that can be written")
    given = whole(size, "the size in bytes", 1, 1 << 40)
    needed = wide * high * describe(kind).nbytes
    if given < needed or mem.nbytes < given:
        raise failed(
            CALresult.INVALID_PARAMETER, f"{wide} x {high} elements take {needed} bytes; {min(given, mem.nbytes)} given"
        )
    if mem.ctypes.data % has.surface_alignment:
        raise failed(CALresult.INVALID_PARAMETER, f"the memory's address is not a multiple of {has.surface_alignment}")
    if dimensions == 2 and wide % has.pitch_alignment:  # one row has no pitch
        raise failed(CALresult.INVALID_PARAMETER, f"the width, {wide}, is not a multiple of {has.pitch_alignment}")
    storage = HostStorage(mem.reshape(-1).view(np.uint8))
    options = CALresallocflags(0)
    _account(device, needed, True, options)
    made = session().add(
        lambda handle: Resource(handle, (device,), wide, high, dimensions, kind, options, wide, True, storage)
    )
    return made.handle


def _account(device: Device, nbytes: int, remote: bool, flags: CALresallocflags) -> None:
    """Take memory of the kind, or give it back; CAL_RESULT_ERROR if there is not as much."""
    has = device.board.attributes
    if not remote:
        kind, total = "local_bytes", has.localRAM
    elif flags & CALresallocflags.CACHEABLE:
        kind, total = "cached_bytes", has.cachedRemoteRAM
    else:
        kind, total = "remote_bytes", has.uncachedRemoteRAM
    used = getattr(device, kind) + nbytes
    if used > total * MEGABYTE:
        raise failed(
            CALresult.ERROR,
            f"{nbytes >> 20} MiB are too much: {(used - nbytes) >> 20} of {total} MiB are taken",
            hint="calResFree what is not needed",
        )
    setattr(device, kind, used)


def owner(ctx: int) -> Context:
    """The context behind a handle."""
    return session().get(ctx, Context, "context")
