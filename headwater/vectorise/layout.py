"""How the work-items that run together, a chunk, lie in the index space."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.native.structure import Struct

LINE_BYTES = 64
"""A cache line, which streaming stores should fill."""

LOCAL_ALIGN_BYTES = 128
"""Each __local variable starts on such a boundary: the strictest OpenCL alignment, that of long16."""

STATE_BYTES = 64
"""Where a stopped chunk's frame keeps the barrier it stopped at: one cache line before its saved values."""

COUNTER_TABLE = Struct("counter", ("u64", "to", 1), ("u64", "bytes", 1), align=0)
"""Of each counter, behind the arguments in the args block: the address and the bytes of what it is added to."""

COUNTER_SLACK_BYTES = 128
"""Before and behind a thread's own table of a counter, and added to the argument like it: what a faulty kernel writes
beside its argument then arrives where it would have gone, and is seen where somebody looks."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a chunk lies in the index space: ``lanes`` work-items along ``lane_dim``, ``rows`` along ``row_dim``.

    If both are one dimension, the rows follow each other along it. ``strip``: so many rows run each loop that can be
    parted at a time (see `headwater.vectorise.plan.strip_mining`); 0: as many as are estimated to be best.
    """

    lanes: int
    rows: int = 1
    lane_dim: int = 0
    row_dim: int = 1
    strip: int = 0

    @property
    def steps(self) -> tuple[int, int, int]:
        """Work-items of a chunk along each dimension."""
        steps = [1, 1, 1]
        steps[self.lane_dim] *= self.lanes
        steps[self.row_dim] *= self.rows
        return (steps[0], steps[1], steps[2])


def line_layout(items: int) -> Layout:
    """Work-items that fill a cache line of each array, half of it at a time."""
    return Layout(items // 2, 2, 0, 0)
