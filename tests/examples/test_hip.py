"""The HIP example's kernels do as NumPy does, on the cpu device and on a chip."""

import numpy as np
import pytest


def spread(plate, steps, rate):
    for _ in range(steps):
        rim = np.pad(plate, 1, mode="edge")
        around = rim[1:-1, :-2] + rim[1:-1, 2:] + rim[:-2, 1:-1] + rim[2:, 1:-1]
        plate = plate + np.float32(rate) * (around - 4 * plate)
    return plate


@pytest.mark.parametrize("device", ["cpu", "mi250x"])
def test_heat_spreads(example, device):
    plate = np.random.default_rng(1).random((19, 70), np.float32)
    assert np.allclose(example.spread(plate, 3, 0.2, device), spread(plate, 3, 0.2), rtol=1e-5)


@pytest.mark.parametrize("device", ["cpu", "mi250x"])
def test_total(example, device):
    values = np.random.default_rng(2).random(50_001, np.float32)
    assert example.total(values, device) == pytest.approx(values.sum(dtype=np.float64), rel=1e-5)


def test_script_reports_and_writes_a_picture(run_main):
    text, picture = run_main("--steps", "2")
    assert "2 steps on" in text
    assert picture.stat().st_size > 1000
