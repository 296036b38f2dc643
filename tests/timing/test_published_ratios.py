"""What a vendor's talk and overview tell: of kernels that differ in how many wavefronts find room, and of wavefronts
that hide each other's waits."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import headwater as hw
from headwater import chips
from headwater.timing import Recorded, Report
from headwater.timing.timeline import events

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


STALLS = """
#define STEP s = s * v + 1;
#define STEPS STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP
#define TURN { float v = x[(get_global_id(0) + (int)s) & 4095]; WORK }
kernel void loads_between(global const float *x, global float *y) {
  float s = 0;
  TURN TURN TURN TURN TURN TURN
  y[get_global_id(0)] = s;
}
"""


@pytest.mark.parametrize("much", [True, False])
def test_timelines_show_four_wavefronts_and_their_stalls(much: bool) -> None:
    """Technical Overview, ATI Stream Computing, figures 12 and 13 (in AMD's OpenCL guide, 1.9 and 1.10): with enough to
    compute, others run while one waits for its data; with little, all wait."""
    hd5870 = chips.find("hd5870")
    one_engine = replace(hd5870, compute=replace(hd5870.compute, compute_units=1, shader_engines=1))
    work = "STEPS " * 10 if much else "STEP"
    program = hw.compile(STALLS, language="opencl", options=f"-DWORK='{work}'", device="hd5870")
    kernel = program.loads_between[(256,), (64,)]
    run = partial(kernel, np.ones(4096, np.float32), np.zeros(256, np.float32), device="hd5870")
    report = Recorded(run).launches[0].report(one_engine, timeline=True)
    busy, waiting = np.zeros(report.cycles, bool), np.zeros((4, report.cycles), bool)
    shown = [event for event in events(report) if event["ph"] == "X" and "at" in event.get("args", {})]
    start = min(event["ts"] for event in shown)
    for event in shown:
        first = round((event["ts"] - start) * one_engine.compute.clock_mhz)
        part = slice(first, first + round(event["dur"] * one_engine.compute.clock_mhz))
        if event["name"] == "ALU clause":
            busy[part] = True
        elif event["name"] == "waits: fetch":
            waiting[event["tid"], part] = True
    assert waiting.any(axis=1).all()
    hidden = (busy & waiting.any(axis=0)).sum() / waiting.any(axis=0).sum()
    assert hidden > 0.8 if much else hidden < 0.5
    assert busy.mean() > 0.8 if much else busy.mean() < 0.5
