"""Input: the memory of a launch's arguments. Output: the same memory in whole dwords, as the chip accesses it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headwater.base.arrays import Array, address, aligned_bytes
from headwater.emulate.wave.launched import SimulatedTask
from headwater.emulate.wave.layout import round_up

DWORD = 4
"""Bytes."""


def in_whole_dwords(task: SimulatedTask, memories: Mapping[int, Array]) -> dict[int, tuple[Array, int]]:
    """Bytes that consist of whole dwords, and where in them each memory begins.

    Memory that does not is copied for the launch, as the bytes beside it are not the kernel's; memories that overlap
    are copied together, so that what is written to one is seen in the others. A memory that overlaps no other begins at
    a multiple of four bytes of its copy, one that does as it does in the caller's memory.
    """
    flat = {key: memory.reshape(-1).view(np.uint8) for key, memory in memories.items() if memory.size}
    spans = sorted({(address(one), one.nbytes) for one in flat.values()})
    groups: list[list[tuple[int, int]]] = []
    end = 0
    for start, nbytes in spans:
        if start >= end:
            groups.append([])
        groups[-1].append((start, nbytes))
        end = max(end, start + nbytes)
    copied: dict[tuple[int, int], tuple[Array, int]] = {}
    for group in groups:
        if not any(start % DWORD or nbytes % DWORD for start, nbytes in group):
            continue
        first, last = group[0][0], max(start + nbytes for start, nbytes in group)
        phase = first % DWORD if len(group) > 1 else 0
        whole = aligned_bytes(round_up(phase + last - first, DWORD))
        copied |= {span: (whole, phase + span[0] - first) for span in group}
    placed = {key: (memory.reshape(-1).view(np.uint8), 0) for key, memory in memories.items()}
    for key, one in flat.items():
        if found := copied.get((address(one), one.nbytes)):
            whole, at = found
            copy = whole[at : at + one.nbytes]
            copy[:] = one
            task.keep_copy(one, copy)
            begin = at // DWORD * DWORD
            placed[key] = whole[begin : round_up(at + one.nbytes, DWORD)], at - begin
    return placed
