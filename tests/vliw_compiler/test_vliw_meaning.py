"""IL compiled for one chip of each generation gives what IL means: the tests of other devices, run emulated."""

from __future__ import annotations

import numpy as np
import pytest

import headwater
from tests.il import test_operations as operations, test_programs as programs
from tests.vliw_compiler import il_runs

COMPILE = headwater.compile
NO_FMA = {"hd3870", "hd4870"}


@pytest.fixture(params=il_runs.CHIPS)
def chip(request, monkeypatch):
    """A chip on which the programs of the tests that are called run."""
    monkeypatch.setattr(headwater, "compile", lambda source, **_: il_runs.OnChip(source, request.param, COMPILE))
    operations.together.cache_clear()
    yield request.param
    operations.together.cache_clear()


@pytest.mark.parametrize("table", ["integers", "floats"])
def test_operations_are_exact(chip, table, monkeypatch):
    if chip in NO_FMA:
        monkeypatch.setitem(operations.TABLES, table, {n: f for n, f in operations.TABLES[table].items() if n != "fma"})
    operations.test_exact(table)


def test_approximations_are_close(chip):
    operations.test_close()


def test_doubles(chip):
    if chip in NO_FMA:  # sequences that round every product
        for name, function in operations.DOUBLES.items():
            sources, got = operations.outcome("doubles", name)
            expected = function(*[s[:, 0] for s in sources])
            if operations.operations()[name].result != "S":
                rtol = 0 if name in ("ddiv", "dsqrt") else 5e-16
                np.testing.assert_allclose(got.view(np.float64)[:, 0], expected, rtol=rtol, err_msg=name)
            else:
                np.testing.assert_array_equal(got[:, 0], operations.mask(expected), err_msg=name)
        return
    operations.test_doubles()
    operations.test_fused_and_scaled_doubles()


def test_modifiers(chip):
    operations.test_result_modifiers()
    operations.test_source_modifiers()
    for relation in ("ne", "lt"):
        operations.test_relations(relation)


def test_programs(chip):
    programs.test_position_is_the_pixels_centre()
    programs.test_masks_and_swizzles()
    programs.test_loops_functions_and_early_returns()
    programs.test_switch()
    programs.test_textures_clamp_and_fill_missing_lanes()
    programs.test_constants_and_indexed_temporaries()
    programs.test_global_buffer()
    programs.test_discarded_pixels_keep_the_output()
    programs.test_transpose()


def test_local_memory(chip):
    if chip in ("hd5870", "hd6970"):
        programs.test_local_data_share_of_r700()
        programs.test_local_data_share_of_evergreen_and_atomics()
        programs.test_a_value_of_local_memory_that_its_loop_reads_once_and_leaves_behind()
