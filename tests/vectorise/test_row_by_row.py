"""Blocks that lanes run in their order, in chunks of many rows: the rows that have such lanes, and no others."""

import numpy as np
import pytest

import headwater as hw
from headwater.llvm.ir import Module
from headwater.opencl import codegen, host
from headwater.opencl.host import HostModule
from headwater.opencl.kernels import CodeRequest
from headwater.vectorise.layout import Layout
from headwater.vectorise.prepare.kernel import read_kernel

SOURCE = """
kernel void tree(global const int *a, global int *out, local int *shared)
{
    int l = get_local_id(0);
    shared[l] = a[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = get_local_size(0) / 2; reach > 0; reach /= 2) {
        if (l < reach) shared[l] += shared[l + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) out[get_group_id(0)] = shared[0];
}
#define STEP(name, condition, left)                                                        \\
    kernel void name(global const int *a, global int *out, local int *shared, int n)       \\
    {                                                                                      \\
        int l = get_local_id(0), g = get_global_id(0);                                     \\
        shared[l] = a[g];                                                                  \\
        barrier(CLK_LOCAL_MEM_FENCE);                                                      \\
        if (condition) { left; }                                                           \\
        barrier(CLK_LOCAL_MEM_FENCE);                                                      \\
        out[g] = out[g] * 2 + shared[l];                                                   \\
    }
STEP(first_ones, l < n, shared[l] = shared[l] * 3 + a[l])
STEP(last_ones, l >= n, shared[l] *= 5)
STEP(downwards, 70 - l > n, shared[l] -= l)
STEP(by_threes, (uint)l * 3u <= (uint)n, out[g] = shared[l] / n)
STEP(wraps, (uint)l - 20u < (uint)n, shared[l] ^= 0x55)
STEP(wraps_twice, (uint)l * 0x04000001u < (uint)n << 20, shared[l] -= 7)
STEP(wide, (long)g * 2 > n, shared[l] += n)
STEP(from_memory, l < a[5], shared[l] += a[n] - a[5])
"""
GROUP, GROUPS = 128, 2
STEPS = ["first_ones", "last_ones", "downwards", "by_threes", "wraps", "wraps_twice", "wide", "from_memory"]
ROWS = [Layout(16, 8, 0, 0), Layout(8, 16, 0, 0), Layout(8, 4, 0, 0)]


def expected(name, a, before, n):
    g = np.arange(GROUP * GROUPS)
    lane = g % GROUP
    shared, out = a.copy(), before.copy()
    if name == "first_ones":
        shared = np.where(lane < n, a * 3 + a[lane], a)
    elif name == "last_ones":
        shared = np.where(lane >= n, a * 5, a)
    elif name == "downwards":
        shared = np.where(70 - lane > n, a - lane, a)
    elif name == "by_threes":
        if n:
            out = np.where(lane * 3 <= n, a // n, out)
        else:
            out[lane == 0] = 0
    elif name == "wraps":
        shared = np.where((lane - 20) % 2**32 < n, a ^ 0x55, a)
    elif name == "wraps_twice":
        shared = np.where(lane * 0x04000001 % 2**32 < n << 20, a - 7, a)
    elif name == "wide":
        shared = np.where(2 * g > n, a + n, a)
    else:
        shared = np.where(lane < a[5], a + a[n] - a[5], a)
    return out * 2 + shared


@pytest.mark.parametrize("layout", [None, *ROWS], ids=str)
def test_a_tree_adds_up_each_group(layout, monkeypatch):
    if layout is not None:
        monkeypatch.setattr(HostModule, "layout", lambda *_: layout)
    a = np.random.default_rng(3).integers(0, 100, GROUP * GROUPS).astype(np.int32)
    out = np.zeros(GROUPS, np.int32)
    program = hw.compile(f"{SOURCE}// {layout}", device="cpu")
    program.tree[(a.size,), (GROUP,)](a, out, hw.Local(4 * GROUP)).wait()
    assert (out == a.reshape(GROUPS, GROUP).sum(1)).all()


@pytest.mark.parametrize("layout", [None, *ROWS], ids=str)
@pytest.mark.parametrize("name", STEPS)
def test_lanes_that_pass_run_and_no_others(name, layout, monkeypatch):
    if layout is not None:
        monkeypatch.setattr(HostModule, "layout", lambda *_: layout)
    a = np.random.default_rng(4).integers(0, 100, GROUP * GROUPS).astype(np.int32)
    before = np.arange(a.size, dtype=np.int32)
    program = hw.compile(f"{SOURCE}// {layout}", device="cpu")
    for n in (1, 7, 8, 31, 32, 64, 100, 127, 128, 250):
        for limit in (a[5], 0, 33, 128) if name == "from_memory" else (a[5],):
            a[5] = limit
            out = before.copy()
            program.kernels[name][(a.size,), (GROUP,)](a, out, hw.Local(4 * GROUP), np.int32(n)).wait()
            assert (out == expected(name, a, before, n)).all(), (n, limit)


@pytest.mark.parametrize("name", ["tree", "first_ones", "last_ones", "downwards", "from_memory"])
@pytest.mark.parametrize("layout", ROWS, ids=str)
def test_rows_are_taken_one_by_one(name, layout):
    module = Module(host.load(SOURCE, "steps.cl").text(name))
    code = codegen.vectorised(module, read_kernel(module, name), "entry", CodeRequest(name, layout, split=True)).text
    assert "row.all" in code
    few = Layout(layout.lanes, 2, 0, 0)
    assert (
        "row.all"
        not in codegen.vectorised(module, read_kernel(module, name), "entry", CodeRequest(name, few, split=True)).text
    )
