"""Image instructions pass through the texture units at four elements a cycle, and so do wide formatted elements of
buffers; neither is faster where all lanes read one element."""

import numpy as np
import pytest

import headwater as hw

READS = 32
SOURCE = f"""
#define KERNEL(NAME, TYPE, IMAGE, AT, PART) \\
  kernel void NAME(read_only IMAGE in, global TYPE *out) {{ \\
    int x = get_local_id(0) % 64, y = get_local_id(0) / 64; \\
    TYPE sum = 0; \\
    _Pragma("unroll") \\
    for (int i = 0; i < {READS}; i++) sum += read_imagef(in, AT) PART; \\
    out[get_local_id(0)] = sum; \\
  }}
KERNEL(image, float4, image2d_t, (int2)(x, y + i), )
KERNEL(uniform_image, float, image2d_t, (int2)(0, i), .x)
KERNEL(buffer, float4, image1d_buffer_t, x + 64 * i, )
"""


@pytest.fixture(scope="module")
def program():
    return hw.compile(SOURCE, device="vega64")


@pytest.mark.parametrize("name", ["image", "uniform_image", "buffer"])
def test_reads_take_sixteen_cycles_a_wavefront(program, name):
    """Of many wavefronts, in whose L1 the image is: the texture units are what they wait for."""
    waves = 12  # on each of 64 compute units
    shape, kind = ((36, 64, 4), "2d") if "image" in name else ((36 * 64, 4), "1d")
    out = np.zeros(256 if name == "uniform_image" else (256, 4), np.float32)
    report = program.kernels[name][(64 * waves * 64,), (256,)].simulate(
        hw.Image(np.ones(shape, np.uint8), dimensions=kind), out, device="vega64", gains=False
    )
    assert np.allclose(out, READS / 255)
    least = waves * READS * 16
    assert least <= report.cycles < 1.5 * least
