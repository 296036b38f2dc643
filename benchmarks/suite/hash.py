"""Sixteen rounds of integer hashing over 8 Mi keys: 32-bit multiplies, shifts and rotates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from .case import Case, Data, Launch, Version, array, filled, millions, same

ROUNDS = np.int32(16)


def make(quick: bool) -> Data:
    n = 1 << (16 if quick else 23)
    rng = np.random.default_rng(15)
    return {"keys": filled(rng.integers(0, 1 << 32, n, np.uint32)), "hashes": array(n, np.uint32)}


def launches(data: Data) -> Sequence[Launch]:
    return [Launch("hash", (data["keys"].size,), None, ("keys", "hashes", ROUNDS))]


def numba_versions() -> Mapping[str, Version]:
    from numba import njit, prange

    u = np.uint32

    @njit(parallel=True)
    def mix(keys, hashes, rounds):
        for i in prange(keys.size):
            h = keys[i]
            for r in range(rounds):
                h ^= h >> u(16)
                h = u(h * u(0x85EBCA6B))
                h ^= h >> u(13)
                h = u(h * u(0xC2B2AE35))
                h ^= h >> u(16)
                h = u(u((h << u(5)) | (h >> u(27))) + u(r))
            hashes[i] = h

    @njit(parallel=True)
    def in_lanes(keys, hashes, rounds):
        lanes = 64
        for block in prange(keys.size // lanes):
            own = hashes[block * lanes : (block + 1) * lanes]
            for k in range(lanes):
                own[k] = keys[block * lanes + k]
            for r in range(rounds):
                for k in range(lanes):
                    h = own[k]
                    h ^= h >> u(16)
                    h = u(h * u(0x85EBCA6B))
                    h ^= h >> u(13)
                    h = u(h * u(0xC2B2AE35))
                    h ^= h >> u(16)
                    own[k] = u(u((h << u(5)) | (h >> u(27))) + u(r))

    return {
        "prange": lambda d: mix(d["keys"], d["hashes"], ROUNDS),
        "prange, 64 keys at a time": lambda d: in_lanes(d["keys"], d["hashes"], ROUNDS),
    }


def numpy_versions() -> Mapping[str, Version]:
    def mix(keys: np.ndarray, hashes: np.ndarray) -> None:
        h = keys.copy()
        for r in range(ROUNDS):
            h ^= h >> np.uint32(16)
            h *= np.uint32(0x85EBCA6B)
            h ^= h >> np.uint32(13)
            h *= np.uint32(0xC2B2AE35)
            h ^= h >> np.uint32(16)
            h = (h << np.uint32(5) | h >> np.uint32(27)) + np.uint32(r)
        hashes[:] = h

    def blocked(d: Data) -> None:
        for start in range(0, d["keys"].size, 1 << 14):
            mix(d["keys"][start : start + (1 << 14)], d["hashes"][start : start + (1 << 14)])

    return {"arrays": lambda d: mix(d["keys"], d["hashes"]), "in blocks": blocked}


CASE = Case(
    name="hash",
    title="integer hash, 8 Mi keys, 16 rounds",
    source=Path(__file__).with_suffix(".cl"),
    make=make,
    launches=launches,
    outputs=("hashes",),
    numba=numba_versions,
    numpy=numpy_versions,
    work=millions(lambda d: d["keys"].size, "keys"),
    matches=same(0.0),
)
