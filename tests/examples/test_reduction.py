"""The reduction example sums and finds extremes as NumPy does."""

import numpy as np
import pytest


@pytest.mark.parametrize("version", ["brook_sum", "opencl_sum"])
@pytest.mark.parametrize("count", [1, 7, 256, 16384, 100003])
def test_sum(example, version, count):
    values = np.random.default_rng(count).random(count, np.float32)
    assert getattr(example, version)(values) == pytest.approx(values.sum(dtype=np.float64), rel=1e-5)


@pytest.mark.parametrize(
    ("kernel", "reduce"), [("total", np.sum), ("greatest", np.max), ("least", np.min)], ids=["sum", "max", "min"]
)
def test_rows(example, kernel, reduce):
    image = np.random.default_rng(5).normal(size=(19, 45)).astype(np.float32)
    result = example.rows(image, kernel)
    assert result.shape == (19,)
    assert np.allclose(result, reduce(image, axis=1), rtol=1e-4, atol=1e-5)


def test_script_reports_small_errors_and_writes_a_chart(run_main):
    text, picture = run_main("--count", "50000")
    assert text.count("relative error") == 2
    assert picture.stat().st_size > 1000
