"""Image instructions pass through the texture units at four elements a cycle."""

import numpy as np
import pytest

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


ONE_WAVEFRONT = """
#define KERNEL(NAME, TYPE, IMAGE, AT, PART) \\
  kernel void NAME(read_only IMAGE in, global TYPE *out) { \\
    int x = get_local_id(0); \\
    TYPE sum = 0; \\
    for (int i = 0; i < 2; i++) sum += read_imagef(in, AT) PART; \\
    out[x] = sum; \\
  }
KERNEL(uniform_image, float, image2d_t, (int2)(0, i), .x)
KERNEL(buffer, float4, image1d_buffer_t, x + 64 * i, )
KERNEL(narrow_buffer, float, image1d_buffer_t, x + 64 * i, .x)
"""


def test_address_units_are_busy_as_perftest_measured():
    """Sixteen cycles for images and for four components of a buffer, four for one component."""
    program = hw.compile(ONE_WAVEFRONT, device="vega64")
    busy = {}
    for name, kernel in program.kernels.items():
        shape, kind = ((2, 64, 4), "2d") if "image" in name else ((128, 4), "1d")
        out = np.zeros(64 if "_" in name else (64, 4), np.float32)
        image = hw.Image(np.ones(shape, np.uint8), dimensions=kind)
        report = kernel[(64,), (64,)].simulate(image, out, device="vega64", gains=False)
        assert np.allclose(out, 2 / 255)
        busy[name] = report.counters["MemUnitBusy"] / 100 * report.cycles * 64
    loads = {"uniform_image": 16, "buffer": 16, "narrow_buffer": 4}
    assert busy == pytest.approx({name: 2 * cycles + 16 for name, cycles in loads.items()})
