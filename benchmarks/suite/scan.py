"""Inclusive prefix sum of 16 Mi ints in one pass over memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from .case import Case, Data, Launch, Local, Version, array, filled, gigabytes, same

GROUP = 16
BLOCK = GROUP * 32 * 16
"""Elements of a work-group."""


def make(quick: bool) -> Data:
    n = 1 << (20 if quick else 24)
    rng = np.random.default_rng(10)
    return {
        "source": filled(rng.integers(-100, 100, n, np.int32)),
        "result": array(n, np.int32),
        "chain": array(n // BLOCK + 1, np.int32),
        "ends": array(n // BLOCK, np.int32),
    }


def launches(data: Data) -> Sequence[Launch]:
    return [
        Launch("begin", data["chain"].shape, None, ("chain",)),
        Launch("scan", (data["ends"].size * GROUP,), (GROUP,), ("source", "result", "chain", "ends", Local(4 * GROUP))),
    ]


def numba_versions() -> Mapping[str, Version]:
    from numba import get_num_threads, njit, prange

    @njit(parallel=True)
    def two_passes(source, result, parts):
        size = (source.size + parts - 1) // parts
        starts = np.zeros(parts + 1, np.int32)
        for p in prange(parts):
            total = np.int32(0)
            for i in range(p * size, min((p + 1) * size, source.size)):
                total += source[i]
            starts[p + 1] = total
        for p in range(parts):
            starts[p + 1] += starts[p]
        for p in prange(parts):
            running = starts[p]
            for i in range(p * size, min((p + 1) * size, source.size)):
                running += source[i]
                result[i] = running

    @njit
    def serial(source, result):
        running = np.int32(0)
        for i in range(source.size):
            running += source[i]
            result[i] = running

    return {
        "serial": lambda d: serial(d["source"], d["result"]),
        "prange, two passes": lambda d: two_passes(d["source"], d["result"], get_num_threads()),
    }


def numpy_versions() -> Mapping[str, Version]:
    return {"np.cumsum": lambda d: np.cumsum(d["source"], out=d["result"], dtype=np.int32)}


CASE = Case(
    name="scan",
    title="prefix sum, 16 Mi ints",
    source=Path(__file__).with_suffix(".cl"),
    make=make,
    launches=launches,
    outputs=("result",),
    numba=numba_versions,
    numpy=numpy_versions,
    work=gigabytes(lambda d: 2 * d["source"].nbytes),
    matches=same(0.0),
)
