"""Blocks of OpenCL C 2.0 (6.12): functions within functions, which see the variables around them as they were."""

import numpy as np
import pytest

import headwater as hw
from headwater.errors import SourceError

DEVICES = ("cpu", "vega64", "hd7970", "hd4870", "hd5870", "hd6970")
BLOCKS = """constant int (^const plus_five)(int) = ^(int y) { return y + 5; };
kernel void k(global int *a, global float4 *v) {
  int i = get_global_id(0), x = a[i];
  int (^twice)(int) = ^(int y) { return 2 * y + x; };
  x = 1000;  // the block keeps what it saw
  float4 w = v[i];
  float4 (^turned)(void) = ^{ return w.wzyx * (float)i; };
  a[i] = twice(3) - plus_five(3) + ^(int z) { return z % 7; }(x);
  v[i] = turned();
}"""


@pytest.mark.parametrize("device", DEVICES)
def test_blocks_are_called(device):
    a = np.arange(40, 48, dtype=np.int32)
    v = np.arange(32, dtype=np.float32).reshape(8, 4)
    wanted = (2 * 3 + a) - (3 + 5) + 1000 % 7
    turned = v[:, ::-1] * np.arange(8, dtype=np.float32)[:, None]
    hw.compile(BLOCKS, device=device, options="-cl-std=CL2.0").k[(8,), (4,)](a, v)
    np.testing.assert_array_equal(a, wanted)
    np.testing.assert_array_equal(v, turned)


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
def test_older_versions_are_told_which_has_blocks(device):
    with pytest.raises(SourceError, match="blocks support disabled") as caught:
        hw.compile("kernel void k(global int *a) {\n  *a = ^(int z) { return z - 1; }(*a);\n}", device=device)
    assert "blocks are of OpenCL C 2.0: -cl-std=CL2.0" in caught.value.hint
    assert caught.value.span.line == 2


def test_blocks_are_no_arguments():
    source = "int apply(int (^f)(int), int x) { return f(x); }\nkernel void k(global int *a) { }"
    with pytest.raises(SourceError) as caught:
        hw.compile(source, device="cpu", options="-cl-std=CL2.0")
    assert "a block is called where it is written" in caught.value.hint


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
def test_a_stack_array_of_a_size_that_only_the_run_tells_is_still_refused(device):
    source = """typedef struct { int a, b; float c; } S;
kernel void k(global int *a) {
  S *s = __builtin_alloca(a[0] * sizeof(S)); s[a[1]].b = 1; a[2] = s[a[1]].b;
}"""
    with pytest.raises(SourceError, match="stack memory whose size is only known at run time"):
        hw.compile(source, device=device)
