"""AMD Core Math Library's routines, on the processor and on streams. Input: names. Output: functions, found when first
used.

Two sets of names: ACML's own (``acml.dgemm("N", "N", m, n, k, …)``, over memory in Fortran's order) and those of NumPy
and SciPy (``acml.solve(a, b)``).
"""

from __future__ import annotations

from typing import Any

from headwater.acml import places


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    found = places.find(name)
    if found is None:
        raise AttributeError(f"module 'headwater.acml' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*places.names(), "random"})
