"""Indices that step from lane to lane: extended to 64 bits where they wrap around, and stores that begin anywhere."""

import numpy as np
import pytest

import headwater as hw
from headwater.llvm.ir import Module
from headwater.opencl import host
from headwater.opencl.host import HostModule
from headwater.runtime.cpu import access_modes
from headwater.vectorise.analysis.ordered_branches import ordered_exits
from headwater.vectorise.analysis.shapes import Shapes
from headwater.vectorise.layout import Layout
from headwater.vectorise.plan import launch_layout
from headwater.vectorise.prepare.kernel import read_kernel

EXTENSIONS = """
kernel void signed_index(global long *out, uint start) { int x = get_global_id(0); out[x] = (int)(x + start); }
kernel void unsigned_index(global long *out, uint start) { uint x = get_global_id(0); out[x] = (ulong)(x + start); }
kernel void downwards(global long *out, uint start) { int x = get_global_id(0); out[x] = (int)(start - 3u * x); }
kernel void rows(global long *out, uint start)
{
    int x = get_global_id(0), y = get_global_id(1);
    out[y * get_global_size(0) + x] = (long)(int)(x + start * y) - (int)(x + start);
}
kernel void after_a_store(global long *out, uint start)
{
    int x = get_global_id(0);
    out[x] = 1;
    out[x] += (int)(x + start);
}
kernel void in_a_loop(global long *out, uint start, int n)
{
    uint x = get_global_id(0);
    long sum = 0;
    for (int i = 0; i < n; ++i) sum += (int)(x + start + i);
    out[x] = sum;
}
kernel void below_a_guard(global long *out, uint start, uint n)
{
    uint x = get_global_id(0);
    if (x >= n) return;
    out[x] = (int)(x + start);
}
"""
LAYOUTS = [None, Layout(1), Layout(16), Layout(16, 4, 0, 0), Layout(16, 4), Layout(8, 2, 1, 0)]
STARTS = [0, 5, 2**31 - 1, 2**31 - 17, 2**31 - 40, 2**31, 2**32 - 1, 2**32 - 40, 2**32 - 64]


@pytest.fixture(params=LAYOUTS, ids=str)
def layout(request, monkeypatch):
    if request.param is not None:
        monkeypatch.setattr(HostModule, "layout", lambda *_: request.param)
    return request.param


def int32(values):
    return values.astype(np.uint32).astype(np.int32).astype(np.int64)


@pytest.mark.parametrize("start", STARTS)
def test_an_index_that_wraps_around_is_extended_lane_by_lane(layout, start):
    program = hw.compile(f"{EXTENSIONS}// {layout}", device="cpu")
    x = np.arange(200, dtype=np.int64)

    def run(name, *more):
        out = np.zeros(200, np.int64)
        program.kernels[name][(200,), (100,)](out, np.uint32(start), *more).wait()
        return out

    assert (run("signed_index") == int32(x + start)).all()
    assert (run("unsigned_index") == (x + start) % 2**32).all()
    assert (run("downwards") == int32(start - 3 * x)).all()
    assert (run("after_a_store") == int32(x + start) + 1).all()
    assert (run("in_a_loop", 3) == int32(x + start) + int32(x + start + 1) + int32(x + start + 2)).all()
    assert (run("below_a_guard", np.uint32(70)) == np.where(x < 70, int32(x + start), 0)).all()


@pytest.mark.parametrize(("width", "height"), [(64, 8), (50, 7)])
@pytest.mark.parametrize("start", STARTS)
def test_every_row_is_tested(layout, start, width, height):
    program = hw.compile(f"{EXTENSIONS}// {layout}", device="cpu")
    x, y = np.arange(width, dtype=np.int64), np.arange(height, dtype=np.int64)[:, None]
    out = np.zeros((height, width), np.int64)
    program.rows[(width, height), (width, height)](out, np.uint32(start)).wait()
    assert (out == int32(x + start * y) - int32(x + start)).all()


