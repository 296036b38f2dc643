"""The kernels of many kinds: as the cpu device lays them out, and one work-item at a time."""

import numpy as np
import pytest
from forced_layouts import build, differences, run
from kinds import KINDS, SOURCE

from headwater.vectorise.layout import Layout


@pytest.fixture(scope="module")
def programs():
    return [build(SOURCE.read_text(), layout) for layout in (Layout(1), None)]


@pytest.mark.parametrize("name", KINDS)
def test_the_chosen_layout_gives_the_same_results(name, programs):
    kind = KINDS[name]
    arguments = kind.arguments(np.random.default_rng(1))
    expected, found = (run(program, name, kind.items, kind.group, arguments) for program in programs)
    assert not differences(expected, found)
