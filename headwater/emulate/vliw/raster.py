"""Input: a pixel shader's domain. Output: the wavefronts that a rasteriser makes of it, and their turns.

"Wavefronts are composed of quads", 2 × 2 pixels, and taken along a pattern of 8 × 8 blocks, "hierarchical Z"; of blocks
that are not whole "the stream processor tries to fill the rest of the wavefront from other blocks, but within the quad
limitation" (AMD, Technical Overview, ATI Stream Computing, 1.6 and 2.4). In which order quads of a block follow each
other nobody tells; a Z is taken for them, too.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

BLOCK: Final = 8
"""Pixels of a block's side."""
QUADS: Final = 16
"""Quads of a block, and of a wavefront of 64."""
NO_QUAD: Final = 0xFFFFFFFF

Numbers = np.ndarray[Any, np.dtype[np.uint32]]


class Wavefronts(NamedTuple):
    """``quads[wavefront, 16]``: x | y << 16 of each quad, in quads, or `NO_QUAD`. ``turns``: the wavefronts' numbers in
    the order in which they are made; they are numbered by rows of whole blocks, then those put together of others."""

    quads: Numbers
    turns: Numbers


def rasterised(width: int, height: int) -> Wavefronts:
    """The wavefronts of a domain of so many pixels."""
    columns, rows = -(-width // BLOCK), -(-height // BLOCK)
    y, x = np.divmod(np.arange(columns * rows, dtype=np.uint32), np.uint32(columns))
    turn = interleaved(x) | interleaved(y) << np.uint64(1)
    whole = (BLOCK * (x + 1) <= width) & (BLOCK * (y + 1) <= height)
    across, down = _deinterleaved(np.arange(QUADS, dtype=np.uint32))
    made = _packed(x[whole, None] * np.uint32(4) + across, y[whole, None] * np.uint32(4) + down)
    parts = np.flatnonzero(~whole)
    parts = parts[np.argsort(turn[parts], kind="stable")]
    at_x, at_y = x[parts, None] * np.uint32(4) + across, y[parts, None] * np.uint32(4) + down
    inside = (2 * at_x < width) & (2 * at_y < height)
    left = _packed(at_x, at_y)[inside]
    filled = np.full(-(-len(left) // QUADS) * QUADS, NO_QUAD, np.uint32)
    filled[: len(left)] = left
    block_of = np.broadcast_to(turn[parts, None], inside.shape)[inside]
    last = block_of[np.minimum(np.arange(len(filled) // QUADS) * QUADS + QUADS, len(left)) - 1]
    turns = np.argsort(np.concatenate((turn[whole], last)), kind="stable").astype(np.uint32)
    return Wavefronts(np.concatenate((made, filled.reshape(-1, QUADS))), turns)


def interleaved(values: Numbers) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Each number's bits with a zero in front of each."""
    found = np.zeros(values.shape, np.uint64)
    numbers = values.astype(np.uint64)
    for bit in range(16):
        found |= (numbers >> np.uint64(bit) & np.uint64(1)) << np.uint64(2 * bit)
    return found


def _deinterleaved(values: Numbers) -> tuple[Numbers, Numbers]:
    """x and y of a place along a Z of 4 × 4."""
    bit = [values >> np.uint32(n) & np.uint32(1) for n in range(4)]
    return bit[0] | bit[2] << np.uint32(1), bit[1] | bit[3] << np.uint32(1)


def _packed(x: Numbers, y: Numbers) -> Numbers:
    return x | y << np.uint32(16)
