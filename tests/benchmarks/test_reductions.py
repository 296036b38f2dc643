"""The benchmark of Brook+ reductions runs every case, and its cases are what their names say."""

import numpy as np
import reductions


def test_every_case_has_a_rate():
    results = reductions.run("cpu", mib=1, rounds=1)
    for sides in results["rates"].values():
        assert set(sides) == {"any order", "in order", "NumPy"}
        assert all(rate["gb_per_s"] > 0 and rate["gb_per_s_of_a_core"] > 0 for rate in sides.values())


def test_numpy_reduces_to_the_same_shape():
    for shape, target, axis in reductions.cases(1 << 18).values():
        assert abs(np.prod(shape) / (1 << 18) - 1) < 0.01
        result = np.broadcast_to(np.float32(1), shape).sum(axis)
        assert result.size == np.prod(target or (1,))
