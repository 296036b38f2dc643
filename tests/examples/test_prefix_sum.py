"""The prefix sum example agrees with NumPy's running sums for awkward lengths."""

import numpy as np
import pytest


@pytest.mark.parametrize("version", ["brook", "opencl"])
@pytest.mark.parametrize("count", [1, 2, 255, 256, 257, 1000, 70001])
def test_running_sums(example, version, count):
    source = np.random.default_rng(count).integers(-1000, 1000, count, np.int32)
    assert np.array_equal(getattr(example, version)(source), np.cumsum(source, dtype=np.int32))


def test_script_says_that_it_is_right(run_main):
    text, picture = run_main("--count", "5000")
    assert text.count("right") == 2
    assert picture.stat().st_size > 1000
