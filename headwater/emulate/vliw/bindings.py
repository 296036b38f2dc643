"""What a shader's resources are bound to, as far as translated code depends on it: kinds, formats, samplers.

A resource is named by its space and number: ``("fetch", id)`` a texture or vertex resource, ``("constant", bank)``,
``("output", n)`` a colour buffer, ``("rat", id)``, ``("global", 0)`` the R600's and R700's memory-export buffer. What
differs from launch to launch (addresses, sizes) is in descriptors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Name = tuple[str, int]
"""Space and number."""


@dataclass(frozen=True, slots=True)
class Format:
    """Elements in memory: ``lanes`` numbers of ``bits`` bits, lowest first.

    ``kind``: f floats, u and i integers, un and sn integers that stand for 0…1 and -1…1, us and is integers that are
    read as floats. ``fields``: the bits of each lane if they are not equal.
    """

    lanes: int
    bits: int
    kind: str
    fields: tuple[int, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes of an element."""
        return sum(self.fields) // 8 if self.fields else self.lanes * self.bits // 8

    @property
    def widths(self) -> tuple[int, ...]:
        """Bits of each lane."""
        return self.fields or (self.bits,) * self.lanes


RAW = Format(1, 32, "u")
"""Untyped dwords."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What a resource is.

    ``arena``: it is all of the launch's allocations, by their 32-bit addresses; accesses outside of one are faults.
    Otherwise it has a descriptor; what is read outside of it is 0, and what is written there is dropped. ``stride``:
    bytes from one index of a vertex fetch to the next. ``dimensions``: 1, 2 or 3.
    """

    format: Format = RAW
    arena: bool = False
    stride: int = 1
    dimensions: int = 1


@dataclass(frozen=True, slots=True)
class Sampler:
    """A sampler's state. ``wrap``: repeat, mirror, clamp (to the last element) or border (to ``border``) in x, y and
    z."""

    linear: bool = False
    wrap: tuple[str, str, str] = ("clamp", "clamp", "clamp")
    border: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)


NEAREST = Sampler()
"""A sampler that nobody has set: the nearest element, coordinates clamped (CAL's default, as Brook+ uses it)."""


@dataclass(frozen=True, slots=True)
class Bindings:
    """Everything that is bound: part of the key of translated code."""

    resources: Mapping[Name, Bound]
    samplers: Mapping[int, Sampler]
    others: Bound | None = None
    """What all other resources are; None: nothing."""

    def bound(self, name: Name) -> Bound | None:
        """What a resource is bound to."""
        return self.resources.get(name, self.others)

    def key(self) -> str:
        """A text that names it."""
        return repr((sorted(self.resources.items()), sorted(self.samplers.items()), self.others))


def _integers(bits: int) -> dict[str, Format]:
    return {
        f"{name}_INT{bits}_{lanes}": Format(lanes, bits, kind)
        # 32 bits stand for themselves, whatever the name says (AMD, CAL Programming Guide, "CALformat").
        for name, kind in (
            ("UNORM", "un" if bits < 32 else "u"),
            ("SNORM", "sn" if bits < 32 else "i"),
            ("UNSIGNED", "u"),
            ("SIGNED", "i"),
        )
        for lanes in (1, 2, 4)
    }


CAL_FORMATS: Mapping[str, Format] = {
    **_integers(8),
    **_integers(16),
    **_integers(32),
    **{f"FLOAT16_{lanes}": Format(lanes, 16, "f") for lanes in (1, 2, 4)},
    **{f"FLOAT32_{lanes}": Format(lanes, 32, "f") for lanes in (1, 2, 4)},
    # A double is two lanes of 32 bits, which only the shader's arithmetic joins.
    "FLOAT64_1": Format(2, 32, "f"),
    "FLOAT64_2": Format(4, 32, "f"),
    "UNORM_SHORT_565": Format(3, 16, "un", (5, 6, 5)),
    "UNORM_SHORT_555": Format(4, 16, "un", (5, 5, 5, 1)),
    "UNORM_INT10_3": Format(4, 32, "un", (10, 10, 10, 2)),
}
"""CALformat by name, without CAL_FORMAT_ (AMD, CAL headers)."""

# Evergreen ISA, "VTX_WORD1", DATA_FORMAT: components and bits; 16 and 32 bits also as floats.
_DATA_FORMATS: Mapping[int, tuple[int, int, str]] = {
    1: (1, 8, ""), 5: (1, 16, ""), 6: (1, 16, "f"), 7: (2, 8, ""), 13: (1, 32, ""), 14: (1, 32, "f"),
    15: (2, 16, ""), 16: (2, 16, "f"), 26: (4, 8, ""), 29: (2, 32, ""), 30: (2, 32, "f"), 31: (4, 16, ""),
    32: (4, 16, "f"), 34: (4, 32, ""), 35: (4, 32, "f"), 44: (3, 8, ""), 45: (3, 16, ""), 46: (3, 16, "f"),
    47: (3, 32, ""), 48: (3, 32, "f"),
}  # fmt: skip

NORM, INT, SCALED = 0, 1, 2
"""NUM_FORMAT_ALL."""


def vertex_format(data_format: int, number_format: int, signed: bool) -> Format | None:
    """The format that a vertex fetch names; None if there is none. Scaled integers have the kinds us and is."""
    found = _DATA_FORMATS.get(data_format)
    if found is None:
        return None
    lanes, bits, kind = found
    if kind == "":
        sign = "i" if signed else "u"
        kind = {NORM: "sn" if signed else "un", INT: sign, SCALED: sign + "s"}.get(number_format, "")
        if not kind:
            return None
    return Format(lanes, bits, kind)
