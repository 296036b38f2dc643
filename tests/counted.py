"""How much work a function does, as a number that the load of the machine does not change."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def count_calls(function: Callable[..., Any], *args: Any) -> int:
    """How many functions, Python's and C's, this thread calls while `function` runs.

    What tests hold instead of seconds: whether work grows with the size of the input as it should, and whether a path
    that must be short stays short. Seconds are for `benchmarks/`.
    """
    calls = 0

    def count(_frame: object, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    previous = sys.getprofile()
    sys.setprofile(count)
    try:
        function(*args)
    finally:
        sys.setprofile(previous)
    return calls
