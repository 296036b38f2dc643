"""Doubles become halves by one rounding; those far below all halves round up or down to the least of them, also where
floats have no subnormal numbers."""

import numpy as np
import pytest

import headwater as hw

SOURCE = """
kernel void stores(global const double *x, global half *h) {
  int i = get_global_id(0);
  vstore_half_rtz(x[i], 4 * i, h);
  vstore_half_rtp(x[i], 4 * i + 1, h);
  vstore_half_rtn(x[i], 4 * i + 2, h);
  vstore_half(x[i], 4 * i + 3, h);
}
"""


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
def test_directed_rounding_of_tiny_doubles(device):
    given = np.array([1e-50, -1e-50, 5e-324, -1e-31, 1e77, -1e77, 0.0, -0.0])
    halves = np.zeros(4 * given.size, np.float16)
    hw.compile(SOURCE, device=device).stores[(given.size,), None](given, halves)
    up, down = [0, 1, 0, 0], [0x8000, 0x8000, 0x8001, 0x8000]
    large, small = [0x7BFF, 0x7C00, 0x7BFF, 0x7C00], [0xFBFF, 0xFBFF, 0xFC00, 0xFC00]
    zeros = [0] * 4 + [0x8000] * 4
    assert halves.view(np.uint16).tolist() == [*up, *down, *up, *down, *large, *small, *zeros]


CASTS = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void casts(global const double *x, global half *h) {
  int i = get_global_id(0);
  double2 v = (double2)(x[i], -x[i]);
  half2 pair = convert_half2(v);
  h[4 * i] = (half)x[i];
  h[4 * i + 1] = v.y;
  h[4 * i + 2] = pair.x;
  h[4 * i + 3] = pair.y;
}
"""


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
def test_a_double_becomes_a_half_by_one_rounding(device):
    """Next to the middle of two halves, by less than a float can tell."""
    middles = np.array([1.0, 1.5, 1000, 2**-20, 3 * 2**-24, 65504]) + np.array(
        [2**-11, 2**-11, 0.25, 2**-25, 2**-25, 16]
    )
    given = np.concatenate([np.nextafter(middles, 0), middles, np.nextafter(middles, np.inf), [np.nan, np.inf, 1e-9]])
    halves = np.zeros((given.size, 4), np.float16)
    hw.compile(CASTS, device=device).casts[(given.size,), None](given, halves)
    with np.errstate(over="ignore"):
        expected = given.astype(np.float16)
    np.testing.assert_array_equal(halves, np.stack([expected, -expected, expected, -expected], 1))
