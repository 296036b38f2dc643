"""Checked launches find accesses at addresses that are no multiple of what their type needs, on every kind of device."""

import re
from functools import cache

import numpy as np
import pytest

import headwater as hw

SOURCE = """
typedef struct { int a; short b; char c[3]; } Whole;
typedef struct __attribute__((packed)) { char c; int a; } Packed;
kernel void of_a_vector(global char *p, int n) {
  *(global float4 *)(p + 20 * get_global_id(0)) = 1.0f;  // found: 16
}
kernel void of_a_scalar(global char *p, int n) {
  p[512 + get_global_id(0)] = *(global int *)(p + get_global_id(0));  // found: 4
}
kernel void of_a_wide_scalar(global int *p, int n) {
  p[256 + 2 * get_global_id(0)] = *(global long *)(p + get_global_id(0)) >> 32;  // found: 8
}
kernel void by_vload(global char *p, int n) {
  int4 v = vload4(0, (global int *)(p + 2 * get_global_id(0)));  // found: 4
  p[512 + get_global_id(0)] = v.x;
}
kernel void of_a_structure(global char *p, int n) {
  Whole whole = *(global Whole *)(p + n + 1);  // found: 4
  p[512 + get_global_id(0)] = whole.c[1] + whole.a;
}
kernel void local_vector(global int *p, int n, local int *s) {
  s[get_local_id(0)] = n;
  barrier(CLK_LOCAL_MEM_FENCE);
  p[get_global_id(0)] = (*(local int4 *)(s + (get_local_id(0) & 7))).w;  // found: 16
}
kernel void in_a_branch(global char *p, int n) {
  if (n == 3) *(global int *)(p + 8) = 1;
  else *(global int *)(p + 4 * get_global_id(0) + 2) = 1;  // found: 4
}
kernel void aligned(global float4 *a, global float *b, constant int *c, local float2 *l, int n) {
  int i = get_global_id(0);
  l[get_local_id(0)] = a[i].xy;
  barrier(CLK_LOCAL_MEM_FENCE);
  float4 t[3] = {0};
  t[n & 1] = a[i];
  a[i] = t[i % 3] + b[i] * c[n & 3] + l[0].x + vload4(i & 3, b + 1);
}
kernel void packed(global Packed *p, int n) {
  Packed own[2] = {p[get_global_id(0)], p[get_global_id(0)]};
  p[get_global_id(0)].a = own[n & 1].a + n;
}
kernel void bytes(global char *p, int n) {
  char4 v = vload4(get_global_id(0), p + 1);
  p[512 + get_global_id(0)] = v.x + v.w;
}
kernel void cast_back(global char *p, int n) {
  global int *q = (global int *)p;
  q[get_global_id(0)] = n;
}
"""
KERNELS = re.findall(r"kernel void (\w+)\((.*)\) \{\n((?:  .*\n)*)\}", SOURCE)
DEVICES = ("cpu", "vega64", "hd5870")


@cache
def program(device):
    return hw.device(device).build(SOURCE, "alignment.cl")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("name", "parameters", "body"), KERNELS, ids=[name for name, *_ in KERNELS])
def test_misaligned_accesses(device, name, parameters, body):
    found = re.search(r"// found: (\d+)", body)
    made = {"global char": np.zeros(1024, np.int8), "global int": np.zeros(512, np.int32), "local": hw.Local(1024)}
    made |= {"global float4": np.zeros((64, 4), np.float32), "global float ": np.zeros(64, np.float32), "int n": 4}
    made |= {"constant": np.zeros(4, np.int32), "global Packed": np.zeros(640, np.uint8)}
    args = [next(v for kind, v in made.items() if one.startswith(kind)) for one in parameters.split(", ")]
    launch = program(device).kernels[name].prepare((16,), (16,), check=True)
    if found is None:
        launch(args, None, None).wait()
        return
    with pytest.raises(hw.KernelFault) as fault:
        launch(args, None, None).wait()
    line = 1 + next(n for n, text in enumerate(SOURCE.splitlines()) if text in body and "// found" in text)
    place = rf"alignment\.cl:{line}:\d+: error: work-item \(\d+\) of {name} accesses memory at an address"
    assert re.search(rf"{place} that is no multiple of {found[1]}, ", str(fault.value))
