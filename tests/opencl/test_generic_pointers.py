"""Which memory a pointer without an address space is to, asked at run time (OpenCL C 2.0 and later)."""

import numpy as np
import pytest

import headwater as hw

SOURCE = """
int where(int *p) { return (to_global(p) != 0) + 2 * (to_local(p) != 0) + 4 * (to_private(p) != 0); }
kernel void k(global int *x, global int *out)
{
  local int both[32];
  int i = get_global_id(0), l = get_local_id(0), own[4] = {i, i, i, i};
  both[l] = 3;
  int *p = i % 3 == 0 ? x + i : i % 3 == 1 ? (int *)(both + l) : own + (i & 3);
  STOP
  out[3 * i] = where(p);
  out[3 * i + 1] = get_fence(p) & ~CLK_IMAGE_MEM_FENCE;
  out[3 * i + 2] = *p;
}
"""


_STOP = "barrier(CLK_LOCAL_MEM_FENCE);"


@pytest.mark.parametrize(
    ("device", "check", "stop"),
    [("cpu", False, ""), ("cpu", False, _STOP), ("cpu", True, _STOP), ("vega64", False, _STOP)],
)
def test_generic_pointers_tell_their_memory(device, check, stop):
    program = hw.device(device).build(SOURCE.replace("STOP", stop), "k.cl", "-cl-std=CL3.0")
    x, out = np.arange(100, 164, dtype=np.int32), np.zeros(192, np.int32)
    arguments = [program.device.wrap(array) for array in (x, out)]
    program.kernels["k"].prepare((64,), (32,), check=check)(arguments)
    kinds = [[1, 2, 100 + i] if i % 3 == 0 else [2, 1, 3] if i % 3 == 1 else [4, 0, i] for i in range(64)]
    assert out.reshape(64, 3).tolist() == kinds
