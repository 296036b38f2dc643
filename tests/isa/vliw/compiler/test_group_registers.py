"""Registers are given out by the work-group's size: a SIMD engine holds any group that a launch may ask for."""

from __future__ import annotations

import numpy as np

import headwater as hw
from headwater.timing.simulate import simulate_launch

MANY = 264
"""Sums at a time, of values that are loaded before any of them is used up."""
BODY = (
    "\n".join(f"  float a{n} = x[i + {n} * 256];" for n in range(MANY))
    + "\n  for (int k = 0; k < turns; k++) {\n"
    + "\n".join(f"    a{n} = a{n} * a{(n + 1) % MANY} + a{(n + 7) % MANY};" for n in range(MANY))
    + "\n  }\n  y[i] = "
    + " + ".join(f"a{n}" for n in range(MANY))
    + ";\n"
)
SOURCE = f"""
kernel void any(global const float4 *x4, global float *y, int turns) {{
  global const float *x = (global const float *)x4;
  int i = get_global_id(0);
{BODY}}}
"""


def _expected(x: np.ndarray) -> np.ndarray:
    a = [x[256 * n : 256 * (n + 1)].astype(np.float64) for n in range(MANY)]
    for n in range(MANY):
        a[n] = a[n] * a[(n + 1) % MANY] + a[(n + 7) % MANY]
    return np.sum(a, axis=0)


def test_a_kernel_that_runs_can_be_simulated() -> None:
    """256 work-items are four wavefronts, which share the 248 registers of a SIMD engine."""
    program = hw.compile(SOURCE, language="opencl", device="hd5870")
    x = (np.arange(256 * (MANY + 1), dtype=np.float32) % 7) / 64
    y = np.zeros(256, np.float32)
    report = simulate_launch(program.any[(256,), (256,)], (x, y, 1), "hd5870")
    assert report.wavefronts == 4
    np.testing.assert_allclose(y, _expected(x), rtol=1e-4)
