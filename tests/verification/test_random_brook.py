"""The kernels that AMD's compiler is compared with: Headwater takes each of them."""

import pytest

import headwater as hw
from verification.random_brook import Maker


@pytest.mark.parametrize("weak", [False, True])
def test_random_kernels_are_translated(weak):
    made = Maker(7, 12, weak=weak)
    text = "\n".join([made.helpers_text, *made.kernels])
    program = hw.compile(text, language="brook", options="-a -w 0" if weak else "")
    assert {f"k{number}" for number in range(12)} <= set(program.kernels)
    assert all(program.kernels[f"k{number}"].signature.launchable for number in range(12))
    assert text == "\n".join([(again := Maker(7, 12, weak=weak)).helpers_text, *again.kernels])
