"""The products that ``benchmarks/matrices.py`` measures are right: one tile each, on one chip."""

import pytest

from benchmarks import matrices


@pytest.mark.parametrize("name", ["f16", "f64"])
def test_products_are_right(name):
    assert matrices.product("mi250x", name, matrices.TILE)() > 0
