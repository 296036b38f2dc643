"""Global wave synchronisation: work-groups that wait for each other, in the emulator and in the interpreter."""

import ctypes

import numpy as np
import pytest

import headwater as hw
from headwater.emulate.gcn.reference_launch import launch
from headwater.emulate.wave import layout
from headwater.errors import KernelFault, LaunchError
from headwater.isa.gcn.codeobject import load
from headwater.native import launch_block
from headwater.opencl.gcn import compile_code_object

WAITS = '__attribute__((target("gws"))) kernel void'
# Each barrier is said to have as many wavefronts as it has; what a group wrote before it all groups read after it.
BARRIER = f"""
{WAITS} set_up(uint waves) {{ if (get_global_id(0) == 0) __builtin_amdgcn_ds_gws_init(waves - 1, 3); }}
{WAITS} sums(global uint *part, global uint *out, uint waves) {{
  local uint reversed[128];
  uint i = get_global_id(0), n = get_global_size(0), l = get_local_id(0), sum = 0;
  for (uint step = 0; step < 3; step++) {{
    reversed[l] = i * i + step;
    barrier(CLK_LOCAL_MEM_FENCE);
    part[i] = reversed[get_local_size(0) - 1 - l];
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
    __builtin_amdgcn_ds_gws_barrier(waves - 1, 3);
    for (uint k = 0; k < n; k++) sum += part[k] * (k + 1);
    __builtin_amdgcn_ds_gws_barrier(waves - 1, 3);
  }}
  out[i] = sum;
}}
"""
# Wavefronts of a group wait until the other group lets so many on, one after the other or all at once.
SEMAPHORE = f"""
{WAITS} turns(global uint *order, global uint *next) {{
  uint lane = get_local_id(0) & 63;
  if (get_group_id(0) == 0) {{
    __builtin_amdgcn_ds_gws_sema_p(5);
    if (lane == 0) order[atomic_inc(next)] = 100 + get_local_id(0) / 64;
    __builtin_amdgcn_ds_gws_sema_v(5);
  }} else {{
    if (lane == 0) order[atomic_inc(next)] = 1;
    RELEASE;
  }}
}}
"""


def expected_sum(items, group):
    square = np.arange(items, dtype=np.uint32) ** 2
    square = square.reshape(-1, group)[:, ::-1].reshape(-1)
    weights = np.arange(1, items + 1, dtype=np.uint32)
    return sum(int(((square + np.uint32(step)) * weights).sum(dtype=np.uint32)) for step in range(3)) % (1 << 32)


@pytest.mark.parametrize("device", ["vega64", "mi50", "r9-nano", "mi100"])
@pytest.mark.parametrize("group", [64, 128])
def test_groups_wait_for_each_other(device, group):
    items = 1024
    part, out = np.zeros(items, np.uint32), np.zeros(items, np.uint32)
    with hw.device(device):
        program = hw.compile(BARRIER)
        program.set_up[(64,), (64,)](items // 64)
        program.sums[(items,), (group,)](part, out, items // 64)
    assert set(out.tolist()) == {expected_sum(items, group)}


def test_launches_at_once_have_their_own_number_of_groups():
    source = f"""{WAITS} k(local uint *room, global uint *out) {{
      room[get_local_id(0)] = 1;
      __builtin_amdgcn_ds_gws_barrier(0, 3);
      out[get_global_id(0)] = room[0];
    }}"""
    prepared = hw.compile(source, device="vega64").on(hw.device("vega64")).kernels["k"].prepare((1 << 16,), (64,))
    out = np.zeros(1 << 16, np.uint32)
    shared, start = prepared.dispatch.copy(), layout.DISPATCH.offset["residents"]
    tasks = [prepared.prepared([hw.Local(nbytes), out]) for nbytes in (1 << 10, 1 << 15)]
    places = [int(task.block[launch_block.DISPATCH]) + start for task in tasks]
    few, many = sorted(ctypes.c_uint32.from_address(place).value for place in places)
    assert 0 < few < many
    assert (prepared.dispatch == shared).all()


def test_the_interpreter_does_the_same():
    # Its state is of one launch: without being set up, the counter is 0 and the first barrier has one wavefront.
    part, out = np.zeros(256, np.uint32), np.zeros(256, np.uint32)
    both = BARRIER.replace(
        "uint i = get", "if (get_global_id(0) == 0) __builtin_amdgcn_ds_gws_init(waves - 1, 3); uint i = get"
    )
    code = load(compile_code_object(both, "k.cl").code, "k.hsaco")
    launch(code, "sums", [part, out, np.uint32(4)], [256], [128])
    assert set(out.tolist()) == {expected_sum(256, 128)}


@pytest.mark.parametrize(
    "release",
    [
        "__builtin_amdgcn_ds_gws_sema_v(5)",
        "__builtin_amdgcn_ds_gws_sema_br(1, 5)",
        "__builtin_amdgcn_ds_gws_sema_release_all(5)",
    ],
)
def test_semaphores(release):
    source = SEMAPHORE.replace("RELEASE", release)
    order, count = np.zeros(8, np.uint32), np.zeros(1, np.uint32)
    with hw.device("vega64"):
        hw.compile(source).turns[(256,), (128,)](order, count)
    assert count[0] == 4
    # All of the second group's wavefronts but the first to come may be overtaken.
    assert order[0] == 1
    assert sorted(order[:4].tolist()) == [1, 1, 100, 101]
    again, number = np.zeros(8, np.uint32), np.zeros(1, np.uint32)
    code = load(compile_code_object(source, "k.cl").code, "k.hsaco")
    launch(code, "turns", [again, number], [256], [128])
    assert again.tolist() == order.tolist()


def test_more_groups_than_the_chip_holds_wait_for_ever():
    """A Vega 64 has room for 64 x 40 wavefronts of a small kernel."""
    source = f"{WAITS} k(uint n) {{ __builtin_amdgcn_ds_gws_barrier(n, 7); }}"
    with hw.device("vega64"):
        program = hw.compile(f"{source}\n{WAITS} set_up(uint n) {{ __builtin_amdgcn_ds_gws_init(n, 7); }}")
        program.set_up[(64,), (64,)](2599)
        with pytest.raises(KernelFault, match=r"waits for ever at resource 7: the 2560 work-groups of 2600") as fault:
            program.k[(2600 * 64,), (64,)](2599)
        assert "Vega 64 holds 2560 at once" in str(fault.value)
        program.set_up[(64,), (64,)](2559)
        program.k[(2560 * 64,), (64,)](2559)


def test_a_counter_that_does_not_fit_is_told():
    source = f"""{WAITS} k(void) {{
      if (get_local_id(0) < 64) __builtin_amdgcn_ds_gws_init(5, 0);
      barrier(CLK_LOCAL_MEM_FENCE);
      __builtin_amdgcn_ds_gws_barrier(3, 0);
    }}"""
    with hw.device("vega64"), pytest.raises(KernelFault, match="waits for ever at resource 0") as fault:
        hw.compile(source).k[(256,), (128,)]()
    assert "ds_gws_init" in str(fault.value)


def test_such_launches_are_not_watched():
    program = hw.device("vega64").build(BARRIER, "k.cl")
    with pytest.raises(LaunchError, match="cannot be watched"):
        program.kernels["sums"].prepare((64,), (64,), check=True)
