"""y = alpha x + y in place over 64 Mi floats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from .case import Case, Data, Launch, Version, filled, gigabytes, same

ALPHA = np.float32(0.75)


def make(quick: bool) -> Data:
    n = 1 << (20 if quick else 26)
    rng = np.random.default_rng(2)
    return {"x": filled(rng.random(n, np.float32)), "y": filled(rng.random(n, np.float32))}


def launches(data: Data) -> Sequence[Launch]:
    return [Launch("saxpy", (data["y"].size,), None, (ALPHA, "x", "y"))]


def numba_versions() -> Mapping[str, Version]:
    from numba import njit, prange

    @njit(parallel=True)
    def saxpy(alpha, x, y):
        for i in prange(y.size):
            y[i] = alpha * x[i] + y[i]

    return {"prange": lambda d: saxpy(ALPHA, d["x"], d["y"])}


def numpy_versions() -> Mapping[str, Version]:
    block = 1 << 16

    def natural(d: Data) -> None:
        d["y"] += ALPHA * d["x"]

    def blocked(d: Data) -> None:
        x, y = d["x"], d["y"]
        scaled = np.empty(block, np.float32)
        for start in range(0, y.size, block):
            np.multiply(x[start : start + block], ALPHA, out=scaled)
            y[start : start + block] += scaled

    versions: dict[str, Version] = {"y += a * x": natural, "in blocks": blocked}
    try:
        from scipy.linalg.blas import saxpy
    except ImportError:
        return versions
    versions["BLAS saxpy"] = lambda d: saxpy(d["x"], d["y"], a=ALPHA)
    return versions


CASE = Case(
    name="saxpy",
    title="saxpy in place, 64 Mi floats",
    source=Path(__file__).with_suffix(".cl"),
    make=make,
    launches=launches,
    outputs=("y",),
    numba=numba_versions,
    numpy=numpy_versions,
    work=gigabytes(lambda d: 3 * d["y"].nbytes),
    matches=same(1e-6),
)
