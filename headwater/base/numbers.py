"""Input: a value, or a user's text. Output: the whole number that it represents."""

from __future__ import annotations

from operator import index
from typing import Any


def whole(value: Any) -> int | None:
    """The whole number that ``value`` stands for, if it does; True and False do not."""
    try:
        return None if isinstance(value, bool) else index(value)
    except Exception:  # whatever an __index__ may raise
        return None


_MOST_DIGITS = 19  # of numbers below 2**63; Python refuses those of more than 4300


def natural(text: str) -> int | None:
    """The whole number from 0 that a text of decimal digits is; None if it is none, or has more than 19 digits."""
    text = text.strip()
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None
