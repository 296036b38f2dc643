"""Kernels as LLVM compiles them, run by the reference interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from headwater.emulate.gcn.reference_launch import launch
from headwater.errors import KernelFault, LaunchError
from headwater.isa.gcn.codeobject import load
from headwater.opencl.gcn import compile_code_object

SOURCE = """
__kernel void sums(__global const float *a, __global float *out, __local float *part, int n) {
    int l = get_local_id(0), i = get_global_id(0);
    part[l] = i < n ? a[i] / 3.0f + native_exp2(1.0f) : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = get_local_size(0) / 2; step > 0; step /= 2) {
        if (l < step) part[l] += part[l + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) out[get_group_id(0)] = part[0];
}
__kernel void private_array(__global const int *which, __global int *out) {
    int cells[40];
    for (int i = 0; i < 40; i++) cells[i] = i * (int)get_global_id(1);
    out[get_global_id(1) * get_global_size(0) + get_global_id(0)] = cells[which[get_global_id(0)]];
}
__kernel void halves(__global const double *a, __global double *b, __global int *count) {
    size_t i = get_global_id(0);
    b[i] = a[i] / b[i];
    atomic_add(count, (int)i);
}
"""


@pytest.fixture(scope="module", params=["gfx900", "gfx803"])
def code(request):
    compiled = compile_code_object(SOURCE, "reference.cl", target=request.param)
    return load(compiled.code, "reference.hsaco")


def test_groups_with_barriers(code):
    a = np.arange(200, dtype=np.float32)
    out = np.zeros(2, np.float32)
    launch(code, "sums", [a, out, 128 * 4, np.int32(200)], [256], [128])
    expected = (a / 3 + 2).astype(np.float64)
    assert np.allclose(out, [expected[:128].sum(), expected[128:].sum()], rtol=1e-6)


def test_private_memory_and_two_dimensions(code):
    which = np.arange(16, dtype=np.int32) * 2 + 3
    out = np.zeros((6, 16), np.int32)
    launch(code, "private_array", [which, out], [16, 6], [16, 2])
    assert (out == np.arange(6)[:, None] * which).all()


def test_doubles_and_atomics(code):
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal(64), rng.standard_normal(64)
    count = np.zeros(1, np.int32)
    expected = a / b
    launch(code, "halves", [a, b, count], [64], [64])
    assert (b == expected).all()
    assert count[0] == 63 * 32


def test_bad_launches(code):
    with pytest.raises(LaunchError, match="halves takes 3 arguments, not 1"):
        launch(code, "halves", [np.zeros(1)], [64], [64])
    with pytest.raises(LaunchError, match="n of sums takes 4 bytes, not 8"):
        launch(code, "sums", [np.zeros(64, np.float32), np.zeros(1, np.float32), 4, np.int64(1)], [64], [64])
    with pytest.raises(KernelFault, match="are in no allocation"):
        launch(code, "halves", [np.zeros(8), np.zeros(64), np.zeros(1, np.int32)], [64], [64])
