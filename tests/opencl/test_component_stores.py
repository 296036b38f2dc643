"""Components of vectors in global and local memory are written one by one: others may write those beside them."""

import numpy as np
import pytest

import headwater as hw

SOURCE = """
kernel void components(global int *out, global const int *in, local int8 *own) {
  int i = get_local_id(0), n = i & 7;
  global int4 *v = (global int4 *)out + 2 * n;
  global int3 *three = (global int3 *)(out + 64) + 2 * n;
  global uchar4 *bytes = (global uchar4 *)(out + 128) + n;
  local int8 *w = own + n;
  int8 given = vload8(0, in);
  if (i < 8) {
    v->lo = given.s45 + n;
    v->hi = given.s67 + n;
    three->x = n;
    bytes->odd = (uchar2)(n, 2 * n);
    w->even = given.even * n;
  } else {
    v[1].zw = given.s60, v[1].yx = given.s17;
    three->zy = given.lo.wx - n;
    bytes->s2 = 7;
    bytes->x = 9;
    w->odd = (int4)(1, 2, n, 4);
    three[1].xyz = given.s210;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < 8) vstore8(*w, n, out + 192);
}
"""


def expected():
    out = np.full(256, -1, np.int32)
    given = np.arange(10, 18, dtype=np.int32)
    n = np.arange(8, dtype=np.int32)[:, None]
    v, three, own = out[:64].reshape(8, 8), out[64:128].reshape(8, 8), out[192:].reshape(8, 8)
    v[:, :4], v[:, 4:] = given[4:] + n, given[[7, 1, 6, 0]]
    three[:, :1], three[:, 2:3], three[:, 1:2], three[:, 4:7] = n, given[3] - n, given[0] - n, given[[2, 1, 0]]
    out[128:136].view(np.uint8).reshape(8, 4)[:] = np.hstack([9 + 0 * n, n, 7 + 0 * n, 2 * n])
    own[:, ::2], own[:, 1::2] = given[::2] * n, np.hstack([1 + 0 * n, 2 + 0 * n, n, 4 + 0 * n])
    return out, given


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
def test_halves_of_one_vector_are_those_of_two_work_items(device):
    launch = hw.device(device).build(SOURCE, "components.cl").kernels["components"].prepare
    wanted, given = expected()
    for check in (False, True):
        out = np.full(256, -1, np.int32)
        launch((16,), (16,), check=check)([out, given, hw.Local(256)], None, None).wait()
        assert np.array_equal(out, wanted)