@pytest.mark.parametrize("element", ["uchar", "short", "int", "double", "float4", "uchar4", "float3"])
@pytest.mark.parametrize("shift", [0, 1, 7, 100])
def test_streams_that_begin_anywhere(monkeypatch, element, shift):
    for module in (access_modes, launch_layout):  # every store is worth a streaming store
        monkeypatch.setattr(module, "caches_bytes", lambda: (0, 0))
    source = f"""
kernel void shifted(global const {element} *in, global {element} *out, int pitch, int shift)
{{
    int x = get_global_id(0) + shift, y = get_global_id(1);
    out[y * pitch + x] = in[y * pitch + x] + ({element})(1);
}}
"""
    program = hw.compile(source, device="cpu")
    dtype, count = {"uchar": np.uint8, "short": np.int16, "int": np.int32, "double": np.float64}, 1
    for suffix in ("4", "3"):
        if element.endswith(suffix):
            count = 4
    scalar = {**dtype, "float": np.float32}[element.rstrip("34")]
    width, height, pitch = 1203, 3, 1400
    whole = np.zeros(height * pitch * count * np.dtype(scalar).itemsize + 64, np.uint8)
    for offset in (0, 16, 24):
        out = whole[offset : offset + height * pitch * count * np.dtype(scalar).itemsize].view(scalar)
        out = out.reshape(height, pitch, count)
        out[...] = 9
        data = np.random.default_rng(3).integers(0, 100, out.shape).astype(scalar)
        for local in (None, (401, 1), (1203, 3)):
            out[...] = 9
            program.shifted[(width, height), local](
                data.reshape(-1), out.reshape(-1), np.int32(pitch), np.int32(shift)
            ).wait()
            expected = np.full_like(out, 9)
            expected[:, shift : shift + width] = data[:, shift : shift + width] + scalar(1)
            if element.endswith("3"):
                expected[..., 3] = out[..., 3]
            assert (out == expected).all()


COUNTERS = """
kernel void in_order(global long *out, ulong step, int n)
{
    long sum = 0;
    for (int i = get_global_id(0); i < n; i += step) sum += i;
    out[get_global_id(0)] = sum;
}
kernel void by_turns(global long *out, ulong step, int n)
{
    long sum = 0;
    int trips = 0;
    for (int i = get_global_id(0); trips < 9 && i < n; i -= step, ++trips) sum += i;
    out[get_global_id(0)] = sum;
}
kernel void whole_used(global long *out, ulong step, int n)
{
    long sum = 0, i = get_global_id(0);
    for (int trips = 0; trips < n; ++trips) {
        sum += i ^ (int)i;
        i = (int)i + step;
    }
    out[get_global_id(0)] = sum;
}
kernel void behind_a_barrier(global const int *values, global long *out, ulong step, int n, local long *sums)
{
    int l = get_local_id(0);
    long sum = 0;
    for (int i = get_global_id(0); i < n; i += step) sum += values[i];
    sums[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = sums[get_local_size(0) - 1 - l];
}
"""


def wrapped(number):
    return (number + 2**31) % 2**32 - 2**31


@pytest.mark.parametrize("step", [3, 200, 0x50000000, 0x7FFFFFF0, 2**32 - 5, 2**31 + 7])
def test_a_counter_of_64_bits_that_is_cut_to_32(layout, step):
    program = hw.compile(f"{COUNTERS}// {layout}", device="cpu")

    def run(name, n):
        out = np.zeros(100, np.int64)
        program.kernels[name][(100,), (50,)](out, np.uint64(step), n).wait()
        return out.tolist()

    def expected(step, n, most):
        sums = []
        for x in range(100):
            i, total, trips = x, 0, 0
            while i < n and trips < most:
                total, i, trips = total + i, wrapped(i + step), trips + 1
            sums.append(total)
        return sums

    n = {0x50000000: 0x60000000}.get(step, 1000)
    if step < 2**30 or step == 0x50000000:
        assert run("in_order", n) == expected(step, n, 10**6)
    for n in (70, 0x7FFFFFF8):
        assert run("by_turns", n) == expected(-step, n, 9)
    sums = []
    for x in range(100):
        i, total = x, 0
        for _ in range(4):
            total, i = total + (i ^ wrapped(i)), (wrapped(i) + step + 2**63) % 2**64 - 2**63
        sums.append(total)
    assert run("whole_used", 4) == sums


def test_a_strided_sum_before_a_barrier(layout):
    program = hw.compile(f"{COUNTERS}// {layout}", device="cpu")
    values = np.random.default_rng(1).integers(-(10**6), 10**6, 5003, np.int32)
    out = np.zeros(128, np.int64)
    for n in (0, 1, 100, 5003):
        program.behind_a_barrier[(128,), (64,)](values, out, np.uint64(128), n, hw.Local(64 * 8)).wait()
        sums = np.array([values[x:n:128].sum(dtype=np.int64) for x in range(128)])
        assert (out == sums.reshape(2, 64)[:, ::-1].reshape(-1)).all()


def test_the_loop_of_a_strided_sum_is_left_in_order():
    """It then runs without masks, and reads memory in order: with gathers it took 30 times as long."""
    module = host.load(COUNTERS, "counters.cl")
    for name in ("in_order", "behind_a_barrier"):
        kernel = read_kernel(Module(module.text(name)), name)
        shapes = Shapes(kernel.function, kernel.cfg, Layout(16, 2), {})
        assert len(ordered_exits(kernel.function, kernel.cfg, shapes)) == 1
        assert not module.facts(name).masked_loops
