"""Work-items that do not take part: what is only true of those that do must not be believed of them."""

import numpy as np
import pytest

import headwater as hw
from headwater.opencl.host import HostModule
from headwater.vectorise.layout import Layout

SHIFTS = """
kernel void unsigned_shift(global const int *in, global int *out, uint d)
{
    uint i = get_global_id(0);
    if (i >= d) out[i] = in[i - d];
}
kernel void after_a_store(global const int *in, global int *out, uint d)
{
    uint i = get_global_id(0);
    out[i] = -1;
    if (i >= d) out[i] = in[i - d];
}
kernel void of_an_extended_index(global const int *in, global long *out, uint d)
{
    uint i = get_global_id(0);
    out[i] = 0;
    if (i >= d) { ulong at = i - d; out[i] = at * 3 + in[at]; }
}
kernel void in_local_memory(global const int *in, global int *out, uint d, local int *own)
{
    uint l = get_local_id(0);
    own[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    int found = -1;
    if (l >= d) found = own[l - d];
    barrier(CLK_LOCAL_MEM_FENCE);
    own[l] = found;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < get_local_size(0) - d) out[get_global_id(0)] = own[l + d];
}
kernel void before_the_loop(global const int *in, global int *out, uint d, uint n)
{
    uint i = get_global_id(0);
    int sum = 0;
    for (uint k = 0; k < n; ++k)
        if (i >= d) sum += in[i - d] + k;
    out[i] = sum;
}
"""
DIVISIONS = """
kernel void divide(global const T *a, global const T *b, global T *quotient, global T *rest)
{
    int i = get_global_id(0);
    if (b[i] != 0 && !(b[i] == (T)-1 && a[i] == LEAST)) {
        quotient[i] = a[i] / b[i];
        rest[i] = a[i] % b[i];
    }
}
kernel void divide_while(global const T *a, global const T *b, global T *quotient, global T *rest)
{
    int i = get_global_id(0);
    T left = a[i], trips = 0;
    while (left > b[i] && b[i] > 1) { left = left / b[i]; trips++; }
    quotient[i] = left;
    rest[i] = trips;
}
"""
LAYOUTS = [None, Layout(1), Layout(4), Layout(16), Layout(16, 4, 0, 0), Layout(16, 4), Layout(64)]
N = 192


@pytest.fixture(params=LAYOUTS, ids=str)
def layout(request, monkeypatch):
    if request.param is not None:
        monkeypatch.setattr(HostModule, "layout", lambda *_: request.param)
    return request.param


@pytest.mark.parametrize("group", [64, 48])
def test_an_index_that_is_negative_for_idle_lanes(layout, group):
    program = hw.compile(f"{SHIFTS}// {layout}", device="cpu")
    data = np.random.default_rng(6).integers(0, 1000, N).astype(np.int32)
    i = np.arange(N)

    def run(name, dtype, *more):
        out = np.full(N, -5, dtype)
        program.kernels[name][(N,), (group,)](data, out, *more).wait()
        return out

    for d in (0, 1, 5, 16, 40, 47):
        there = data[np.maximum(i - d, 0)]
        assert (run("unsigned_shift", np.int32, np.uint32(d)) == np.where(i >= d, there, -5)).all()
        assert (run("after_a_store", np.int32, np.uint32(d)) == np.where(i >= d, there, -1)).all()
        assert (run("of_an_extended_index", np.int64, np.uint32(d)) == np.where(i >= d, (i - d) * 3 + there, 0)).all()
        assert (
            run("before_the_loop", np.int32, np.uint32(d), np.uint32(3)) == np.where(i >= d, 3 * there + 3, 0)
        ).all()
        local = i % group
        expected = np.where(local < group - d, data, -5)
        assert (run("in_local_memory", np.int32, np.uint32(d), hw.Local(4 * group)) == expected).all()


