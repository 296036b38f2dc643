"""Input: work that may take long. Output: a line on the terminal that shows for how long it has run."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headwater.cli.interruption import doing

if TYPE_CHECKING:
    from headwater.runtime import Event

_PATIENCE = 1.0  # seconds before work is worth a line that says it is still under way


class Watcher:
    """What a line of progress knows: whether there is one, and the launch it tells of."""

    def __init__(self, active: bool) -> None:
        self.active = active
        self.event: Event | None = None

    def fraction(self) -> str:
        """How far the launch is, as text; empty where the device does not say."""
        done = self.event.progress if self.event is not None else None
        return "" if done is None else f", {done:.0%}"


@contextmanager
def progress(what: str) -> Iterator[Watcher]:
    """A line on a terminal's stderr with the seconds gone by, once the work inside has taken more than a second."""
    doing.append(what)
    try:
        yield from _progress(what)
    finally:
        doing.pop()


def _progress(what: str) -> Iterator[Watcher]:
    watcher = Watcher(sys.stderr.isatty())
    if not watcher.active:
        yield watcher
        return
    over = threading.Event()
    begin = time.perf_counter()

    def report() -> None:
        wait = _PATIENCE
        while not over.wait(wait):
            line = f"\r{what}: {time.perf_counter() - begin:.1f} s{watcher.fraction()} "
            print(line, end="", file=sys.stderr, flush=True)
            wait = 0.1

    reporter = threading.Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield watcher
    finally:
        over.set()
        reporter.join()
        if time.perf_counter() - begin > _PATIENCE:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
