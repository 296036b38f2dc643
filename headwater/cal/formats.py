"""Input: a resource's format. Output: how its elements lie in memory, and what a program's registers see of them.

AMD, CAL Programming Guide, "CALformat": formats of 32 and 64 bits are moved as they are. Narrower ones are converted by
the fetch unit and the colour output: UNORM to 0 … 1, SNORM to -1 … 1, integers to 32-bit integers, halves to floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from headwater.cal.enums import CALformat

Array = np.ndarray[Any, Any]
Kind = Literal["bits", "unorm", "snorm", "unsigned", "signed", "half", "packed"]

_PACKED_BITS = {
    CALformat.UNORM_SHORT_565: (5, 6, 5),
    CALformat.UNORM_SHORT_555: (5, 5, 5, 1),
    CALformat.UNORM_INT10_3: (10, 10, 10, 2),
}
"""Components from the lowest bits up, on every device (`headwater.emulate.vliw.bindings` has the same); CAL's headers
do not say."""


@dataclass(frozen=True, slots=True)
class Format:
    """``components`` of ``bits`` each in an element of ``nbytes``; ``dtype`` is what a mapped resource's array has.

    ``lanes``: 32-bit registers' components that an element fills.
    """

    format: CALformat
    kind: Kind
    components: int
    bits: int
    nbytes: int
    dtype: np.dtype[Any]

    @property
    def lanes(self) -> int:
        """How many of a register's four components an element fills."""
        return self.components * (2 if self.bits == 64 else 1)

    @property
    def as_is(self) -> bool:
        """Whether elements pass to registers and back bit for bit."""
        return self.kind == "bits"

    def to_lanes(self, elements: Array) -> Array:
        """Elements, (…, components) of ``dtype``, as registers see them: (…, lanes) of uint32."""
        if self.as_is:
            return np.ascontiguousarray(elements).view(np.uint32)
        if self.kind == "packed":
            word = elements[..., 0].astype(np.uint32)
            parts, shift = [], 0
            for bits in _PACKED_BITS[self.format]:
                parts.append(((word >> np.uint32(shift)) & np.uint32((1 << bits) - 1)) / np.float32((1 << bits) - 1))
                shift += bits
            made: Array = np.stack(parts, axis=-1).astype(np.float32)
            return made.view(np.uint32)
        if self.kind in ("unsigned", "signed"):
            return elements.astype(np.int64).astype(np.uint32)
        if self.kind == "half":
            return elements.astype(np.float32).view(np.uint32)
        top = np.float32((1 << self.bits) - 1 if self.kind == "unorm" else (1 << (self.bits - 1)) - 1)
        values = elements.astype(np.float32) / top
        bounded: Array = np.maximum(values, np.float32(-1)).astype(np.float32)
        return bounded.view(np.uint32)

    def from_lanes(self, lanes: Array) -> Array:
        """What a program put out, (…, lanes) of uint32, as elements: (…, components) of ``dtype``."""
        lanes = np.ascontiguousarray(lanes)
        if self.as_is:
            return lanes.view(self.dtype)
        if self.kind == "packed":
            word = np.zeros(lanes.shape[:-1], np.uint32)
            shift = 0
            for k, bits in enumerate(_PACKED_BITS[self.format]):
                word |= _rounded(lanes[..., k].view(np.float32), 0, (1 << bits) - 1) << np.uint32(shift)
                shift += bits
            packed: Array = word.astype(self.dtype)[..., None]
            return packed
        if self.kind == "unsigned":
            bounded: Array = np.minimum(lanes, np.uint32((1 << self.bits) - 1))
            return bounded.astype(self.dtype)
        if self.kind == "signed":
            low, high = -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
            return np.clip(lanes.view(np.int32), low, high).astype(self.dtype)
        values = lanes.view(np.float32)
        if self.kind == "half":
            with np.errstate(over="ignore"):
                return values.astype(np.float16)
        if self.kind == "unorm":
            return _rounded(values, 0, (1 << self.bits) - 1).astype(self.dtype)
        top = (1 << (self.bits - 1)) - 1
        return _rounded(values, -top, top).astype(np.int64).astype(self.dtype)


def _rounded(values: Array, low: int, high: int) -> Array:
    """Floats of 0 … 1 (-1 … 1 where ``low`` is below 0) as the nearest whole numbers up to ``high``; NaN gives 0."""
    scaled = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=2.0, neginf=-2.0) * high
    whole = np.rint(np.clip(scaled, low, high))
    return whole.astype(np.int32).astype(np.uint32)


@cache
def describe(format: CALformat) -> Format:
    """What a format is."""
    if format in _PACKED_BITS:
        dtype = np.dtype(np.uint16 if format != CALformat.UNORM_INT10_3 else np.uint32)
        return Format(format, "packed", len(_PACKED_BITS[format]), 0, dtype.itemsize, dtype)
    kind_name, _, count = format.name.rpartition("_")
    components = int(count)
    bits = int("".join(c for c in kind_name if c.isdigit()))
    if kind_name.startswith("FLOAT"):
        return Format(format, "half" if bits == 16 else "bits", components, bits, components * bits // 8, _real(bits))
    signed = kind_name.startswith(("SIGNED", "SNORM"))
    dtype = np.dtype(f"{'i' if signed else 'u'}{bits // 8}")
    kind: Kind = "bits"
    if bits < 32:
        kind = {"UNORM": "unorm", "SNORM": "snorm", "UNSIGNED": "unsigned", "SIGNED": "signed"}[  # type: ignore[assignment]
            kind_name.split("_")[0]
        ]
    return Format(format, kind, components, bits, components * bits // 8, dtype)


def _real(bits: int) -> np.dtype[Any]:
    return np.dtype(f"f{bits // 8}")