@pytest.mark.parametrize("name", ["char", "ushort", "int", "uint", "long", "ulong"])
def test_divisors_of_idle_lanes_do_not_trap(layout, name):
    dtype = np.dtype({"char": "i1", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8", "ulong": "u8"}[name])
    least = np.iinfo(dtype).min
    program = hw.compile(f"{DIVISIONS}// {layout}", options=f"-D T={name} -D LEAST=(T)({least + 1}-1)", device="cpu")
    rng = np.random.default_rng(7)
    a = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, N, dtype, endpoint=True)
    b = rng.choice(np.array([0, 1, 2, 3, 7, np.iinfo(dtype).max], dtype), N)
    if least:
        a[:40:2] = least
        b[1::5] = -1
    quotient, rest = np.zeros(N, dtype), np.zeros(N, dtype)
    program.divide[(N,), (48,)](a, b, quotient, rest).wait()
    for x, y, q, r in zip(a.tolist(), b.tolist(), quotient.tolist(), rest.tolist(), strict=True):
        if y == 0 or (y == -1 and x == least):
            assert (q, r) == (0, 0)
        else:
            whole = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
            assert (q, r) == (whole, x - whole * y)
    program.divide_while[(N,), (48,)](a, b, quotient, rest).wait()
    for x, y, q, r in zip(a.tolist(), b.tolist(), quotient.tolist(), rest.tolist(), strict=True):
        trips = 0
        while x > y and y > 1:
            x, trips = x // y, trips + 1
        assert (q, r) == (x, trips)


ROWS_LEAVE = """
kernel void k(global const int *keys, global uint *out)
{
    uint x = keys[get_global_id(0)];
    for (uint trip = 0; trip < get_global_id(1) % 3; trip++) {
        uint old = x;
        if (x & 1) x *= 254u;
        x += (old & 1 || old % 7) ? 70 : 69;
    }
    out[get_global_id(1) * get_global_size(0) + get_global_id(0)] = x;
}
"""


@pytest.mark.parametrize("layout", [Layout(8), Layout(8, 2), Layout(16, 4), Layout(4, 2, 1, 0)], ids=str)
def test_values_that_rows_share_go_on_when_the_first_row_has_left(layout, monkeypatch):
    monkeypatch.setattr(HostModule, "layout", lambda *_: layout)
    program = hw.compile(f"{ROWS_LEAVE}// {layout}", device="cpu")
    keys = np.arange(12, dtype=np.int32)
    out = np.zeros((16, 12), np.uint32)
    program.k[(12, 16), (1, 16)](keys, out)
    for y in range(16):
        x = keys.astype(np.uint32)
        for _ in range(y % 3):
            x = np.where(x & 1, x * np.uint32(254) + 70, x + np.where(x % 7, 70, 69)).astype(np.uint32)
        np.testing.assert_array_equal(out[y], x)


GIVES_UP_LATE = """
kernel void k(global const int *keys, global const char8 *in, global uint *counts, int m)
{
    int i = get_global_id(0);
    switch (keys[i]) {
    case 5: atomic_inc(&counts[i]); break;
    case 2: break;
    default:
        if ((double)(uint)in[i + m].s2 + get_local_id(0) > 0.5)
            atomic_add(&counts[i], (uint)(i > 0 ? in[i - 1].s4 : 56));
    }
}
"""


@pytest.mark.parametrize("layout", [Layout(1), Layout(8), Layout(32), Layout(16, 4, 0, 0)], ids=str)
def test_no_chunk_is_run_again_when_lanes_have_left_traces(layout, monkeypatch):
    monkeypatch.setattr(HostModule, "layout", lambda *_: layout)
    program = hw.compile(f"{GIVES_UP_LATE}// {layout}", device="cpu")
    keys = (np.arange(66, dtype=np.int32) * 7) % 11 % 8
    values = np.random.default_rng(3).integers(1, 100, (80, 8)).astype(np.int8)
    counts = np.zeros(66, np.uint32)
    # The index of the first work-item's neighbour wraps around, and nobody reads there.
    program.k[(66,), (33,)](keys, values, counts, np.int32(3))
    expected = np.where(keys == 5, 1, np.where(keys == 2, 0, np.r_[56, values[:65, 4]]))
    np.testing.assert_array_equal(counts, expected)
