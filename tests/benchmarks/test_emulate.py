"""The emulation benchmark's parts that can be tested in no time; ``benchmarks/emulate.py --quick`` runs all of it."""

import numpy as np
import pytest

import headwater as hw
from benchmarks import emulate


def test_sides_take_turns():
    calls = []

    def side(name, value):
        return lambda: calls.append(name) or value

    assert emulate.in_turn({"a": side("a", 1.0), "b": side("b", 2.0)}, 3) == {"a": 1.0, "b": 2.0}
    assert "".join(calls) == "abbaabba"


def test_ratios_say_how_many_times_as_good_ours_is():
    assert emulate.Line("", "", {"ours": 6.0, "theirs": 2.0}).ratio("ours", "theirs") == 3
    assert emulate.Line("", "", {"ours": 6.0, "theirs": 2.0}, rate=False).ratio("ours", "theirs") == 1 / 3


def test_kernels_are_right_where_numpy_knows_the_answer():
    a = np.random.default_rng(0).random((32, 32), np.float32)
    c = np.zeros((32, 32), np.float32)
    run = emulate.launcher("vega64", "matmul", ((32, 32), (16, 16)), [a, a, c, np.int32(32)])
    run()
    assert np.allclose(c, a @ a, rtol=1e-5)
    assert run.launch.wave_instructions > 0


def test_needs_a_simulated_chip(monkeypatch):
    monkeypatch.setattr("sys.argv", ["emulate.py", "--device", "cpu"])
    with pytest.raises(hw.UsageError, match="is not a simulated chip"):
        emulate.main()
