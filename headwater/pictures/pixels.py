"""Input: a stream or an array of numbers. Output: its pixels, 8 bits of red, green, blue and opacity each."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from headwater.base.arrays import Array
from headwater.errors import UsageError

Colours = Literal["grey", "heat"]
_STEPS = 256


def pixels(value: Any, limits: tuple[float, float] | None = None, colours: Colours = "grey") -> Array:
    """The pixels of a picture, (height, width, 4) uint8, of a stream or an array.

    Bytes are pixels as they are: (h, w) grey, (h, w, 3) red, green and blue, (h, w, 4) with opacity, and so is (h, w)
    uint32, whose lowest byte is red. Other numbers are shown from ``limits[0]`` to ``limits[1]``: (h, w) in
    ``colours``, by default from the least to the greatest; (h, w, 3) and (h, w, 4) from 0 to 1 by default. What is not
    a number is transparent. UsageError for other shapes and types.
    """
    if colours not in list(_RAMPS):
        raise UsageError(f"there are no colours {colours!r}", hint=f"they are {', '.join(_RAMPS)}")
    if limits is not None:
        limits = _checked(limits)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise UsageError(f"this is no picture: {error}", hint="rows of the same length") from None
    kind = array.dtype.kind
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if (
        kind not in "buif"
        or array.ndim not in (2, 3)
        or not array.size
        or (array.ndim == 3 and array.shape[2] not in (3, 4))
    ):
        raise UsageError(
            f"{array.dtype} of shape {array.shape} is no picture",
            hint="numbers of shape (height, width), (height, width, 3) or (height, width, 4)",
        )
    if array.ndim == 2 and kind == "u" and array.dtype.itemsize == 4 and limits is None:
        return np.ascontiguousarray(array, "<u4").view(np.uint8).reshape(*array.shape, 4)
    if array.ndim == 2:
        return _coloured(array, limits, colours)
    made = np.empty((*array.shape[:2], 4), np.uint8)
    made[:, :, 3] = 255
    count = array.shape[2]
    if array.dtype == np.uint8 and limits is None:
        made[:, :, :count] = array
    else:
        made[:, :, :count] = _scaled(array, limits or (0.0, 1.0))
        if kind == "f":
            made[np.isnan(array).any(axis=2)] = 0
    return made


def _checked(limits: Any) -> tuple[float, float]:
    try:
        low, high = (float(limit) for limit in limits)
    except (TypeError, ValueError, OverflowError):
        low = high = np.nan
    if not -np.inf < low < high < np.inf:
        raise UsageError(f"limits are the least and the greatest number, not {limits!r}", hint="limits=(0, 1)")
    return low, high


def _scaled(array: Array, limits: tuple[float, float]) -> Array:
    """Numbers as bytes: the nearest of 256 steps between the limits."""
    low, high = limits
    narrow = array.dtype.itemsize < 4 or array.dtype == np.float32
    wide: Any = np.float32 if narrow and _is_held(low, high) else np.float64
    scaled: Any = array.astype(wide)
    if np.isinf(high - low):
        scaled, low, high = scaled / 2, low / 2, high / 2
    with np.errstate(invalid="ignore", over="ignore"):
        scaled -= wide(low)
        scaled /= wide(high - low)
        scaled *= wide(_STEPS - 1)
    np.nan_to_num(scaled, copy=False, nan=0.0)
    np.clip(scaled, 0, _STEPS - 1, out=scaled)
    scaled += wide(0.5)
    made: Array = scaled.astype(np.uint8)
    return made


def _is_held(low: float, high: float) -> bool:
    """Whether float32 tells 256 steps between the limits apart, with room for rounding."""
    most = max(abs(low), abs(high))
    return 1e-30 < most < 1e30 and high - low > 1e-4 * most


def _coloured(array: Array, limits: tuple[float, float] | None, colours: Colours) -> Array:
    if array.dtype == np.uint8 and limits is None:
        steps: Array = array
    elif array.dtype == bool:
        steps = array.astype(np.uint8) * np.uint8(_STEPS - 1)
    elif limits is None and array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        above = (array - array.min()).view(array.dtype.str.replace("i", "u"))  # float64 does not hold all of them
        steps = _scaled(above, _range(above))
    else:
        steps = _scaled(array, limits or _range(array))
    made = np.take(_RAMPS[colours], steps).view(np.uint8).reshape(*array.shape, 4)
    if array.dtype.kind == "f":
        missing = np.isnan(array)
        if missing.any():
            made[missing] = 0
    return made


def _range(array: Array) -> tuple[float, float]:
    """The least and the greatest finite number; something above the least where all are the same."""
    with np.errstate(invalid="ignore"):
        low, high = float(array.min()), float(array.max())
    if not np.isfinite([low, high]).all():
        finite = array[np.isfinite(array)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    return (low, high) if low < high else (low, max(low + 1.0, float(np.nextafter(low, np.inf))))


def _ramp(red: Array, green: Array, blue: Array) -> Array:
    parts = np.stack([red, green, blue, np.ones(_STEPS)], axis=1)
    packed: Array = np.rint(np.clip(parts, 0, 1) * 255).astype(np.uint8).view(np.uint32)[:, 0]
    return packed


_LEVEL = np.linspace(0, 1, _STEPS)
_RAMPS: dict[str, Array] = {
    "grey": _ramp(_LEVEL, _LEVEL, _LEVEL),
    "heat": _ramp(3 * _LEVEL, 3 * _LEVEL - 1, 3 * _LEVEL - 2),
}
"""Colours of bytes, as packed pixels: from black to white, and by way of red and yellow."""
