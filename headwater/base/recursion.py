"""Input: work that nests as deep as its source does. Output: an interpreter that lets it, until it is done.

The interpreter has one limit for all threads. Whoever raises it and puts it back alone leaves it high for good where
two threads do so at the same time, as each takes the other's value for what it was before.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

FRAMES = 20_000
"""Python frames that a translation may nest: enough for a sum of some two thousand terms, which takes up to ten for
each. A frame of Python 3.11 and later lies in the heap, not on the thread's stack."""

_lock = threading.Lock()
_under_way = 0
_before = 0


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Raise the interpreter's recursion limit to ``FRAMES`` at least while the block runs, in any number of threads.

    What recurses without bound still ends with ``RecursionError``.
    """
    global _under_way, _before
    with _lock:
        if not _under_way:
            _before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_before, FRAMES))
        _under_way += 1
    try:
        yield
    finally:
        with _lock:
            _under_way -= 1
            if not _under_way and sys.getrecursionlimit() == max(_before, FRAMES):  # else somebody has chosen another
                sys.setrecursionlimit(_before)
