"""Numbers pass in; the words that every view shows them with pass out."""

from __future__ import annotations

from math import isinf, isnan


def seconds(value: float) -> str:
    """A time with the unit that suits it: "0.161 ms"."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        if value >= scale or unit == "ns":
            return f"{value / scale:.3g} {unit}" if value / scale < 1000 else f"{value / scale:,.0f} {unit}"
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


def data_bytes(value: float) -> str:
    """An amount of data, in powers of 1000 as bandwidths are."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if value < 1000:
            return f"{value:.3g} {unit}" if unit != "bytes" else f"{value:,.0f} bytes"
        value /= 1000
    return f"{value:.3g} TB"


def times(size: tuple[int, ...]) -> str:
    """A size: "1,920 × 1,080"."""
    return " × ".join(f"{n:,}" for n in size)
