"""One all-pairs step of 8192 gravitating bodies, positions passing through local memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from .case import Case, Data, Launch, Local, Version, array, filled, gigaflops, same

DT = np.float32(0.01)
SOFTENING = np.float32(0.01)
GROUP = 128
# Per pair: 3 subtractions, 6 for the squared distance, 1 reciprocal root, 3 for the pull, 6 to accumulate.
FLOPS_PER_PAIR = 19


def make(quick: bool) -> Data:
    n = 512 if quick else 8192
    rng = np.random.default_rng(7)
    position = rng.uniform(-1, 1, (n, 4)).astype(np.float32)
    position[:, 3] = rng.uniform(0.5, 1.5, n) / n
    velocity = rng.uniform(-0.1, 0.1, (n, 4)).astype(np.float32)
    velocity[:, 3] = 0
    return {
        "position": filled(position),
        "velocity": filled(velocity),
        "next_position": array((n, 4), np.float32),
        "next_velocity": array((n, 4), np.float32),
    }


def launches(data: Data) -> Sequence[Launch]:
    n = data["position"].shape[0]
    arrays = ("position", "velocity", "next_position", "next_velocity")
    return [Launch("step_bodies", (n,), (GROUP,), (*arrays, np.int32(n), DT, SOFTENING, Local(16 * GROUP)))]


def numba_versions() -> Mapping[str, Version]:
    import math

    from numba import njit, prange

    f = np.float32

    @njit(parallel=True)
    def natural(position, velocity, next_position, next_velocity, dt, softening):
        n = position.shape[0]
        for i in prange(n):
            ax, ay, az = f(0.0), f(0.0), f(0.0)
            for j in range(n):
                dx = position[j, 0] - position[i, 0]
                dy = position[j, 1] - position[i, 1]
                dz = position[j, 2] - position[i, 2]
                inverse = f(1.0) / math.sqrt(dx * dx + dy * dy + dz * dz + softening)
                pull = position[j, 3] * inverse * inverse * inverse
                ax += dx * pull
                ay += dy * pull
                az += dz * pull
            for c, a in enumerate((ax, ay, az)):
                next_velocity[i, c] = velocity[i, c] + a * dt
                next_position[i, c] = position[i, c] + next_velocity[i, c] * dt
            next_velocity[i, 3] = f(0.0)
            next_position[i, 3] = position[i, 3]

    lanes = 32

    @njit(parallel=True)
    def in_lanes(position, velocity, next_position, next_velocity, dt, softening):
        n = position.shape[0]
        for block in prange(n // lanes):
            first = block * lanes
            own = np.empty((3, lanes), np.float32)
            pulled = np.zeros((3, lanes), np.float32)
            for k in range(lanes):
                for c in range(3):
                    own[c, k] = position[first + k, c]
            for j in range(n):
                x, y, z, mass = position[j, 0], position[j, 1], position[j, 2], position[j, 3]
                for k in range(lanes):
                    dx = x - own[0, k]
                    dy = y - own[1, k]
                    dz = z - own[2, k]
                    inverse = f(1.0) / math.sqrt(dx * dx + dy * dy + dz * dz + softening)
                    pull = mass * inverse * inverse * inverse
                    pulled[0, k] += dx * pull
                    pulled[1, k] += dy * pull
                    pulled[2, k] += dz * pull
            for k in range(lanes):
                i = first + k
                for c in range(3):
                    next_velocity[i, c] = velocity[i, c] + pulled[c, k] * dt
                    next_position[i, c] = position[i, c] + next_velocity[i, c] * dt
                next_velocity[i, 3] = f(0.0)
                next_position[i, 3] = position[i, 3]

    def call_with(function) -> Version:
        return lambda d: function(d["position"], d["velocity"], d["next_position"], d["next_velocity"], DT, SOFTENING)

    return {"prange": call_with(natural), "prange, 32 bodies at a time": call_with(in_lanes)}


def numpy_versions() -> Mapping[str, Version]:
    def blocked(d: Data) -> None:
        position, velocity = d["position"], d["velocity"]
        x, y, z, mass = (np.ascontiguousarray(position[:, c]) for c in range(4))
        n = position.shape[0]
        block = 16
        for first in range(0, n, block):
            part = slice(first, first + block)
            dx = x - x[part, None]
            dy = y - y[part, None]
            dz = z - z[part, None]
            inverse = 1 / np.sqrt(dx * dx + dy * dy + dz * dz + SOFTENING)
            pull = mass * inverse * inverse * inverse
            for c, away in enumerate((dx, dy, dz)):
                d["next_velocity"][part, c] = velocity[part, c] + (away * pull).sum(axis=1) * DT
        d["next_velocity"][:, 3] = 0
        d["next_position"][...] = position + d["next_velocity"] * DT

    return {"blocks of 16 bodies": blocked}


CASE = Case(
    name="nbody",
    title="n-body, 8192 bodies, one step",
    source=Path(__file__).with_suffix(".cl"),
    make=make,
    launches=launches,
    outputs=("next_position", "next_velocity"),
    numba=numba_versions,
    numpy=numpy_versions,
    work=gigaflops(lambda d: FLOPS_PER_PAIR * d["position"].shape[0] ** 2),
    matches=same(1e-3, 1e-4),
)
