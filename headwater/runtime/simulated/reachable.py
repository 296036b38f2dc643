"""Input: arrays that launches made meanwhile may access, though they are no arguments.

Kernels follow addresses that lie in memory: arrays of pointers. An emulated launch knows its arguments' memory, and
takes every other access for a fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from headwater.base.arrays import Array

_arrays: ContextVar[tuple[tuple[str, Array], ...]] = ContextVar("reachable", default=())


@contextmanager
def reachable(arrays: Sequence[tuple[str, Array]]) -> Iterator[None]:
    """Let launches of this thread on simulated chips access ``arrays``, named as faults shall name them."""
    token = _arrays.set((*_arrays.get(), *arrays))
    try:
        yield
    finally:
        _arrays.reset(token)


def current() -> tuple[tuple[str, Array], ...]:
    """The arrays that a launch may access now."""
    return _arrays.get()
