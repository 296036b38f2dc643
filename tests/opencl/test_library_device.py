"""What work-items do together, on the cpu device: group functions, asynchronous copies, OpenCL 2.0 atomics."""

import numpy as np

import headwater as hw

GROUP_FUNCTIONS = """
kernel void k(global int *out, global float *least, global const int *in) {
  size_t i = get_global_id(0);
  int x = in[i];
  out[6 * i] = work_group_reduce_add(x);
  out[6 * i + 1] = work_group_scan_inclusive_add(x);
  out[6 * i + 2] = work_group_scan_exclusive_max(x);
  out[6 * i + 3] = work_group_broadcast(x, 3);
  out[6 * i + 4] = work_group_any(x == 5);
  out[6 * i + 5] = work_group_all(x < 90);
  least[i] = work_group_reduce_min((float)x);
}
"""

COPIES_AND_ATOMICS = """
kernel void k(global float4 *out, global const float4 *in, local float4 *tile, global atomic_int *count,
              global int *histogram) {
  int item = get_local_id(0), group = get_group_id(0);
  event_t e = async_work_group_copy(tile, in + 16 * group, 16, 0);
  wait_group_events(1, &e);
  out[get_global_id(0)] = tile[15 - item] * exp(tile[item]);
  atomic_fetch_add(count, 2);
  atomic_inc(histogram + item % 4);
  int wanted = 7;
  atomic_compare_exchange_strong(count + 1, &wanted, 9);
}
"""


def test_group_functions():
    program = hw.compile(GROUP_FUNCTIONS, language="opencl", options="-cl-std=CL2.0")
    values = np.random.default_rng(0).integers(0, 100, 64).astype(np.int32)
    out, least = np.zeros((64, 6), np.int32), np.zeros(64, np.float32)
    program.k[(64,), (16,)](out, least, values).wait()
    for index, x in enumerate(values.reshape(4, 16)):
        got = out[16 * index : 16 * index + 16]
        assert (got[:, 0] == x.sum()).all()
        assert (got[:, 1] == x.cumsum()).all()
        assert got[:, 2].tolist() == [-(2**31), *np.maximum.accumulate(x)[:-1].tolist()]
        assert (got[:, 3] == x[3]).all()
        assert (got[:, 4] == (x == 5).any()).all()
        assert (got[:, 5] == (x < 90).all()).all()
        assert (least[16 * index : 16 * index + 16] == x.min()).all()


def test_copies_and_atomics():
    program = hw.compile(COPIES_AND_ATOMICS, language="opencl", options="-cl-std=CL2.0")
    values = np.random.default_rng(1).normal(size=(64, 4)).astype(np.float32)
    out, count, histogram = np.zeros_like(values), np.array([0, 7], np.int32), np.zeros(4, np.int32)
    program.k[(64,), (16,)](out, values, hw.Local(16 * 16), count, histogram).wait()
    reversed_tiles = values.reshape(4, 16, 4)[:, ::-1].reshape(64, 4)
    np.testing.assert_allclose(out, reversed_tiles * np.exp(values), rtol=3e-7)
    assert count.tolist() == [128, 9]
    assert histogram.tolist() == [16, 16, 16, 16]
