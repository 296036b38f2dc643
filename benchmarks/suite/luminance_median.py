"""3 x 3 median of RGBA pixels ordered by luminance, as in AMD's OpenCL introduction: the example's simple kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from .case import Case, Data, Launch, Version, filled, millions, mostly_equal


def make(quick: bool) -> Data:
    n = 256 if quick else 1024
    rng = np.random.default_rng(14)
    image = rng.integers(0, 1 << 32, (n, n), np.uint32)
    return {"image": filled(image), "result": filled(image)}


def launches(data: Data) -> Sequence[Launch]:
    height, width = data["image"].shape
    return [Launch("medianfilter_rgba", (width, height), None, ("image", "result", np.int32(width), np.int32(height)))]


def numba_versions() -> Mapping[str, Version]:
    from numba import njit, prange

    f = np.float32
    u = np.uint32

    @njit(inline="always")
    def luminance(p):
        return f(0.3) * f(p & u(255)) + f(0.59) * f((p >> u(8)) & u(255)) + f(0.11) * f((p >> u(16)) & u(255))

    @njit(inline="always")
    def sort2(a, b):
        swap = luminance(a) > luminance(b)
        return (b if swap else a), (a if swap else b)

    @njit(inline="always")
    def sort3(a, b, c):
        a, b = sort2(a, b)
        b, c = sort2(b, c)
        a, b = sort2(a, b)
        return a, b, c

    @njit(parallel=True)
    def median(image, result):
        height, width = image.shape
        for y in prange(1, height - 1):
            # Slices instead of `x - 1`: indices that cannot be negative leave the loop to the vectoriser.
            n = width - 2
            a, b, c = image[y - 1, :n], image[y - 1, 1 : n + 1], image[y - 1, 2:]
            d, e, f = image[y, :n], image[y, 1 : n + 1], image[y, 2:]
            g, h, k = image[y + 1, :n], image[y + 1, 1 : n + 1], image[y + 1, 2:]
            out = result[y, 1 : n + 1]
            for x in range(n):
                p00, p01, p02 = sort3(a[x], b[x], c[x])
                p10, p11, p12 = sort3(d[x], e[x], f[x])
                p20, p21, p22 = sort3(g[x], h[x], k[x])
                p00, p10, p20 = sort3(p00, p10, p20)
                p01, p11, p21 = sort3(p01, p11, p21)
                p02, p12, p22 = sort3(p02, p12, p22)
                p20, p11, p02 = sort3(p20, p11, p02)
                out[x] = p11

    return {"prange, slices": lambda d: median(d["image"], d["result"])}


def numpy_versions() -> Mapping[str, Version]:
    def luminance(p: np.ndarray) -> np.ndarray:
        channels = ((p >> np.uint32(s) & np.uint32(255)).astype(np.float32) for s in (0, 8, 16))
        return sum(np.float32(w) * c for w, c in zip((0.3, 0.59, 0.11), channels, strict=True))

    def partition(d: Data) -> None:
        image = d["image"]
        height, width = image.shape
        light = luminance(image)
        shifts = [
            (slice(1 + dy, height - 1 + dy), slice(1 + dx, width - 1 + dx)) for dy in (-1, 0, 1) for dx in (-1, 0, 1)
        ]
        order = np.argpartition(np.stack([light[s] for s in shifts]), 4, axis=0)[4]
        pixels = np.stack([image[s] for s in shifts])
        d["result"][1:-1, 1:-1] = np.take_along_axis(pixels, order[None], axis=0)[0]

    return {"argpartition": partition}


CASE = Case(
    name="luminance_median",
    title="3 x 3 luminance median, 1024 x 1024",
    source=Path(__file__).parents[2] / "examples" / "median" / "median.cl",
    make=make,
    launches=launches,
    outputs=("result",),
    numba=numba_versions,
    numpy=numpy_versions,
    work=millions(lambda d: d["image"].size, "pixels"),
    # Pixels of (almost) equal luminance may change places.
    matches=mostly_equal(0.02),
)
