"""Input: elements of a format as bytes. Output: components as registers hold them, and back: what texels.c is held to.

Exact arithmetic and one rounding, where texels.c has tricks with bits; the formats' shapes are of the one table
(`headwater.isa.gcn.resources`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from headwater.chips.gcn_isas import TRAITS
from headwater.emulate.wave.reference_memory import AccessError
from headwater.isa.gcn.resources import (
    DATA_FORMATS,
    FLOAT,
    OTHER_FORMATS,
    SINT,
    SNORM,
    SNORM_OGL,
    SRGB,
    SSCALED,
    UINT,
    UNORM,
    USCALED,
    DataFormat,
)

_HALF = (5, 10)
"""Bits of exponent and mantissa."""
_ONE = 0x3F800000


def float_of(bits: int) -> float:
    """A float's value."""
    return float(np.uint32(bits).view(np.float32))


def bits_of(value: float) -> int:
    """A value's bits, rounded to a float."""
    with np.errstate(all="ignore"):
        return int(np.float32(value).view(np.uint32))


def _small(bits: int, mantissa: int) -> int:
    """Bits of a float with 5 bits of exponent as those of one with 8."""
    if mantissa == _HALF[1]:
        return int(np.uint16(bits).view(np.float16).astype(np.float32).view(np.uint32))
    exponent, rest = bits >> mantissa & 31, bits & (1 << mantissa) - 1
    if exponent == 31:
        return 0x7F800000 | rest << 23 - mantissa
    value = Fraction(rest, 1 << mantissa) + (1 if exponent else 0)
    return bits_of(float(value * Fraction(2) ** (max(exponent, 1) - 15)))


def _to_small(bits: int, mantissa: int) -> int:
    value = float_of(bits)
    if value != value:
        quiet = 31 << mantissa | 1 << mantissa - 1
        return quiet | (bits >> 31) << 15 if mantissa == _HALF[1] else quiet
    if mantissa == _HALF[1]:
        with np.errstate(all="ignore"):
            return int(np.float32(value).astype(np.float16).view(np.uint16))
    if value <= 0:
        return 0
    if value == float("inf"):
        return 31 << mantissa
    exact = Fraction(value)
    exponent = max(_exponent(exact), -14)
    steps = _even(exact / Fraction(2) ** (exponent - mantissa))
    return min(steps + ((exponent + 14) << mantissa), 31 << mantissa)


def _exponent(value: Fraction) -> int:
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent if value >= Fraction(2) ** exponent else exponent - 1


def _even(value: Fraction) -> int:
    return round(value)  # Python rounds halves to even


def half_bits(bits: int) -> int:
    """A float's bits as those of a half."""
    return _to_small(bits, _HALF[1])


def from_half(bits: int) -> int:
    """A half's bits as those of a float."""
    return _small(bits & 0xFFFF, _HALF[1])


def _linear(c: float) -> float:
    return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4


@dataclass(frozen=True)
class Format:
    """Elements of a resource; ``select``: dst_sel of the four registers."""

    data: DataFormat
    kind: int
    select: tuple[int, ...]

    @property
    def floats(self) -> bool:
        """Whether registers hold floats."""
        return self.kind not in (UINT, SINT)

    @property
    def one(self) -> int:
        """The bits of 1."""
        return _ONE if self.floats else 1

    def _kind(self, n: int) -> int:
        if self.data.name == "X24_8_32" and n == 1:
            return UINT
        return UNORM if self.kind == SRGB and n == 3 else self.kind

    def components(self, element: bytes, raw: str = "") -> list[int]:
        """The four components of an element; those that it lacks are 0.

        ``raw``: "signed" or "unsigned", not converted.
        """
        whole = int.from_bytes(element, "little")
        result = [0, 0, 0, 0]
        if self.data.name == "5_9_9_9" and not raw:
            scale = Fraction(2) ** ((whole >> 27) - 24)
            return [*(bits_of(float((whole >> 9 * n & 511) * scale)) for n in range(3)), 0]
        at = 0
        for n, width in enumerate(self.data.widths):
            field = whole >> at & (1 << width) - 1
            kind = self._kind(n) if not raw else SINT if raw == "signed" else UINT
            result[n] = _unpacked(field, width, kind)
            at += width
        return result

    def element(self, components: list[int], *, raw: bool) -> bytes:
        """The bytes of an element with these components."""
        whole = at = 0
        for n, width in enumerate(self.data.widths):
            field = components[n] & (1 << width) - 1 if raw else _packed(components[n], width, self._kind(n))
            whole |= field << at
            at += width
        return whole.to_bytes(self.data.nbytes, "little")

    def selected(self, components: list[int]) -> list[int]:
        """Components as dst_sel gives them to the registers."""
        return [components[s - 4] if s >= 4 else self.one if s == 1 else 0 for s in self.select]

    def unselected(self, values: list[int]) -> list[int]:
        """The way back: a component comes from the first register that it would go to."""
        found = [[v for v, s in zip(values, self.select, strict=True) if s == 4 + n] for n in range(4)]
        return [some[0] if some else 0 for some in found]


