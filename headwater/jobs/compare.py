"""Input: two arrays that should be equal. Output: their largest difference, and whether it is too large."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headwater.files import Array

# Relative differences that devices may have after some tens of operations, each within OpenCL's bounds (OpenCL C 3.0
# specification, 7.4), by bytes of the type. Whole numbers must be equal.
TOLERANCES = {2: 1e-2, 4: 1e-5, 8: 1e-13}


@dataclass(frozen=True)
class Difference:
    """How ``name`` differs between two devices.

    ``largest`` is the greatest absolute difference, ``ulps`` the same in units of the last place (0 for whole numbers),
    ``wrong`` the number of elements beyond the tolerance, ``first`` the index of the first of these.
    """

    name: str
    elements: int
    largest: float
    ulps: int
    wrong: int
    first: tuple[int, ...] | None
    tolerance: float

    @property
    def ok(self) -> bool:
        """Whether no element is beyond the tolerance."""
        return self.wrong == 0


def compare(name: str, ours: Array, theirs: Array, tolerance: float | None = None) -> Difference:
    """Compare two arrays of one shape and dtype.

    A float is wrong if it differs by more than ``tolerance`` times its own size or the root mean square of the output,
    whichever is greater: sums near zero carry the rounding of their terms. Two NaNs are equal, equal infinities too.
    """
    if ours.dtype.kind == "V":
        ours, theirs = (array.view(np.uint8).reshape(*array.shape, -1) for array in (ours, theirs))
    if ours.dtype.kind != "f":
        unequal = ours != theirs
        # Python's integers do not overflow, NumPy's do.
        largest = max((abs(int(a) - int(b)) for a, b in zip(ours[unequal], theirs[unequal], strict=True)), default=0)
        return Difference(name, ours.size, float(largest), 0, int(unequal.sum()), _first(unequal), 0.0)
    limit = TOLERANCES[ours.dtype.itemsize] if tolerance is None else tolerance
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    with np.errstate(all="ignore"):
        distance = np.where(same, 0.0, np.where(finite, np.abs(a - b), np.inf))
        kept = b[np.isfinite(b)]
        typical = float(np.sqrt(np.mean(kept * kept))) if kept.size else 0.0
        scale = np.maximum(np.where(np.isfinite(b), np.abs(b), 0.0), typical)
        wrong = ~same & ~(distance <= limit * scale)
    largest_distance = float(distance.max(initial=0.0))
    return Difference(
        name, ours.size, largest_distance, _ulps(ours, theirs, finite), int(wrong.sum()), _first(wrong), limit
    )


def _first(wrong: Array) -> tuple[int, ...] | None:
    if not wrong.any():
        return None
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))


def _ulps(ours: Array, theirs: Array, finite: Array) -> int:
    """The greatest distance in representable numbers between finite elements."""
    if not finite.any():
        return 0
    whole = np.dtype(f"i{ours.dtype.itemsize}")
    low = int(np.iinfo(whole).min)

    def ordered(array: Array) -> Array:
        # Sign and magnitude to a line of integers on which neighbours are neighbouring floats.
        bits = np.ascontiguousarray(array).view(whole)
        return np.where(bits < 0, low - bits, bits)

    # Differences of 64-bit integers need 65 bits: unsigned, modulo 2**64, the greater less the smaller is right.
    a, b = (ordered(array)[finite].astype(np.int64) for array in (ours, theirs))
    return int((np.maximum(a, b).astype(np.uint64) - np.minimum(a, b).astype(np.uint64)).max())
