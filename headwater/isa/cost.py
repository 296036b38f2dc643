"""Input: the cost column of an instruction table. Output: `Cost`: what issues an operation, and what it costs."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple


class Cost(NamedTuple):
    """What issues an operation, and what it costs there, as far as the operation alone decides it.

    ``unit``: on GCN one of `headwater.isa.gcn.cost.UNITS`; "ALU" on VLIW chips. ``rate``: of an ALU's operation a fixed
    share of the rate of a 32-bit addition ("full", "half", "quarter"), or the name of what the chip's rates decide
    ("float64_fma", …), or "matrix"; "cycles" of the LDS; of vector memory what the access is ("load", "image" for loads
    and samples of images, "store", "atomic", "cmpswap", "invalidate", "other"). ``number``: passes of a "matrix"
    operation, cycles of the LDS for 64 lanes without bank conflicts, else 0. ``flops``: floating-point operations of a
    lane.
    """

    unit: str
    rate: str = "full"
    number: int = 0
    flops: int = 0


NO_COST = Cost("other")
"""Of what no ALU and no memory unit executes."""


@cache
def parse(text: str) -> Cost:
    """``UNIT RATE[/NUMBER] [FLOPS]``."""
    unit, rate, *flops = text.split()
    rate, _, number = rate.partition("/")
    return Cost(unit, rate, int(number or 0), int(flops[0]) if flops else 0)
