"""Input: how a kernel's hottest part keeps a processor busy. Output: how many rows of work-items are best.

It stands apart from `headwater.vectorise.analysis.throughput`, which finds that out and knows code: a launcher only
reads it.
"""

from __future__ import annotations

from typing import NamedTuple

LOAD_PORTS = 2.0
"""Loads a cycle, on Intel's cores from Haswell to Golden Cove and AMD's Zen 2 to 4 (Fog, Instruction tables)."""

WORTHWHILE = 1.05
"""Another number of rows than the usual one must save more than this factor."""

WINDOW = 256.0
"""Instructions among which a processor finds some that need not wait (Fog, Microarchitecture: 224 on Skylake and 256 on
Zen 3; what is newer has more)."""

LONGEST_CODE = 2400.0
"""Instructions of a chunk that are not too many: beyond them a core fetches what it has decoded before (a median by
luminance of 550, with AVX2: 4 rows 0.86 of 2 rows' time, 8 rows 0.87, 16 rows 1.0), and LLVM takes long."""

SPILL = 1.0
"""Cycles for a vector that no register is left for: it is stored and loaded."""

CHUNK = 4.0
"""Cycles that what is done once for a chunk takes from its vectors' time (3 × 3 median with AVX2: two rows 0.92 of one
row's time, though not all of their values stay in registers). Beyond two rows memory is waited for."""


class Flow(NamedTuple):
    """Of the innermost loop, or of all code where there is none; what is counted is for one vector of work-items.

    ``chain``: cycles of the longest chain of dependent operations, in a loop from one trip to the next; ``operations``:
    cycles that these take the ports for; ``gathers``: cycles of the loads from places of each lane's own; ``loads`` and
    ``shared``: how many loads there are for each row and for all of them together; ``live``: vectors of 32-bit lanes
    that live at once, ``carried`` those from one trip to the next, ``held`` those of before the loop that each trip
    uses, where they are counted; ``instructions``: those of a work-item.
    """

    chain: float
    operations: float
    loads: float
    shared: float
    live: float
    carried: float
    instructions: float
    loop: bool
    gathers: float = 0.0
    held: float = 0.0

    def cycles(self, rows: int, registers: int) -> float:
        """An estimate for a vector's worth of work-items where this many rows of them are worked on together."""
        work = max(self.operations, (self.loads + self.shared / rows) / LOAD_PORTS) + self.gathers
        in_flight, live, once = float(rows), rows * self.live, 0.0
        if self.loop:
            live = rows * (self.carried + self.held) + self.live - self.carried
        else:  # the next chunk's instructions do not wait for this one's
            in_flight = max(in_flight, WINDOW / max(1.0, self.instructions))
            once = CHUNK / min(rows, 2)
        return work + self.chain / (2 * in_flight) + SPILL * max(0.0, live - registers) / rows + once

    def rows(self, usual: int, most: int, registers: int) -> int:
        """The best number of rows, a power of two: the usual one, or else the least that costs hardly more."""
        choices = [1]
        while 2 * choices[-1] <= most and 2 * choices[-1] * self.instructions <= LONGEST_CODE:
            choices.append(2 * choices[-1])
        enough = WORTHWHILE * min(self.cycles(rows, registers) for rows in choices)
        good = [rows for rows in choices if self.cycles(rows, registers) <= enough]
        return usual if usual in good else good[0]


NO_FLOW = Flow(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, loop=False)
