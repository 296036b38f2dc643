"""256-bin histogram of 64 Mi bytes by atomics in local, then in global memory; and in global memory alone, as one
writes it first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from .case import Case, Data, Launch, Version, array, filled, gigabytes, same

GROUP = 256
PART = 1 << 18


def make(quick: bool) -> Data:
    n = 1 << (20 if quick else 26)
    rng = np.random.default_rng(8)
    # Squaring bends the distribution, as a photograph's is bent: some bins see several times the mean.
    values = (rng.random(n, np.float32) ** 2 * 256).astype(np.uint8)
    return {"values": filled(values), "bins": array(256, np.uint32)}


def launches(data: Data) -> Sequence[Launch]:
    items = data["values"].size // PART * GROUP
    return [
        Launch("clear", (256,), None, ("bins",)),
        Launch("histogram", (items,), (GROUP,), ("values", "bins", np.int32(PART))),
    ]


def global_launches(data: Data) -> Sequence[Launch]:
    return [
        Launch("clear", (256,), None, ("bins",)),
        Launch("histogram_global", (data["values"].size,), None, ("values", "bins")),
    ]


def numba_versions() -> Mapping[str, Version]:
    from numba import get_num_threads, njit, prange

    @njit(parallel=True)
    def natural(values, bins, threads):
        own = np.zeros((threads, 256), np.uint32)
        size = (values.size + threads - 1) // threads
        for t in prange(threads):
            for i in range(t * size, min((t + 1) * size, values.size)):
                own[t, values[i]] += np.uint32(1)
        bins[:] = own.sum(axis=0).astype(np.uint32)

    @njit(parallel=True)
    def four_tables(values, bins, threads):
        own = np.zeros((threads, 256), np.uint32)
        size = values.size // threads
        for t in prange(threads):
            part = values[t * size : (t + 1) * size if t + 1 < threads else values.size]
            t0 = np.zeros(256, np.uint32)
            t1 = np.zeros(256, np.uint32)
            t2 = np.zeros(256, np.uint32)
            t3 = np.zeros(256, np.uint32)
            whole = part.size // 4 * 4
            for i in range(0, whole, 4):
                t0[part[i]] += np.uint32(1)
                t1[part[i + 1]] += np.uint32(1)
                t2[part[i + 2]] += np.uint32(1)
                t3[part[i + 3]] += np.uint32(1)
            for i in range(whole, part.size):
                t0[part[i]] += np.uint32(1)
            for b in range(256):
                own[t, b] = t0[b] + t1[b] + t2[b] + t3[b]
        for b in range(256):
            total = np.uint32(0)
            for t in range(threads):
                total += own[t, b]
            bins[b] = total

    return {
        "prange, a table per thread": lambda d: natural(d["values"], d["bins"], get_num_threads()),
        "prange, four tables per thread": lambda d: four_tables(d["values"], d["bins"], get_num_threads()),
    }


def numpy_versions() -> Mapping[str, Version]:
    def bincount(d: Data) -> None:
        d["bins"][:] = np.bincount(d["values"], minlength=256)

    def blocked(d: Data) -> None:
        d["bins"][:] = 0
        for start in range(0, d["values"].size, 1 << 15):
            d["bins"] += np.bincount(d["values"][start : start + (1 << 15)], minlength=256).astype(np.uint32)

    return {"np.bincount": bincount, "np.bincount in blocks": blocked}


LOCAL = Case(
    name="histogram",
    title="histogram with atomics, 64 Mi bytes",
    source=Path(__file__).with_suffix(".cl"),
    make=make,
    launches=launches,
    outputs=("bins",),
    numba=numba_versions,
    numpy=numpy_versions,
    work=gigabytes(lambda d: d["values"].nbytes),
    matches=same(0.0),
)
GLOBAL = replace(
    LOCAL,
    name="histogram_global",
    title="histogram, global atomics only, 64 Mi bytes",
    launches=global_launches,
)
