"""The sum of 64 Mi floats: a tree in local memory for each work-group, and a second launch over the groups' sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from .case import Case, Data, Launch, Local, Version, array, filled, gigabytes, same

GROUP = 256
PART = 1 << 18
"""Elements of a group: a quarter as many take the cpu device 1.04 of the time, for four times as many trees of sums."""


def make(quick: bool) -> Data:
    n = 1 << (20 if quick else 26)
    rng = np.random.default_rng(5)
    return {
        "values": filled(rng.random(n, np.float32)),
        "partial": array(n // PART, np.float32),
        "total": array(1, np.float32),
    }


def launches(data: Data) -> Sequence[Launch]:
    shared = Local(4 * GROUP)
    groups = data["partial"].size
    return [
        Launch("sum", (GROUP * groups,), (GROUP,), ("values", "partial", np.int32(PART), shared)),
        Launch("sum", (GROUP,), (GROUP,), ("partial", "total", np.int32(groups), shared)),
    ]


def numba_versions() -> Mapping[str, Version]:
    from numba import get_num_threads, njit, prange

    @njit(parallel=True)
    def natural(values):
        total = 0.0
        for i in prange(values.size):
            total += values[i]
        return total

    lanes = 128

    @njit(parallel=True)
    def in_lanes(values, parts):
        size = values.size // parts.size
        for part in prange(parts.size):
            own = values[part * size : (part + 1) * size]
            sums = np.zeros(lanes, np.float32)
            for start in range(0, own.size, lanes):
                for k in range(lanes):
                    sums[k] += own[start + k]
            parts[part] = sums.sum()

    def run_natural(d: Data) -> None:
        d["total"][0] = natural(d["values"])

    def run_lanes(d: Data) -> None:
        parts = np.empty(64 * get_num_threads(), np.float64)
        parts = parts[: 1 << int(np.log2(parts.size))]  # a power of two divides the length
        in_lanes(d["values"], parts)
        d["total"][0] = parts.sum()

    return {"prange": run_natural, "prange, 128 sums": run_lanes}


def numpy_versions() -> Mapping[str, Version]:
    return {"np.sum": lambda d: np.sum(d["values"], out=d["total"][0:1].reshape(()))}


CASE = Case(
    name="reduction",
    title="reduction, 64 Mi floats",
    source=Path(__file__).with_suffix(".cl"),
    make=make,
    launches=launches,
    outputs=("total",),
    numba=numba_versions,
    numpy=numpy_versions,
    work=gigabytes(lambda d: d["values"].nbytes),
    matches=same(1e-5),
)
