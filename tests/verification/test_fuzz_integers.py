"""Random expressions of integers that a device once computed otherwise; ``python -m verification.fuzz_integers`` runs
as many as wanted."""

import pytest

from verification.fuzz_integers import wrong


@pytest.mark.parametrize("seed", [31, 54, 65])
@pytest.mark.parametrize("device", ["cpu", "hd5870", "hd7970", "r9-nano", "vega64"])
def test_awkward_numbers_give_what_python_computes(seed, device):
    assert wrong(seed, (device,)) == []
