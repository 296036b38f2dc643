"""What a benchmark case is: an OpenCL C source with its launches, and what every side needs to do the same work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

Data = dict[str, np.ndarray]
Version = Callable[[Data], None]
"""One formulation on one side: works on the case's arrays by name, leaving its results in the outputs."""

PAGE = 4096


def array(shape: int | tuple[int, ...], dtype: type | str) -> np.ndarray:
    """An uninitialised array whose first byte lies on a page boundary, the same for every side."""
    shape = (shape,) if isinstance(shape, int) else shape
    nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.empty(nbytes + PAGE, np.uint8)
    start = -raw.ctypes.data % PAGE
    return raw[start : start + nbytes].view(dtype).reshape(shape)


def filled(values: np.ndarray) -> np.ndarray:
    """A page-aligned copy of ``values``."""
    copy = array(values.shape, values.dtype.str)
    copy[...] = values
    return copy


@dataclass(frozen=True)
class Local:
    """A ``__local`` argument of so many bytes."""

    nbytes: int


@dataclass(frozen=True)
class Launch:
    """One kernel launch: arguments are the names of the case's arrays, NumPy scalars, or :class:`Local`."""

    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    args: tuple[str | np.generic | Local, ...]


def same(rtol: float, atol: float = 0.0) -> Callable[[np.ndarray, np.ndarray], bool]:
    """A comparison of results: every element within ``atol + rtol * |reference|``."""

    def compare(result: np.ndarray, reference: np.ndarray) -> bool:
        return bool(np.allclose(result, reference, rtol=rtol, atol=atol))

    return compare


def mostly_equal(fraction: float) -> Callable[[np.ndarray, np.ndarray], bool]:
    """A comparison of results: at most this fraction of the elements differs at all."""

    def compare(result: np.ndarray, reference: np.ndarray) -> bool:
        return bool(np.mean(result != reference) <= fraction)

    return compare


@dataclass(frozen=True)
class Case:
    """One kernel of the comparison.

    ``make(quick)`` builds the arrays, from a fixed seed, so that every side in its own process has the same ones.
    ``numba`` and ``numpy`` import what they need and return the formulations by name; a name that begins with "BLAS"
    marks a call into an optimised library. ``work`` gives an amount and its unit for a rate, such as bytes and "GB/s".
    """

    name: str
    title: str
    source: Path
    make: Callable[[bool], Data]
    launches: Callable[[Data], Sequence[Launch]]
    outputs: tuple[str, ...]
    numba: Callable[[], Mapping[str, Version]]
    numpy: Callable[[], Mapping[str, Version]]
    work: Callable[[Data], tuple[float, str]]
    matches: Callable[[np.ndarray, np.ndarray], bool] = field(default_factory=lambda: same(1e-5))
    options: str = ""


def gigabytes(count: Callable[[Data], float]) -> Callable[[Data], tuple[float, str]]:
    """Work measured in bytes moved at the least, shown as GB/s."""
    return lambda data: (count(data) / 1e9, "GB/s")


def gigaflops(count: Callable[[Data], float]) -> Callable[[Data], tuple[float, str]]:
    """Work measured in floating-point operations, shown as GFLOP/s."""
    return lambda data: (count(data) / 1e9, "GFLOP/s")


def millions(count: Callable[[Data], float], what: str) -> Callable[[Data], tuple[float, str]]:
    """Work measured in items, shown as millions of them per second."""
    return lambda data: (count(data) / 1e6, f"M {what}/s")
