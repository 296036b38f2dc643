"""One five-point stencil step of heat flow on a 4096 x 4096 grid of floats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from .case import Case, Data, Launch, Version, filled, gigabytes, same

CONDUCT_X, CONDUCT_Y, LOSS, AMBIENT = (np.float32(v) for v in (0.11, 0.13, 0.02, 80.0))


def make(quick: bool) -> Data:
    n = 256 if quick else 4096
    rng = np.random.default_rng(12)
    heat = (80 + 20 * rng.random((n, n), np.float32)).astype(np.float32)
    return {"heat": filled(heat), "power": filled(rng.random((n, n), np.float32)), "result": filled(heat)}


def launches(data: Data) -> Sequence[Launch]:
    height, width = data["heat"].shape
    args = ("heat", "power", "result", np.int32(width), CONDUCT_X, CONDUCT_Y, LOSS, AMBIENT)
    return [Launch("hotspot", (width - 2, height - 2), None, args)]


def numba_versions() -> Mapping[str, Version]:
    from numba import njit, prange

    two = np.float32(2.0)

    @njit(parallel=True)
    def hotspot(heat, power, result, conduct_x, conduct_y, loss, ambient):
        height, width = heat.shape
        for y in prange(1, height - 1):
            for x in range(1, width - 1):
                here = heat[y, x]
                result[y, x] = (
                    here
                    + power[y, x]
                    + conduct_y * (heat[y - 1, x] + heat[y + 1, x] - two * here)
                    + conduct_x * (heat[y, x - 1] + heat[y, x + 1] - two * here)
                    + loss * (ambient - here)
                )

    @njit(parallel=True)
    def by_slices(heat, power, result, conduct_x, conduct_y, loss, ambient):
        height, width = heat.shape
        n = width - 2
        for y in prange(1, height - 1):
            up, down = heat[y - 1, 1 : n + 1], heat[y + 1, 1 : n + 1]
            west, middle, east = heat[y, :n], heat[y, 1 : n + 1], heat[y, 2:]
            source, out = power[y, 1 : n + 1], result[y, 1 : n + 1]
            for x in range(n):
                here = middle[x]
                out[x] = (
                    here
                    + source[x]
                    + conduct_y * (up[x] + down[x] - two * here)
                    + conduct_x * (west[x] + east[x] - two * here)
                    + loss * (ambient - here)
                )

    def call_with(function) -> Version:
        return lambda d: function(d["heat"], d["power"], d["result"], CONDUCT_X, CONDUCT_Y, LOSS, AMBIENT)

    return {"prange": call_with(hotspot), "prange, slices": call_with(by_slices)}


def numpy_versions() -> Mapping[str, Version]:
    def step(d: Data, first: int, last: int) -> None:
        heat = d["heat"]
        here = heat[first:last, 1:-1]
        d["result"][first:last, 1:-1] = (
            here
            + d["power"][first:last, 1:-1]
            + CONDUCT_Y * (heat[first - 1 : last - 1, 1:-1] + heat[first + 1 : last + 1, 1:-1] - 2 * here)
            + CONDUCT_X * (heat[first:last, :-2] + heat[first:last, 2:] - 2 * here)
            + LOSS * (AMBIENT - here)
        )

    def blocked(d: Data) -> None:
        height = d["heat"].shape[0]
        for first in range(1, height - 1, 8):
            step(d, first, min(first + 8, height - 1))

    return {"slices": lambda d: step(d, 1, d["heat"].shape[0] - 1), "slices, 8 rows at a time": blocked}


CASE = Case(
    name="hotspot",
    title="five-point stencil, 4096 x 4096",
    source=Path(__file__).with_suffix(".cl"),
    make=make,
    launches=launches,
    outputs=("result",),
    numba=numba_versions,
    numpy=numpy_versions,
    work=gigabytes(lambda d: 3 * d["heat"].nbytes),
    matches=same(1e-5),
)
