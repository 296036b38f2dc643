"""The numbers of AMD's documents: seconds, minimum sizes, quads and blocks, the lecture's compiled variants."""

import json

import pytest

from headwater import chips
from headwater.analyze.analysis import Question, spreadsheet
from headwater.analyze.domain import domain, minimum_items
from headwater.chips.whatif import changed
from headwater.cli import main
from headwater.errors import LaunchError, UsageError

HD3870, HD4870 = chips.find("hd3870"), chips.find("hd4870")
TWO_MILLION = Question(size=(2_000_000,))


def test_two_million_threads_on_the_hd_3870():
    """AMD, Technical Overview, ATI Stream Computing, 3.2: 0.04, 0.16 and 0.056 ms, fetch-bound."""
    found = spreadsheet(HD3870, {"alu": 1, "fetch": 1, "read": 1, "write": 1}, TWO_MILLION)
    milliseconds = {term.name: 1e3 * term.seconds for term in found.terms}
    assert round(milliseconds["ALU"], 2) == 0.04
    assert round(milliseconds["fetch"], 2) == 0.16
    assert round(milliseconds["memory"], 3) == 0.056
    assert found.bound_by == "fetch"
    assert found.seconds == found.term("fetch").seconds


def test_the_same_on_the_command_line(capsys):
    words = ["analyze", "--counts", "alu=1,fetch=1,read=1,write=1", "-d", "hd3870", "--global", "2000000"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "161 µs, bound by fetch" in shown
    assert "40.3 µs" in shown
    assert "55.6 µs" in shown
    assert main([*words, "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert one["bound_by"] == "fetch"


def test_sgemm_of_the_vendors_workbook():
    """AMD, ACML-GPU SGEMM: 262,144 threads, 4,642 ALU groups, 2,048 fetches, 4 outputs of float4, on 64 thread
    processors, 16 texture units and 73.6 GB/s at 750 MHz: 25.35 ms, 44.74 ms; 116.94 ms at no cache hits, 52.03 ms of
    TEX and memory at 75 %."""
    chip, _ = changed(HD3870, ["clock_mhz=750", "memory.gigabytes_per_second=73.6"])
    counts = {"alu": 4642, "fetch": 2048, "read": 16 * 2048, "write": 64}
    size = (262_144,)
    none = spreadsheet(chip, counts, Question(size=size))
    assert 1e3 * none.term("ALU").seconds == pytest.approx(25.35, abs=0.01)
    assert 1e3 * none.term("fetch").seconds == pytest.approx(44.74, abs=0.01)
    assert 1e3 * none.term("memory").seconds == pytest.approx(116.94, rel=0.003)
    assert none.bound_by == "memory"
    hits = spreadsheet(chip, counts, Question(size=size, hit=0.75))
    assert hits.bound_by == "fetch"
    assert none.hit_needed == pytest.approx(1 - (44.74 - 0.228) / 116.71, abs=0.01)


def test_minimum_sizes_on_the_hd_4870():
    """AMD, OpenCL on the ATI Radeon HD 4870: 10 SIMDs × 2 waves × 64 = 1280, and 2560 to hide latency."""
    assert minimum_items(HD4870) == 1280
    launch = domain(HD4870, (4096,), (64,))
    assert (launch.minimum_items, launch.hiding_items) == (1280, 2560)


def test_alu_time_by_the_slides_formula():
    """T = elements × ALU / (10 × 16) / 750 MHz."""
    found = spreadsheet(HD4870, {"alu": 100}, Question(size=(1 << 20,)))
    assert found.term("ALU").seconds == pytest.approx((1 << 20) * 100 / 160 / 750e6)


@pytest.mark.parametrize(
    ("size", "lanes", "block"),
    [
        ((1024, 1), 0.5, (32, 2)),  # half of each quad is empty
        ((1, 1024), 0.5, (2, 32)),
        ((1024, 2), 1.0, (32, 2)),  # wavefronts of 2 x 32
        ((1024, 1024), 1.0, (8, 8)),
        ((16, 16), 1.0, (8, 8)),
        ((15, 15), 225 / 256, (8, 8)),
        ((12, 12), 144 / 192, (8, 8)),  # 36 quads, 16 in a wavefront: partial blocks fill up
    ],
)
def test_quads_and_blocks(size, lanes, block):
    launch = domain(HD3870, size, pixel=True)
    assert launch.lane_efficiency == pytest.approx(lanes)
    assert launch.block == block


def test_partial_blocks_are_worse_unfilled():
    assert domain(HD3870, (12, 12), pixel=True).block_efficiency == pytest.approx(144 / 256)
    assert domain(HD3870, (16, 16), pixel=True).wavefronts == 4


def test_groups_that_are_no_multiple_of_the_wavefront():
    launch = domain(HD4870, (4800,), (48,))
    assert launch.wavefronts == 100
    assert launch.lane_efficiency == 0.75


def test_the_last_round():
    assert domain(HD4870, (64 * 11,), (64,)).tail_efficiency == pytest.approx(11 / 20)
    assert domain(HD4870, (64 * 100,), (64,)).tail_efficiency == 1


@pytest.mark.parametrize("size", [(), (0,), (1, 2, 3, 4), (1 << 41,)])
def test_sizes_that_cannot_be(size):
    with pytest.raises(LaunchError):
        domain(HD4870, size)


def test_a_work_group_too_large():
    with pytest.raises(LaunchError, match="has 1 to 256 work-items"):
        domain(HD4870, (4096,), (512,))


# ---- what if ---------------------------------------------------------------------------------------------------------


def test_a_faster_memory():
    chip, changes = changed(HD4870, ["memory_clock_mhz=1200"])
    assert chip.memory.gigabytes_per_second == pytest.approx(115.2 * 1200 / 900)
    assert [change.name for change in changes] == ["clock_mhz", "gigabytes_per_second"]
    assert changes[1].implied
    assert chip.name == "Radeon HD 4870 with memory clock_mhz 1200"


def test_a_faster_core():
    chip, _ = changed(HD4870, ["clock_mhz=1500"])
    counts = {"alu": 10, "fetch": 10, "read": 4}
    before, after = (spreadsheet(c, counts, TWO_MILLION) for c in (HD4870, chip))
    assert after.term("ALU").seconds == pytest.approx(before.term("ALU").seconds / 2)
    assert after.term("memory").seconds == before.term("memory").seconds


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("memory_clok_mhz=1", "did you mean memory_clock_mhz"),
        ("memory_clock_mhz", "NAME=VALUE"),
        ("memory_clock_mhz=fast", "takes a number"),
        ("memory_clock_mhz=0", "1 to 20000 MHz"),
        ("compute_units=1.5", "whole number"),
    ],
)
def test_changes_that_cannot_be(word, message):
    with pytest.raises(UsageError) as found:
        changed(HD4870, [word])
    assert message in str(found.value)


def test_counts_that_there_are_not():
    with pytest.raises(UsageError, match="no count 'texture'"):
        spreadsheet(HD4870, {"texture": 1}, TWO_MILLION)
    with pytest.raises(UsageError, match="0 to 1"):
        spreadsheet(HD4870, {"alu": 1}, Question(hit=1.5))
