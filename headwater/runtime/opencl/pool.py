"""Input: device memory that nothing refers to any more. Output: the same for the next buffer of its size.

Drivers allocate and free large buffers slowly, and some wait for the device to do so. Memory is used again only in the
device's own queue, which runs one command after the other: what still reads it ends before what writes it begins.
"""

from __future__ import annotations

from collections import deque
from typing import Any

_MOST = 32
"""Buffers that are kept."""


class Pool:
    """Free buffers of up to ``most_bytes`` together.

    Any thread may call it, and the garbage collector at any time, even when the interpreter ends and has emptied this
    module.
    """

    SMALLEST = 4096
    """Bytes of a buffer that is kept: smaller ones are allocated fast."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._free: deque[tuple[int, Any]] = deque(maxlen=_MOST)

    def take(self, nbytes: int) -> Any:
        """Memory of so many bytes, or None. A request for much more than is kept frees all of it."""
        if nbytes > self.most_bytes:
            self.clear()
            return None
        for entry in reversed(self._entries()):
            if entry[0] == nbytes and self._remove(entry):
                return entry[1]
        return None

    def give(self, nbytes: int, memory: Any) -> None:
        """Keep memory; the oldest is freed where that is too much."""
        if self.SMALLEST <= nbytes <= self.most_bytes:
            self._free.append((nbytes, memory))
            while sum(size for size, _ in self._entries()) > self.most_bytes:
                try:
                    self._free.popleft()
                except IndexError:  # another thread has cleared it
                    break

    def _entries(self) -> tuple[tuple[int, Any], ...]:
        while True:
            try:
                return tuple(self._free)
            except RuntimeError:  # the garbage collector, which making a tuple may start, has given some back
                continue

    def _remove(self, entry: tuple[int, Any]) -> bool:
        """Take out an entry; whether it was there still, which another thread may have taken."""
        while True:
            try:
                self._free.remove(entry)
            except ValueError:
                return False
            except IndexError:  # changed while it was looked for
                continue
            return True

    def clear(self) -> None:
        """Free all of it."""
        self._free.clear()

    def close(self) -> None:
        """Keep nothing any more."""
        self.most_bytes = 0
        self.clear()
