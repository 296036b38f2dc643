"""What a report says that changes would bring is what replays with those changes bring."""

from dataclasses import replace

import numpy as np
import pytest

import headwater as hw
from headwater import chips
from headwater.analyze.differences import differences, sentence as told
from headwater.analyze.entry import analyze
from headwater.timing import Recorded
from headwater.timing.gains import Gain, changes, of_shapes, sentence, shapes

SOURCE = """\
kernel void copy(global const float4 *x, global float4 *y) { int i = get_global_id(0); y[i] = x[i]; }
kernel void chain(global float *y, float a, int n)
{
    float s = get_global_id(0);
    for (int k = 0; k < n; k++) { s = s * a + 1; s = s * a + 2; s = s * a + 3; s = s * a + 4; }
    y[get_global_id(0)] = s;
}
"""


@pytest.fixture(scope="module")
def launches():
    program = hw.compile(SOURCE, language="opencl")
    x = np.ones((1 << 17, 4), np.float32)
    y = np.zeros(1 << 16, np.float32)
    found = {}
    for device in ("vega64", "hd5870"):
        copy = program.copy[(1 << 17,), (64,)]
        chain = program.chain[(1 << 16,), (64,)]
        found["copy", device] = Recorded(lambda: copy(x, x.copy(), device=device)).launches[0]  # noqa: B023
        found["chain", device] = Recorded(lambda: chain(y, 0.5, 256, device=device)).launches[0]  # noqa: B023
    return found


@pytest.mark.parametrize("device", ["vega64", "hd5870"])
def test_memory_helps_a_copy_and_compute_units_help_arithmetic(launches, device):
    chip = chips.find(device)
    copy = launches["copy", device].report(chip, gains=True)
    chain = launches["chain", device].report(chip, gains=True)
    by_name = {gain.what: gain.saved for gain in copy.gains}
    assert by_name["twice the memory bandwidth"] > 0.05
    assert chain.gains[0].what == "twice the compute units"
    assert chain.gains[0].saved > 0.3
    assert all(gain.saved < 0.1 for gain in chain.gains if "memory" in gain.what)
    assert "Twice the compute units would save" in chain.bottleneck
    assert "nothing else" not in chain.bottleneck
    assert chain.as_json()["gains"][0]["what"] == "twice the compute units"


def test_a_gain_is_that_of_a_replay_by_hand(launches):
    chip = chips.find("vega64")
    launch = launches["copy", "vega64"]
    report = launch.report(chip, gains=True)
    twice = replace(chip, memory=replace(chip.memory, gigabytes_per_second=2 * chip.memory.gigabytes_per_second))
    gain = next(gain for gain in report.gains if gain.what == "twice the memory bandwidth")
    assert gain.seconds == launch.report(twice).seconds
    assert gain.saved == pytest.approx(1 - gain.seconds / report.seconds)
    assert [one.saved for one in report.gains] == sorted((one.saved for one in report.gains), reverse=True)
    assert launch.report(chip).gains == ()


def test_every_change_makes_a_chip_that_is_another():
    for name in ("vega64", "mi250x", "hd3870", "hd6970"):
        found = dict(changes(chips.find(name)))
        assert len(found) >= 8
        assert all(chip != chips.find(name) for chip in found.values())


def test_the_sentence_names_what_is_worth_it_and_says_if_nothing_is():
    some = [Gain("twice the LDS", "chip", 0.6, 0.4), Gain("work-groups of 64", "shape", 0.96, 0.04)]
    assert sentence([*some, Gain("x", "chip", 1, 0.0)]) == (
        "Twice the LDS would save 40%, work-groups of 64 would save 4%."
    )
    assert sentence([Gain("x", "chip", 0.99, 0.01), Gain("y", "chip", 1, 0.0)]) == (
        "None of 2 changes that were tried would save more than 1.0%."
    )
    assert sentence([]) == ""


def test_shapes_divide_the_global_size_and_are_others():
    assert shapes((256,), (64,)) == [(128,), (256,)]
    assert shapes((96, 64), (16, 16)) == [(8, 8), (16, 4), (16, 8), (32, 4), (32, 8)]
    assert shapes((100,), (100,)) == []


def test_a_reports_shapes_are_among_its_gains(launches):
    report = launches["chain", "vega64"].report(chips.find("vega64"))
    found = report.with_gains(of_shapes(report.seconds, [((128,), report.seconds * 0.75)]))
    assert [(gain.what, gain.kind) for gain in found.gains] == [("work-groups of 128", "shape")]
    assert found.gains[0].saved == pytest.approx(0.25)


def test_why_the_analyzer_says_something_else(launches):
    report = launches["chain", "vega64"].report(chips.find("vega64"))
    unknown = analyze(SOURCE, device="vega64", kernel="chain", size=1 << 16, group=64, language="opencl").analyses[0]
    why = differences(unknown, report)
    assert "the analyzer counts the body of L1 once" in why[0]
    assert any("instructions where the analyzer's path has" in reason for reason in why)
    assert "the simulation differs, as the analyzer counts" in told(unknown, report)
    known = analyze(
        SOURCE, device="vega64", kernel="chain", size=1 << 16, group=64, arguments={"n": 256}, language="opencl"
    ).analyses[0]
    assert not any("counts the body" in reason for reason in differences(known, report))
    same = replace(report, seconds=known.estimate.seconds)
    assert differences(known, same) == ()
    assert told(known, same).endswith(f"bound by {known.estimate.bound_by}.")
