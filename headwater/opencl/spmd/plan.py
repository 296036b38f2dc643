"""A kernel and a launch's sizes in; how its work-items are laid out in chunks (lanes, rows, dimensions) out."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.opencl.spmd.shapes import Layout

Size = tuple[int, int, int]

MAX_LANES = 64
"""Lanes beyond 64 no longer fit one 64-bit mask and only make code longer."""

FLAT_GROUP_ITEMS = 16384
"""Work-items per group where any grouping will do: at some ns each, a group then takes tens of µs, which hides the
cost of handing groups out and leaves enough groups to share between threads."""

MAX_ROWS = 4
"""Rows of a chunk: loads that rows share are then done once for four of them (matrix multiply: 2.5× over one row)."""

SMALL_KERNEL = 80
"""Instructions up to which a kernel's values are few enough to be kept in registers for several vectors of lanes."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What the choice depends on: facts of a kernel as `headwater.opencl.spmd.kernel` finds them."""

    flat: bool
    has_barrier: bool
    has_loop: bool
    size: int
    dims: frozenset[int]


def vector_lanes(vector_bytes: int) -> int:
    """Lanes of 32 bits in one vector register."""
    return max(1, vector_bytes // 4)


def choose_group(traits: Traits, global_size: Size) -> Size:
    """A work-group size for a launch that leaves it open."""
    if traits.flat:
        x = min(global_size[0], FLAT_GROUP_ITEMS)
        y = min(global_size[1], max(1, FLAT_GROUP_ITEMS // max(1, x)))
        return (max(1, x), max(1, y), 1)
    # OpenCL 1.2 asks for a divisor of the global size; the largest one up to 256 along x.
    x = next((d for d in range(min(256, global_size[0]), 0, -1) if global_size[0] % d == 0), 1)
    return (x, 1, 1)


def choose_layout(traits: Traits, local_size: Size, global_size: Size, vector_bytes: int) -> Layout:
    """Lanes along the longest suitable dimension, and rows along another one for loops that can share loads."""
    base = vector_lanes(vector_bytes)
    lane_dim = 0
    if local_size[0] < base and max(local_size) > local_size[0]:
        lane_dim = max(range(3), key=lambda d: (min(local_size[d], base), -d))
    lanes = 1
    limit = base if traits.size > SMALL_KERNEL else 4 * base
    while lanes < min(limit, MAX_LANES) and lanes * 2 <= max(local_size[lane_dim], 1):
        lanes *= 2
    row_dim = 1 if lane_dim == 0 else 0
    rows = 1
    if traits.has_loop and row_dim in traits.dims and traits.size <= 2 * SMALL_KERNEL:
        while rows < MAX_ROWS and rows * 2 <= local_size[row_dim]:
            rows *= 2
        if rows > 1:
            lanes = min(lanes, 2 * base)
    return Layout(lanes, rows, lane_dim, row_dim)


def needs_masks(layout: Layout, local_size: Size, global_size: Size) -> bool:
    """Whether some chunk may be partly outside its work-group."""
    for dim, step in ((layout.lane_dim, layout.lanes), (layout.row_dim, layout.rows)):
        if local_size[dim] % step or (global_size[dim] % local_size[dim]) % step:
            return True
    return False
