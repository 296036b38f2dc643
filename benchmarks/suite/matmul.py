"""C = A B for 1024 x 1024 floats: the textbook kernel, and the one with 16 x 16 tiles in local memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from .case import Case, Data, Launch, Version, array, filled, gigaflops, same


def make(quick: bool) -> Data:
    n = 128 if quick else 1024
    rng = np.random.default_rng(4)
    return {
        "a": filled(rng.random((n, n), np.float32)),
        "b": filled(rng.random((n, n), np.float32)),
        "c": array((n, n), np.float32),
    }


def naive_launches(data: Data) -> Sequence[Launch]:
    n = data["c"].shape[0]
    return [Launch("naive", (n, n), None, ("a", "b", "c", np.int32(n)))]


def tiled_launches(data: Data) -> Sequence[Launch]:
    n = data["c"].shape[0]
    return [Launch("tiled", (n, n), (16, 16), ("a", "b", "c", np.int32(n)))]


def naive_numba() -> Mapping[str, Version]:
    from numba import njit, prange

    @njit(parallel=True)
    def textbook(a, b, c):
        n = c.shape[0]
        for row in prange(n):
            for column in range(n):
                total = np.float32(0.0)
                for k in range(n):
                    total += a[row, k] * b[k, column]
                c[row, column] = total

    @njit(parallel=True)
    def by_rows(a, b, c):
        n = c.shape[0]
        for row in prange(n):
            c[row, :] = np.float32(0.0)
            for k in range(n):
                factor = a[row, k]
                for column in range(n):
                    c[row, column] += factor * b[k, column]

    return {
        "prange, i j k": lambda d: textbook(d["a"], d["b"], d["c"]),
        "prange, i k j": lambda d: by_rows(d["a"], d["b"], d["c"]),
    }


def tiled_numba() -> Mapping[str, Version]:
    from numba import njit, prange

    tile = 16

    @njit(parallel=True)
    def natural(a, b, c):
        n = c.shape[0]
        for block in prange((n // tile) * (n // tile)):
            first_row = block // (n // tile) * tile
            first_column = block % (n // tile) * tile
            sums = np.zeros((tile, tile), np.float32)
            for start in range(0, n, tile):
                for y in range(tile):
                    for k in range(tile):
                        factor = a[first_row + y, start + k]
                        for x in range(tile):
                            sums[y, x] += factor * b[start + k, first_column + x]
            for y in range(tile):
                for x in range(tile):
                    c[first_row + y, first_column + x] = sums[y, x]

    rows, depth, columns = 4, 128, 512

    @njit(parallel=True)
    def blocked(a, b, c):
        n = c.shape[0]
        width = min(columns, n)
        deep = min(depth, n)
        for group in prange(n // rows):
            r = group * rows
            for y in range(rows):
                c[r + y, :] = np.float32(0.0)
            for first in range(0, n, width):
                for start in range(0, n, deep):
                    for k in range(start, start + deep):
                        f0, f1, f2, f3 = a[r, k], a[r + 1, k], a[r + 2, k], a[r + 3, k]
                        for x in range(first, first + width):
                            value = b[k, x]
                            c[r, x] += f0 * value
                            c[r + 1, x] += f1 * value
                            c[r + 2, x] += f2 * value
                            c[r + 3, x] += f3 * value

    return {
        "prange, 16 x 16 tiles": lambda d: natural(d["a"], d["b"], d["c"]),
        "prange, blocks for cache": lambda d: blocked(d["a"], d["b"], d["c"]),
    }


def numpy_versions() -> Mapping[str, Version]:
    return {"BLAS np.matmul": lambda d: np.matmul(d["a"], d["b"], out=d["c"])}


NAIVE = Case(
    name="matmul_naive",
    title="matrix multiply, naive, 1024",
    source=Path(__file__).with_suffix(".cl"),
    make=make,
    launches=naive_launches,
    outputs=("c",),
    numba=naive_numba,
    numpy=numpy_versions,
    work=gigaflops(lambda d: 2 * d["c"].shape[0] ** 3),
    matches=same(1e-4),
)
TILED = Case(
    name="matmul_tiled",
    title="matrix multiply, tiled, 1024",
    source=Path(__file__).with_suffix(".cl"),
    make=make,
    launches=tiled_launches,
    outputs=("c",),
    numba=tiled_numba,
    numpy=numpy_versions,
    work=gigaflops(lambda d: 2 * d["c"].shape[0] ** 3),
    matches=same(1e-4),
)
