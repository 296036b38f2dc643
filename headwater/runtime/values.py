"""Input: sizes and settings. Output: the launch arguments that are not arrays, `Local` and `Sampler`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headwater.base.numbers import whole
from headwater.errors import LaunchError


def whole_numbers(value: object) -> tuple[int, ...] | None:
    """A whole number, or a sequence of them, as a tuple; None for anything else."""
    several = isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray))
    if several or (isinstance(value, np.ndarray) and value.ndim == 1):
        numbers = [whole(part) for part in value]  # type: ignore[attr-defined]
    else:
        numbers = [whole(value)]
    return None if None in numbers else tuple(numbers)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Local:
    """``__local`` memory of ``nbytes`` bytes for each work-group, passed for a ``__local`` pointer argument."""

    nbytes: int

    def __post_init__(self) -> None:
        number = whole(self.nbytes)
        if number is None:
            raise LaunchError(f"Local takes a number of bytes, not {self.nbytes!r:.60}")
        object.__setattr__(self, "nbytes", number)
        if self.nbytes <= 0:
            raise LaunchError(f"Local memory needs at least one byte, not {self.nbytes}")


def lds_bytes(value: object) -> int:
    """The number of bytes that ``lds=`` says; LaunchError if it is none."""
    number = whole(value)
    if number is None or number < 0:
        raise LaunchError(f"lds is a number of bytes, not {value!r:.60}")
    return number


def refuse_lds(kernel: str, device: str, nbytes: int) -> None:
    """LaunchError if local memory beyond what ``kernel`` declares is asked for, of a device that gives none."""
    if nbytes:
        raise LaunchError(
            f"{kernel} cannot be given lds={nbytes} on {device}: local memory of which the launch says the size "
            "is for HIP, and for machine code of GCN and CDNA chips",
            hint="pass hw.Local(bytes) for a __local pointer argument",
        )


Addressing = Literal["none", "clamp_to_edge", "clamp", "repeat", "mirrored_repeat"]
Filter = Literal["nearest", "linear"]

# The bits of sampler_t as clang encodes them (`CLK_*` of OpenCL C 1.2 specification 6.12.14.3, values of clang's
# opencl-c-base.h), and the enumerants of cl.h for OpenCL devices.
_ADDRESSING_BITS = {"none": 0, "clamp_to_edge": 2, "clamp": 4, "repeat": 6, "mirrored_repeat": 8}
_FILTER_BITS = {"nearest": 0x10, "linear": 0x20}
CL_ADDRESSING = {"none": 0x1130, "clamp_to_edge": 0x1131, "clamp": 0x1132, "repeat": 0x1133, "mirrored_repeat": 0x1134}
CL_FILTER = {"nearest": 0x1140, "linear": 0x1141}


@dataclass(frozen=True)
class Sampler:
    """How an image is read: coordinates in pixels or in 0…1 (``normalized``), what lies outside, and interpolation."""

    normalized: bool = False
    addressing: Addressing = "clamp_to_edge"
    filter: Filter = "nearest"

    def __post_init__(self) -> None:
        if self.addressing not in _ADDRESSING_BITS:
            raise LaunchError(f"unknown addressing {self.addressing!r}; choose from {', '.join(_ADDRESSING_BITS)}")
        if self.filter not in _FILTER_BITS:
            raise LaunchError(f"unknown filter {self.filter!r}; choose from {', '.join(_FILTER_BITS)}")
        if self.addressing in ("repeat", "mirrored_repeat") and not self.normalized:
            # OpenCL C 1.2 specification 6.12.14.3: repeat modes are defined for normalised coordinates only.
            raise LaunchError(f"addressing {self.addressing!r} needs normalized=True")

    @property
    def bits(self) -> int:
        """The 32-bit value that the cpu device passes for a ``sampler_t`` argument."""
        return int(self.normalized) | _ADDRESSING_BITS[self.addressing] | _FILTER_BITS[self.filter]
