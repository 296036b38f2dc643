"""The fuzzer of ATI IL, over a few inputs of each kind."""

from __future__ import annotations

from verification import fuzzing
from verification.fuzz_il import Maker


def test_what_is_made_ends_in_programs_or_errors(tmp_path):
    found = fuzzing.run(range(60), Maker, str(tmp_path))
    assert not found.defects
    assert set(found.inputs) == set(Maker.KINDS)
    assert found.accepted["made"] + found.accepted["made_again"] > 0
