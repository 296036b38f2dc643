"""Input: a domain of execution and a chip. Output: how wavefronts are formed from it, and how well they fill the chip.

Compute kernels: a work-group becomes whole wavefronts, the last of them padded (AMD, OpenCL Programming Guide, "Work-
Item Processing"). Pixel kernels: threads come in quads of 2 × 2, sixteen of which fill a wavefront of 64; where blocks
of 8 × 8 are not full, the chip fills wavefronts up from other blocks, within the quads (AMD, Technical Overview, ATI
Stream Computing, 2.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from headwater.chips import Chip
from headwater.errors import LaunchError

_QUAD = 4
_LARGEST = 1 << 40


@dataclass(frozen=True, slots=True)
class Domain:
    """``size`` work-items, ``group`` of a work-group (one tuple of ones for pixel kernels, which have none).

    ``wavefronts``, ``groups``: how many there are. ``lane_efficiency``: work-items over lanes of all wavefronts, what
    quads or padding leave idle; ``block_efficiency``: what it would be without filling blocks of 8 × 8 up (pixel
    kernels); ``block``: width and height of what makes a wavefront of pixels. ``tail_efficiency``: wavefronts over
    places for them in the last round; ``rounds``: how often all SIMDs are filled.
    """

    size: tuple[int, ...]
    group: tuple[int, ...]
    pixel: bool
    items: int
    groups: int
    wavefronts: int
    lane_efficiency: float
    block_efficiency: float
    block: tuple[int, int]
    rounds: float
    tail_efficiency: float
    minimum_items: int
    hiding_items: int

    @property
    def efficiency(self) -> float:
        """What share of the lanes has work: idle lanes, and SIMDs that wait for the last round, counted."""
        return self.lane_efficiency * self.tail_efficiency


def minimum_items(chip: Chip) -> int:
    """Work-items that give every SIMD something to do: a wavefront each, a pair on VLIW chips, whose SIMDs take turns
    between an even and an odd one (AMD, "OpenCL on the ATI Radeon HD 4870": 10 SIMDs × 2 × 64 = 1,280)."""
    compute = chip.compute
    pairs = 2 if chip.is_vliw else 1
    return compute.compute_units * compute.simds_per_compute_unit * pairs * compute.wavefront_size


def domain(
    chip: Chip, size: tuple[int, ...], group: tuple[int, ...] = (), *, pixel: bool = False, at_once: int = 1
) -> Domain:
    """The wavefronts of a launch. ``at_once``: wavefronts that a SIMD holds, of which a round is made.

    Raises LaunchError for sizes that no launch can have.
    """
    if not 1 <= len(size) <= 3 or any(n < 1 for n in size) or prod(size) > _LARGEST:
        raise LaunchError(
            f"a launch of {' × '.join(map(str, size)) or 'nothing'} work-items", hint="1 to 3 sizes from 1"
        )
    compute = chip.compute
    wavefront = compute.wavefront_size
    items = prod(size)
    block, block_efficiency = (wavefront, 1), 1.0
    if pixel:
        width, height = size[0], prod(size[1:])
        quads = -(-width // 2) * -(-height // 2)
        wavefronts = -(-quads * _QUAD // wavefront)
        groups, group = wavefronts, (1,)
        lanes = wavefronts * wavefront
        block_efficiency = items / (-(-width // 8) * -(-height // 8) * 64)
        block = _block(width, height, wavefront)
    else:
        group = (*group, *(1,) * (len(size) - len(group)))[: len(size)] or (wavefront,)
        if any(n < 1 for n in group) or prod(group) > compute.work_group_size:
            most = compute.work_group_size
            raise LaunchError(f"a work-group of {' × '.join(map(str, group))}: {chip.name} has 1 to {most} work-items")
        groups = prod(-(-n // g) for n, g in zip(size, group, strict=True))
        wavefronts = groups * -(-prod(group) // wavefront)
        lanes = wavefronts * wavefront
    simds = compute.compute_units * compute.simds_per_compute_unit
    places = simds * max(1, at_once)
    rounds = wavefronts / places
    # The SIMDs end together but for the last wavefronts, which are spread over them.
    tail = wavefronts / (-(-wavefronts // simds) * simds)
    least = minimum_items(chip)
    return Domain(
        size,
        group,
        pixel,
        items,
        groups,
        wavefronts,
        items / lanes,
        block_efficiency,
        block,
        rounds,
        tail,
        least,
        2 * least,
    )


def _block(width: int, height: int, wavefront: int) -> tuple[int, int]:
    """Width and height of the pixels that make one wavefront: 8 × 8, 32 × 2 of a domain 2 high, …"""
    side = 8 if wavefront == 64 else 4 if wavefront == 16 else 8
    tall = wavefront // side
    if height < tall:
        rows = 2 if height <= 2 else 4
        return wavefront // rows, rows
    if width < side:
        columns = 2 if width <= 2 else 4
        return columns, wavefront // columns
    return side, tall
