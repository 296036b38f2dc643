"""A few random kernels; ``python -m verification.fuzz_opencl`` runs as many as wanted."""

import os

import numpy as np
import pytest

from benchmarks.forced_layouts import differences
from verification.fuzz_opencl import Against, check, fuzz, main
from verification.random_kernels import random_case


@pytest.mark.parametrize("seed", range(1000, 1006))
def test_layouts_agree(seed):
    assert check(seed, Against()) == []


@pytest.mark.parametrize("seed", [102629, 103762])
def test_values_of_branches_stay_apart_on_chips(seed):
    """What LLVM's StructurizeCFG got wrong before they were annotated."""
    assert check(seed, Against(0, pocl=False, devices=("vega64",), only_devices=True)) == []


@pytest.mark.parametrize("seed", [3000244, 3000251])
def test_names_of_passes_and_of_the_vectoriser_do_not_meet(seed):
    """Counters in local memory, and masked choices of bits, which a pass rewrites on processors with AVX-512."""
    assert check(seed, Against(0, pocl=False, only_devices=True)) == []


def test_vliw_chips_may_flush_floats_and_nothing_else():
    expected = [np.float32([1, 1e-40, -1e-40, 2]), np.float64([1e-310])]
    flushed = [np.float32([1, 0, -0.0, 2]), np.float64([1e-310])]
    assert differences(expected, flushed, flushed=True) == []
    assert "2 of 4" in differences(expected, flushed)[0]
    assert "1 of 4" in differences(expected, [np.float32([1, 0, -0.0, 0]), expected[1]], flushed=True)[0]
    assert "1 of 1" in differences(expected, [flushed[0], np.float64([0])], flushed=True)[0]


def test_a_seed_means_one_kernel():
    one, two = random_case(7), random_case(7)
    assert one.source == two.source
    assert all((a == b).all() for a, b in zip(one.args, two.args, strict=True))
    assert one.source != random_case(8).source


def test_command_shows_a_kernel(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["fuzz_opencl", "--show", "--seed", "7"])
    assert main() == 0
    assert random_case(7).source in capsys.readouterr().out


def test_jobs_find_what_one_finds(capsys, monkeypatch):
    monkeypatch.setattr("verification.fuzz_opencl.check", _wrong_at_three)
    tally = fuzz([1, 2, 3, 4, 5], Against(), jobs=2)
    assert tally.done == 5
    assert sorted(tally.wrong) == [3, 4]
    assert "2 wrong" in str(tally)
    assert "seeds 3 4" in str(tally)


def _wrong_at_three(seed: int, against: Against) -> list[str]:
    """In place of the check of a kernel."""
    if seed == 4:
        os._exit(3)
    return ["vega64: 1 of 2 differ, so"] if seed == 3 else []
