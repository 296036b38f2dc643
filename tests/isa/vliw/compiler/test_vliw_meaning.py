"""IL compiled for one chip of each generation gives what IL means: the tests of other devices, run emulated."""

from __future__ import annotations

import numpy as np
import pytest

import headwater
from tests.il import test_operations as operations, test_programs as programs
from tests.isa.vliw.compiler import il_runs

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


def test_operands_that_are_all_constants(chip):
    """A group reads two pairs of constants' components, or four components, and a clause locks some windows."""
    constants = np.random.default_rng(4).random((200, 4), np.float32)
    body = """mad r0, cb0[0], cb0[1], cb0[2]
mad r1.x, cb0[0].x, cb0[50].x, cb0[100].x
dp4 r1._y__, cb0[3], cb0[150]
cmov_logical r1.__z_, cb0[0].x, cb0[60].z, cb0[120].y
mov o0, r0
mov o1, r1
"""
    source = f"il_ps_2_0\ndcl_output_generic o0\ndcl_output_generic o1\ndcl_cb cb0[200]\n{body}end\n"
    out = [np.zeros((1, 1, 4), np.float32) for _ in range(2)]
    headwater.compile(source).main[(1, 1), None](constants, *out)
    np.testing.assert_array_equal(out[0][0, 0], constants[0] * constants[1] + constants[2])
    x, _, z, _ = out[1][0, 0]
    assert x == constants[0, 0] * constants[50, 0] + constants[100, 0]
    assert z == constants[60, 2]
    np.testing.assert_allclose(out[1][0, 0, 1], constants[3] @ constants[150], rtol=1e-6)


def test_a_kernel_of_three_numbers(chip):
    source = "kernel void k(global float *o, float a, float b, float c) { o[get_global_id(0)] = a * b + c; }"
    out = np.zeros(8, np.float32)
    COMPILE(source, device=chip).k[8](out, 2.0, 3.0, 4.0, device=chip)
    assert (out == 10).all()
