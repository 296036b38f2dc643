"""y = A x for a sparse matrix in compressed rows: 512 Ki rows of 4 to 28 entries, scattered about the diagonal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from .case import Case, Data, Launch, Version, array, filled, gigaflops, same


def make(quick: bool) -> Data:
    rows = 1 << (13 if quick else 19)
    rng = np.random.default_rng(11)
    starts = np.concatenate([[0], np.cumsum(rng.integers(4, 29, rows))]).astype(np.int32)
    row_of = np.repeat(np.arange(rows), np.diff(starts))
    columns = np.clip(row_of + rng.integers(-2000, 2001, row_of.size), 0, rows - 1).astype(np.int32)
    return {
        "values": filled(rng.random(row_of.size, np.float32)),
        "columns": filled(columns),
        "starts": filled(starts),
        "x": filled(rng.random(rows, np.float32)),
        "y": array(rows, np.float32),
    }


def launches(data: Data) -> Sequence[Launch]:
    return [Launch("spmv", (data["y"].size,), None, ("values", "columns", "starts", "x", "y"))]


def numba_versions() -> Mapping[str, Version]:
    from numba import njit, prange

    @njit(parallel=True)
    def spmv(values, columns, starts, x, y):
        for row in prange(y.size):
            total = np.float32(0.0)
            for k in range(starts[row], starts[row + 1]):
                total += values[k] * x[columns[k]]
            y[row] = total

    return {"prange": lambda d: spmv(d["values"], d["columns"], d["starts"], d["x"], d["y"])}


def numpy_versions() -> Mapping[str, Version]:
    def reduceat(d: Data) -> None:
        np.add.reduceat(d["values"] * d["x"][d["columns"]], d["starts"][:-1], out=d["y"])

    versions: dict[str, Version] = {"np.add.reduceat": reduceat}
    try:
        from scipy.sparse import csr_array
    except ImportError:
        return versions

    def scipy_product(d: Data) -> None:
        rows = d["y"].size
        d["y"][:] = csr_array((d["values"], d["columns"], d["starts"]), shape=(rows, rows)) @ d["x"]

    versions["scipy.sparse"] = scipy_product
    return versions


CASE = Case(
    name="spmv",
    title="sparse matrix x vector, 8 M entries",
    source=Path(__file__).with_suffix(".cl"),
    make=make,
    launches=launches,
    outputs=("y",),
    numba=numba_versions,
    numpy=numpy_versions,
    work=gigaflops(lambda d: 2 * d["values"].size),
    matches=same(1e-4),
)
