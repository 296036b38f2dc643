"""Random expressions of floats that a device once computed otherwise; ``python -m verification.fuzz_floats`` runs as
many as wanted."""

import pytest

from verification.fuzz_floats import wrong


@pytest.mark.parametrize(("seed", "kind"), [(7, "float"), (10, "float"), (2008, "half"), (1, "double")])
@pytest.mark.parametrize("device", ["cpu", "hd5870", "hd7970", "vega64"])
def test_awkward_numbers_give_what_numpy_computes(seed, kind, device):
    assert wrong(seed, kind, (device,)) == []
