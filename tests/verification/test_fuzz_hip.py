"""Random HIP kernels that the cpu device once ran otherwise; ``python -m verification.fuzz_hip`` runs as many as wanted."""

import pytest

from verification.fuzz_hip import wrong


@pytest.mark.parametrize("seed", [2, 5])
def test_votes_of_lanes_that_part_are_as_in_step(seed):
    assert wrong(seed, ("cpu",)) == ""
