"""Checked launches find indices that leave an array for something else in the same allocation, on every kind of device."""

import re
from functools import cache

import numpy as np
import pytest

import headwater as hw

SOURCE = """
typedef struct { int a[4]; int b; } Plain;
typedef struct { Plain inner[2]; float m[3][4]; char name[3]; uchar kind; } Nested;
typedef struct { int count; int items[1]; } Open;
constant Plain TABLE[2] = {{{1, 2, 3, 4}, 5}, {{6, 7, 8, 9}, 10}};
kernel void member_of_private(global int *out, int n) {
  Plain p = {{1, 2, 3, 4}, 5};
  out[get_global_id(0)] = p.a[n];  // found: an array of 4 elements
}
kernel void member_of_global(global int *out, int n) {
  global Plain *p = (global Plain *)out;
  p[0].a[n] = 1;  // found: an array of 4 elements
}
kernel void before_a_member(global int *out, int n) {
  global Nested *p = (global Nested *)out;
  p->m[n - 5][1] = 1;  // found: an array of 12 elements
}
kernel void rows_of_a_member(global int *out, int n) {
  Nested own = *(global Nested *)out;
  out[get_global_id(0)] = own.m[2][n];  // found: an array of 12 elements
}
kernel void structures_in_a_member(global int *out, int n) {
  global Nested *p = (global Nested *)out;
  atomic_inc(&p->inner[n - 2].a[n - 4]);  // found: an array of 2 elements
}
kernel void bytes_of_local(global int *out, int n) {
  local Nested t[2];
  t[0].name[n - 1] = 1;  // found: an array of 3 elements
}
kernel void table(global int *out, int n) {
  out[get_global_id(0)] = TABLE[0].a[n];  // found: an array of 4 elements
}
kernel void component(global int *out, int n) {
  int4 v = 1;
  out[get_global_id(0)] = v[n];  // found: a vector of 4
}
kernel void within(global int *out, int n) {
  local int tile[4][4];
  local Nested t[2];
  Nested own = *(global Nested *)out;
  Plain p = {{1, 2, 3, 4}, 5};
  int i = get_local_id(0), sum = 0;
  tile[0][i] = i;
  t[i & 1].m[2][i >> 2] = 0;
  t[i & 1].name[n - 2] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  global int *end = &((global Plain *)out)->a[n];
  for (global int *at = ((global Plain *)out)->a; at < end; at++) sum += *at;
  int *last = &p.a[n];
  int4 v = 1;
  v[n - 1] = 2;
  sum += own.m[0][n + 7] + last[-1] + TABLE[n - 3].a[n - 1] + ((global Open *)out)->items[n] + v[n - 2];
  out[64 + get_global_id(0)] = sum + tile[0][15 - i];
}
"""
KERNELS = re.findall(r"kernel void (\w+)\(.*\) \{\n((?:  .*\n)*)\}", SOURCE)
DEVICES = ("cpu", "vega64", "hd5870")


@cache
def program(device):
    return hw.device(device).build(SOURCE, "arrays.cl")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("name", "body"), KERNELS, ids=[name for name, _ in KERNELS])
def test_indices_outside_of_arrays(device, name, body):
    found = re.search(r"// found: (.*)", body)
    launch = program(device).kernels[name].prepare((16,), (16,), check=True)
    args = [np.zeros(128, np.int32), 4]
    if found is None:
        launch(args, None, None).wait()
        return
    with pytest.raises(hw.KernelFault) as fault:
        launch(args, None, None).wait()
    line = 1 + next(n for n, text in enumerate(SOURCE.splitlines()) if text in body and "// found" in text)
    assert re.search(
        rf"arrays\.cl:{line}:\d+: error: work-item \(\d+\) of {name} accesses .*{found[1]} ", str(fault.value)
    )
