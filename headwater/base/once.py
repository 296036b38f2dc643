"""Input: a function without arguments, or a property. Output: the same, computed once, whichever threads ask at a time.

Of `functools.cache` and, from Python 3.12 on, `functools.cached_property`, threads that ask for a value before it is
known each compute one of their own. That is harmless for values, and not for a device or its queue.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def once(function: Callable[[], T]) -> Callable[[], T]:
    """A function whose first call computes the result of all."""
    lock, found = threading.RLock(), list[T]()

    @functools.wraps(function)
    def result() -> T:
        if not found:
            with lock:
                if not found:
                    found.append(function())
        return found[0]

    return result


class once_property(functools.cached_property[T]):  # noqa: N801
    """A `functools.cached_property` that is computed once for an object."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        super().__init__(function)
        self._computing = threading.RLock()

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        with self._computing:
            return super().__get__(instance, owner)
