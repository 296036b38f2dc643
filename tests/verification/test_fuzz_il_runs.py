"""A random IL program that devices once differed on; ``python -m verification.fuzz_il_runs`` runs as many as wanted."""

import random

import pytest

from verification.fuzz_il_runs import examine, made


@pytest.mark.filterwarnings("ignore:.*pixels of a wavefront")
def test_components_of_a_vector_stay_apart_on_gcn_chips():
    """LLVM's StructurizeCFG moved an annotation whose operand, a component, had been moved before."""
    assert examine(made(random.Random(700025)), 700025, ("vega64",)) == ""
