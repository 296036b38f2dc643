"""Sweeps are curves, and branches name their targets."""

import re

import numpy as np
import pytest

import headwater as hw
from headwater import chips
from headwater.analyze.entry import analyze
from headwater.timing import Recorded, sweep, variants
from headwater.timing.html import page

SOURCE = """\
kernel void f(global const float *x, global float *y, int n)
{
    float s = 0;
    for (int i = 0; i < n; i++) s = s * x[i] + 1;
    y[get_global_id(0)] = s;
}
"""


@pytest.fixture(scope="module")
def recorded():
    program = hw.compile(SOURCE, language="opencl")
    x = np.ones(4096, np.float32)
    return Recorded(lambda: program.f[(4096,), (64,)](x, x.copy(), 40, device="vega64"))


def swept(recorded, words):
    chip = chips.find("vega64")
    first = recorded.reports(chip)
    return [*first, *(report for one in sweep(recorded, variants(chip, words)) for report in one)]


def test_a_sweep_of_two_figures_is_a_curve_for_each_value_of_the_second(recorded):
    text = page(swept(recorded, ["compute.compute_units=4:32:8", "clock_mhz=1000,1500"]))
    (chart,) = re.findall(r"<h3>Time</h3><div class=\"scroll\">(<svg.*?</svg>)", text)
    assert chart.count("<polyline") == 3  # the chip itself has another clock
    assert "compute.compute_units</text>" in chart
    assert chart.count("<circle") == 17
    assert "clock_mhz 1500: 4, " in chart


def test_what_follows_from_a_figure_makes_no_curve_and_few_values_are_bars(recorded):
    text = page(swept(recorded, ["memory.clock_mhz=400,600,800,1200"]))
    (chart,) = re.findall(r"<h3>Time</h3><div class=\"scroll\">(<svg.*?</svg>)", text)
    assert chart.count("<polyline") == 1
    assert "<polyline" not in page(swept(recorded, ["memory.clock_mhz=400,800"])).split("<h2>One by one")[0]


def test_branches_name_the_labels_of_their_targets(recorded):
    code = analyze(SOURCE, device="vega64", language="opencl").analyses[0].code
    labels = {step.label for step in code.steps if step.label}
    targets = {step.text.split()[1] for step in code.steps if step.text.startswith(("s_branch", "s_cbranch"))}
    assert targets
    assert targets <= labels
    report = recorded.reports(chips.find("vega64"))[0]
    branches = [row.text for row in report.instructions_by_cost if row.text.startswith("s_cbranch")]
    assert branches
    assert all(text.split()[1] in labels for text in branches)
