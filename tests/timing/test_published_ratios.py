"""Ratios that a vendor's talk tells, of kernels that differ in how many wavefronts find room."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import headwater as hw
from headwater.timing import Report

KERNEL = Path(__file__).parents[2] / "benchmarks" / "validation" / "kernels" / "matvec.cl"
VECTORS = 1 << 19


def simulated(group: int, batch: int, unroll: int) -> Report:
    options = f"-DWG={group} -DNB={batch} -DUNROLL={unroll}"
    program = hw.compile(KERNEL.read_text(), language="opencl", options=options, device="mi60")
    x = np.ones((VECTORS, 4), np.float32)
    b = np.zeros_like(x)
    a = np.full((4, 4), 0.5, np.float32)
    report: Report = program.matvec[(VECTORS // batch,), (group,)].simulate(a, x, b, 4, device="mi60")
    assert (b == 2).all()
    return report


def test_batched_products_of_a_small_matrix() -> None:
    """AMD, GPU Hardware Basics, Frontier Application Readiness Kick-Off Workshop, 2019: 33 GFLOP/s with 64 KB of LDS a
    group, 215 with 2 KB, as many with groups of 256."""
    v0, v1, v2 = simulated(128, 32, 1), simulated(128, 1, 1), simulated(256, 1, 1)
    assert [round(v.held.occupancy, 2) for v in (v0, v1, v2)] == [0.05, 0.8, 1.0]
    assert v0.seconds / v1.seconds == pytest.approx(215 / 33, rel=0.25)
    assert v2.seconds / v1.seconds == pytest.approx(1, rel=0.1)
