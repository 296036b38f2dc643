"""Bit-fields, an extension of clang's: each field keeps its own low bits, on every kind of device."""

import numpy as np
import pytest

import headwater as hw
from headwater.errors import SourceError

PRAGMA = "#pragma OPENCL EXTENSION __cl_clang_bitfields : enable\n"
SOURCE = """
struct words { uint a : 5; int b : 7; uint c : 20; };
struct longs { ulong p : 33; long q : 20; uint r : 11; };
union number { float value; struct { uint low : 23; uint exponent : 8; uint sign : 1; } bits; };

kernel void k(global const uint *x, global const uint *y, global long *o, global float *halved) {
  int i = get_global_id(0);
  struct words w;
  w.a = x[i]; w.b = y[i]; w.c = x[i] >> 3;
  w.a++; w.b -= 3; w.c ^= y[i];
  struct longs l[2];
  l[i & 1].p = (ulong)x[i] << 3 | 5; l[i & 1].q = y[i]; l[i & 1].r = w.c;
  l[i & 1].p += y[i]; l[i & 1].q *= 7;
  o += 8 * i;
  o[0] = w.a; o[1] = w.b; o[2] = w.c; o[3] = l[i & 1].p; o[4] = l[i & 1].q; o[5] = l[i & 1].r;
  o[6] = sizeof(w); o[7] = sizeof(l);
  union number n;
  n.value = 1.5f + i;
  n.bits.exponent--; n.bits.sign = i & 1;
  halved[i] = n.value;
}
"""
COUNT = 64


def signed(x: np.ndarray, bits: int) -> np.ndarray:
    low = x & ((1 << bits) - 1)
    return low - ((low >> (bits - 1)) << bits)


@pytest.mark.parametrize(
    ("device", "check"), [("cpu", False), ("vega64", False), ("vega64", True), ("hd5870", False), ("hd4870", False)]
)
def test_fields_keep_their_bits(device, check):
    x, y = np.random.default_rng(3).integers(0, 1 << 32, (2, COUNT), dtype=np.uint32)
    out, halved = np.zeros((COUNT, 8), np.int64), np.zeros(COUNT, np.float32)
    hw.compile(PRAGMA + SOURCE, language="opencl", device=device).k[(COUNT,), (COUNT,)](x, y, out, halved, check=check)
    X, Y = x.astype(np.int64), y.astype(np.int64)
    c = (X >> 3 ^ Y) & 0xFFFFF
    wanted = [
        (X + 1) & 31,
        signed(signed(Y, 7) - 3, 7),
        c,
        ((X << 3 | 5) + Y) & (1 << 33) - 1,
        signed(signed(Y, 20) * 7, 20),
        c & 0x7FF,
        np.full(COUNT, 4),
        np.full(COUNT, 16),
    ]
    np.testing.assert_array_equal(out, np.stack(wanted, 1))
    i = np.arange(COUNT)
    np.testing.assert_array_equal(halved, np.where(i & 1, -1, 1) * (1.5 + i) / 2)


def test_without_the_pragma_the_message_says_which():
    with pytest.raises(SourceError, match="bit-fields are not supported") as caught:
        hw.compile(SOURCE, language="opencl", device="cpu")
    assert PRAGMA.strip() in caught.value.hint
