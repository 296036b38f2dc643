"""3 x 3 median per channel of a 2048 x 2048 RGBA picture of bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from .case import Case, Data, Launch, Version, array, filled, millions, same


def make(quick: bool) -> Data:
    n = 256 if quick else 2048
    rng = np.random.default_rng(6)
    result = array((n, n, 4), np.uint8)
    result[...] = 0
    return {"image": filled(rng.integers(0, 256, (n, n, 4), np.uint8)), "result": result}


def launches(data: Data) -> Sequence[Launch]:
    height, width, _ = data["image"].shape
    return [Launch("median", (width - 2, height - 2), None, ("image", "result", np.int32(width)))]


def numba_versions() -> Mapping[str, Version]:
    from numba import njit, prange

    @njit(inline="always")
    def network(a, b, c, d, e, f, g, h, k):
        b, c = min(b, c), max(b, c)
        e, f = min(e, f), max(e, f)
        h, k = min(h, k), max(h, k)
        a, b = min(a, b), max(a, b)
        d, e = min(d, e), max(d, e)
        g, h = min(g, h), max(g, h)
        b, c = min(b, c), max(b, c)
        e, f = min(e, f), max(e, f)
        h, k = min(h, k), max(h, k)
        a, d = min(a, d), max(a, d)
        f, k = min(f, k), max(f, k)
        e, h = min(e, h), max(e, h)
        d, g = min(d, g), max(d, g)
        b, e = min(b, e), max(b, e)
        c, f = min(c, f), max(c, f)
        e, h = min(e, h), max(e, h)
        e, c = min(e, c), max(e, c)
        g, e = min(g, e), max(g, e)
        return min(e, c)

    @njit(parallel=True)
    def natural(image, result):
        height, width, channels = image.shape
        for y in prange(1, height - 1):
            for x in range(1, width - 1):
                for c in range(channels):
                    result[y, x, c] = network(
                        image[y - 1, x - 1, c], image[y - 1, x, c], image[y - 1, x + 1, c],
                        image[y, x - 1, c], image[y, x, c], image[y, x + 1, c],
                        image[y + 1, x - 1, c], image[y + 1, x, c], image[y + 1, x + 1, c],
                    )  # fmt: skip

    # Slices instead of `x - 4`: indices that cannot be negative leave the loop to the vectoriser.
    @njit(parallel=True)
    def by_rows(image, result):
        height, width = image.shape
        n = width - 8
        for y in prange(1, height - 1):
            a, b, c = image[y - 1, :n], image[y - 1, 4 : n + 4], image[y - 1, 8:]
            d, e, f = image[y, :n], image[y, 4 : n + 4], image[y, 8:]
            g, h, k = image[y + 1, :n], image[y + 1, 4 : n + 4], image[y + 1, 8:]
            out = result[y, 4 : n + 4]
            for x in range(n):
                out[x] = network(a[x], b[x], c[x], d[x], e[x], f[x], g[x], h[x], k[x])

    def run_rows(d: Data) -> None:
        height, width, channels = d["image"].shape
        by_rows(d["image"].reshape(height, width * channels), d["result"].reshape(height, width * channels))

    return {"prange": lambda d: natural(d["image"], d["result"]), "prange, slices of rows of bytes": run_rows}


def numpy_versions() -> Mapping[str, Version]:
    def network(d: Data, first: int, last: int) -> None:
        image = d["image"]
        v = [image[first + dy : last + dy, 1 + dx : image.shape[1] - 1 + dx] for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
        pairs = "12 45 78 01 34 67 12 45 78 03 58 47 36 14 25 47 42 64 42"
        for i, j in ((int(p[0]), int(p[1])) for p in pairs.split()):
            v[i], v[j] = np.minimum(v[i], v[j]), np.maximum(v[i], v[j])
        d["result"][first:last, 1:-1] = v[4]

    def whole(d: Data) -> None:
        network(d, 1, d["image"].shape[0] - 1)

    def blocked(d: Data) -> None:
        height = d["image"].shape[0]
        for first in range(1, height - 1, 8):
            network(d, first, min(first + 8, height - 1))

    versions: dict[str, Version] = {"minimum/maximum": whole, "minimum/maximum, 8 rows at a time": blocked}
    try:
        from scipy.ndimage import median_filter
    except ImportError:
        return versions

    def scipy_filter(d: Data) -> None:
        d["result"][1:-1, 1:-1] = median_filter(d["image"], size=(3, 3, 1))[1:-1, 1:-1]

    versions["scipy.ndimage"] = scipy_filter
    return versions


CASE = Case(
    name="median",
    title="3 x 3 median, 2048 x 2048 RGBA",
    source=Path(__file__).with_suffix(".cl"),
    make=make,
    launches=launches,
    outputs=("result",),
    numba=numba_versions,
    numpy=numpy_versions,
    work=millions(lambda d: d["image"].size / 4, "pixels"),
    matches=same(0.0),
)
