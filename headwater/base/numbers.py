"""A value passes in; the whole number that it stands for passes out."""

from __future__ import annotations

from operator import index
from typing import Any


def whole(value: Any) -> int | None:
    """The whole number that ``value`` stands for, if it does; True and False do not."""
    try:
        return None if isinstance(value, bool) else index(value)
    except Exception:  # whatever an __index__ may raise
        return None
