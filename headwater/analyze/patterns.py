"""Addresses of wavefronts' lanes pass in; the cache lines that they touch and the address units' cycles pass out."""

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
    apart = np.sort(np.where(active, at.astype(np.int64), -1), axis=1)
    changes = int(((apart[:, 1:] != apart[:, :-1]) & (apart[:, 1:] >= 0)).sum()) + int((apart[:, 0] >= 0).sum())
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

    Lanes that go on where those before them in their 16 ended share a cycle with these; four lanes want as many cycles
    as the bank of which they want most dwords, and odd distances, for which that is one, 7 cycles for 4 of them:
    RRZE-HPC, gpu-benches, gpu-strides, measured on MI210. The trace (`headwater.emulate.trace`) counts alike.
    """
    if nbytes > 8:
        return np.full(len(at), 16)
    unit, banks = (3, 8) if nbytes == 8 else (2, 4)
    at = at.astype(np.int64).reshape(len(at), -1, 4)
    on = active.reshape(at.shape)
    word = at >> unit
    first = on.copy()
    for j in range(4):
        for k in range(j):
            first[..., j] &= ~(on[..., k] & (word[..., k] == word[..., j]))
    most = np.zeros(at.shape[:2], np.int64)
    for j in range(4):
        load = sum((first[..., k] & ((word[..., k] ^ word[..., j]) % banks == 0)).astype(np.int64) for k in range(4))
        most = np.maximum(most, np.where(first[..., j], load, 0))
    far = np.iinfo(np.int64).max
    span = np.where(on, word, -1).max(axis=2) - np.where(on, word, far).min(axis=2)
    follows = np.zeros(most.shape, bool)
    if nbytes <= 4:
        before = np.zeros(most.shape, bool)
        before[:, 1:] = on[:, :-1, 3] & (at[:, 1:, 0] == at[:, :-1, 3] + nbytes)
        before[:, ::4] = False
        follows = before & on.all(axis=2) & (np.diff(at, axis=2) == nbytes).all(axis=2)
    odd = (most == 1) & (span > 12) & (nbytes <= 4)
    cost = np.where(follows, 0, np.where(odd, 7, 4 * most))
    return np.asarray(np.clip((cost.sum(axis=1) + 3) // 4, 4, 64))
