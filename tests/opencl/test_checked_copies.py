"""Checked launches find async copies that are used before a wait or never waited for, on every kind of device."""

import re
from functools import cache

import numpy as np
import pytest

import headwater as hw

SOURCE = """
kernel void never(global int *o, int n) {
  local int a[16];
  event_t e = async_work_group_copy(a, o, 16, 0);  // found: never waits for
  if (n == 3) wait_group_events(1, &e);
}
kernel void early(global int *o, int n) {
  local int a[16];
  event_t e = async_work_group_copy(a, o, 16, 0);
  o[16 + get_local_id(0)] = a[get_local_id(0)];  // found: reads the destination
  wait_group_events(1, &e);
}
kernel void over(global int *o, int n) {
  local int a[16];
  event_t e = async_work_group_copy(a, o, 16, 0);
  a[get_local_id(0)] = n;  // found: writes the destination
  wait_group_events(1, &e);
}
kernel void under(global int *o, int n) {
  local int a[16];
  a[get_local_id(0)] = n;
  barrier(CLK_LOCAL_MEM_FENCE);
  event_t e = async_work_group_copy(o, a, 16, 0);
  a[get_local_id(0)] = 4;  // found: writes the source
  wait_group_events(1, &e);
}
kernel void buffered(global int *o, int n) {
  local int a[2][4];
  event_t e[2];
  int l = get_local_id(0) & 3, sum = 0;
  e[0] = async_work_group_copy(a[0], o, 4, 0);
  for (int i = 0; i < n; i++) {
    if (i + 1 < n) e[(i + 1) & 1] = async_work_group_copy(a[(i + 1) & 1], o + 4 * (i + 1), 4, 0);
    wait_group_events(1, &e[i & 1]);
    sum += a[i & 1][l];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  o[32 + get_local_id(0)] = sum;
}
kernel void together(global int *o, int n) {
  local int a[4], b[4];
  event_t e[2];
  e[0] = async_work_group_copy(a, o, 4, 0);
  e[1] = async_work_group_copy(b, o + 4, 4, 0);
  wait_group_events(2, e);
  o[16 + get_local_id(0)] = a[get_local_id(0) & 3] + b[get_local_id(0) & 3];
}
kernel void chained(global int *o, int n) {
  local int a[4], b[4];
  event_t e = async_work_group_copy(a, o, 4, 0);
  e = async_work_group_copy(b, o + 4, 4, e);
  if (n) wait_group_events(1, &e); else wait_group_events(1, &e);
  o[16 + get_local_id(0)] = a[get_local_id(0) & 3] + b[get_local_id(0) & 3];
}
kernel void strided(global int *o, int n) {
  local int a[8];
  event_t e = async_work_group_strided_copy(a, o, 8, 2, 0);
  if (get_local_id(0) < 8) o[2 * get_local_id(0) + 1] = n;
  wait_group_events(1, &e);
  o[32 + get_local_id(0)] = a[get_local_id(0) & 7];
}
kernel void overwritten(global int *o, int n) {
  local int a[4], b[4];
  event_t e = async_work_group_copy(a, o, 4, 0);  // found: never waits for
  e = async_work_group_copy(b, o + 4, 4, 0);
  wait_group_events(1, &e);
}
kernel void overwritten_in_loop(global int *o, int n) {
  local int a[16];
  event_t e;
  for (int i = 0; i < n; i++) e = async_work_group_copy(a + i, o + i, 1, 0);  // found: never waits for
  wait_group_events(1, &e);
}
kernel void of_one_site(global int *o, int n) {
  local int a[16];
  event_t e[16];
  for (int i = 0; i < 4 * n; i++) e[i] = async_work_group_copy(a + i, o + i, 1, 0);
  wait_group_events(4 * n - 1, e);
  o[16 + get_local_id(0)] = a[get_local_id(0)];  // found: reads the destination
  wait_group_events(1, e + 15);
}
kernel void all_of_one_site(global int *o, int n) {
  local int a[16];
  event_t e[16];
  for (int i = 0; i < 16; i++) e[i] = async_work_group_copy(a + i, o + i, 1, 0);
  wait_group_events(16, e);
  o[16 + get_local_id(0)] = a[get_local_id(0)];
}
kernel void joined_in_loop(global int *o, int n) {
  local int a[16];
  event_t e = 0;
  for (int i = 0; i < 16; i++) e = async_work_group_copy(a + i, o + i, 1, e);
  wait_group_events(1, &e);
  o[16 + get_local_id(0)] = a[get_local_id(0)];
}
kernel void joined_aside(global int *o, int n) {
  local int a[16];
  event_t e = async_work_group_copy(a, o, 1, 0);
  for (int i = 1; i < 16; i++) async_work_group_copy(a + i, o + i, 1, e);
  wait_group_events(1, &e);
  o[16 + get_local_id(0)] = a[get_local_id(0)];
}
kernel void twice_in_a_list(global int *o, int n) {
  local int a[16];
  event_t e[4];
  e[0] = async_work_group_copy(a, o, 1, 0);
  e[1] = e[0];
  e[2] = async_work_group_copy(a + 1, o + 1, 15, 0);
  e[3] = e[0];
  wait_group_events(4, e);
  o[16 + get_local_id(0)] = a[get_local_id(0)];
}
kernel void by_phi(global int *o, int n) {
  local int a[4], b[4];
  event_t e = async_work_group_copy(a, o, 4, 0), f = async_work_group_copy(b, o + 4, 4, 0);
  event_t first = n > 3 ? f : e, then = n > 3 ? e : f;
  wait_group_events(1, &first);
  o[16 + get_local_id(0)] = a[get_local_id(0) & 3];  // found: reads the destination
  wait_group_events(1, &then);
}
kernel void of_no_copy(global int *o, int n) {
  event_t e = 0;
  local int a[4];
  if (n == 3) e = async_work_group_copy(a, o, 4, 0);
  wait_group_events(1, &e);  // found: that no async copy has given
}
kernel void by_vload(global int *o, int n) {
  local int a[16];
  event_t e = async_work_group_copy(a + 8, o + 8, 8, 0);
  int4 v = vload4(1, a);
  v += vload4(2, a);  // found: reads the destination
  wait_group_events(1, &e);
  o[32 + get_local_id(0)] = v.x;
}
kernel void by_vstore(global int *o, int n) {
  local int a[16];
  event_t e = async_work_group_copy(a, o, 8, 0);
  vstore4((int4)(n), 2, a);
  vstore4((int4)(n), 1, a);  // found: writes the destination
  wait_group_events(1, &e);
}
kernel void by_atomic(global int *o, int n) {
  local int a[16];
  event_t e = async_work_group_copy(a, o, 16, 0);
  atomic_add(&a[3], n);  // found: writes the destination
  wait_group_events(1, &e);
}
kernel void by_atomic_of_the_source(global int *o, int n) {
  local int a[16];
  event_t e = async_work_group_copy(a, o, 8, 0);
  atomic_inc(o + 8);
  atomic_inc(o + 7);  // found: writes the source
  wait_group_events(1, &e);
}
kernel void by_fract(global int *o, int n) {
  local float a[16];
  event_t e = async_work_group_copy(a, (global float *)o, 16, 0);
  float f = fract(1.5f, &a[2]);  // found: writes the destination
  wait_group_events(1, &e);
  o[16] = f;
}
typedef struct { int m[4]; } four;
kernel void by_structure(global int *o, int n) {
  local four a[4];
  event_t e = async_work_group_copy((local int *)a, o, 16, 0);
  *(global four *)(o + 16) = a[3];  // found: reads the destination
  wait_group_events(1, &e);
}
kernel void by_another_copy(global int *o, int n) {
  local int a[16];
  event_t e[2];
  e[0] = async_work_group_copy(a, o, 16, 0);
  e[1] = async_work_group_copy(o + 16, a, 16, 0);  // found: reads the destination
  wait_group_events(2, e);
}
kernel void of_nothing(global int *o, int n) {
  event_t e;
  wait_group_events(n - 4, &e);
  wait_group_events(1, &e);  // found: that no async copy has given
}
kernel void of_another_size(global int *o, int n) {
  local int a[16];
  event_t e = async_work_group_copy(a, o, get_local_id(0) == 15 ? 1 : 16, 0);  // found: with the same arguments
  wait_group_events(1, &e);
}
kernel void of_another_stride(global int *o, int n) {
  local int a[16];
  event_t e = async_work_group_strided_copy(a, o, 3, get_local_id(0) == 7 ? 1 : 2, 0);  // found: the same arguments
  wait_group_events(1, &e);
}
kernel void one_fewer(global int *o, int n) {
  local int a[16];
  event_t e = 0;
  for (int i = 0; i < n + !get_local_id(0); i++) e = async_work_group_copy(a + i, o + i, 1, e);  // found: do not both
  wait_group_events(1, &e);
}
kernel void one_more(global int *o, int n) {
  local int a[16];
  event_t e = 0;
  for (int i = 0; i < n + (get_local_id(0) == 9); i++) e = async_work_group_copy(a + i, o + i, 1, e);  // found: both
  wait_group_events(1, &e);
}
kernel void of_more_copies_than_are_kept(global int *o, int n) {
  local int a[80];
  for (int i = 0; i < 80; i += 8) {
    event_t e = 0;
    for (int j = 0; j < 8; j++) e = async_work_group_copy(a + i + j, o + (i + j) % 64, 1, e);
    wait_group_events(1, &e);
  }
}
"""
KERNELS = re.findall(r"kernel void (\w+)", SOURCE)


