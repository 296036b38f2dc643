"""Delays Ctrl-C until the end of an instruction, where it means to the process what it does otherwise."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Interrupts:
    """Keeps SIGINT while a block of `held` runs: the handler that was there is called by `check`, and at the latest
    when the outermost block has ended. Python delivers signals to its main thread; other threads need nothing kept."""

    def __init__(self) -> None:
        self._handler: Callable[[int, FrameType | None], Any] | None = None
        self._kept = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """A block in which nothing is interrupted but where it checks."""
        before = signal.getsignal(signal.SIGINT)
        if self._handler or threading.current_thread() is not threading.main_thread() or not callable(before):
            yield
            return
        self._kept = False
        try:
            self._handler = before
            signal.signal(signal.SIGINT, self._keep)
            yield
        finally:
            self._handler = None
            signal.signal(signal.SIGINT, before)
            if self._kept:
                self._kept = False
                before(signal.SIGINT, None)

    def _keep(self, *_: object) -> None:
        self._kept = True

    def check(self) -> None:
        """If there was a signal, call the handler, which raises KeyboardInterrupt if it is Python's own."""
        if self._kept and self._handler:
            self._kept = False
            self._handler(signal.SIGINT, None)
