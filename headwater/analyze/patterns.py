"""Input: addresses of wavefronts' lanes. Output: the cache lines that they touch and the address units' cycles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headwater.analyze.launch import Array

LINE_BYTES = 64
"""A line of the first-level cache (AMD, GCN3 Instruction Set Architecture, "Vector L1 cache")."""


class Pattern(NamedTuple):
    """Means over wavefronts of one access. ``lines``: cache lines that it touches; ``least``: lines that as many bytes
    fill; ``linear``: the share of wavefronts whose lanes follow each other, or all have one address; ``conflicts``:
    cycles of address units that take four lanes a cycle as far as banks allow, of the other wavefronts."""

    lines: float
    least: float
    linear: float
    conflicts: float
    distinct: float


def pattern(low: Array, active: Array, nbytes: int) -> Pattern | None:
    """Of an access of ``nbytes`` bytes a lane; ``low``: addresses modulo 2³², ``active``: lanes that make it, both
    wavefronts × lanes. None if none does."""
    waves = np.asarray(active.any(axis=1))
    if not waves.any():
        return None
    active = active[waves]
    at = np.broadcast_to(low, (len(waves), active.shape[1]))[waves]
    first = np.argmax(active, axis=1)[:, None]
    base = np.take_along_axis(at, first, 1)
    lane = np.arange(at.shape[1], dtype=np.int64)[None, :] - first
    away = (at - base).astype(np.int32).astype(np.int64)
    linear = (~active | (away == lane * nbytes)).all(axis=1)
    uniform = (~active | (away == 0)).all(axis=1)
    lines = _lines(at, active, nbytes)
    plain = linear | uniform
    asked = np.where(uniform, nbytes, active.sum(axis=1) * nbytes)
    others = ~plain
    conflicts = float(address_cycles(at[others], active[others], nbytes).mean()) if others.any() else 0.0
    least = float(np.maximum(1, asked / LINE_BYTES).mean())
    places = np.sort(np.where(active, at.astype(np.int64), -1), axis=1)
    changes = int(((places[:, 1:] != places[:, :-1]) & (places[:, 1:] >= 0)).sum()) + int((places[:, 0] >= 0).sum())
    return Pattern(float(lines.mean()), least, float(plain.mean()), conflicts, changes / int(active.sum()))


def _lines(at: Array, active: Array, nbytes: int) -> Array:
    ends = np.concatenate([at // LINE_BYTES, (at + np.uint32(max(nbytes, 1) - 1)) // LINE_BYTES], axis=1)
    ends = ends.astype(np.int64)
    used = np.concatenate([active, active], axis=1)
    ends = np.sort(np.where(used, ends, -1), axis=1)
    new = np.ones(ends.shape, bool)
    new[:, 1:] = ends[:, 1:] != ends[:, :-1]
    return np.asarray((new & (ends >= 0)).sum(axis=1))


def address_cycles(at: Array, active: Array, nbytes: int) -> Array:
    """Cycles of the unit that takes addresses to cache lines, four lanes a cycle, for each wavefront.

    Of dwords these are lanes 4 apart, of more neighbours. They want as many cycles as the fullest of four banks of
    tags, which lines take in turn, has different lines, or the fullest bank of data different dwords: of 16, which are
    a line. Dwords of 16 lanes where each four follow each other are taken four at a time: RRZE-HPC, gpu-benches,
    gpu-strides, measured on MI210. The trace (`headwater.emulate.watch.trace`) counts alike.
    """
    rows = len(at)
    parts = at.astype(np.int64).reshape(rows, -1, 4, 4)
    on = active.reshape(parts.shape)
    if nbytes > 4:
        lanes, used = parts.reshape(rows, -1, 4), on.reshape(rows, -1, 4)
    else:
        lanes, used = (one.swapaxes(2, 3).reshape(rows, -1, 4) for one in (parts, on))
    tags = _fullest(lanes // LINE_BYTES, used, 4)
    cost = tags
    if nbytes <= 8:
        cost = np.maximum(tags, _fullest(lanes >> (3 if nbytes > 4 else 2), used, 8 if nbytes > 4 else 16))
    if nbytes <= 4:
        begins = np.where(on, parts - nbytes * np.arange(4), -1)
        low = np.where(on, begins, np.iinfo(np.int64).max).min(axis=3)
        follows = (begins.max(axis=3) <= low).all(axis=2)
        tags = tags.reshape(rows, -1, 4).max(axis=2, keepdims=True)
        of_quads = np.where(np.arange(4) == 0, tags, 0)
        cost = np.where(follows[..., None], of_quads, cost.reshape(rows, -1, 4)).reshape(rows, -1)
    return np.asarray(np.clip(cost.sum(axis=1), 4, 64))


def _fullest(number: Array, on: Array, banks: int) -> Array:
    """How many different numbers of each four go to the fullest of so many banks."""
    first = on.copy()
    for j in range(4):
        for k in range(j):
            first[..., j] &= ~(on[..., k] & (number[..., k] == number[..., j]))
    most = np.zeros(number.shape[:-1], np.int64)
    for j in range(4):
        same = (number ^ number[..., j : j + 1]) % banks == 0
        most = np.maximum(most, np.where(first[..., j], (first & same).sum(axis=-1), 0))
    return most
