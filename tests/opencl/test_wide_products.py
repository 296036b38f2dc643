"""Products twice as wide as their factors: LLVM narrowed the factors of some, and took their signs for granted."""

import numpy as np
import pytest

import headwater as hw
from headwater.opencl.host import HostModule
from headwater.opencl.spmd.layout import Layout

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
