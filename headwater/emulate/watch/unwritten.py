"""Memory that was made without data: which of it nobody has written yet, for `headwater.emulate.watch.check`.

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
_serials: dict[int, int] = {}
"""By address: the number of the last buffer that was `followed` there."""


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


def followed(address: int, nbytes: int, serial: int) -> None:
    """A host of the OpenCL platform says that nobody but launches has written the buffer at ``address``; ``serial``: a
    number that no other buffer has, as memory is used again."""
    if _serials.get(address) == serial:
        return  # all of it may have been written since
    for start, words in list(_known.items()):  # earlier buffers there
        if start < address + nbytes and address < start + WORD_BYTES * len(words):
            _known.pop(start, None)
    _serials[address] = serial
    _known[address] = np.zeros(-(-nbytes // WORD_BYTES), np.bool_)


def written(address: int) -> None:
    """Something has been written somewhere in the buffer that holds this address."""
    if not _known:
        return
    if _known.pop(address, None) is not None:
        return
    for start, words in list(_known.items()):
        if start <= address < start + WORD_BYTES * len(words):
            _known.pop(start, None)


def words(address: int) -> Array | None:
    """Which words of the buffer at ``address`` have been written; None if all of them may have been."""
    return _known.get(address)
