"""What `--check` finds of atomic functions beside plain accesses, on GCN and VLIW chips."""

import re

import numpy as np
import pytest

import headwater as hw

SOURCE = """
kernel void set_at_once(global int *c, global int *x) {
  local int h[4];
  int l = get_local_id(0);
  if (l < 4) h[l] = 0;  // race
  atomic_inc(&h[x[l] & 3]);  // race
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l < 4) c[l] = h[l];
}
kernel void read_at_once(global int *c, global int *x) {
  local int h[4];
  int l = get_local_id(0);
  if (l < 4) h[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE); atomic_inc(&h[x[l] & 3]);  // race
  if (l < 4) c[l] = h[l];  // race
}
kernel void one_counter(global int *c, global int *x) {
  local int n;
  int l = get_local_id(0);
  if (l == 0) n = 0;  // race
  atomic_inc(&n);  // race
  barrier(CLK_LOCAL_MEM_FENCE);
  c[l] = n;
}
kernel void histogram(global int *c, global int *x) {
  local int h[4];
  int l = get_local_id(0);
  if (l < 4) h[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < 3; k++) {
    atomic_inc(&h[x[l] & 3]);
    barrier(CLK_LOCAL_MEM_FENCE);
    int v = h[l & 3];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < 4) atomic_add(&c[l], v);
  }
}
kernel void before(global int *c, global int *x) {
  if (get_global_id(0) == 0) *c = 0;  // race
  atomic_dec(c);  // race
}
kernel void after(global int *c, global int *x) {
  atomic_inc(c);  // race
  if (get_global_id(0) == get_global_size(0) - 1)
    *x = *c;  // race
}
kernel void written_after(global int *c, global int *x) {
  atomic_inc(c);  // race
  if (get_global_id(0) == get_global_size(0) - 1)
    *c = 5;  // race
}
kernel void own(global int *c, global int *x) {
  int i = get_global_id(0);
  if (i % 2 == 0) { c[i] = 0; atomic_inc(c + i); } else { atomic_inc(c + i); c[i] = c[i] + 1; }
}
kernel void in_groups(global int *c, global int *x) {
  if (get_global_id(0) == 0) *c = 0;  // race
  barrier(CLK_GLOBAL_MEM_FENCE);
  atomic_inc(c);  // race
}
kernel void read_in_groups(global int *c, global int *x) {
  atomic_add(c, 1);  // race
  barrier(CLK_GLOBAL_MEM_FENCE);
  if (get_local_id(0) == 0) x[get_group_id(0)] = *c;  // race
}
kernel void number(global int *c, global int *x) {
  int v = *c;  // race
  atomic_inc(c);  // race
  x[get_global_id(0)] = v;
}
kernel void largest(global int *c, global int *x) {
  local int m;
  int l = get_local_id(0);
  if (l == 0) m = 0;
  barrier(CLK_LOCAL_MEM_FENCE); atomic_max(&m, x[l]);  // race
  c[l] = m;  // race
}
kernel void float_sum(global int *c, global int *x) {
  union { int i; float f; } old, new;
  do { old.i = *c; new.f = old.f + 1.0f; } while (atomic_cmpxchg(c, old.i, new.i) != old.i);
}
kernel void local_float_sums(global int *c, global int *x) {
  local int s[2];
  if (get_local_id(0) < 2) s[get_local_id(0)] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  union { int i; float f; } old, new;
  int w = get_local_id(0) & 1;
  do { old.i = s[w]; new.f = old.f + 1.0f; } while (atomic_cmpxchg(s + w, old.i, new.i) != old.i);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) < 2) c[get_local_id(0)] = s[get_local_id(0)];
}
kernel void looks_first(global int *c, global int *x) {
  int v = x[get_global_id(0)];
  if (v > *c) atomic_max(c, v);
}
kernel void unlocked_plainly(global int *c, global int *x) {
  for (int k = 0; k < 70; k++)
    if (atomic_cmpxchg(c, 0, 1) == 0) {  // race
      atomic_inc(x);
      *(volatile global int *)c = 0;  // race
      break;
    }
}
kernel void compared_before(global int *c, global int *x) {
  atomic_cmpxchg(c, 7, 1);  // race
  if (get_global_id(0) == 0)
    *c = 5;  // race
}
kernel void compared_in_groups(global int *c, global int *x) {
  if (get_global_id(0) == 0)
    atomic_cmpxchg(c, 7, 1);  // race
  if (get_global_id(0) == get_global_size(0) - 1)
    *c = 5;  // race
}
kernel void compared_in_local_memory(global int *c, global int *x) {
  local int s;
  if (get_local_id(0) == 0) s = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) > 60)
    atomic_cmpxchg(&s, 7, 1);  // race
  if (get_local_id(0) == 0)
    s = 5;  // race
}
kernel void compared_and_read(global int *c, global int *x) {
  atomic_cmpxchg(c, 7, 1);
  x[get_global_id(0)] = *c;
  atomic_cmpxchg(c, 8, 1);
}
kernel void compared_and_counted(global int *c, global int *x) {
  atomic_cmpxchg(c, 7, 1);
  atomic_inc(c);
  atomic_cmpxchg(c, -1, 1);
}
kernel void compared_own(global int *c, global int *x) {
  int i = get_global_id(0);
  atomic_cmpxchg(c + i, 7, 1);
  c[i] = 5;
}
kernel void compared_before_a_barrier(global int *c, global int *x) {
  local int s;
  if (get_local_id(0) == 0) s = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_cmpxchg(&s, 7, 1);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 5) s = 5;
}
kernel void one_at_a_time(global int *c, global int *x) {
  local int s;
  int l = get_local_id(0), done = 0, before, result = 0;
  if (l == 0) s = 0;
  for (int i = 0; i < 4; i++) {
    barrier(CLK_LOCAL_MEM_FENCE);
    before = s;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!done && atomic_cmpxchg(&s, before, before + 1) == before) { done = 1; result = s; }
  }
  c[l] = result;
}
kernel void polled(global int *c, global int *x) {
  atomic_inc(c);
  if (get_local_id(0) == 0) x[get_group_id(0)] = *(volatile global int *)c;
}
kernel void for_all(global int *c, global int *x) {
  x[get_global_id(0)] = c[0];  // race
  if (get_global_id(0) == 0) c[0] = 7;  // race
}
kernel void by_one(global int *c, global int *x) {
  if (get_global_id(0) == 0) c[0] = c[0] + 1;
}
kernel void bytes(global int *c, global int *x) {
  local uchar t[128];
  int l = get_local_id(0);
  t[l] = l;
  barrier(CLK_LOCAL_MEM_FENCE);
  ((global uchar *)c)[l] = t[l ^ 1];
}
kernel void own_bytes(global int *c, global int *x) {
  local uchar t[128];
  local short u[128];
  int l = get_local_id(0);
  t[l] = x[l]; u[l] = -x[l];
  c[l] = t[x[l] & 127] + u[x[l] & 127];
}
kernel void neighbouring_bytes(global int *c, global int *x) {
  local uchar t[128];
  int l = get_local_id(0);
  t[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  t[l] = l;  // race
  ((global uchar *)c)[l] = t[(x[l] & 63) ^ 1];  // race
}
kernel void one_byte(global int *c, global int *x) {
  ((global uchar *)c)[get_local_id(0) / 2] = get_local_id(0);  // race
}
"""
LINES = {
    text.split("(")[0]: [
        SOURCE[: SOURCE.index(text)].count("\n") + 1 + n for n, line in enumerate(text.split("\n")) if "// race" in line
    ]
    for text in SOURCE.split("kernel void ")[1:]
}
"""The lines whose accesses race with each other, by kernel."""


