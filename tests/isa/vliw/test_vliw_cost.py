"""Floating-point operations and rates of ALU groups."""

import pytest

from headwater.isa.vliw import table
from headwater.isa.vliw.cost import group_cost, group_flops
from headwater.isa.vliw.model import AluGroup, AluOp, Source, T


def group(generation, *operations):
    """``operations``: (name, slot); each writes its own channel."""
    ops = []
    for name, slot in operations:
        row = table.alu(generation, name)
        sources = tuple(Source(1, 0) for _ in range(row.nsrc))
        ops.append(AluOp(row, slot, sources, 5, min(slot, 3)))
    return AluGroup(tuple(ops))


@pytest.mark.parametrize(
    ("generation", "operations", "flops"),
    [
        ("evergreen", [("ADD", 0), ("MUL", 1), ("MULADD", 2)], 4),
        ("evergreen", [("MULADD_UINT24", 0)], 0),  # integers
        ("evergreen", [("FLOOR", 0), ("MOV", 1)], 0),
        ("evergreen", [("DOT4", n) for n in range(4)], 7),  # four products, three sums
        ("evergreen", [("ADD_64", n) for n in range(4)], 2),  # two pairs of slots
        ("evergreen", [("FMA_64", n) for n in range(4)], 2),  # one operation in four slots
        ("evergreen", [("EXP_IEEE", T), ("MUL", 0)], 2),
        ("cayman", [("EXP_IEEE", n) for n in range(3)], 1),  # one operation in the slots x, y and z
    ],
)
def test_an_operation_counts_once_however_many_slots_it_takes(generation, operations, flops):
    assert group_flops(group(generation, *operations), generation) == flops


def test_a_group_has_its_slowest_operations_rate():
    assert group_cost(group("evergreen", ("ADD", 0), ("EXP_IEEE", T)), "evergreen").rate == "transcendental"
    assert group_cost(group("evergreen", ("ADD", 0), ("MOV", 1)), "evergreen").rate == "full"
