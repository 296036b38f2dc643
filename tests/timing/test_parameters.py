"""The cycle model's parameters: each says where it comes from, and the command that changes them puts them back."""

from __future__ import annotations

import pytest

from benchmarks import parameters
from headwater.analyze import validation
from headwater.timing import rules

SMALL = "mi300a-vectoradd-2048"


def test_every_constant_says_where_it_comes_from() -> None:
    found = {one.name: one.source for one in parameters.constants()}
    assert found.keys() >= {
        "rules.LAUNCH_CYCLES",
        "rules.TLB_ENTRIES",
        "vliw_rules.SWITCH_CYCLES",
        "memory.QUEUE_LINES",
    }
    assert [name for name, source in found.items() if not source] == []
    assert found["rules.LAUNCH_CYCLES"] == "Fitted"


def test_rows_that_show_parameters_are_not_held_out() -> None:
    sides = {row.id: row.side for row in validation.rows()}
    assert {sides[name] for name in parameters.ROWS} <= {"open", "fitted"}


def test_a_parameter_is_changed_and_put_back() -> None:
    row = next(row for row in validation.rows() if row.id == SMALL)
    recorded = {SMALL: parameters.record(row)}
    before = rules.LAUNCH_CYCLES
    found = parameters.effect(parameters.Parameter("rules", "LAUNCH_CYCLES", ""), recorded)
    assert before == rules.LAUNCH_CYCLES
    assert found == (SMALL, pytest.approx(before / 2100 / recorded[SMALL][2], rel=0.1))  # cycles at 2,100 MHz, in µs
    assert parameters.effect(parameters.Parameter("cost", "PASS_CYCLES", ""), recorded) is None
