"""Two answers of a kernel go in, how far apart they are comes out, in units in the last place, with what is allowed and
why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from benchmarks.brook_oracle.amd import Array


@dataclass(frozen=True)
class Tolerance:
    """How many ULPs a kernel's floats may differ, and why. ``of``: ULPs of each element, or of the largest in the
    output.

    The latter is for sums whose terms cancel: there an error of one ULP of a term is many ULPs of a small result.
    """

    ulps: float = 0.0
    of: Literal["element", "largest"] = "element"
    reason: str = ""


EXACT = Tolerance(reason="copies, comparisons, single operations and integers: nothing is rounded twice")
_FMA = "a*b+c is rounded once here (fused), twice by AMD's run-time"
_MATHS = "exp, log, sin, cos: libm's last bit against OpenCL's limits (exp and log 3 ULP, sin and cos 4 ULP)"

# By kernel name. Every kernel that is not listed must agree to the last bit.
TOLERANCES: dict[str, Tolerance] = {}


@dataclass(frozen=True)
class Difference:
    """``ulps``: the worst (0 for equal, inf for different integers or NaN against a number), ``where`` it is, both
    values.
    """

    ulps: float
    where: str = ""


def difference(expected: Array, got: Array, tolerance: Tolerance) -> Difference:
    """The worst difference of two arrays of one type; structs field by field."""
    if expected.dtype.names:
        parts = [difference(expected[name], got[name], tolerance) for name in expected.dtype.names]
        return max(parts, key=lambda part: part.ulps)
    if expected.shape != got.shape or expected.dtype != got.dtype:
        return Difference(float("inf"), f"{got.dtype} {got.shape} instead of {expected.dtype} {expected.shape}")
    if expected.size == 0:
        return Difference(0.0)
    distance = _ulps(expected, got, tolerance.of) if expected.dtype.kind == "f" else _unequal(expected, got)
    worst = int(np.argmax(distance))
    place = tuple(int(n) for n in np.unravel_index(worst, expected.shape))
    values = f"at {place}: {expected.flat[worst]!r} expected, got {got.flat[worst]!r}"
    return Difference(float(distance.flat[worst]), values)


def _unequal(expected: Array, got: Array) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.where(expected == got, 0.0, np.inf)


def _ulps(expected: Array, got: Array, of: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    same = (expected == got) | (np.isnan(expected) & np.isnan(got))
    finite = np.isfinite(expected) & np.isfinite(got)
    unit = np.spacing(np.abs(np.where(finite, expected, 0)))
    if of == "largest":
        unit = np.broadcast_to(unit.max(), unit.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        # Double precision holds the difference of two floats that are near; for doubles the subtraction itself is exact
        # then.
        distance = np.abs(np.where(finite, got.astype(np.float64) - expected.astype(np.float64), np.inf))
    return np.where(same, 0.0, distance / unit.astype(np.float64))
