"""Local memory that a launch sets aside begins where its type may (OpenCL C 1.2 specification, 6.1.5)."""

import numpy as np
import pytest

import headwater as hw

DEVICES = ("cpu", "hd5450", "hd5870", "hd6970", "hd7970", "r9-290x", "vega64", "mi250x")
SOURCE = """typedef struct { long8 wide; int more; } Record;
kernel void k(global ulong *o, local char *a, local float4 *b, local char *c, local int8 *d, local char *e,
              local long16 *f, local char *g, local Record *h, local char *i, local long3 *j) {
  if (get_local_id(0)) return;
  *a = *c = *e = *g = *i = 1; *b = 2; *d = 3; *f = 4; h->wide = 5; *j = (long3)(6);
  o[0] = (ulong)(size_t)b; o[1] = (ulong)(size_t)d; o[2] = (ulong)(size_t)f; o[3] = (ulong)(size_t)h;
  o[4] = (ulong)(size_t)j;
  o[5] = b->w + d->s7 + f->sf + h->wide.s7 + j->z + *a + *c + *e + *g + *i;
}"""
SIZES = (3, 16, 5, 32, 1, 128, 7, 128, 9, 32)


@pytest.mark.parametrize("device", DEVICES)
def test_local_arguments_are_aligned_to_their_types(device):
    out = np.zeros(6, np.uint64)
    hw.compile(SOURCE, device=device).k[(4,), (4,)](out, *map(hw.Local, SIZES))
    for place, alignment in zip(out.tolist(), (16, 32, 128, 64, 32), strict=False):
        assert place % alignment == 0
    assert out[5] == 2 + 3 + 4 + 5 + 6 + 5


def test_small_elements_leave_no_more_between_them_than_before():
    """32 KiB in two parts that fill an HD 5870's local memory to the last 16 bytes."""
    source = "kernel void k(global int *o, local int *a, local float4 *b) { a[0] = 1; b[0] = 2; o[0] = a[0] + b->x; }"
    out = np.zeros(1, np.int32)
    hw.compile(source, device="hd5870").k[(1,), (1,)](out, hw.Local(16400), hw.Local(32768 - 16400))
    assert out[0] == 3
