"""Input: writes to memory. Output: the memory as it was at any mark that was made before."""

from __future__ import annotations

from typing import Any

from headwater.emulate.wave.reference_memory import Bytes

PAGE = 256
"""Bytes that are kept together."""

Pages = dict[tuple[int, int], bytes]


class Journal:
    """What the pages of some memories held before they were first written to after each mark."""

    def __init__(self) -> None:
        self._memories: list[Any] = []
        self._epochs: list[Pages] = [{}]

    @property
    def nbytes(self) -> int:
        """Bytes that are kept."""
        return PAGE * sum(map(len, self._epochs))

    def noted(self, memory: Bytes) -> Noted:
        """The same memory; what is written to it by what is returned can be taken back."""
        self._memories.append(memory)
        return Noted(memory, self, len(self._memories) - 1)

    def note(self, number: int, start: int, stop: int) -> None:
        """Bytes of a memory are about to be written."""
        epoch = self._epochs[-1]
        for page in range(start // PAGE, -(-stop // PAGE)):
            if (number, page) not in epoch:
                epoch[number, page] = bytes(self._memories[number][page * PAGE : (page + 1) * PAGE])

    def mark(self) -> int:
        """A mark; its number, which is one more than that of the last."""
        self._epochs.append({})
        return len(self._epochs) - 1

    def back(self, mark: int) -> None:
        """All memory as it was at a mark, and the later marks forgotten."""
        for epoch in reversed(self._epochs[mark:]):
            for (number, page), data in reversed(epoch.items()):  # memories may be parts of each other
                self._memories[number][page * PAGE : page * PAGE + len(data)] = data
        self._epochs[mark:] = [{}]

    def forget(self, mark: int) -> None:
        """Do without a mark; the numbers of those behind it become one less."""
        before = self._epochs[mark - 1]
        for place, data in self._epochs[mark].items():
            before.setdefault(place, data)
        del self._epochs[mark]


class Noted:
    """Memory whose writes are noted."""

    def __init__(self, memory: Bytes, journal: Journal, number: int) -> None:
        self._memory = memory
        self._journal = journal
        self._number = number

    def __len__(self) -> int:
        return len(self._memory)

    def __getitem__(self, place: slice) -> Any:
        return self._memory[place]

    def __setitem__(self, place: slice, data: bytes) -> None:
        start, stop, _ = place.indices(len(self._memory))
        self._journal.note(self._number, start, stop)
        self._memory[place] = data
