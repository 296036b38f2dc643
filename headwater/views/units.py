"""Input: numbers. Output: the words that every view shows them with."""

from __future__ import annotations

from math import isinf, isnan


def seconds(value: float, digits: int = 3) -> str:
    """A time with the unit that suits it: "161 µs"."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        if value >= scale or unit == "ns":
            return f"{value / scale:.{digits}g} {unit}" if value / scale < 1000 else f"{value / scale:,.0f} {unit}"
    return "0"


def number(value: float) -> str:
    """A count or ratio: whole numbers with thousands apart, others with three digits."""
    if isinf(value) or isnan(value):
        return "∞" if isinf(value) else "–"
    if value == int(value) or value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def share(value: float) -> str:
    """A share: "0.9" for occupancies and the like, three digits."""
    return f"{value:.3g}"


def percent(value: float) -> str:
    """A share in per cent."""
    return f"{value:.1%}" if 0 < value < 0.0995 else f"{value:.0%}"


def data_bytes(value: float, digits: int = 3) -> str:
    """An amount of data, in powers of 1000 as bandwidths are."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if value < 1000:
            return f"{value:.{digits}g} {unit}" if unit != "bytes" else f"{value:,.0f} bytes"
        value /= 1000
    return f"{value:.{digits}g} TB"


def memory_bytes(value: float) -> str:
    """A part of a memory, in powers of 1024 as memories are."""
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.4g} {unit}"
        value /= 1024
    return f"{value:.4g} GiB"


def times(size: tuple[int, ...]) -> str:
    """A size: "1,920 × 1,080"."""
    return " × ".join(f"{n:,}" for n in size)
