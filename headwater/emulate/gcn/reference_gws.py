"""Input: what wavefronts ask for of global wave synchronisation. Output: which of them go on. The interpreter's; see
`gws`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from headwater.emulate.wave.layout import GWS_RESOURCES

_LARGEST: Final = 0xFFFF_FFFF


@dataclass
class _Resource:
    counter: int = 0
    flag: bool = False
    queue: list[tuple[Any, bool | None]] = field(default_factory=list)
    """Waves that wait, in order: with the flag that they saw at a barrier, None at a semaphore."""


@dataclass
class Resources:
    """The interpreter's. ``go`` is called with each wave that goes on."""

    go: Callable[[Any], None]
    all: list[_Resource] = field(default_factory=lambda: [_Resource() for _ in range(GWS_RESOURCES)])

    def ask(self, wave: Any, what: str, number: int, value: int) -> None:
        """A wave asks for an operation; it goes on now or later."""
        one = self.all[number]
        waits = what in ("p", "barrier")
        if what == "init":
            one.counter, one.flag = value, False
        elif what == "v":
            one.counter = one.counter + 1 & _LARGEST
        elif what == "br":
            one.counter = one.counter + value & _LARGEST
        elif what == "release_all":
            one.counter = sum(flag is None for _, flag in one.queue)
        elif what == "p":
            one.queue.append((wave, None))
        elif one.counter == 0:
            one.queue.append((wave, one.flag))
            one.flag, one.counter = not one.flag, value
        else:
            one.queue.append((wave, one.flag))
            one.counter -= 1
        if not waits:
            self.go(wave)
        still: list[tuple[Any, bool | None]] = []
        for waiting, flag in one.queue:
            if flag is None and one.counter and what != "init" and what != "barrier":
                one.counter -= 1
                self.go(waiting)
            elif flag is not None and flag != one.flag:
                self.go(waiting)
            else:
                still.append((waiting, flag))
        one.queue = still
