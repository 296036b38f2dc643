"""Input: pixels in an array. Output: an image argument with its OpenCL channel order and type."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from headwater.base.arrays import Array, address, describe, view
from headwater.errors import LaunchError

# cl.h: CL_R … and CL_SNORM_INT8 …
CHANNEL_ORDERS = {
    "r": (0x10B0, 1),
    "a": (0x10B1, 1),
    "rg": (0x10B2, 2),
    "ra": (0x10B3, 2),
    "rgb": (0x10B4, 3),
    "rgba": (0x10B5, 4),
    "bgra": (0x10B6, 4),
    "argb": (0x10B7, 4),
    "intensity": (0x10B8, 1),
    "luminance": (0x10B9, 1),
    "depth": (0x10BD, 1),
    "srgba": (0x10C1, 4),
    "sbgra": (0x10C2, 4),
    "abgr": (0x10C3, 4),
}
CHANNEL_TYPES = {
    "snorm_int8": (0x10D0, "i1"),
    "snorm_int16": (0x10D1, "i2"),
    "unorm_int8": (0x10D2, "u1"),
    "unorm_int16": (0x10D3, "u2"),
    "signed_int8": (0x10D7, "i1"),
    "signed_int16": (0x10D8, "i2"),
    "signed_int32": (0x10D9, "i4"),
    "unsigned_int8": (0x10DA, "u1"),
    "unsigned_int16": (0x10DB, "u2"),
    "unsigned_int32": (0x10DC, "u4"),
    "half_float": (0x10DD, "f2"),
    "float": (0x10DE, "f4"),
    "unorm_short_565": (0x10D4, "u2"),
    "unorm_short_555": (0x10D5, "u2"),
    "unorm_int_101010": (0x10D6, "u4"),
}
PACKED = {"unorm_short_565": (5, 6, 5), "unorm_short_555": (5, 5, 5), "unorm_int_101010": (10, 10, 10)}
"""Bits of red, green and blue of the types that hold a whole pixel, red in the highest (OpenCL 1.2, table 5.7)."""
_DEFAULT_TYPES = {
    "u1": "unorm_int8",
    "u2": "unorm_int16",
    "u4": "unsigned_int32",
    "i1": "signed_int8",
    "i2": "signed_int16",
    "i4": "signed_int32",
    "f2": "half_float",
    "f4": "float",
}
_DEFAULT_ORDERS = {1: "r", 2: "rg", 4: "rgba"}

Dimensions = Literal["1d", "2d", "3d", "1d_array", "2d_array"]
_AXES = {"1d": 1, "2d": 2, "3d": 3, "1d_array": 2, "2d_array": 3}


class Image:
    """An ``image1d_t`` … ``image2d_array_t`` argument over an array's memory, read and written in place.

    ``array``: shape ``(height, width)`` or ``(height, width, channels)`` for ``"2d"``, likewise with one axis fewer or
    more for the other ``dimensions``; in arrays of images the first axis counts them. ``channel_order`` (``"rgba"``,
    ``"r"`` …) and ``channel_type`` (``"unorm_int8"``, ``"float"`` …) follow from channels and dtype unless given: uint8
    and uint16 are read as 0…1, the other integers as themselves. Of ``"unorm_short_565"``, ``"unorm_short_555"`` and
    ``"unorm_int_101010"``, with order ``"rgb"``, an element is a pixel. LaunchError if they do not fit the array.
    """

    __slots__ = (
        *("__weakref__", "array", "channel_order", "channel_type", "descriptor", "dimensions", "hardware", "order"),
        "type",
    )

    def __init__(
        self,
        array: Any,
        channel_order: str | None = None,
        channel_type: str | None = None,
        dimensions: Dimensions = "2d",
    ) -> None:
        pixels, _ = view(array)
        if dimensions not in _AXES:
            raise LaunchError(f"unknown image dimensions {dimensions!r}; choose from {', '.join(_AXES)}")
        axes = _AXES[dimensions]
        if pixels.ndim not in (axes, axes + 1):
            raise LaunchError(
                f"a {dimensions} image has {axes} axes, and one more for its channels; this is {describe(pixels)}"
            )
        channels = pixels.shape[axes] if pixels.ndim == axes + 1 else 1
        if pixels.size == 0:
            raise LaunchError(f"an image needs at least one pixel; this is {describe(pixels)}")
        if not pixels.flags.c_contiguous or not pixels.dtype.isnative:
            raise LaunchError(
                "an image needs C-contiguous memory in this machine's byte order", hint="pass np.ascontiguousarray(…)"
            )
        if channel_order is None:
            if channels not in _DEFAULT_ORDERS:
                raise LaunchError(
                    f"an image has 1, 2 or 4 channels, this array {channels}",
                    hint="add a fourth channel, or pass the colours as arrays of their own",
                )
            channel_order = _DEFAULT_ORDERS[channels]
        if channel_type is None:
            channel_type = _DEFAULT_TYPES.get(pixels.dtype.str[1:])
            if channel_type is None:
                raise LaunchError(f"no channel type holds {pixels.dtype}", hint="convert it, say .astype(np.float32)")
        order, kind = channel_order.lower(), channel_type.lower()
        if order not in CHANNEL_ORDERS:
            raise LaunchError(f"unknown channel order {channel_order!r}; choose from {', '.join(CHANNEL_ORDERS)}")
        if kind not in CHANNEL_TYPES:
            raise LaunchError(f"unknown channel type {channel_type!r}; choose from {', '.join(CHANNEL_TYPES)}")
        if kind in PACKED:
            if order != "rgb" or channels != 1:
                raise LaunchError(
                    f"channel type {kind!r} is for channel order 'rgb' and arrays with an element for each pixel; "
                    f"this is {order!r}, {describe(pixels)}"
                )
        elif CHANNEL_ORDERS[order][1] != channels:
            raise LaunchError(f"channel order {order!r} has {CHANNEL_ORDERS[order][1]} channels, the array {channels}")
        if CHANNEL_TYPES[kind][1] != pixels.dtype.str[1:]:
            raise LaunchError(
                f"channel type {kind!r} is stored as {np.dtype(CHANNEL_TYPES[kind][1])}, the array is {pixels.dtype}"
            )
        self.array: Array = pixels
        self.dimensions: Dimensions = dimensions
        self.channel_order = order
        self.channel_type = kind
        self.order = CHANNEL_ORDERS[order][0]
        self.type = CHANNEL_TYPES[kind][0]
        self.descriptor = self._describe(channels)
        self.hardware: dict[tuple[str, bool], Array] = {}
        """What kernels of GCN chips got for it (`headwater.runtime.gcn.images`), as the next launch gets the same."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents in pixels, slowest first, without the channels."""
        shape: tuple[int, ...] = self.array.shape
        return shape[: _AXES[self.dimensions]]

    @property
    def address(self) -> int:
        """Where the descriptor lies that the cpu device passes for the image."""
        return address(self.descriptor)

    def refuse_unread(self) -> None:
        """LaunchError if it is in an order that the device library does not read; hardware's instructions do."""
        if self.channel_order in ("srgba", "sbgra"):
            raise LaunchError(
                f"images in order {self.channel_order!r} are read by OpenCL devices and machine code only",
                hint=f"pass it as {self.channel_order[1:]!r} and make the colours linear in the kernel",
            )

    def _describe(self, channels: int) -> Array:
        """The ten 64-bit fields that the device library reads: data, width, height, depth, layers, pitches, format."""
        shape = self.shape
        pixel = self.array.dtype.itemsize * channels
        layers = shape[0] if self.dimensions.endswith("array") else 1
        spatial = shape[1:] if self.dimensions.endswith("array") else shape
        width, height, depth = (*reversed(spatial), 1, 1)[:3]
        row = width * pixel
        # For a 1-D array a layer is one row (OpenCL 1.2 specification 5.3.1.2: the slice pitch of 1-D arrays).
        slice_pitch = row * height
        fields = [address(self.array), width, height, depth, layers, row, slice_pitch, self.order, self.type, pixel]
        return np.array(fields, np.uint64)

    def __repr__(self) -> str:
        return f"Image({self.dimensions}, shape={self.shape}, {self.channel_order}, {self.channel_type})"
