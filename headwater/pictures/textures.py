"""Copies a stream or an array to a texture or buffer of wgpu, or what one of them holds to a stream.

Both are copies, by way of the host: ``queue`` is the ``device.queue`` of wgpu's device that owns the texture or buffer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headwater.base.arrays import Array
from headwater.base.numbers import whole
from headwater.errors import UsageError
from headwater.pictures.pixels import Colours, pixels
from headwater.runtime import stream

if TYPE_CHECKING:
    from headwater.runtime import Device, Stream

_FORMAT: Final = re.compile(r"(r|rg|rgba|bgra)(8|16|32)(unorm|snorm|uint|sint|float)(-srgb)?")
_KINDS: Final = {"unorm": "u", "snorm": "i", "uint": "u", "sint": "i", "float": "f"}
_TEXTURE_SOURCE, _TEXTURE_DESTINATION = 1, 2
_BUFFER_SOURCE, _BUFFER_DESTINATION = 4, 8
"""Usages, in WebGPU's specification ``GPUTextureUsage`` and ``GPUBufferUsage``: COPY_SRC and COPY_DST."""
_UNIT: Final = 4
"""Bytes of which sizes and offsets in buffers are multiples (WebGPU, ``writeBuffer``)."""


def to_wgpu(
    value: Any,
    to: Any,
    queue: Any,
    *,
    offset: int = 0,
    limits: tuple[float, float] | None = None,
    colours: Colours = "grey",
) -> None:
    """Copy a stream or an array to a texture or buffer of wgpu, which is made with ``COPY_DST``.

    A buffer gets the bytes, from the byte ``offset`` on. A texture gets the numbers if they are of its texels' type and
    of its shape: (height, width) or (height, width, channels), with the depth before them if it has one; ``-srgb`` and
    ``unorm`` take bytes as they are. A texture of 8-bit red, green, blue and opacity takes anything else that can be
    shown, by ``limits`` and ``colours``: see `headwater.pictures.pixels.pixels`.
    """
    if _is_buffer(to):
        _to_buffer(np.ascontiguousarray(value), to, queue, offset)
        return
    dtype, shape, swapped = _texels(to)
    _check(to, _TEXTURE_DESTINATION, "COPY_DST", "texture")
    array = np.asarray(value)
    if array.dtype != dtype or _without_ones(array.shape) != _without_ones(shape):
        if to.format.removeprefix("bgra").removeprefix("rgba").removesuffix("-srgb") != "8unorm":
            raise UsageError(
                f"{array.dtype} of shape {array.shape} does not fit a texture of {dtype} {shape} ({to.format})",
                hint="numbers of that type and shape, or a texture of the format rgba8unorm",
            )
        array = pixels(array, limits, colours)
        if array.shape != shape:
            raise UsageError(f"a picture of shape {array.shape} does not fit a texture of {shape}")
    array = np.ascontiguousarray(_swapped(array) if swapped else array)
    queue.write_texture({"texture": to}, array, _layout(to, array.nbytes), to.size)


def from_wgpu(
    source: Any,
    queue: Any,
    *,
    dtype: Any = None,
    shape: int | Sequence[int] | None = None,
    offset: int = 0,
    device: Device | str | None = None,
) -> Stream:
    """A stream on ``device`` of what a texture or buffer of wgpu holds, which is made with ``COPY_SRC``.

    A texture's format and size say the stream's type and shape, as for `to_wgpu`. A buffer is read from the byte
    ``offset`` on, as numbers of ``dtype`` (float32 if it is not given), as many as ``shape`` says or as are left.
    """
    if _is_buffer(source):
        array = _from_buffer(source, queue, np.dtype(np.float32 if dtype is None else dtype), shape, offset)
    else:
        if dtype is not None or shape is not None or offset:
            raise UsageError("a texture has a type and a shape of its own", hint="leave dtype, shape and offset out")
        texels, own, swapped = _texels(source)
        _check(source, _TEXTURE_SOURCE, "COPY_SRC", "texture")
        data = queue.read_texture({"texture": source}, _layout(source, math.prod(own) * texels.itemsize), source.size)
        array = np.frombuffer(data, texels).reshape(own)
        if swapped:
            array = _swapped(array)
    return stream(array, device=device)


