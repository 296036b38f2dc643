"""Registers that LLVM spills: in large kernels one call stores or loads one for the whole wavefront."""

import numpy as np
import pytest
from translated_runs import both, random_inputs

import headwater as hw
from headwater.emulate.gcn import frame_accesses

VALUES = 30
THEN, OTHER = range(20), range(20, VALUES)
LOADS = "".join(f"  int v{n} = a[i + {n}];\n" for n in range(VALUES))


def sums(numbers):
    return "".join(f"    x = x * 3 + v{n};\n" for n in numbers)


SPILLS = f"""
__attribute__((amdgpu_num_vgpr(20))) kernel void k(global int *a, global int *out) {{
  int i = get_global_id(0), x = i;
{LOADS}  out[i] = 0;
  if (i % 3) {{
{sums(THEN)}  }} else {{
{sums(OTHER)}  }}
  out[i] = x;
}}
"""


@pytest.fixture
def calls(monkeypatch):
    """For each buffer instruction that is translated as in a large kernel, whether it became such a call."""
    monkeypatch.setattr("headwater.emulate.gcn.translate.LARGE_PROGRAM", 0)
    monkeypatch.setattr("headwater.emulate.gcn.translate.INLINE_ACCESSES", 0)
    found = []
    translate = frame_accesses.translate_spilled
    monkeypatch.setattr(
        frame_accesses, "translate_spilled", lambda *given: found.append(translate(*given)) or found[-1]
    )
    return found


def test_spilled_registers_keep_their_values(calls, monkeypatch, tmp_path):
    """Those of lanes that EXEC excludes, too."""
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))
    a, out = np.arange(100 + VALUES, dtype=np.int32) * 7919, np.zeros(100, np.int32)
    hw.compile(SPILLS, language="opencl", device="vega64").k[(100,), (100,)](a, out, device="vega64")
    i = np.arange(100, dtype=np.int32)
    x, other = i.copy(), i.copy()
    with np.errstate(over="ignore"):
        for n in THEN:
            x = x * 3 + a[i + n]
        for n in OTHER:
            other = other * 3 + a[i + n]
    assert (out == np.where(i % 3 != 0, x, other)).all()
    assert calls.count(True) > 10


MOVED = """
s_movk_i32 s20, 0x100
s_mov_b64 s[22:23], exec
s_mov_b64 s[24:25], s[0:1]
s_mov_b32 s26, 0x114
s_mov_b32 s27, 0x27000
v_mov_b32 v20, v8
v_mov_b32 v21, v9
v_mov_b32 v26, v10
v_cmp_lt_u32 vcc, 17, v0
buffer_store_dwordx2 v[4:5], off, s[16:19], 0 offset:4
buffer_store_dwordx3 v[5:7], off, s[16:19], s20 offset:48
s_and_b64 exec, exec, vcc
buffer_store_dwordx2 v[11:12], off, s[16:19], s20
buffer_load_dwordx2 v[20:21], off, s[16:19], s20 offset:52
buffer_load_dword v26, off, s[24:27], s20 offset:8
s_mov_b64 exec, s[22:23]
buffer_load_dwordx2 v[22:23], off, s[16:19], 0 offset:4
buffer_load_dwordx4 v[28:31], off, s[24:27], s20 offset:8
s_waitcnt vmcnt(0)
"""
"""The descriptor in s24 to s27 is of 0x114 bytes that are not private: the last load's last dword lies behind them."""


def test_calls_move_registers_of_active_lanes_only(calls):
    found, wanted = both(MOVED, random_inputs(8, (0, 0xFFFFFFFF)), 41, private_registers=True)
    assert (found == wanted).all()
    assert calls == [True] * 7
    assert not wanted[31 - 20].any()
