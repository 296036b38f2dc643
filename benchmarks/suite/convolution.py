"""5 x 5 convolution of a 2048 x 2048 picture of floats with weights in constant memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from .case import Case, Data, Launch, Version, array, filled, gigaflops, same

SIDE = 5
RADIUS = 2


def make(quick: bool) -> Data:
    n = 256 if quick else 2048
    rng = np.random.default_rng(13)
    result = array((n, n), np.float32)
    result[...] = 0
    return {
        "image": filled(rng.random((n, n), np.float32)),
        "weights": filled(rng.random((SIDE, SIDE), np.float32)),
        "result": result,
    }


def launches(data: Data) -> Sequence[Launch]:
    height, width = data["image"].shape
    args = ("image", "weights", "result", np.int32(width))
    return [Launch("convolve", (width - 2 * RADIUS, height - 2 * RADIUS), None, args)]


def numba_versions() -> Mapping[str, Version]:
    from numba import njit, prange

    @njit(parallel=True)
    def natural(image, weights, result):
        height, width = image.shape
        for y in prange(RADIUS, height - RADIUS):
            for x in range(RADIUS, width - RADIUS):
                total = np.float32(0.0)
                for j in range(SIDE):
                    for i in range(SIDE):
                        total += weights[j, i] * image[y + j - RADIUS, x + i - RADIUS]
                result[y, x] = total

    @njit(parallel=True)
    def by_slices(image, weights, result):
        height, width = image.shape
        n = width - 2 * RADIUS
        for y in prange(RADIUS, height - RADIUS):
            out = result[y, RADIUS : n + RADIUS]
            for j in range(SIDE):
                row = image[y + j - RADIUS]
                a, b, c, d, e = row[:n], row[1 : n + 1], row[2 : n + 2], row[3 : n + 3], row[4:]
                w0, w1, w2, w3, w4 = weights[j, 0], weights[j, 1], weights[j, 2], weights[j, 3], weights[j, 4]
                if j == 0:
                    for x in range(n):
                        out[x] = w0 * a[x] + w1 * b[x] + w2 * c[x] + w3 * d[x] + w4 * e[x]
                else:
                    for x in range(n):
                        out[x] += w0 * a[x] + w1 * b[x] + w2 * c[x] + w3 * d[x] + w4 * e[x]

    return {
        "prange": lambda d: natural(d["image"], d["weights"], d["result"]),
        "prange, slices row by row": lambda d: by_slices(d["image"], d["weights"], d["result"]),
    }


def numpy_versions() -> Mapping[str, Version]:
    def slices(d: Data, first: int, last: int) -> None:
        image, weights = d["image"], d["weights"]
        width = image.shape[1]
        total = np.zeros((last - first, width - 2 * RADIUS), np.float32)
        for j in range(SIDE):
            for i in range(SIDE):
                rows = slice(first + j - RADIUS, last + j - RADIUS)
                total += weights[j, i] * image[rows, i : width - 2 * RADIUS + i]
        d["result"][first:last, RADIUS:-RADIUS] = total

    def blocked(d: Data) -> None:
        height = d["image"].shape[0]
        for first in range(RADIUS, height - RADIUS, 8):
            slices(d, first, min(first + 8, height - RADIUS))

    versions: dict[str, Version] = {
        "slices": lambda d: slices(d, RADIUS, d["image"].shape[0] - RADIUS),
        "slices, 8 rows at a time": blocked,
    }
    try:
        from scipy.ndimage import correlate
    except ImportError:
        return versions

    def scipy_correlate(d: Data) -> None:
        inner = slice(RADIUS, -RADIUS)
        d["result"][inner, inner] = correlate(d["image"], d["weights"])[inner, inner]

    versions["scipy.ndimage"] = scipy_correlate
    return versions


CASE = Case(
    name="convolution",
    title="5 x 5 convolution, 2048 x 2048",
    source=Path(__file__).with_suffix(".cl"),
    make=make,
    launches=launches,
    outputs=("result",),
    numba=numba_versions,
    numpy=numpy_versions,
    work=gigaflops(lambda d: 2 * SIDE * SIDE * d["image"].size),
    matches=same(1e-5),
)