ON_CHIPS = [("vega64", "of_one_site"), ("vega64", "by_vload"), ("hd5870", "by_vload")]
"""Kernels that have all that chips compile in their own ways: they take seconds to make."""


@cache
def program(device):
    """The kernels that are tested on a device, each in its lines."""
    parts = re.split(r"(?=kernel void )", SOURCE)
    kernels = [(device, name) for name in KERNELS if device == "cpu" or (device, name) in ON_CHIPS]
    left = ((device, re.match(r"kernel void (\w+)|", part)[1]) in [(device, None), *kernels] for part in parts)
    text = [part if kept else "\n" * part.count("\n") for part, kept in zip(parts, left, strict=True)]
    return hw.device(device).build("".join(text), "copies.cl")


@pytest.mark.parametrize(("device", "kernel"), [*(("cpu", kernel) for kernel in KERNELS), *ON_CHIPS])
def test_async_copies(device, kernel):
    start = SOURCE.index(f"kernel void {kernel}(")
    body = SOURCE[start:].split("kernel void ")[1]
    launch = program(device).kernels[kernel].prepare((16,), (16,), check=True)
    data = np.zeros(64, np.int32)
    found = re.search(r"// found: (.*)", body)
    if found is None:
        launch([data, 4], None, None).wait()
        return
    with pytest.raises(hw.KernelFault) as fault:
        launch([data, 4], None, None).wait()
    line = SOURCE[: SOURCE.index(found[0], start)].count("\n") + 1
    told = re.findall(
        r"copies\.cl:(\d+):\d+: error: work-item \(\d+\) of \w+ ([^\n]* (?:async copy|this async copy)[^\n]*)",
        str(fault.value),
    )
    assert [int(at) for at, _ in told] == [line]
    assert found[1] in told[0][1]


