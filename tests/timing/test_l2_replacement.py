"""Which line leaves the L2 is a figure of the chip's file, and decides about what does not fit quite."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater import chips
from headwater.errors import UsageError
from headwater.timing import Recorded

SOURCE = """
kernel void around(global const float *x, global float *y, int n, int turns) {
  float s = 0;
  for (int t = 0; t < turns; t++)
    for (int k = 0; k < n; k++) s += x[k * 256 + get_local_id(0)];
  if (s == 5) y[0] = s;
}
"""
READ, TURNS, L2 = 1280, 8, 1024  # KiB, times, KiB


@pytest.fixture(scope="module")
def launch() -> Any:
    """One work-group reads 1.25 times what the L2 will hold, again and again."""
    kernel = hw.compile(SOURCE, language="opencl", device="mi100").around[(256,), (256,)]
    run = partial(kernel, np.zeros(READ * 256, np.float32), np.zeros(1, np.float32), READ, TURNS, device="mi100")
    return Recorded(run).launches[0]


def _hits(launch: Any, policy: str, l2_bytes: int = L2 << 10) -> float:
    chip = chips.find("mi100")
    chip = replace(chip, caches=replace(chip.caches, l2_bytes=l2_bytes, l2_replacement=policy))
    sums = launch.replayer.run(chip, launch.replayer.table(chip)).sums
    return float(sums["l2_hits"] / (sums["l2_hits"] + sums["l2_misses"]))


def test_going_around_misses_always_or_by_chance(launch: Any) -> None:
    """Of lines that come back after 1.25 times the L2's size, the least recent policy keeps none. The random one keeps
    h, where h = exp(-1.25 (1 - h)), in all but the first turn: 0.63."""
    assert _hits(launch, "least recent") < 0.05
    assert _hits(launch, "random") == pytest.approx(0.63 * (TURNS - 1) / TURNS, abs=0.06)


def test_what_fits_stays(launch: Any) -> None:
    for policy in ("least recent", "random"):
        assert _hits(launch, policy, 4 << 20) == pytest.approx((TURNS - 1) / TURNS, abs=0.01)


def test_an_unknown_policy_is_refused(launch: Any) -> None:
    chip = chips.find("mi100")
    with pytest.raises(UsageError, match="l2_replacement is 'oldest'"):
        launch.report(replace(chip, caches=replace(chip.caches, l2_replacement="oldest")))
