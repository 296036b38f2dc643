"""A suite's kernel: where its source is, its data, its launches, and which results count."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Data = dict[str, np.ndarray]
Make = Callable[[np.random.Generator], np.ndarray]

FLOAT_TOLERANCE = 2e-5
DOUBLE_TOLERANCE = 1e-12
"""Relative to an element or, if that is larger, to the root mean square of the array: devices may contract a * b + c
and differ by some ULP in each function. A sum of hundreds of terms stays below these bounds."""


@dataclass(frozen=True)
class Launch:
    """One launch: ``args`` are names of arrays, Python's ints for ``int``, floats for ``float``, NumPy's numbers and
    structures for other types, and `headwater.Local`."""

    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    args: tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """A program of a suite: ``file`` is its source in the checkout, ``arrays`` make its data from a fixed seed,
    ``steps`` run it, ``outputs`` are compared.

    ``expected`` computes outputs with NumPy, in double precision where the kernel has single, from the arrays as they
    were before the launches. ``tolerance`` replaces the default for floating-point outputs, and is relative to the
    element alone if ``elementwise``; integer ones must be equal.
    """

    name: str
    file: str
    arrays: Mapping[str, Make]
    steps: Sequence[Launch]
    outputs: tuple[str, ...]
    options: str = ""
    expected: Callable[[Data], Mapping[str, np.ndarray]] | None = None
    tolerance: float | None = None
    elementwise: bool = False
    kernels: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", tuple(dict.fromkeys(step.kernel for step in self.steps)))

    def make(self) -> Data:
        """The arrays, the same ones at every call."""
        rng = np.random.default_rng(1)
        return {name: make(rng) for name, make in self.arrays.items()}


def floats(*shape: int, low: float = 0.0, high: float = 1.0, dtype: type = np.float32) -> Make:
    """Evenly distributed numbers in ``low``…``high``."""
    return lambda rng: rng.uniform(low, high, shape).astype(dtype)


def doubles(*shape: int, low: float = 0.0, high: float = 1.0) -> Make:
    return floats(*shape, low=low, high=high, dtype=np.float64)


def ints(*shape: int, low: int = 0, high: int = 100, dtype: type = np.int32) -> Make:
    """Evenly distributed whole numbers from ``low`` up to, but not including, ``high``."""
    return lambda rng: rng.integers(low, high, shape, dtype=dtype)


def zeros(*shape: int, dtype: type = np.float32) -> Make:
    return lambda rng: np.zeros(shape, dtype)


def values(make: Callable[[], np.ndarray]) -> Make:
    """An array that needs no random numbers."""
    return lambda rng: make()


def differences(expected: np.ndarray, found: np.ndarray, tolerance: float | None, elementwise: bool = False) -> str:
    """In what two arrays differ by more than is allowed, or nothing."""
    if expected.dtype.kind != "f":
        wrong = expected != found
        if not wrong.any():
            return ""
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        return f"{int(wrong.sum())} of {wrong.size} differ, first at {at}: {expected[at]} became {found[at]}"
    if tolerance is None:
        tolerance = DOUBLE_TOLERANCE if found.dtype == np.float64 else FLOAT_TOLERANCE
    a, b = expected.astype(np.float64), found.astype(np.float64)
    finite = np.isfinite(a)
    scale = float(np.sqrt(np.mean(a[finite] ** 2))) if finite.any() and not elementwise else 0.0
    with np.errstate(invalid="ignore"):
        # Denormal numbers may be taken for 0, and are in single precision by chips before gfx9.
        error = np.abs(a - b) / np.maximum(np.maximum(np.abs(a), scale), np.finfo(found.dtype).tiny)
        wrong = ~((error <= tolerance) | (a == b) | (np.isnan(a) & np.isnan(b)))
    if not wrong.any():
        return ""
    error[np.isnan(error)] = np.inf
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(np.where(wrong, error, -1))), error.shape))
    return (
        f"{int(wrong.sum())} of {wrong.size} differ by more than {tolerance:g}, "
        f"most at {at}: {expected[at]!r} became {found[at]!r}"
    )
