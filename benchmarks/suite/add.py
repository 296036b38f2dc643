"""c = a + b over 64 Mi floats: three streams through memory and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from .case import Case, Data, Launch, Version, array, filled, gigabytes, same


def make(quick: bool) -> Data:
    n = 1 << (20 if quick else 26)
    rng = np.random.default_rng(1)
    return {
        "a": filled(rng.random(n, np.float32)),
        "b": filled(rng.random(n, np.float32)),
        "c": array(n, np.float32),
    }


def launches(data: Data) -> Sequence[Launch]:
    return [Launch("add", (data["c"].size,), None, ("a", "b", "c"))]


def numba_versions() -> Mapping[str, Version]:
    from numba import njit, prange

    @njit(parallel=True)
    def add(a, b, c):
        for i in prange(c.size):
            c[i] = a[i] + b[i]

    return {"prange": lambda d: add(d["a"], d["b"], d["c"])}


def numpy_versions() -> Mapping[str, Version]:
    return {"np.add": lambda d: np.add(d["a"], d["b"], out=d["c"])}


CASE = Case(
    name="add",
    title="a + b, 64 Mi floats",
    source=Path(__file__).with_suffix(".cl"),
    make=make,
    launches=launches,
    outputs=("c",),
    numba=numba_versions,
    numpy=numpy_versions,
    work=gigabytes(lambda d: 3 * d["c"].nbytes),
    matches=same(0.0),
)