@pytest.fixture(scope="module", params=["vega64", "hd7970", "hd5870", "hd6970"])
def program(request):
    return hw.device(request.param).build(SOURCE, "atomic.cl")


def found(program, kernel, group):
    """The lines of the races that a checked launch reports."""
    args = [np.zeros(256, np.int32), np.arange(256, dtype=np.int32)]
    try:
        program.kernels[kernel].prepare((128,), (group,), check=True)(args, None, None).wait()
    except hw.KernelFault as fault:
        text = str(fault)
        pairs = re.findall(r"atomic\.cl:(\d+)[:0-9]*: error: data race.*\n    the other access: atomic\.cl:(\d+)", text)
        assert len(pairs) == len(re.findall("error: ", text)), text
        return sorted(int(line) for line in {line for pair in pairs for line in pair})
    return []


@pytest.mark.parametrize("kernel", LINES)
def test_races_of_atomic_functions(program, kernel):
    """Also where all work-items are of one wavefront, for which LLVM would make one instruction of their atomics."""
    for group in (64,) if "groups" in kernel else (128, 64):
        assert found(program, kernel, group) == LINES[kernel], group


DECLARED = """
__attribute__((reqd_work_group_size(64, 1, 1))) kernel void turn(global int *out) {
  local int tile[64];
  int l = get_local_id(0);
  tile[l] = out[l];
#ifndef MISSING
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  out[l] = tile[63 - l];
}"""


def test_groups_that_are_declared_to_be_one_wavefront():
    """LLVM leaves barriers out in these, but not where it compiles for checks."""
    device, values = hw.device("vega64"), np.arange(64, dtype=np.int32)
    device.build(DECLARED, "turn.cl").kernels["turn"].prepare((64,), (64,), check=True)([values], None, None).wait()
    assert (values == np.arange(63, -1, -1)).all()
    missing = device.build(DECLARED, "turn.cl", "-D MISSING").kernels["turn"]
    with pytest.raises(hw.KernelFault, match=r"data race: work-item \(0\) of turn reads .* work-item \(63\) writes"):
        missing.prepare((64,), (64,), check=True)([values], None, None).wait()


ORDERED = """
kernel void flags(global atomic_int *c, global int *x) {
  int i = get_global_id(0);
  if (i == 0) atomic_store_explicit(c, 1, memory_order_relaxed, memory_scope_device);
  atomic_fetch_add_explicit(c, 1, memory_order_relaxed, memory_scope_device);
  x[i] = atomic_load_explicit(c, memory_order_relaxed, memory_scope_device);
}
kernel void plain(global atomic_int *c, global int *x) {
  int i = get_global_id(0);
  if (i == 0) atomic_store_explicit(c, 1, memory_order_relaxed, memory_scope_device);
  x[i] = *(global int *)c;
}
"""


@pytest.mark.parametrize("device", ["vega64", "hd5870"])
def test_atomic_loads_and_stores(device):
    """They are plain accesses in machine code; the program tells."""
    program = hw.device(device).build(ORDERED, "ordered.cl", "-cl-std=CL2.0")
    args = [np.zeros(1, np.int32), np.zeros(128, np.int32)]
    program.kernels["flags"].prepare((128,), (64,), check=True)(args, None, None).wait()
    with pytest.raises(hw.KernelFault, match="data race"):
        program.kernels["plain"].prepare((128,), (64,), check=True)(args, None, None).wait()
