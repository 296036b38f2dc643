"""Registers that LLVM spills: in large kernels one call stores or loads one for the whole wavefront."""

import numpy as np

import headwater as hw
from headwater.emulate.gcn import frame_accesses

VALUES = 30
LOADS = "".join(f"  int v{n} = a[i + {n}];\n" for n in range(VALUES))
SUMS = "".join(f"    x = x * 3 + v{n};\n" for n in range(VALUES))
MORE = "".join(f"  x = x * 5 ^ v{n};\n" for n in range(VALUES))
SPILLS = f"""
__attribute__((amdgpu_num_vgpr(20))) kernel void k(global int *a, global int *out) {{
  int i = get_global_id(0), x = i;
{LOADS}  out[i] = 0;
  if (i % 3) {{
{SUMS}  }}
{MORE}  out[i] = x;
}}
"""


def test_spilled_registers_keep_their_values(monkeypatch, tmp_path):
    """Those of lanes that EXEC excludes, too."""
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("headwater.emulate.gcn.translate.LARGE_PROGRAM", 0)
    monkeypatch.setattr("headwater.emulate.gcn.translate.INLINE_ACCESSES", 0)
    calls = []
    translate = frame_accesses.translate_spilled
    monkeypatch.setattr(
        frame_accesses, "translate_spilled", lambda *given: calls.append(translate(*given)) or calls[-1]
    )
    a, out = np.arange(100 + VALUES, dtype=np.int32) * 7919, np.zeros(100, np.int32)
    hw.compile(SPILLS, language="opencl", device="vega64").k[(100,), (100,)](a, out, device="vega64")
    i = np.arange(100, dtype=np.int32)
    x = i.copy()
    with np.errstate(over="ignore"):
        for n in range(VALUES):
            x = np.where(i % 3 != 0, x * 3 + a[i + n], x).astype(np.int32)
        for n in range(VALUES):
            x = (x * 5) ^ a[i + n]
    assert (out == x).all()
    assert calls.count(True) > 10
