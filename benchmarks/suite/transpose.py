"""Transpose of a 4096 x 4096 matrix of floats through 16 x 16 tiles in local memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from .case import Case, Data, Launch, Version, array, filled, gigabytes, same


def make(quick: bool) -> Data:
    n = 256 if quick else 4096
    rng = np.random.default_rng(9)
    return {"matrix": filled(rng.random((n, n), np.float32)), "result": array((n, n), np.float32)}


def launches(data: Data) -> Sequence[Launch]:
    height, width = data["matrix"].shape
    args = ("matrix", "result", np.int32(width), np.int32(height))
    return [Launch("transpose", (width, height), (16, 16), args)]


def numba_versions() -> Mapping[str, Version]:
    from numba import njit, prange

    @njit(parallel=True)
    def natural(matrix, result):
        height, width = matrix.shape
        for row in prange(width):
            for column in range(height):
                result[row, column] = matrix[column, row]

    tile = 16

    @njit(parallel=True)
    def tiled(matrix, result):
        height, width = matrix.shape
        for tile_row in prange(width // tile):
            for tile_column in range(height // tile):
                for row in range(tile_row * tile, tile_row * tile + tile):
                    for column in range(tile_column * tile, tile_column * tile + tile):
                        result[row, column] = matrix[column, row]

    return {
        "prange": lambda d: natural(d["matrix"], d["result"]),
        "prange, tiles": lambda d: tiled(d["matrix"], d["result"]),
    }


def numpy_versions() -> Mapping[str, Version]:
    def natural(d: Data) -> None:
        d["result"][...] = d["matrix"].T

    def tiled(d: Data) -> None:
        n = d["matrix"].shape[0]
        for row in range(0, n, 128):
            for column in range(0, n, 128):
                d["result"][column : column + 128, row : row + 128] = d["matrix"][
                    row : row + 128, column : column + 128
                ].T

    return {"matrix.T": natural, "matrix.T in tiles": tiled}


CASE = Case(
    name="transpose",
    title="transpose, 4096 x 4096 floats",
    source=Path(__file__).with_suffix(".cl"),
    make=make,
    launches=launches,
    outputs=("result",),
    numba=numba_versions,
    numpy=numpy_versions,
    work=gigabytes(lambda d: 2 * d["matrix"].nbytes),
    matches=same(0.0),
)
