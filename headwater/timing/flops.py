"""Input: a trace's segments, how often they ran and with how many lanes. Output: floating-point operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headwater.emulate.wave.layout import LANES

if TYPE_CHECKING:
    from headwater.emulate.watch.staging import Segment
    from headwater.emulate.watch.trace import Totals
    from headwater.isa.gcn.model import Instruction


def flops_of(segments: Sequence[Segment], totals: Totals, instructions: Sequence[Instruction]) -> int:
    """Of a whole launch; ``instructions``: of all segments, one after the other. Matrix instructions ignore EXEC: all
    lanes take part."""
    found, at = 0, 0
    for segment, (times, lanes, _, _) in zip(segments, totals.segments.tolist(), strict=True):
        for instruction in instructions[at : at + len(segment.addresses)]:
            cost = instruction.row.cost
            found += cost.flops * (times * LANES if cost.rate == "matrix" else lanes)
        at += len(segment.addresses)
    return found
