"""Input: an ALU group. Output: the floating-point operations that it does, and the cost of its slowest one.

The table's cost column has the facts: floating-point operations of a whole operation (7 of a four-component dot
product), by the same rule as GCN's (`headwater.isa.gcn.cost`): additions, multiplications, minimum, maximum and
transcendental functions are one, a multiplication with an addition is two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headwater.isa.cost import Cost

if TYPE_CHECKING:
    from headwater.isa.vliw.model import AluGroup

_RATES: Final = ("full", "float64_add", "float64_fma", "transcendental")
"""From the fastest to the slowest."""
_SHARED_SLOTS: Final = ("vec4", "replicated")
"""Operations that take several slots and are one: they count where slot x has them."""
_PAIRS: Final = (0, 2)
"""Slots of the lower halves of doubles."""


def group_flops(group: AluGroup, generation: str) -> int:
    """Floating-point operations of a work-item in a group on ``generation``."""
    flops = 0
    for op in group.ops:
        row = op.row
        if "pair" in row.flags:
            counts = op.slot in _PAIRS and op.write
        else:
            shared = "quad" in row.flags or row.slots.get(generation) in _SHARED_SLOTS
            counts = op.slot == 0 or not shared
        flops += row.cost.flops if counts else 0
    return flops


def group_cost(group: AluGroup, generation: str) -> Cost:
    """The group's cost: the slowest operation's rate, and all operations' `group_flops`."""
    slowest = max((op.row.cost.rate for op in group.ops), key=_RATES.index, default="full")
    return Cost("ALU", slowest, 0, group_flops(group, generation))
