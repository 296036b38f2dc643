"""Occupancy: the examples of AMD's lecture on GFX9, LLVM's and CLRX's tables, and that less never holds more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from headwater import analyze, chips
from headwater.chips.occupancy import Needs, curve, next_steps, occupancy
from headwater.cli import main
from headwater.errors import LaunchError

VEGA = chips.find("vega64")


@pytest.mark.parametrize(
    ("needs", "expected", "limits"),
    [
        (Needs(128, 24, 0, 65536), 0.05, {"LDS"}),  # V0
        (Needs(128, 24, 0, 2048), 0.8, {"work-groups"}),  # V1
        (Needs(256, 24, 0, 4096), 1.0, {"wavefronts", "VGPRs"}),  # V2
        (Needs(256, 27, 0, 4096), 0.9, {"VGPRs"}),  # V3, unrolled eight times
        (Needs(256, 64, 0, 4096), 0.4, {"VGPRs"}),  # V4
        (Needs(192, 24), 39 / 40, {"wavefronts", "VGPRs"}),  # groups of three wavefronts: 13 of them
        (Needs(64, 24), 1.0, {"wavefronts", "VGPRs"}),  # one wavefront: the limit of 16 groups does not count
    ],
)
def test_the_lectures_examples(needs, expected, limits):
    result = occupancy(VEGA, needs)
    assert result.occupancy == pytest.approx(expected)
    assert set(result.limited_by) == limits


@pytest.mark.parametrize(
    ("vgprs", "waves"),
    [
        (24, 10),
        (25, 9),
        (28, 9),
        (29, 8),
        (32, 8),
        (36, 7),
        (40, 6),
        (48, 5),
        (64, 4),
        (84, 3),
        (85, 2),
        (128, 2),
        (129, 1),
    ],
)
def test_wavefronts_by_vgprs(vgprs, waves):
    """LLVM, AMDGPUBaseInfo: getNumWavesPerEUWithNumVGPRs."""
    assert occupancy(VEGA, Needs(64, vgprs)).wavefronts_per_simd == waves


@pytest.mark.parametrize(
    ("chip", "sgprs", "waves"), [("vega64", 80, 10), ("vega64", 96, 8), ("hd7970", 48, 10), ("hd7970", 56, 9)]
)
def test_wavefronts_by_sgprs(chip, sgprs, waves):
    assert occupancy(chips.find(chip), Needs(64, 1, sgprs)).wavefronts_per_simd == waves


def test_next_step():
    (step,) = next_steps(occupancy(VEGA, Needs(256, 27, 0, 4096)))
    assert (step.resource, step.at_most, step.wavefronts) == ("VGPRs", 24, 40)
    (step,) = next_steps(occupancy(VEGA, Needs(256, 24, 0, 10000)))
    assert (step.resource, step.occupancy) == ("LDS", 0.7)
    assert occupancy(VEGA, Needs(256, 24, 0, step.at_most)).occupancy > 0.6
    assert occupancy(VEGA, Needs(256, 24, 0, step.at_most + 1)).occupancy == 0.6


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(chips.names()), st.integers(1, 1024), st.integers(1, 64), st.integers(0, 96), st.integers(0, 32768)
)
def test_needing_less_never_holds_fewer(name, group, vgprs, sgprs, lds):
    chip = chips.find(name)
    group = min(group, chip.compute.work_group_size)
    if not chip.registers.sgprs:
        sgprs = 0
    try:
        result = occupancy(chip, Needs(group, vgprs, sgprs, min(lds, chip.local_memory.work_group_bytes)))
    except LaunchError:
        return
    assert 0 < result.occupancy <= 1
    lds = result.needs.lds_bytes
    for less in (
        Needs(group, vgprs - 1, sgprs, lds),
        Needs(group, vgprs, sgprs // 2, lds),
        Needs(group, vgprs, sgprs, lds // 2),
    ):
        assert occupancy(chip, less).wavefronts >= result.wavefronts
    for step in next_steps(result):
        assert step.wavefronts > result.wavefronts


@pytest.mark.parametrize(
    ("needs", "message"),
    [
        (Needs(2048), "2048 work-items of a work-group"),
        (Needs(64, 257), "257 VGPRs of a wavefront"),
        (Needs(64, 1, 0, 70000), "70000 bytes of LDS"),
        (Needs(1024, 256), "does not fit a compute unit"),
    ],
)
def test_what_does_not_fit_is_an_error(needs, message):
    with pytest.raises(LaunchError, match=message):
        occupancy(VEGA, needs)


def test_curve_says_zero_where_nothing_fits():
    points = dict(curve(VEGA, Needs(1024, 24), "vgprs", [24, 64, 65, 256]))
    assert points[24] == 0.8
    assert points[256] == 0.0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--group 128 --vgprs 24 --lds 65536", 0.05),
        ("--group 128 --vgprs 24 --lds 2048", 0.8),
        ("--group 256 --vgprs 24 --lds 4096", 1.0),
        ("--group 256 --vgprs 27 --lds 4096", 0.9),
    ],
)
def test_the_lecture_on_the_command_line(words, expected, capsys):
    assert main(["occupancy", "--device", "vega64", *words.split(), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["occupancy"] == expected


def test_sizes_of_groups_that_fill_a_compute_unit():
    """The lecture's corollary: to fill it, a work-group has 1, 4, 5 or 8 wavefronts (or 10, which it leaves out)."""
    full = [n for n in range(1, 17) if occupancy(VEGA, Needs(64 * n, 24)).occupancy == 1]
    assert full == [1, 4, 5, 8, 10]


def test_command(capsys):
    words = ["occupancy", "--device", "vega64", "--group", "256", "--vgprs", "27", "--lds", "4096"]
    assert main([*words, "--json", "--curve", "group"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["occupancy"] == 0.9
    assert made["limited_by"] == ["VGPRs"]
    assert made["next_steps"][0]["at_most"] == 24
    assert len(made["curve"]["points"]) == 16
    assert main([*words, "-d", "hd7970", "--curve", "vgprs"]) == 0
    text = capsys.readouterr().out
    assert "occupancy 0.9" in text
    assert "with at most 24 VGPRs: 40 wavefronts, occupancy 1" in text


@pytest.mark.parametrize(
    "words", [[], ["-d", "vega46"], ["-d", "vega64", "--vgprs", "many"], ["-d", "vega64", "--group", "0"]]
)
def test_bad_input_is_one_message(words, capsys):
    assert main(["occupancy", *words]) == 2
    assert "error" in capsys.readouterr().err


def test_the_talk_s_configurations_come_from_kernel_text():
    """AMD, GPU Hardware Basics, 2019: V0 to V3 as compiled here. V3 unrolls by eight: 27 registers there, 25 here, where
    two rows are unrolled, too; from 25 to 28 take as much of the file."""
    kernel = (Path(__file__).parents[2] / "benchmarks" / "validation" / "kernels" / "matvec.cl").read_text()
    found = []
    for group, batch, unrolled in ((128, 32, ""), (128, 1, ""), (256, 1, ""), (256, 1, "-DUNROLL=8 -DROWS=2")):
        (made,) = analyze(kernel, device="mi60", options=f"-DWG={group} -DNB={batch} {unrolled}", group=group)
        assert made.code.lds_bytes == group * batch * 16
        found.append(round(made.occupancy.occupancy, 2))
    assert found == [0.05, 0.8, 1.0, 0.9]
    assert 25 <= made.code.vgprs <= 28
