"""Positions in vectors and private arrays that only their low bits, or sums, tell: equal on every device."""

import numpy as np
import pytest

import headwater as hw

DEVICES = ("cpu", "hd3870", "hd5870", "vega64")
N = 6

VECTORS = """kernel void k(global const int *a, global int8 *inserted, global int *others) {
  int g = get_global_id(0);
  uchar byte = a[g] + 250;
  ushort two = a[g + 6] + 65530;
  ulong wide = (ulong)(a[g] & 3) + 1;
  int8 v = (int8)(0, 1, 2, 3, 4, 5, 6, 7), w = v;
  v[byte] = 77;
  w[two] = 78;
  char8 c = convert_char8(v) > (char8)g;
  inserted[g] = v + w * 1000;
  others[3 * g] = v[(uchar)(a[g] + 251)];
  others[3 * g + 1] = (v < w)[wide];
  others[3 * g + 2] = c[wide];
}"""


@pytest.mark.parametrize("device", DEVICES)
def test_components_by_integers_of_every_width(device):
    a, b = np.array([[6, 7, 9, 12, 262, 522], [6, 8, 65542, 11, 131081, 13]], np.int32)
    byte, two, wide, rows = (a + 250) % 256, (b + 65530) % 65536, (a & 3) + 1, np.arange(N)
    v = np.tile(np.arange(8), (N, 1))
    w = v.copy()
    v[rows, byte] = 77
    w[rows, two] = 78
    inserted, others = np.zeros((N, 8), np.int32), np.zeros((N, 3), np.int32)
    hw.compile(VECTORS, device=device).k[(N,), (N,)](np.concatenate([a, b]), inserted, others)
    assert (inserted == v + w * 1000).all()
    expected = [v[rows, byte + 1], -(v < w)[rows, wide].astype(int), -(v > rows[:, None])[rows, wide].astype(int)]
    assert (others == np.stack(expected, 1)).all()


ARRAYS = """kernel void k(global const int *a, global const uchar *bytes, global uint *o) {
  int g = get_global_id(0);
  uchar t[32];
  float4 f[8];
  _Pragma("nounroll") for (int i = 0; i < 32; i++) t[i] = bytes[i];
  _Pragma("nounroll") for (int i = 0; i < 8; i++) f[i] = (float4)(i, i + 0.25f, i + 0.5f, i + 0.75f);
  uchar *p = t + a[g];
  float *q = (float *)f + a[g];
  o[40 * g] = *(uint *)(p + 3);
  o[40 * g + 1] = *(ushort *)(p + 5);
  vstore4(*(float4 *)(q + 3), 0, (global float *)&o[40 * g + 2]);
  uint far = (uint)(a[g] + 3) / 4 - 0x20000000u, farther = (uint)(a[g] + 3) / 4 - 0x70000000u;
  vstore4(f[far + 0x20000000u], 0, (global float *)&o[40 * g + 6]);
  vstore4(f[farther + 0x70000000u], 0, (global float *)&o[40 * g + 10]);
  o[40 * g + 14] = ((uint *)t)[far + 0x20000000u];
  *(uint *)(p + 3) = g + 5;
  ((uint *)t)[(far + 0x20000001u) & 7] = 6;
  for (int i = 0; i < 8; i++) o[40 * g + 16 + i] = ((uint *)t)[i];
}"""


@pytest.mark.parametrize("device", DEVICES)
def test_addresses_whose_parts_are_not_those_of_elements(device):
    """No part of such a sum is a multiple of an element's size, or one is negative, or wraps at 32 bits."""
    a = np.array([1, 5, 9, 13, 17, -3], np.int32)
    content = np.arange(1, 33, dtype=np.uint8)
    o = np.zeros((N, 40), np.uint32)
    hw.compile(ARRAYS, device=device).k[(N,), (N,)](a, content, o)
    words, element = content.view(np.uint32), (a + 3) // 4
    rows = (element[:, None] + np.array([0, 0.25, 0.5, 0.75])).astype(np.float32).view(np.uint32)
    assert (o[:, 0] == words[element]).all()
    assert (o[:, 1] == content.view(np.uint16)[(a + 5) // 2]).all()
    for first in (2, 6, 10):
        assert (o[:, first : first + 4] == rows).all()
    assert (o[:, 14] == words[element]).all()
    after = np.tile(words, (N, 1))
    after[range(N), element] = np.arange(N) + 5
    after[range(N), (element + 1) % 8] = 6
    assert (o[:, 16:24] == after).all()