def _is_buffer(what: Any) -> bool:
    if hasattr(what, "map_state"):
        return True
    if hasattr(what, "format") and hasattr(what, "depth_or_array_layers"):
        return False
    raise UsageError(f"{what!r:.60} is no texture or buffer of wgpu", hint="device.create_texture(…)")


def _texels(texture: Any) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    """The type of a texture's numbers, its shape, and whether blue comes first."""
    found = _FORMAT.fullmatch(texture.format)
    if found is None or (found[3] == "float" and found[2] == "8"):
        raise UsageError(f"textures of the format {texture.format} are not copied", hint="rgba8unorm, r32float, …")
    if texture.sample_count != 1:
        raise UsageError("a texture with several samples a pixel is not copied", hint="resolve it first")
    width, height, depth = texture.size
    channels = {"r": 1, "rg": 2}.get(found[1], 4)
    shape = (*((depth,) if depth > 1 else ()), height, width, *((channels,) if channels > 1 else ()))
    return np.dtype(f"{_KINDS[found[3]]}{int(found[2]) // 8}"), shape, found[1] == "bgra"


def _layout(texture: Any, size: int) -> dict[str, int]:
    _, height, depth = texture.size
    return {"bytes_per_row": size // (height * depth), "rows_per_image": height}


def _without_ones(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(extent for extent in shape if extent != 1)


def _swapped(array: Array) -> Array:
    return array[..., [2, 1, 0, 3]]


def _check(what: Any, usage: int, name: str, kind: str) -> None:
    if not what.usage & usage:
        raise UsageError(
            f"the {kind} cannot be copied {'to' if name == 'COPY_DST' else 'from'}",
            hint=f"make it with usage=… | wgpu.{kind.title()}Usage.{name}",
        )


def _to_buffer(array: Array, to: Any, queue: Any, offset: int) -> None:
    _check(to, _BUFFER_DESTINATION, "COPY_DST", "buffer")
    _check_type(array.dtype)
    _check_part(to, offset, array.nbytes, f"{array.dtype} of shape {array.shape}")
    if array.nbytes:
        queue.write_buffer(to, offset, array)


def _from_buffer(source: Any, queue: Any, dtype: np.dtype[Any], shape: Any, offset: int) -> Array:
    _check(source, _BUFFER_SOURCE, "COPY_SRC", "buffer")
    _check_type(dtype)
    if shape is None:
        _check_part(source, offset, 0, "what is read")
        shape = (source.size - offset) // dtype.itemsize
    shape = (shape,) if whole(shape) is not None else tuple(shape)
    if any((extent := whole(one)) is None or extent < 0 for one in shape):
        raise UsageError(f"{dtype} of shape {shape} cannot be copied", hint="extents are whole numbers from 0")
    size = math.prod(shape) * dtype.itemsize
    _check_part(source, offset, size, f"{dtype} of shape {shape}")
    data = queue.read_buffer(source, offset, size) if size else b""
    return np.frombuffer(data, np.uint8).view(dtype).reshape(shape)


def _check_type(dtype: np.dtype[Any]) -> None:
    if dtype.hasobject or dtype.kind not in "biufcV" or not dtype.itemsize:
        raise UsageError(f"buffers of {dtype} are not copied", hint="numbers, or structs of them")


def _check_part(buffer: Any, offset: int, size: int, what: str) -> None:
    if whole(offset) is None or offset < 0 or offset % _UNIT or size % _UNIT or not 0 <= size <= buffer.size - offset:
        raise UsageError(
            f"{what} ({size} bytes) at byte {offset!r} cannot be copied: the buffer has {buffer.size} bytes",
            hint="offsets and sizes are multiples of 4 bytes within the buffer",
        )
