"""Code for lesser processors than this machine's gives the same answers; levels that are none are refused."""

import os
import subprocess
import sys

import numpy as np
import pytest

import headwater as hw
from headwater.base import host
from headwater.errors import UsageError

# Halves, conversions, rotations, gathers through local memory: what is done otherwise without wide vectors.
KERNEL = """
#pragma OPENCL FP_CONTRACT OFF
kernel void k(global const float *a, global uint *b, global float *c, global float *d) {
  local uint t[64];
  int i = get_global_id(0), l = get_local_id(0);
  t[l] = convert_uint_sat_rte(a[i]) + popcount(i) + mul_hi(b[i], 77u);
  barrier(CLK_LOCAL_MEM_FENCE);
  b[i] = rotate(t[(l * 7) & 63], 5u);
  vstore_half_rtz(a[i] / 3, i, (global half *)c);
  if (i & 1) c[512 + i / 2] = convert_float_rtn(b[i]) + exp2(a[i] / 100);
  // Lanes that are off would read, or write, far outside.
  constant ushort table[4] = {7, 11, 13, 17};
  ulong wide[5];
  for (int k = 0; k < 5; ++k) wide[k] = k * 0x100000001ul + i;
  int far = i % 3 ? i * 5 % 1024 : i << 20;
  float sum = 0;
  if (i % 3) {
    for (int k = 0; k < (i * 7 & 15); ++k) sum += a[(far + k * k) & 1023] * table[far + k & 3];
    sum += wide[far % 5] >> 30;
    ((global uchar *)(d + 1024))[far ^ 1] = i;
    d[far] = sum;
  }
}
"""
SCRIPT = """
import sys
import numpy as np
import headwater as hw
a, b, c = np.linspace(-9, 500, 1024, dtype=np.float32), np.arange(1024, dtype=np.uint32), np.zeros(1024, np.float32)
d = np.zeros(2048, np.float32)
kernel = hw.compile(sys.stdin.read(), device=sys.argv[1]).k[(1024,), (64,)]
kernel(a, b, c, d, device=sys.argv[1], check=len(sys.argv) > 2)
sys.stdout.buffer.write(b.tobytes() + c.tobytes() + d.tobytes())
"""


@pytest.fixture
def no_level(monkeypatch):
    yield monkeypatch
    monkeypatch.undo()
    host.level.cache_clear()


@pytest.fixture(scope="module")
def cache_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3"])
def test_code_for_lesser_processors_gives_the_same(level, device, cache_folder):
    if host.LEVELS[level] - host._machine():
        pytest.skip(f"this processor is less than {level}")
    a, b, c = np.linspace(-9, 500, 1024, dtype=np.float32), np.arange(1024, dtype=np.uint32), np.zeros(1024, np.float32)
    d = np.zeros(2048, np.float32)
    hw.compile(KERNEL, device=device).k[(1024,), (64,)](a, b, c, d, device=device)
    for check in ([], ["check"]):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, device, *check],
            input=KERNEL.encode(),
            capture_output=True,
            env=os.environ | {"HEADWATER_CPU": level, "HEADWATER_CACHE_DIR": str(cache_folder)},
            timeout=120,
        )
        assert done.stderr == b""
        assert done.stdout == b.tobytes() + c.tobytes() + d.tobytes()


def test_a_level_that_is_none_is_refused(no_level):
    host.level.cache_clear()
    no_level.setenv("HEADWATER_CPU", "i486")
    with pytest.raises(UsageError, match="HEADWATER_CPU is 'i486'"):
        host.level()


def test_a_level_beyond_the_processor_is_refused(no_level):
    host.level.cache_clear()
    no_level.setenv("HEADWATER_CPU", "X86-64-v3")
    no_level.setattr(host, "_machine", lambda: host.LEVELS["x86-64-v3"] - {"avx2", "fma"})
    with pytest.raises(UsageError, match="x86-64-v3, and this processor lacks avx2, fma"):
        host.level()
