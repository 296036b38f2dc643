"""Vector arguments passed by value are read by component, whole, and across branches on the cpu device."""

import numpy as np
import pytest

import headwater as hw

SOURCE = """
__kernel void component(__global int *out, int4 v) { int i = get_global_id(0); out[i] = i + v.y - 1; }
__kernel void whole(__global int4 *out, int4 v) { int i = get_global_id(0); out[i] = v * i; }
__kernel void choice(__global int *out, int4 v, int4 w) { int i = get_global_id(0);
  int4 u = v; for (int k = 0; k < i % 3; ++k) u = k ? w : u.wzyx; out[i] = u.x; }
"""
V, W = np.array([1, 20, 300, 4000], np.int32), np.array([5, 6, 7, 8], np.int32)


@pytest.fixture(scope="module")
def program():
    return hw.compile(SOURCE, language="opencl", device="cpu")


def test_component(program):
    out = np.zeros(67, np.int32)
    program.component[(67,), None](out, V).wait()
    assert np.array_equal(out, np.arange(67) + 19)


def test_whole(program):
    out = np.zeros((67, 4), np.int32)
    program.whole[(67,), None](out, V).wait()
    assert np.array_equal(out, np.arange(67)[:, None] * V)


def test_merged_with_another_value_in_a_loop(program):
    out = np.zeros(66, np.int32)
    program.choice[(66,), None](out, V, W).wait()
    assert np.array_equal(out, np.tile([1, 4000, 5], 22))
