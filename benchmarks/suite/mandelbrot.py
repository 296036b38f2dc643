"""Escape times of the Mandelbrot set, 2048 x 1152 points, at most 256 steps: divergent loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from .case import Case, Data, Launch, Version, array, millions, mostly_equal

LIMIT = np.int32(256)
LEFT = np.float32(-2.5)
TOP = np.float32(1.125)


def make(quick: bool) -> Data:
    return {"escaped": array((144, 256) if quick else (1152, 2048), np.int32)}


def scale(data: Data) -> np.float32:
    return np.float32(4.0 / data["escaped"].shape[1])


def launches(data: Data) -> Sequence[Launch]:
    height, width = data["escaped"].shape
    return [Launch("mandelbrot", (width, height), None, ("escaped", LEFT, TOP, scale(data), LIMIT))]


def numba_versions() -> Mapping[str, Version]:
    from numba import njit, prange

    f = np.float32

    @njit(parallel=True)
    def mandelbrot(escaped, left, top, step, limit):
        height, width = escaped.shape
        for row in prange(height):
            cy = top - f(row) * step
            for column in range(width):
                cx = left + f(column) * step
                x = f(0.0)
                y = f(0.0)
                count = 0
                while count < limit and x * x + y * y < f(4.0):
                    x, y = x * x - y * y + cx, f(2.0) * x * y + cy
                    count += 1
                escaped[row, column] = count

    lanes = 32

    @njit(parallel=True)
    def in_lanes(escaped, left, top, step, limit):
        height, width = escaped.shape
        for row in prange(height):
            cy = top - f(row) * step
            x = np.empty(lanes, np.float32)
            y = np.empty(lanes, np.float32)
            cx = np.empty(lanes, np.float32)
            count = np.empty(lanes, np.int32)
            for first in range(0, width, lanes):
                for k in range(lanes):
                    cx[k] = left + f(first + k) * step
                    x[k] = f(0.0)
                    y[k] = f(0.0)
                    count[k] = 0
                for _ in range(0, limit, 8):
                    for _ in range(8):
                        for k in range(lanes):
                            alive = x[k] * x[k] + y[k] * y[k] < f(4.0)
                            next_x = x[k] * x[k] - y[k] * y[k] + cx[k]
                            next_y = f(2.0) * x[k] * y[k] + cy
                            x[k] = next_x if alive else x[k]
                            y[k] = next_y if alive else y[k]
                            count[k] += np.int32(1) if alive else np.int32(0)
                    living = np.int32(0)
                    for k in range(lanes):
                        living |= np.int32(1) if x[k] * x[k] + y[k] * y[k] < f(4.0) else np.int32(0)
                    if living == 0:
                        break
                for k in range(lanes):
                    escaped[row, first + k] = count[k]

    return {
        "prange": lambda d: mandelbrot(d["escaped"], LEFT, TOP, scale(d), LIMIT),
        "32 lanes by hand": lambda d: in_lanes(d["escaped"], LEFT, TOP, scale(d), LIMIT),
    }


def numpy_versions() -> Mapping[str, Version]:
    def living_points(d: Data) -> None:
        height, width = d["escaped"].shape
        step = scale(d)
        for first in range(0, height, 32):
            rows = np.arange(first, min(first + 32, height), dtype=np.float32)
            cx = np.tile(LEFT + np.arange(width, dtype=np.float32) * step, rows.size)
            cy = np.repeat(TOP - rows * step, width)
            x = np.zeros_like(cx)
            y = np.zeros_like(cx)
            count = d["escaped"][first : first + rows.size].reshape(-1)
            count[:] = 0
            living = np.arange(cx.size)
            for _ in range(LIMIT):
                keep = x * x + y * y < 4
                if not keep.all():
                    living, x, y, cx, cy = living[keep], x[keep], y[keep], cx[keep], cy[keep]
                    if not living.size:
                        break
                x, y = x * x - y * y + cx, 2 * x * y + cy
                count[living] += 1

    return {"32 rows at a time, living points only": living_points}


CASE = Case(
    name="mandelbrot",
    title="Mandelbrot, 2048 x 1152, 256 steps",
    source=Path(__file__).with_suffix(".cl"),
    make=make,
    launches=launches,
    outputs=("escaped",),
    numba=numba_versions,
    numpy=numpy_versions,
    work=millions(lambda d: d["escaped"].size, "points"),
    # Contracted multiply-adds may move a point near the edge by many steps.
    matches=mostly_equal(0.01),
)
