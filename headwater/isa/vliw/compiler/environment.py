"""Input: assignments to variables. Output: what each holds where the program is being lowered, and what a branch has
changed.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.isa.vliw.compiler.build import ZERO
from headwater.isa.vliw.compiler.ir import Ref

Key = tuple[str, object, int]
"""A variable: what kind of register, which, and its lane."""


class Environment:
    """What variables hold. What a branch assigns is noted, so that its beginning costs nothing, however many variables
    there are."""

    def __init__(self) -> None:
        self._refs: dict[Key, Ref] = {}
        self._number: dict[Key, int] = {}  # in the order of first assignments
        self._count = 0
        self._open = 0
        self._before: list[tuple[Key, Ref | None]] = []

    def get(self, key: Key) -> Ref:
        """What a variable holds; 0 if it was never assigned."""
        return self._refs.get(key, ZERO)

    def __setitem__(self, key: Key, ref: Ref) -> None:
        before = self._refs.get(key)
        if before is None:
            self._number[key] = self._count
            self._count += 1
        if self._open:
            self._before.append((key, before))
        self._refs[key] = ref

    def begin(self) -> int:
        """A branch begins; the answer is for `undo`."""
        self._open += 1
        return len(self._before)

    def undo(self, mark: int) -> dict[Key, Ref]:
        """A branch ends: everything holds what it held before. What the branch has left in variables that it
        assigned."""
        undone = self._before[mark:]
        changed = {key: self._refs[key] for key, _ in undone}
        for key, before in reversed(undone):
            if before is None:
                del self._refs[key], self._number[key]
            else:
                self._refs[key] = before
        del self._before[mark:]
        self._open -= 1
        return changed

    def in_order(self, keys: Iterable[Key]) -> list[Key]:
        """Each key once: variables in the order of their first assignments, then those that have none yet."""
        unique = dict.fromkeys(keys)
        return sorted(unique, key=lambda key: self._number.get(key, self._count))
