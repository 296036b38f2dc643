"""Input: the sizes of a launch as a caller gives them. Output: checked tuples, or a LaunchError that says what is
wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.errors import GroupSizeError, LaunchError

if TYPE_CHECKING:
    from headwater.opencl.kernels import KernelInfo

Size = Sequence[int] | int


def sizes(value: Size, what: str, low: int = 0) -> tuple[int, ...]:
    """One to three whole numbers, at least ``low`` each; LaunchError otherwise."""
    given: Any = value
    parts = given if isinstance(given, Sequence) or (isinstance(given, np.ndarray) and given.ndim == 1) else (given,)
    if isinstance(given, (str, bytes, bytearray)) or not 1 <= len(parts) <= 3:
        raise LaunchError(f"the {what} has one to three dimensions, not {value!r:.60}")
    out = []
    for part in parts:
        try:
            number = -1 if isinstance(part, (bool, np.bool_)) else index(part)
        except Exception:  # whatever an __index__ may raise
            number = -1
            part = repr(part)
        if isinstance(part, (bool, np.bool_, str)):
            raise LaunchError(f"the {what} is made of whole numbers, not {part!s:.60}", hint="use // instead of /")
        if number < low:
            raise LaunchError(f"the {what} {tuple(parts)} has a dimension below {low}")
        if number >= 1 << 63:
            raise LaunchError(f"the {what} {tuple(parts)} is beyond 64 bits")
        out.append(number)
    return tuple(out)


def three(parts: Sequence[int], fill: int = 1) -> tuple[int, int, int]:
    """As many dimensions as a launch block has."""
    padded = (*parts, fill, fill)[:3]
    return int(padded[0]), int(padded[1]), int(padded[2])


def is_empty(offset: Size) -> bool:
    """Whether it is the offset of a launch that names none."""
    return isinstance(offset, tuple) and not offset


def offset_of(offset: Size, whole: tuple[int, ...]) -> tuple[int, ...]:
    """The global offset of a launch over ``whole``; LaunchError if it has other dimensions."""
    start = (0,) * len(whole) if is_empty(offset) else sizes(offset, "global offset")
    if len(start) != len(whole):
        raise LaunchError(f"the global offset {start} has not as many dimensions as the global size {whole}")
    return start


_STANDARD = re.compile(r"-cl-std=CL(\d)")


def check_sizes(
    info: KernelInfo, whole: tuple[int, ...], local_size: Size | None, options: str, largest: int, lds_bytes: int = 0
) -> tuple[int, ...] | None:
    """The group size as a tuple, or None; GroupSizeError if the kernel cannot be launched in such groups,
    LaunchError if it cannot be launched at all."""
    required = info.reqd_group_size
    if prod(whole) >= 1 << 62:
        raise LaunchError(f"the global size {whole} is beyond 2**62 work-items")
    if local_size is None:
        group = required[: len(whole)] if required is not None else None
    else:
        group = sizes(local_size, "group size", low=1)
    if info.dynamic_local and not lds_bytes:
        raise LaunchError(
            f"{called(info)} has extern __shared__ memory, and the launch does not say its size",
            hint="pass lds=BYTES (--lds BYTES), what <<<…>>> has for its third argument",
        )
    if group is None:
        if info.max_group:
            raise GroupSizeError(
                f"{called(info)} is for groups of up to {info.max_group} work-items (__launch_bounds__), "
                "and the launch leaves their size open",
                hint="pass a group size (--local)",
            )
        return None
    if len(group) != len(whole):
        raise GroupSizeError(
            f"the group size {group} has {len(group)} dimension{'s' * (len(group) != 1)}, "
            f"the global size {whole} has {len(whole)}"
        )
    if required is not None and three(group) != tuple(required):
        raise GroupSizeError(
            f"{called(info)} requires groups of {tuple(required)}, not {group}",
            hint="pass that group size, or None",
        )
    if info.max_group and prod(group) > info.max_group:
        raise GroupSizeError(
            f"{called(info)} is for groups of up to {info.max_group} work-items (__launch_bounds__), not {group}",
            hint="choose a smaller group, or a larger bound",
        )
    if prod(group) > largest:
        raise GroupSizeError(f"a group of {group} has {prod(group)} work-items, the device allows {largest}")
    if any(size % part for size, part in zip(whole, group, strict=True)) and not allows_remainders(options):
        raise _not_divided(info, whole, group, options)
    return group


def _not_divided(info: KernelInfo, whole: tuple[int, ...], group: tuple[int, ...], options: str) -> GroupSizeError:
    from headwater.opencl.kernels import HIP_OPTION

    rounded = tuple(-(-size // part) * part for size, part in zip(whole, group, strict=True))
    hint = f"launch {rounded} and let the kernel test its index"
    if options.startswith(HIP_OPTION):
        return GroupSizeError(f"blocks of {group} do not divide the grid's {whole} threads", hint=hint)
    return GroupSizeError(
        f"groups of {group} do not divide the global size {whole}, as OpenCL 1.x requires",
        hint=hint
        + (", pass None as the group size" if info.reqd_group_size is None else f": its groups are always {group}")
        + (", or build with -cl-std=CL2.0" if called(info) == info.name else ""),
    )


ENTRY = "main"
"""The name of an IL program's entry, as calModuleGetEntry asks for it."""


def called(info: KernelInfo) -> str:
    """What a user calls a kernel: that of an IL program is its ``main``."""
    from headwater.il.translation import KERNEL

    return ENTRY if info.name == KERNEL else info.name


def allows_remainders(options: str) -> bool:
    """Whether groups at the edge may be smaller: from OpenCL 2.0 on, but for -cl-uniform-work-group-size (5.8.4.5)."""
    standard = _STANDARD.findall(options)
    return bool(standard) and standard[-1] >= "2" and "-cl-uniform-work-group-size" not in options
