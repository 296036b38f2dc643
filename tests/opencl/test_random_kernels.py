"""A few random kernels; ``python -m benchmarks.fuzz_opencl`` runs as many as wanted."""

import pytest

from benchmarks.fuzz_opencl import check, main
from benchmarks.random_kernels import random_case


@pytest.mark.parametrize("seed", range(1000, 1030))
def test_layouts_agree(seed):
    assert check(seed, layouts=2) == []


def test_a_seed_means_one_kernel():
    one, two = random_case(7), random_case(7)
    assert one.source == two.source
    assert all((a == b).all() for a, b in zip(one.args, two.args, strict=True))
    assert one.source != random_case(8).source


def test_command_shows_a_kernel(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["fuzz_opencl", "--show", "--seed", "7"])
    assert main() == 0
    assert random_case(7).source in capsys.readouterr().out
