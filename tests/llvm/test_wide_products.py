"""Products twice as wide as their factors: LLVM narrowed the factors of some, and took their signs for granted."""

import numpy as np
import pytest

import headwater as hw
from headwater.opencl.host import HostModule
from headwater.vectorise.layout import Layout

WIDE_PRODUCT = """
int small(float x) { return fabs(x) < 1e6f ? (int)x : 7; }
kernel void k(global const float *in, global uint *bins, uint m)
{
    int x = mul_hi((int)small(in[get_global_id(0) + m]), (int)80);
    long high = mul_hi((long)x, (long)x);
    atomic_inc(&bins[high & 7]);
}
"""


@pytest.mark.parametrize(
    "layout", [Layout(1), Layout(8), Layout(8, 2), Layout(8, 2, 1, 0), Layout(4, 4, 1, 0)], ids=str
)
def test_high_words_of_products_keep_their_signs(layout, monkeypatch):
    monkeypatch.setattr(HostModule, "layout", lambda *_: layout)
    program = hw.compile(f"{WIDE_PRODUCT}// {layout}", device="cpu")
    values = (np.random.default_rng(1).normal(size=140) * 1e5).astype(np.float32)
    bins = np.zeros(8, np.uint32)
    program.k[(130,), None](values, bins, np.uint32(3))
    assert bins[0] == 130


HIGH_BITS = """
kernel void k(global const short *in, global short *out)
{
    int i = get_global_id(0), n = get_global_size(0);
    long x = in[i];
    out[i] = (short)mul_hi((int)x, 59);
    out[n + i] = (short)(x * 59 >> 20);
    out[2 * n + i] = (short)(x * in[n - 1 - i] >> 31);
    out[3 * n + i] = (short)((ulong)(x * -1234) >> 48);
    out[4 * n + i] = (short)(x * 59 >> 16);
}
"""


@pytest.mark.parametrize("layout", [Layout(1), Layout(4), Layout(16), Layout(64)], ids=str)
def test_high_bits_of_products_keep_their_signs(layout, monkeypatch):
    monkeypatch.setattr(HostModule, "layout", lambda *_: layout)
    program = hw.compile(f"{HIGH_BITS}// {layout}", device="cpu")
    values = np.linspace(-32768, 32767, 256).astype(np.int16)
    out = np.zeros((5, 256), np.int16)
    program.k[(256,), None](values, out)
    x = values.astype(np.int64)
    expected = [x * 59 >> 32, x * 59 >> 20, x * x[::-1] >> 31, x * -1234 >> 48, x * 59 >> 16]
    np.testing.assert_array_equal(out, np.array(expected).astype(np.int16))
