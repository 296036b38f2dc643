"""Input: a kernel's argument. Output: how a launch packs it, the checks of what is passed included."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from headwater.base.arrays import address, same_elements
from headwater.errors import InternalError, OutOfMemoryError
from headwater.native.pool import Task
from headwater.runtime import signature
from headwater.runtime.host.memory import HostBuffer
from headwater.runtime.images import Image
from headwater.runtime.interface import Buffer
from headwater.runtime.streams import Stream
from headwater.runtime.values import Local, Sampler

if TYPE_CHECKING:
    from headwater.opencl.kernels import ArgInfo
    from headwater.runtime.interface import Device

Kind = Literal["array", "pointer", "local", "number", "other"]
"""How an argument is packed: an "array" of numbers of one type; any other "pointer"; "local" memory; a "number", which
goes in as it is; what a function makes of any "other" value."""
Slot = Callable[[Any, Any], Any]
"""From what is passed, and the launch's task, to what is packed."""


class Packing(NamedTuple):
    """How one argument is packed: as ``code`` of `struct` says; ``slot`` makes what is packed of what is passed, but of
    numbers and local memory."""

    kind: Kind
    code: str
    slot: Slot | None = None


def packing(device: Device, arg: ArgInfo, position: int) -> Packing:
    """How native code of this machine takes an argument, the ``position``-th from 1 on, in a launch on ``device``."""
    if arg.kind in ("buffer", "constant"):
        element = signature.argument_type(arg)
        # Elements of three components have the room of four, and not every array is laid out so.
        kind: Kind = "array" if element is not None and element[1] != 3 else "pointer"
        return Packing(kind, "Q", _pointer_slot(device, arg, position))
    if arg.kind == "local":
        return Packing("local", "Q")
    if arg.kind == "image":
        return Packing("other", "Q", lambda value, task: image_address(arg, position, value))
    if arg.kind == "sampler":
        return Packing("other", "i", lambda value, task: sampler_bits(arg, position, value))
    code, pack = signature.value_slot(arg, position)
    if pack is None:
        return Packing("number", code)
    return Packing("other", code, lambda value, task: pack(value))


def layout(codes: Sequence[str], offsets: Sequence[int], total: int) -> str:
    """The `struct` format of the whole argument block, with its gaps."""
    if len(codes) != len(offsets):
        raise InternalError(f"{len(offsets)} argument offsets for {len(codes)} arguments")
    text, position = "<", 0
    for code, offset in zip(codes, offsets, strict=True):
        if offset < position:
            raise InternalError("argument offsets overlap")
        text += f"{offset - position}x{code}"
        position = offset + struct.calcsize("<" + code)
    return text + f"{max(total - position, 0)}x"


def _pointer_slot(device: Device, arg: ArgInfo, position: int) -> Slot:
    """From what is passed for a pointer to its address, but for arrays and streams of the very type."""
    writes = arg.access != "read"

    def slot(value: Any, task: Task) -> int:
        if type(value) is HostBuffer:
            return value.address
        return _slow_pointer(device, arg, position, writes, value, task)

    return slot


def _slow_pointer(device: Device, arg: ArgInfo, position: int, writes: bool, value: Any, task: Task) -> int:
    """The address of anything else that can be passed for a pointer, or a LaunchError that says why it cannot."""
    if value is None:
        return 0
    if isinstance(value, (Stream, Buffer)):
        if value.device is not device:
            raise signature.fail(
                arg,
                position,
                f"this memory is on {value.device.name}, the launch on {device.name}",
                "read it into an array first, or launch where it is",
            )
        if isinstance(value, Stream):
            signature.check_array(arg, position, value.outline(), untyped=False, writes=False)
            value = value.buffer
        assert isinstance(value, HostBuffer)
        return value.address
    array, untyped = signature.given_array(arg, position, value)
    signature.check_array(arg, position, array, untyped, writes)
    if array is not value:
        task.keep_view(value, array)
    if array.flags.c_contiguous:
        return address(array) if array.size else 0
    for original, copy in task.copies or ():
        if same_elements(original, array):
            if array.flags.writeable and not original.flags.writeable:  # only this one can be written back
                task.keep_copy(array, copy.view(array.dtype))
            return address(copy)
    try:
        copy = np.ascontiguousarray(array)
    except MemoryError:
        raise OutOfMemoryError(f"not enough memory to copy argument {position} ({array.nbytes} bytes)") from None
    task.keep_copy(array, copy)
    return address(copy)


def local_bytes_of(arg: ArgInfo, position: int, value: object) -> int:
    """Bytes of a local argument; LaunchError for what is none."""
    if not isinstance(value, Local):
        raise signature.fail(
            arg, position, f"local memory is expected, {type(value).__name__} given", "pass hw.Local(number_of_bytes)"
        )
    return value.nbytes


def image_address(arg: ArgInfo, position: int, value: object) -> int:
    """The address of an image's descriptor; LaunchError for what is no image of that kind."""
    if not isinstance(value, Image):
        raise signature.fail(
            arg, position, f"an image is expected, {type(value).__name__} given", "pass hw.Image(array)"
        )
    signature.check_image(arg, position, value)
    value.refuse_unread()
    return value.address


def image_key(arg: ArgInfo, value: object) -> tuple[int, bool]:
    """What a task knows a bound image by: an image that is also an ``image1d_buffer_t`` has two descriptors."""
    return id(value), "buffer" in arg.type_name


def sampler_bits(arg: ArgInfo, position: int, value: object) -> int:
    """A sampler as clang encodes it; LaunchError for what is none."""
    if not isinstance(value, Sampler):
        raise signature.fail(
            arg, position, f"a sampler is expected, {type(value).__name__} given", "pass hw.Sampler(…)"
        )
    return value.bits