def format_of(data: int, kind: int, select: tuple[int, ...], isa: str, *, buffer: bool, store: bool) -> Format | None:
    """The format of a descriptor, None if it says that nothing is bound; AccessError for one that is not emulated."""
    if data == 0:
        return None
    known = DATA_FORMATS.get(data)
    if known is None or (buffer and data > 14):
        raise AccessError(f"data format {OTHER_FORMATS.get(data, data)} is not emulated")
    fits = kind <= FLOAT
    if kind == FLOAT:
        allowed = ("32", "16", "16_16", "32_32", "16_16_16_16", "32_32_32", "32_32_32_32")
        fits = known.name in (*allowed, "10_11_11", "11_11_10", "X24_8_32", "5_9_9_9")
    elif kind == SRGB:
        fits = set(known.widths) == {8} and not buffer
    elif kind == SNORM_OGL:
        fits = TRAITS[isa].has_signed_ogl_formats
    elif kind == SNORM:
        fits = 1 not in known.widths
    if known.name == "5_9_9_9" and (kind != FLOAT or store):
        fits = False
    if not fits:
        raise AccessError(f"number format {kind} of data format {known.name} is not emulated")
    return Format(known, kind, select)


def _unpacked(field: int, width: int, kind: int) -> int:
    signed = field - (1 << width) if field >> width - 1 else field
    if kind == UINT:
        return field
    if kind == SINT:
        return signed & 0xFFFFFFFF
    if kind == FLOAT:
        return field if width == 32 else _small(field, 10 if width == 16 else width - 5)
    if kind == SRGB:
        return bits_of(_linear(field / 255))
    value = {
        UNORM: lambda: field / ((1 << width) - 1),
        SNORM: lambda: max(signed / ((1 << width - 1) - 1), -1.0),
        SNORM_OGL: lambda: (2 * signed + 1) / ((1 << width) - 1),
        USCALED: lambda: float(field),
        SSCALED: lambda: float(signed),
    }[kind]()
    if kind in (USCALED, SSCALED):
        return int(np.asarray(field if kind == USCALED else signed).astype(np.float32).view(np.uint32))
    return bits_of(value)


def _packed(bits: int, width: int, kind: int) -> int:
    most = (1 << width) - 1
    if kind == UINT:
        return min(bits, most)
    if kind == SINT:
        signed = bits - (1 << 32) if bits >> 31 else bits
        return max(min(signed, most >> 1), -(most >> 1) - 1) & most
    if kind == FLOAT:
        return bits if width == 32 else _to_small(bits, 10 if width == 16 else width - 5)
    value = float_of(bits)
    if value != value:
        value = 0.0
    if kind == SRGB:
        steps = [bits_of(_linear((n + 0.5) / 255)) for n in range(255)]
        return sum(value >= float_of(step) for step in steps)
    low, high, scale = {
        UNORM: (0, 1, most),
        SNORM: (-1, 1, most >> 1),
        SNORM_OGL: (-1, 1, most),
        USCALED: (0, most, 1),
        SSCALED: (-(most >> 1) - 1, most >> 1, 1),
    }[kind]
    scaled = float(max(min(value, high), low)) * scale  # in double precision
    if kind == SNORM_OGL:
        scaled = (scaled - 1.0) / 2.0  # it stands for 2 n + 1 over the scale, as on the way in
    return _even(Fraction(scaled)) & most
