"""Atomics whose operands are taken apart lane by lane: small elements, indices of every kind, results that are used."""

import numpy as np
import pytest

import headwater as hw
from headwater.opencl.host import HostModule
from headwater.vectorise.layout import Layout

SOURCE = """
kernel void bytes(global const uchar *values, global int *bins, local int *own)
{
    int l = get_local_id(0);
    for (int i = l; i < 256; i += get_local_size(0)) own[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&own[values[get_global_id(0)]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = l; i < 256; i += get_local_size(0)) atomic_add(&bins[i], own[i]);
}
kernel void signed_bytes(global const char *values, global int *bins)
{
    atomic_add(&bins[128 + values[get_global_id(0)]], (int)values[get_global_id(0)]);
}
kernel void shorts(global const ushort *values, global int *bins)
{
    atomic_inc(&bins[values[get_global_id(0)] >> 8]);
}
kernel void backwards(global const uchar *values, global int *bins, int n)
{
    atomic_inc(&bins[values[n - 1 - get_global_id(0)]]);
}
kernel void tickets(global const uchar *values, global int *bins, global int *order)
{
    int i = get_global_id(0);
    order[i] = atomic_inc(&bins[values[i]]);
}
kernel void changed_before(global uchar *values, global int *bins)
{
    int i = get_global_id(0);
    uchar old = values[i];
    values[i] = 7;
    atomic_inc(&bins[old]);
}
kernel void in_line(global int *bins) { atomic_add(&bins[get_global_id(0) / 3], (int)get_global_id(0)); }
kernel void exchange(global const uchar *values, global int *bins, global int *found)
{
    int i = get_global_id(0);
    found[i] = atomic_cmpxchg(&bins[i], (int)values[i], 1000 + i);
}
kernel void twice(global const int *at, global int *bins, global int *found)
{
    int i = get_global_id(0);
    int place = at[i] + 1;
    int old = atomic_add(&bins[place], i);
    if (old & 1) {
        found[i] = 1;
        barrier(CLK_GLOBAL_MEM_FENCE);
    } else {
        found[i] = 2;
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
    found[i] += atomic_xchg(&bins[place], old + 3 * i);
}
kernel void masked_words(global const uint *words, global int *bins, local int *own, int n)
{
    int l = get_local_id(0);
    for (int i = l; i < 256; i += get_local_size(0)) own[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) atomic_add(&own[words[i] >> 24], words[i] & 7);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = l; i < 256; i += get_local_size(0)) atomic_add(&bins[i], own[i]);
}
kernel void some(global const int *words, global int *bins, global int *found, local int *own)
{
    // Only some lanes take part, and only they find anything.
    local int mine[64];
    int i = get_global_id(0), l = get_local_id(0);
    own[l] = 0;
    mine[l] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    found[i] = -1;
    if (words[i] % 3 == 0) {
        atomic_max(&own[words[i] & 63], words[i]);
        found[i] = atomic_cmpxchg(&mine[l], i, words[i]) + atomic_xchg(&mine[l], 7);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&bins[l], own[l] + mine[l]);
}
"""
LAYOUTS = [None, Layout(1), Layout(2), Layout(4), Layout(16), Layout(16, 4, 0, 0), Layout(16, 4), Layout(64)]
N = 256


@pytest.fixture(params=LAYOUTS, ids=str)
def program(request, monkeypatch):
    if request.param is not None:
        monkeypatch.setattr(HostModule, "layout", lambda *_: request.param)
    return hw.compile(f"{SOURCE}// {request.param}", device="cpu")


@pytest.fixture
def values():
    return (np.random.default_rng(5).random(N) ** 2 * 256).astype(np.uint8)


def counts(values):
    return np.bincount(values, minlength=256).astype(np.int32)


def test_small_elements_find_their_bins(program, values):
    bins = np.zeros(256, np.int32)
    program.bytes[(N,), (64,)](values, bins, hw.Local(1024)).wait()
    assert (bins == counts(values)).all()
    bins[:] = 0
    wide = (values.astype(np.uint16) << 8) + 3
    program.shorts[(N,), (64,)](wide, bins).wait()
    assert (bins == counts(values)).all()
    bins[:] = 0
    program.backwards[(N,), (64,)](values, bins, np.int32(N)).wait()
    assert (bins == counts(values)).all()


def test_small_signed_elements_are_extended(program, values):
    signed = values.view(np.int8)
    bins = np.zeros(256, np.int32)
    program.signed_bytes[(N,), (64,)](signed, bins).wait()
    expected = np.zeros(256, np.int64)
    np.add.at(expected, signed.astype(int) + 128, signed.astype(int))
    assert (bins == expected).all()


def test_every_lane_gets_what_was_there_before(program, values):
    bins, order = np.zeros(256, np.int32), np.zeros(N, np.int32)
    program.tickets[(N,), (N,)](values, bins, order).wait()
    assert (bins == counts(values)).all()
    for value in np.unique(values):
        assert sorted(order[values == value]) == list(range(bins[value]))


def test_elements_are_those_of_before_a_store(program, values):
    bins, changed = np.zeros(256, np.int32), values.copy()
    program.changed_before[(N,), (64,)](changed, bins).wait()
    assert (bins == counts(values)).all()
    assert (changed == 7).all()


def test_indices_that_need_no_memory(program):
    bins = np.zeros(N, np.int32)
    program.in_line[(N,), (64,)](bins).wait()
    assert (bins == np.bincount(np.arange(N) // 3, np.arange(N), N)).all()


def test_compare_and_exchange(program, values):
    i = np.arange(N, dtype=np.int32)
    bins = np.where(i % 3, values, 0).astype(np.int32)
    before, found = bins.copy(), np.zeros(N, np.int32)
    program.exchange[(N,), (64,)](values, bins, found).wait()
    assert (found == before).all()
    assert (bins == np.where(before == values, 1000 + i, before)).all()


def test_addresses_that_atomics_of_two_blocks_share(program):
    at = np.arange(N, dtype=np.int32)[::-1].copy()
    bins = np.full(N + 1, 4, np.int32)
    found = np.zeros(N, np.int32)
    program.twice[(N,), (64,)](at, bins, found)
    i = np.arange(N)
    np.testing.assert_array_equal(found, 2 + 4 + i)
    np.testing.assert_array_equal(bins[1:], (4 + 3 * i)[::-1])


def test_lanes_of_words(program):
    words = np.random.default_rng(2).integers(0, 1 << 32, 5 * N + 77, dtype=np.uint64).astype(np.uint32)
    bins = np.zeros(256, np.int32)
    program.masked_words[(N,), (64,)](words, bins, hw.Local(1024), np.int32(len(words))).wait()
    np.testing.assert_array_equal(bins, np.bincount(words >> 24, words & 7, 256))


def test_idle_lanes_change_nothing(program):
    words = np.random.default_rng(3).integers(0, 1 << 20, N).astype(np.int32)
    bins, found = np.zeros(64, np.int32), np.zeros(N, np.int32)
    program.some[(N,), (64,)](words, bins, found, hw.Local(256)).wait()
    i = np.arange(N, dtype=np.int32)
    takes = words % 3 == 0
    expected = np.zeros((N // 64, 64), np.int32)
    np.maximum.at(expected, (i[takes] // 64, words[takes] & 63), words[takes])
    expected += np.where(takes, 7, i).reshape(-1, 64)
    np.testing.assert_array_equal(found, np.where(takes, i + words, -1))
    np.testing.assert_array_equal(bins, expected.sum(0))
