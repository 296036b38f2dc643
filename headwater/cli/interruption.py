"""Input: the signals that end a command. Output: one message that says what was interrupted, and an exit code.

Ctrl-C, SIGTERM and SIGHUP raise KeyboardInterrupt in the main thread, so that launches stop, files that are half
written go, and the compiler's processes end.
"""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from headwater.base.signals import STOPPING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    Handler = Callable[[int, FrameType | None], object] | int | None

_ENDING = ("SIGTERM", "SIGHUP")  # Windows has no SIGHUP
_MOST = 200  # characters of the command in the message

doing: list[str] = []
"""What is going on, the innermost last, for the message."""


class Interruption:
    """While it is entered, the signals are noted: an import that one ends may raise an error of its own, as NumPy's
    does. ``words``: the command line."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._before: dict[int, Handler] = {}
        self._added: set[int] = set()
        self._number = 0
        self._doing = ""

    def __bool__(self) -> bool:
        """Whether there was a signal."""
        return self._number != 0

    def __enter__(self) -> Interruption:
        # What nohup or another program that calls us has set stays.
        self._handle(signal.SIGINT, signal.default_int_handler)
        for name in _ENDING:
            if (number := getattr(signal, name, None)) is not None:
                self._handle(number, signal.SIG_DFL)
        self._added = self._before.keys() - STOPPING
        STOPPING.update(self._added)
        return self

    def _handle(self, number: int, default: object) -> None:
        if signal.getsignal(number) is not default:
            return
        try:
            self._before[number] = signal.signal(number, self._note)
        except ValueError:  # not the main thread, which alone is interrupted
            pass

    def _note(self, number: int, _: object) -> None:
        if not self._number:
            self._number, self._doing = number, doing[-1] if doing else ""
        raise KeyboardInterrupt

    def __exit__(self, *error: object) -> None:
        STOPPING.difference_update(self._added)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def exit_code(self, status: int) -> int:
        """The exit code of a command that has ended by itself with ``status``, with a part of its answer perhaps."""
        return self.report() if self._number in self._added else status

    def report(self) -> int:
        """Say what was interrupted; the exit code is returned."""
        number = self._number or signal.SIGINT
        if number == signal.SIGINT:
            print("headwater: interrupted", file=sys.stderr)
        else:
            command = shlex.join(["headwater", *self._words])
            shown = command if len(command) <= _MOST else f"{command[:_MOST]}…"
            during = f" while {self._doing}" if self._doing else ""
            print(f"headwater: ended by {signal.Signals(number).name}{during}: {shown}", file=sys.stderr)
        return 128 + number
