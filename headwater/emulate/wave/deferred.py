"""Input: deferred vector code. Output: the code, written for one part of the wavefront after the other.

Both translators do so: registers of one part stay in the machine's while a run of vector instructions is done.
"""

from __future__ import annotations

from collections.abc import Callable

from headwater.emulate.wave.registers import PARTS

Thunk = Callable[[int], None]
"""Writes an instruction's code for the part of that number."""


class Deferred:
    """What waits to be written."""

    def __init__(self) -> None:
        self._queue: list[Thunk] = []
        self._queue_loads = False

    def later(self, thunk: Thunk, *, loads: bool = False) -> None:
        """Have ``thunk(part)`` called for each part when the run of vector code ends."""
        self._queue.append(thunk)
        self._queue_loads |= loads

    def at_once(self, thunk: Thunk) -> None:
        """The same for a store: it ends the run, and comes after all parts' loads."""
        if self._queue_loads:
            self.flush()
        self._queue.append(thunk)
        self.flush()

    def flush(self) -> None:
        """Write what was put off."""
        queue, self._queue = self._queue, []
        self._queue_loads = False
        for part in self.parts():
            for thunk in queue:
                thunk(part)

    def parts(self) -> range:
        """The parts that code is written for."""
        return range(PARTS)
