"""Memory that the run-time made without data: which of it nobody has written yet, for `headwater.emulate.watch.check`.

The host's writes and launches that are not checked count as writing the whole of it; checked launches record exactly.
"""

from __future__ import annotations

import weakref
from typing import Protocol

import numpy as np

from headwater.base.arrays import Array

WORD_BYTES = 4
_known: dict[int, Array] = {}
"""By address: for each 4 bytes whether they have been written."""


class Buffer(Protocol):
    """Memory of the host."""

    @property
    def nbytes(self) -> int: ...
    @property
    def address(self) -> int: ...


def made(buffer: Buffer) -> None:
    """A buffer has been made, without data."""
    if buffer.nbytes:
        _known[buffer.address] = np.zeros(-(-buffer.nbytes // WORD_BYTES), np.bool_)
        weakref.finalize(buffer, _known.pop, buffer.address, None)


def written(address: int) -> None:
    """Something has been written somewhere in the buffer that holds this address."""
    if not _known:
        return
    if address in _known:
        del _known[address]
        return
    for start, words in list(_known.items()):
        if start <= address < start + WORD_BYTES * len(words):
            del _known[start]


def words(address: int) -> Array | None:
    """Which words of the buffer at ``address`` have been written; None if all of them may have been."""
    return _known.get(address)