GENERIC = """
kernel void k(global int *o, int n) {
  local int a[16];
  int *p = n == 3 ? (int *)o : (int *)a;
  event_t e = async_work_group_copy(a, o, 16, 0);
  o[32 + get_local_id(0)] = *p;
  wait_group_events(1, &e);
}
"""


@pytest.mark.parametrize("device", ["cpu", "vega64"])
def test_async_copies_by_generic_pointers(device):
    launch = hw.device(device).build(GENERIC, "generic.cl", options="-cl-std=CL2.0").kernels["k"]
    with pytest.raises(
        hw.KernelFault, match=r"generic.cl:6:\d+: error: work-item .* reads the destination of an async"
    ):
        launch.prepare((16,), (16,), check=True)([np.zeros(64, np.int32), 4], None, None).wait()


def test_a_finding_names_the_copy():
    kernel = hw.device("cpu").build(SOURCE, "copies.cl").kernels["early"]
    with pytest.raises(hw.KernelFault, match=r"the async copy: copies.cl:\d+: event_t e = async_work_group_copy\(a, o"):
        kernel.prepare((16,), (16,), check=True)([np.zeros(64, np.int32), 4], None, None).wait()


RACES = """
kernel void destination(global int *o, int n) {
  local int a[64];
  int l = get_local_id(0);
  a[l] = n;
  event_t e = async_work_group_copy(a, o, 64, 0);
  wait_group_events(1, &e);
  o[l] = a[l];
}
kernel void apart(global int *o, int n) {
  local int a[64];
  int l = get_local_id(0);
  a[l] = n + l;
  o[l] = 3;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  event_t e = async_work_group_copy(o, a, 64, 0);
  wait_group_events(1, &e);
  o[l] += a[63 - l];
}
"""


@pytest.mark.parametrize("device", ["vega64", "hd5870"])
def test_copies_race_with_accesses_before_them(device):
    kernels = hw.device(device).build(RACES, "races.cl").kernels
    with pytest.raises(hw.KernelFault, match=r"races.cl:6\b.*error: data race: .*") as fault:
        kernels["destination"].prepare((64,), (64,), check=True)([np.arange(64, dtype=np.int32), 99], None, None).wait()
    assert "the other access: races.cl:5: a[l] = n;" in str(fault.value)
    data = np.arange(64, dtype=np.int32)
    kernels["apart"].prepare((64,), (64,), check=True)([data, 99], None, None).wait()
    assert (data == 99 * 2 + 63).all()
