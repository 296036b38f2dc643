"""The end of a work-group: its place is free when its stores are acknowledged, and the next one takes time to start."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater import chips
from headwater.chips.whatif import changed
from headwater.timing import Recorded
from headwater.timing.rules import LAUNCH_CYCLES

SOURCE = """
kernel void store(global int *y) { local int full[16000]; full[get_local_id(0)] = 1; y[get_global_id(0)] = full[0]; }
kernel void nothing(global int *y) { local int full[16000]; full[get_local_id(0)] = 1; if (full[0] == 2) y[0] = 1; }
"""
GROUPS = 64


@pytest.fixture(scope="module")
def launches() -> dict[str, Any]:
    """Work-groups of one wavefront, of which a compute unit holds one at a time."""
    program = hw.compile(SOURCE, language="opencl", device="mi100")
    y = np.zeros(64 * GROUPS, np.int32)
    runs = {name: partial(program[name][(64 * GROUPS,), (64,)], y, device="mi100") for name in ("store", "nothing")}
    return {name: Recorded(run).launches[0] for name, run in runs.items()}


def _cycles(launch: Any, l2_cycles: int) -> int:
    """Of one compute unit alone."""
    chip, _ = changed(chips.find("mi100"), ["compute.compute_units=1", f"latencies.l2_cycles={l2_cycles}"])
    sums = launch.replayer.run(chip, launch.replayer.table(chip)).sums
    assert sums["groups"] == GROUPS
    return int(sums["cycles"])


def test_a_group_keeps_its_place_until_its_stores_are_acknowledged(launches: dict[str, Any]) -> None:
    """A slower L2 delays each group that stores by the whole way there and back, and others by what they load."""
    slower = {name: _cycles(launch, 464) - _cycles(launch, 264) for name, launch in launches.items()}
    assert slower["store"] - slower["nothing"] == pytest.approx(200 * GROUPS, rel=0.1)


def test_launching_a_group_takes_time(launches: dict[str, Any]) -> None:
    """No group of a compute unit that holds one begins before the end of the last and a launch."""
    assert _cycles(launches["nothing"], 264) > GROUPS * LAUNCH_CYCLES
    report = launches["store"].report(changed(chips.find("mi100"), ["compute.compute_units=1"])[0])
    assert report.causes["empty"] > GROUPS * LAUNCH_CYCLES / report.cycles * 0.25
