"""Input: two answers of a kernel. Output: how far apart they are, in units in the last place, with what is allowed and
why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from verification.brook_oracle.amd import Array

Of = Literal["element", "largest"]


@dataclass(frozen=True)
class Tolerance:
    """How many ULPs a kernel's floats may differ, and why.

    ``strict``: where products and sums are rounded each for itself, as AMD's run-time does; ``fused``: as kernels run
    by default, with ``a*b+c`` rounded once. ``of``: ULPs of each element, or of the largest in the output. The latter
    is for sums whose terms cancel: there an error of one ULP of a term is many ULPs of a small result.
    """

    strict: float = 0.0
    fused: float = 0.0
    of: Of = "element"
    reason: str = ""


EXACT = Tolerance(reason="every operation is exact or rounded once, as IEEE 754 says")
_FUSED = "a*b+c is rounded once here, twice by AMD's run-time"
# OpenCL C 1.2 specification, table 7.1: exp and log 3 ULP, sin and cos 4; division 2.5 and sqrt 3, unless a program
# is built for exact ones. AMD's run-time calls libm, 1 ULP, and divides exactly.
_DIVIDED = "OpenCL devices divide to 2.5 ULP and take roots to 3"
_MATHS = "exp, log, sin and cos of libm there, of the device here (OpenCL allows 3 to 4 ULP)"
_CHAIN = f"{_MATHS}, whose errors a difference of nearly equal numbers magnifies"
_CANCEL = f"{_FUSED}; the terms cancel"

# By kernel name. Every kernel that is not listed must agree to the last bit, fused or not.
TOLERANCES: dict[str, Tolerance] = {
    **dict.fromkeys(
        ("gpu_backwardTraverseFirst", "gpu_backwardTraverse4", "gpu_backwardTraverse8", "gpu_backwardTraverse12"),
        Tolerance(0, 4, reason=_FUSED),
    ),
    **dict.fromkeys(
        (
            "optimized_matmult",
            "optimized_matmult_float",
            "optimized_matmult_double",
            "simple_matmult",
            "double_precision_simple_matmult",
        ),
        Tolerance(0, 11, "largest", f"{_FUSED}; one rounding for each of 11 terms, which cancel"),
    ),
    "image_filter": Tolerance(0, 4, "largest", f"{_FUSED}; nine terms, which cancel"),
    "cholesky4x4_gather": Tolerance(0, 8, "largest", f"{_CANCEL}; {_DIVIDED}"),
    "normalize_gather": Tolerance(0, 8, "largest", f"{_CANCEL}; {_DIVIDED}"),
    "matrix_update": Tolerance(0, 4, "largest", _CANCEL),
    **dict.fromkeys(
        ("saxpyGPU", "scaleAdd", "multiple_inputs", "multiple_outputs"), Tolerance(0, 8, "largest", _CANCEL)
    ),
    **dict.fromkeys(("vectorDivConst4mrt", "Normalize_Input"), Tolerance(0, 3, reason=_DIVIDED)),
    "gpu_constructTree": Tolerance(4, 4, "largest", _MATHS),
    **dict.fromkeys(("boxMullar", "boxMullar_gpu"), Tolerance(8, 8, reason=_MATHS)),
    "calTrajSumPrice": Tolerance(4, 4, "largest", _MATHS),
    "calSumDeriv": Tolerance(8, 8, "largest", f"{_MATHS}; {_FUSED}"),
    "black_scholes": Tolerance(8, 8, "largest", f"{_MATHS}; {_FUSED}; prices are differences"),
    "NLM_Denoise_Pass1": Tolerance(
        3, 32, reason=f"{_MATHS}; {_FUSED}: exp of a sum near -10, whose ULP is 16 of the result's"
    ),
    "NLM_Denoise_Pass2": Tolerance(0, 4, reason=f"{_FUSED}; {_DIVIDED}"),
    **dict.fromkeys(("mainGPU4", "mainGPU8", "mainGPU12"), Tolerance(256, 256, "largest", _CHAIN)),
    "calPriceVegaVec": Tolerance(64, 64, "largest", _CHAIN),
}


@dataclass(frozen=True)
class Difference:
    """``ulps``: the worst (0 for equal, inf for different integers or NaN against a number), ``where`` it is, both
    values.
    """

    ulps: float
    where: str = ""


def difference(expected: Array, got: Array, of: Of = "element") -> Difference:
    """The worst difference of two arrays of one type; structs field by field. ``of``: see `Tolerance`."""
    if expected.dtype.names:
        parts = [difference(expected[name], got[name], of) for name in expected.dtype.names]
        return max(parts, key=lambda part: part.ulps)
    if expected.shape != got.shape or expected.dtype != got.dtype:
        return Difference(float("inf"), f"{got.dtype} {got.shape} instead of {expected.dtype} {expected.shape}")
    if expected.size == 0:
        return Difference(0.0)
    distance = _ulps(expected, got, of) if expected.dtype.kind == "f" else _unequal(expected, got)
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
