"""Checked launches find async copies that are used before a wait or never waited for, on every kind of device."""

import re

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
"""
KERNELS = re.findall(r"kernel void (\w+)", SOURCE)


@pytest.fixture(scope="module", params=["cpu", "vega64", "hd7970", "hd5870"])
def program(request):
    return hw.device(request.param).build(SOURCE, "copies.cl")


@pytest.mark.parametrize("kernel", KERNELS)
def test_async_copies(program, kernel):
    start = SOURCE.index(f"kernel void {kernel}(")
    body = SOURCE[start:].split("kernel void ")[1]
    launch = program.kernels[kernel].prepare((16,), (16,), check=True)
    data = np.zeros(64, np.int32)
    found = re.search(r"// found: (.*)", body)
    if found is None:
        launch([data, 4], None, None).wait()
        return
    with pytest.raises(hw.KernelFault) as fault:
        launch([data, 4], None, None).wait()
    line = SOURCE[: SOURCE.index(found[0], start)].count("\n") + 1
    told = re.findall(
        r"copies\.cl:(\d+):\d+: error: work-item \(\d+\) of \w+ ([^\n]* async copy [^\n]*)", str(fault.value)
    )
    assert [int(at) for at, _ in told] == [line]
    assert found[1] in told[0][1]
