"""What commands that launch kernels share: the seconds of ``--time-limit``, and where printf goes with ``--json``."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


class TimeLimit:
    """The seconds of ``--time-limit``, from the first launch on; None: there is no limit."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._end = float("inf")

    def begin(self) -> float | None:
        """Called before a launch: the seconds that it may take."""
        if self.seconds is None:
            return None
        if self._end == float("inf"):
            self._end = time.monotonic() + self.seconds
            return self.seconds
        return max(self._end - time.monotonic(), 0.001)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left."""
        return time.monotonic() >= self._end

    def ending(self, progress: Callable[[float], None] | None) -> Callable[[float], None] | None:
        """``progress`` of a replay, which ends it, as Ctrl-C does, when nothing is left."""
        if self.seconds is None:
            return progress

        def limited(part: float) -> None:
            if progress is not None:
                progress(part)
            if self.is_over:
                raise KeyboardInterrupt

        return limited


@contextmanager
def printf_on_stderr(wanted: bool) -> Iterator[None]:
    """With ``--json``, what kernels print inside goes to stderr: stdout is one object and nothing else.

    A driver's printf writes to the file descriptor, by the C library; ours to ``sys.stdout``.
    """
    if not wanted:
        yield
        return
    sys.stdout.flush()
    stdout, sys.stdout = sys.stdout, sys.stderr
    kept = -1
    with suppress(OSError):  # a shell may have closed either of them
        kept = os.dup(1)
        os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout = stdout
        with suppress(OSError, TypeError, AttributeError):  # where the C library is no part of the process: Windows
            ctypes.CDLL(None).fflush(None)
        if kept >= 0:
            os.dup2(kept, 1)
            os.close(kept)
