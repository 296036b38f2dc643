"""Python's cyclic garbage collector, and when it waits."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Make a large structure without the collector: it would visit what there is so far again and again, and find
    nothing. What is dropped meanwhile and refers to itself is freed afterwards; other threads' is, too.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
