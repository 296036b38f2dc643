"""Integers that LLVM computes wrongly for GCN, on all kinds of devices."""

import numpy as np
import pytest

import headwater as hw

DEVICES = ("cpu", "hd5870", "hd7970", "r9-nano", "vega64", "mi300x")

QUOTIENTS = """
kernel void k(global int *o, global long *l, global const char *a, global const short *s, global const int *n) {
  size_t i = get_global_id(0);
  o[i * 8] = a[i] / a[i ^ 1];
  o[i * 8 + 1] = s[i] / a[i ^ 1];
  o[i * 8 + 2] = (char)-32 / (char)((char)(a[i] >> 7) | 1);
  o[i * 8 + 3] = a[i] % a[i ^ 1];
  vstore4((int4)(-128, 7, -1, -64) / convert_int4((char4)(a[i], a[i ^ 1], 1, a[i])), i * 2 + 1, o);
  l[i] = (long)n[i] / (long)n[i ^ 1];
}"""


def quotient(x, y):
    """As in C: rounded to 0."""
    x, y = np.broadcast_arrays(np.asarray(x, np.int64), np.asarray(y, np.int64))
    return np.sign(x) * np.sign(y) * (np.abs(x) // np.abs(y))


@pytest.mark.parametrize("device", DEVICES)
def test_the_least_number_by_minus_one(device):
    a, s = np.array([-128, -1, 5, -3], np.int8), np.array([-32768, 100, 100, -7], np.int16)
    n = np.array([-(2**31), -1, 12, -5], np.int32)
    o, wide = np.zeros((4, 8), np.int32), np.zeros(4, np.int64)
    hw.compile(QUOTIENTS, device=device).k[4](o, wide, a, s, n)
    b = a[[1, 0, 3, 2]].astype(int)
    parts = [
        quotient(a, b),
        quotient(s, b),
        quotient(-32, (a >> 7) | 1),
        a - quotient(a, b) * b,
        quotient(-128, a),
        quotient(7, b),
        np.full(4, -1),
        quotient(-64, a),
    ]
    assert o.tolist() == np.stack(parts, axis=-1).tolist()
    assert wide.tolist() == quotient(n, n[[1, 0, 3, 2]]).tolist()


CARRIES = """
kernel void k(global ulong *o, global const long *a, global const ulong *b) {
  size_t i = get_global_id(0);
  long x = (char)a[i];
  ulong product = (ulong)x * b[i], small = (uint)x, sum = product + small, rest = product - small;
  o[i * 8] = sum < product;
  o[i * 8 + 1] = product < small;
  o[i * 8 + 2] = add_sat(product, small);
  o[i * 8 + 3] = sub_sat(product, small);
  o[i * 8 + 4] = mad_sat(x, (long)b[i], (long)small);
  o[i * 8 + 5] = mul_hi((ulong)x, b[i]);
  o[i * 8 + 6] = sum;
  o[i * 8 + 7] = rest;
}"""


@pytest.mark.parametrize("device", DEVICES)
def test_carries_of_sums_of_products_and_small_numbers(device):
    rng = np.random.default_rng(1)
    a = np.concatenate([np.array([255, -1, 1, 127, 128]), rng.integers(-128, 128, 123)])
    b = np.concatenate([np.array([-128, 5, -1, 2**62, 0]), rng.integers(-(2**63), 2**63 - 1, 123)]).view(np.uint64)
    b[64:] >>= np.arange(64, dtype=np.uint64)
    o = np.zeros((a.size, 8), np.uint64)
    hw.compile(CARRIES, device=device).k[a.size](o, a, b)
    top, expected = 1 << 64, []
    for x, y in zip(a.astype(np.int8).tolist(), b.tolist(), strict=True):
        product, small = x * y % top, x % (1 << 32)
        signed = x * (y - top if y >> 63 else y) + small
        expected.append(
            [
                int(product + small >= top),
                int(product < small),
                min(product + small, top - 1),
                max(product - small, 0),
                max(-(1 << 63), min((1 << 63) - 1, signed)) % top,
                (x % top) * y >> 64,
                (product + small) % top,
                (product - small) % top,
            ]
        )
    assert o.tolist() == expected


SHIFTS = """
kernel void k(global short *pairs, global uint *o, global const short *a, global const uint *b) {
  size_t i = get_global_id(0);
  short x = a[i];
  pairs[i * 2] = x >> 8;
  pairs[i * 2 + 1] = x;
  o[i * 4] = (uint)(ushort)(short)((short)(x + 1) >> 8) + b[i];
  o[i * 4 + 1] = (uint)(ushort)(short)(x >> 8) | b[i];
  short2 v = (short2)(x, x + 3) >> (short2)(8, 5);
  o[i * 4 + 2] = as_ushort2(v).x ^ b[i];
  o[i * 4 + 3] = as_ushort2(v).y ^ b[i];
}"""


@pytest.mark.parametrize("device", DEVICES)
def test_high_bytes_of_shorts(device):
    a, b = np.array([-1000, 1000, -1, 300], np.int16), np.array([0, 0x10000, 5, 0x80000000], np.uint32)
    pairs, o = np.zeros((4, 2), np.int16), np.zeros((4, 4), np.uint32)
    hw.compile(SHIFTS, device=device).k[4](pairs, o, a, b)
    assert pairs.tolist() == np.stack([a >> 8, a], axis=-1).tolist()
    one, other, five = (x.astype(np.uint16).astype(np.uint32) for x in (a + 1 >> 8, a >> 8, a + 3 >> 5))
    assert o.tolist() == np.stack([one + b, other | b, other ^ b, five ^ b], axis=-1).tolist()


@pytest.mark.parametrize("device", DEVICES)
def test_high_words_of_products_wrap_around(device):
    source = "kernel void k(global int *o, int x, int y) { o[0] = x == 64 ? 25 : mad_hi(x, y, (int)0x80000000); }"
    o = np.zeros(1, np.int32)
    hw.compile(source, device=device).k[1](o, np.int32(2147483646), np.int32(-2))
    assert o[0] == 2147483647


@pytest.mark.parametrize("device", DEVICES)
def test_or_with_a_choice_whose_high_half_is_all_ones(device):
    source = """kernel void k(global long *o, global const long *a, global const long *b) {
      size_t i = get_global_id(0);
      long x = (b[i] * 77 >> 19) | ~(long)(a[i] == 31 ? 0 : 31);
      o[i] = b[i] <= x ? x : b[i];
    }"""
    a, b = np.array([31, 5, 31, 7]), np.array([2**62 - 5, 140713210274299878, -(2**60), -17])
    o = np.zeros(4, np.int64)
    hw.compile(source, device=device).k[4](o, a, b)
    x = (b * 77 >> 19) | ~np.where(a == 31, 0, 31)
    assert o.tolist() == np.where(b <= x, x, b).tolist()
