"""Image instructions pass through the texture units at four elements a cycle."""

import numpy as np

import headwater as hw

READS = 32
SOURCE = f"""
kernel void k(read_only image2d_t in, global float4 *out) {{
  int x = get_local_id(0) % 64, y = get_local_id(0) / 64;
  float4 sum = 0;
  #pragma unroll
  for (int i = 0; i < {READS}; i++) sum += read_imagef(in, (int2)(x, y + i));
  out[get_local_id(0)] = sum;
}}
"""


def test_reads_take_sixteen_cycles_a_wavefront():
    """Of as many wavefronts as the chip holds, in whose L1 the image is: the texture units are what they wait for."""
    program = hw.compile(SOURCE, device="vega64")
    waves = 24  # on each of 64 compute units
    out = np.zeros((256, 4), np.float32)
    report = program.k[(64 * waves * 64,), (256,)].simulate(
        hw.Image(np.ones((36, 64, 4), np.uint8)), out, device="vega64", gains=False
    )
    assert np.allclose(out, READS / 255)
    least = waves * READS * 16
    assert least <= report.cycles < 1.5 * least
