"""Sobol's sequence and random samples."""

import pytest

from headwater.errors import UsageError
from headwater.sweep.samples import MOST_DIMENSIONS, sample


def test_the_first_points_are_those_of_joe_and_kuo():
    # The same as scipy.stats.qmc.Sobol(5, scramble=False).
    assert list(sample("sobol", 5, 5, 0)) == [
        (0.0, 0.0, 0.0, 0.0, 0.0),
        (0.5, 0.5, 0.5, 0.5, 0.5),
        (0.75, 0.25, 0.25, 0.25, 0.75),
        (0.25, 0.75, 0.75, 0.75, 0.25),
        (0.375, 0.375, 0.625, 0.875, 0.375),
    ]


@pytest.mark.parametrize("seed", [0, 1, 12345])
def test_every_dimension_has_one_point_in_each_of_equal_parts(seed):
    points = list(sample("sobol", 256, MOST_DIMENSIONS, seed))
    for dimension in range(MOST_DIMENSIONS):
        assert sorted(int(256 * point[dimension]) for point in points) == list(range(256))


@pytest.mark.parametrize("method", ["sobol", "random"])
def test_the_same_seed_gives_the_same_points_and_a_longer_sample_begins_with_a_shorter_one(method):
    long = list(sample(method, 100, 3, 7))
    assert list(sample(method, 40, 3, 7)) == long[:40]
    assert list(sample(method, 40, 3, 8)) != long[:40]
    assert all(0 <= x < 1 for point in long for x in point)


def test_what_there_is_not_is_refused():
    with pytest.raises(UsageError, match="sobol or random, not 'halton'"):
        sample("halton", 1, 1, 0)
    with pytest.raises(UsageError, match=f"has {MOST_DIMENSIONS} dimensions at most"):
        sample("sobol", 1, MOST_DIMENSIONS + 1, 0)
