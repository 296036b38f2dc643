"""Input: what is known of a launch. Output: its work-items, or an even choice of its wavefronts, as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.chips import Chip

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Size = tuple[int, int, int]

DEFAULT_PIXELS = (1024, 1024)
_SIZES = {1: (1 << 20,), 2: DEFAULT_PIXELS, 3: (128, 128, 64)}
"""2**20 work-items, by the dimensions of the work-group: one of 16 × 16 would fill a line of them by a sixteenth."""
_GROUPS = {1: (256,), 2: (16, 16), 3: (8, 8, 4)}
_MOST_LANES = 8192
"""Of larger launches whole work-groups are chosen, evenly spread, that have about as many lanes."""


@dataclass(frozen=True)
class Given:
    """What the caller says of a launch: values of scalar ``arguments`` by name, ``size`` in work-items, x first (None:
    the default), ``group`` (None: the kernel's own, or the default)."""

    arguments: Mapping[str, int] = field(default_factory=dict)
    size: tuple[int, ...] | None = None
    group: tuple[int, ...] | None = None

    def launch(self, chip: Chip, required: Size | None) -> Launch | None:
        """The launch of a kernel that demands groups of ``required``; None if there can be none like this."""
        size = self.size or default_size(required or self.group)
        try:
            group = group_of(chip, len(size), required, self.group)
        except UsageError:
            return None
        whole = (*size, 1, 1)[:3]
        part = (*group, 1, 1)[:3]
        if prod(part) > chip.compute.work_group_size or prod(whole) > 1 << 40:
            return None
        return Launch((whole[0], whole[1], whole[2]), (part[0], part[1], part[2]), len(size))


def default_size(group: tuple[int, ...] | None) -> tuple[int, ...]:
    """The size of a launch of which only the work-group is known, if that."""
    return _SIZES[max((axis for axis, n in enumerate(group or (), 1) if n > 1), default=1)]


def group_of(
    chip: Chip,
    dimensions: int,
    required: tuple[int, ...] | None,
    asked: tuple[int, ...] | None,
    name: str = "the kernel",
) -> tuple[int, ...]:
    """The work-group of a launch: the kernel's own, what is asked for, or 256 work-items. UsageError where the kernel
    demands another than is asked for."""
    if required is not None:
        if asked is not None and prod(asked) != prod(required):
            shown = [" × ".join(f"{n:,}" for n in size) for size in (required, asked)]
            raise UsageError(f"{name} has reqd_work_group_size {shown[0]}, not {shown[1]}")
        return required
    if asked is not None:
        return asked
    default = _GROUPS[dimensions]
    most = chip.compute.work_group_size
    return default if prod(default) <= most else (most,)


@dataclass(frozen=True)
class Launch:
    """``size`` work-items in groups of ``group``, in ``dimensions`` dimensions."""

    size: Size
    group: Size
    dimensions: int = 1

    @property
    def groups(self) -> Size:
        """Work-groups in each direction."""
        x, y, z = (-(-n // g) for n, g in zip(self.size, self.group, strict=True))
        return x, y, z

    def sample(self, lanes: int = 64) -> Sample:
        """All wavefronts of ``lanes`` lanes, or evenly chosen ones."""
        each = -(-prod(self.group) // lanes)
        total = prod(self.groups)
        count = min(total, max(1, _MOST_LANES // (each * lanes)))
        # The middle of each of `count` equal parts: neither the first nor the last group is taken for typical.
        chosen = (2 * np.arange(count, dtype=np.int64) + 1) * total // (2 * count)
        groups = np.repeat(chosen, each)
        x, y, _ = self.groups
        flat = (np.arange(each)[:, None] * lanes + np.arange(lanes))[None].repeat(count, 0).reshape(-1, lanes)
        width, height, _ = self.group
        local = (flat % width, flat // width % height, flat // (width * height))
        group = tuple(g[:, None] for g in (groups % x, groups // x % y, groups // (x * y)))
        live = flat < prod(self.group)
        for axis in range(3):
            live &= group[axis] * self.group[axis] + local[axis] < self.size[axis]
        return Sample(
            (local[0].astype(np.uint32), local[1].astype(np.uint32), local[2].astype(np.uint32)),
            (group[0].astype(np.uint32), group[1].astype(np.uint32), group[2].astype(np.uint32)),
            live,
            count == total,
        )


@dataclass(frozen=True)
class Sample:
    """``local`` ids (wavefronts × lanes) and ``group`` ids (wavefronts × 1) in x, y, z, as uint32; ``live``: lanes
    with a work-item; ``whole``: whether these are all of the launch's wavefronts."""

    local: tuple[Array, Array, Array]
    group: tuple[Array, Array, Array]
    live: Array
    whole: bool
