"""Doubles far below all halves round up or down to the least of them, also where floats have no subnormal numbers."""

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
