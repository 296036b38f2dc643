"""Checked launches on chips: a barrier orders the memory that its flags name, and no other."""

import numpy as np
import pytest

import headwater as hw
from headwater.opencl.barrier_fences import GLOBAL, LOCAL, barrier_fences
from headwater.opencl.clang import compile_to_ir

SOURCE = """
#define SYNC barrier(CLK_LOCAL_MEM_FENCE)
void wait_for_local(void) {
  barrier(CLK_LOCAL_MEM_FENCE);
}
kernel void by_global(global int *x, int any) {
  local int t[64];
  int l = get_local_id(0);
  t[l] = l;
  barrier(CLK_GLOBAL_MEM_FENCE);
  x[l] = t[63 - l];
}
kernel void by_local(global int *x, int any) {
  int l = get_local_id(0);
  x[l] = l;
  wait_for_local();
  x[64 + l] = x[63 - l];
}
kernel void after_reads(global int *x, int any) {
  int l = get_local_id(0);
  x[64 + l] = x[63 - l];
  SYNC;
  x[l] = 1;
}
kernel void ordered(global int *x, int any) {
  local int t[64];
  int l = get_local_id(0);
  t[l] = x[l];
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  x[63 - l] = t[63 - l];
  barrier(CLK_GLOBAL_MEM_FENCE);
  x[l] = 1;
  SYNC;
  t[63 - l] = 1;
  barrier(any);
  x[63 - l] = 2;
  barrier(0);
  x[l] = t[l];
}
"""
FENCED = SOURCE.replace("  wait_for_local", "  mem_fence(CLK_GLOBAL_MEM_FENCE);\n  wait_for_local")


def run(program, name):
    """What a checked launch says, "" if nothing."""
    try:
        getattr(program, name)[(64,), (64,)](np.zeros(128, np.int32), 3, check=True)
    except hw.KernelFault as fault:
        return str(fault)
    return ""


@pytest.mark.parametrize("device", ["vega64", "hd5870"])
def test_a_barrier_orders_what_its_flags_name(device):
    program = hw.compile(SOURCE, device=device)
    for name, memory, flag in (
        ("by_global", "local memory", "LOCAL"),
        ("by_local", "`int *x`", "GLOBAL"),
        ("after_reads", "`int *x`", "GLOBAL"),
    ):
        said = run(program, name)
        assert "data race: work-item (" in said
        assert memory in said
        assert f"hint: a barrier with CLK_{flag}_MEM_FENCE between them orders them" in said
    assert run(program, "ordered") == ""


@hw.kernel
def reversed_by(x: hw.array(hw.int32), wide: hw.int32):
    i = hw.local_id(0)
    x[i] = i
    if wide:
        hw.barrier(global_memory=True)
    else:
        hw.barrier()
    x[64 + i] = x[63 - i]


def test_a_kernel_in_python_is_told_its_own_flag():
    reversed_by[(64,), (64,)](np.zeros(128, np.int32), 1, device="vega64", check=True)
    with pytest.raises(hw.KernelFault, match="hint: a barrier with global_memory=True between them"):
        reversed_by[(64,), (64,)](np.zeros(128, np.int32), 0, device="vega64", check=True)


def test_a_fence_orders_with_any_barrier():
    program = hw.compile(FENCED, device="vega64")
    assert run(program, "by_local") == ""
    assert "CLK_LOCAL_MEM_FENCE between them" in run(program, "by_global")


def test_flags_of_barriers_in_a_line_are_told_apart_by_columns():
    source = "kernel void k(void) { barrier(1); work_group_barrier(2); barrier(3); barrier(0); }"
    ir = compile_to_ir(source, "k.cl", "-cl-std=CL2.0", debug=True).ir
    found = barrier_fences(ir, source, "k.cl")
    assert {place.column: flags for place, flags in found.items()} == {23: LOCAL, 35: GLOBAL}
