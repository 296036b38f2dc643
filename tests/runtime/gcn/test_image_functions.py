"""OpenCL C's image functions by image instructions: nearest reads and writes are the cpu device's."""

from __future__ import annotations

import numpy as np
import pytest

import headwater as hw
from headwater.isa.gcn import resources
from headwater.opencl import samplers

READS = """
kernel void reads(read_only image1d_t a, read_only image1d_array_t b, read_only image1d_buffer_t c,
                  read_only image2d_array_t d, read_only image3d_t e, sampler_t s, float scale, global float4 *out) {
  const sampler_t border = CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST | 1 << 12; // the last has no meaning
  int i = get_global_id(0), x = i % 8 - 2, y = i / 8 - 2;
  float u = (x + 0.4f) * scale, v = (y + 0.3f) * scale;
  global float4 *to = out + 9 * i;
  to[0] = read_imagef(a, s, u);
  to[1] = read_imagef(a, border, x);
  to[2] = read_imagef(b, s, (float2)(u, y + 0.4f));
  to[3] = read_imagef(c, i);
  to[4] = read_imagef(d, s, (float4)(u, v, x * 0.6f, 0));
  to[5] = read_imagef(d, border, (int4)(x, y, 1, 0));
  to[6] = read_imagef(e, s, (float4)(u, v, u, 0));
  to[7] = read_imagef(e, border, (int4)(x, y, y, 0));
  to[8] = (float4)(get_image_width(e), get_image_height(d), get_image_array_size(b), get_image_depth(e));
}
kernel void writes(write_only image1d_t a, write_only image1d_array_t b, write_only image1d_buffer_t c,
                   write_only image2d_array_t d, write_only image3d_t e) {
  int i = get_global_id(0), x = i % 8 - 2, y = i / 8 - 2;
  float4 v = (float4)(i, x, y, 1) / 16;
  write_imagef(a, x, v);
  write_imagef(b, (int2)(x, y), v);
  write_imagef(c, i % 5, i % 5 == 3 ? v : (float4)(i % 5));
  write_imagef(d, (int4)(x, y, i % 3, 0), v);
  write_imagef(e, (int4)(x, y, y, 0), v);
}
kernel void numbers(read_only image2d_t in, write_only image2d_t out) {
  int2 at = (int2)(get_global_id(0) % 8 - 1, get_global_id(0) / 8 - 1);
  write_imageui(out, at, read_imageui(in, at).wzyx + 250);
}
kernel void same(read_only image2d_t in, write_only image2d_t out) {
  int2 at = (int2)(get_global_id(0) % 8, get_global_id(0) / 8);
  write_imagef(out, at, read_imagef(in, at) * 0.71371f);
}
"""
SHAPES = {"1d": (5,), "1d_array": (3, 5), "2d_array": (2, 4, 5), "3d": (3, 4, 5)}
KINDS = ("1d", "1d_array", "1d", "2d_array", "3d")  # the third is a buffer


@pytest.fixture(scope="module")
def kernels():
    return {device: hw.device(device).build(READS, "images.cl").kernels for device in ("cpu", "hd7970", "vega64")}


def ran(kernel, *args, items=64):
    kernel.prepare((items,), (items,))(args, None, None).wait()


@pytest.mark.parametrize("device", ["hd7970", "vega64"])
@pytest.mark.parametrize(
    ("sampler", "scale"),
    [
        (hw.Sampler(False, "clamp_to_edge"), 1.0),
        (hw.Sampler(False, "clamp"), 1.0),
        (hw.Sampler(True, "repeat"), 0.21),
        (hw.Sampler(True, "mirrored_repeat"), 0.21),
    ],
)
def test_reads_of_all_kinds_of_images(kernels, device, sampler, scale):
    rng = np.random.default_rng(1)
    images = [hw.Image(rng.random((*SHAPES[kind], 2), np.float32), dimensions=kind) for kind in KINDS]
    images[2] = images[0]  # one image with two descriptors
    found = {}
    for name in ("cpu", device):
        found[name] = np.zeros((64, 9, 4), np.float32)
        ran(kernels[name]["reads"], *images, sampler, scale, found[name])
    inside = np.arange(64) < 5  # beyond a buffer there is no border
    found["cpu"][~inside, 3] = found[device][~inside, 3]
    np.testing.assert_array_equal(found[device], found["cpu"])


@pytest.mark.parametrize("device", ["hd7970", "vega64"])
def test_writes_to_all_kinds_of_images(kernels, device):
    found = {}
    for name in ("cpu", device):
        arrays = [np.full((*SHAPES[kind], 4), 9, np.float16) for kind in KINDS]
        ran(kernels[name]["writes"], *(hw.Image(a, dimensions=k) for a, k in zip(arrays, KINDS, strict=True)), items=48)
        found[name] = arrays
    for chip, host in zip(found[device][:2] + found[device][3:], found["cpu"][:2] + found["cpu"][3:], strict=True):
        np.testing.assert_array_equal(chip, host)
    assert (found[device][2][:3] == np.arange(3)[:, None]).all()


FORMATS = [
    ("r", "unorm_int8"), ("a", "unorm_int16"), ("rg", "half_float"), ("ra", "snorm_int8"), ("rgb", "float"),
    ("rgb", "unorm_short_565"), ("rgb", "unorm_short_555"), ("rgb", "unorm_int_101010"), ("argb", "snorm_int16"),
    ("bgra", "unorm_int8"), ("intensity", "half_float"), ("luminance", "unorm_int8"),
]  # fmt: skip


@pytest.mark.parametrize(("order", "kind"), FORMATS)
def test_formats_are_converted_as_on_the_cpu(kernels, order, kind):
    code, dtype = hw.runtime.images.CHANNEL_TYPES[kind]
    channels = 1 if kind in hw.runtime.images.PACKED else hw.runtime.images.CHANNEL_ORDERS[order][1]
    rng = np.random.default_rng(code)
    pixels = (rng.random((8, 8, channels)) * (1 if dtype[0] == "f" else 255 << 8 * (int(dtype[1]) - 1))).astype(dtype)
    found = {}
    for name in ("cpu", "vega64"):
        found[name] = np.zeros_like(pixels)
        wide = np.zeros((8, 8, 4), np.float32)
        for out in (hw.Image(found[name], order, kind), hw.Image(wide)):
            ran(kernels[name]["same"], hw.Image(pixels, order, kind), out)
        found[name] = found[name], wide
    np.testing.assert_array_equal(found["vega64"][0], found["cpu"][0])
    np.testing.assert_allclose(found["vega64"][1], found["cpu"][1], rtol=2e-7)


def test_integers_are_limited_and_pixels_outside_left_out(kernels):
    pixels = np.arange(8 * 8 * 4, dtype=np.uint8).reshape(8, 8, 4)
    found = {name: np.zeros((6, 5, 4), np.uint8) for name in ("cpu", "hd7970")}
    for name, out in found.items():
        ran(kernels[name]["numbers"], hw.Image(pixels, None, "unsigned_int8"), hw.Image(out, None, "unsigned_int8"))
    np.testing.assert_array_equal(found["hd7970"], found["cpu"])
    assert found["cpu"].max() == 255


def test_buffers_have_no_elements_of_565(kernels):
    images = [hw.Image(np.zeros(SHAPES[kind], np.float32), dimensions=kind) for kind in KINDS]
    images[2] = hw.Image(np.zeros(5, np.uint16), "rgb", "unorm_short_565", "1d")
    with pytest.raises(hw.LaunchError, match=r"`c`: .* no elements of unorm_short_565"):
        ran(kernels["vega64"]["reads"], *images, hw.Sampler(), 1.0, np.zeros((64, 9, 4), np.float32))


def test_descriptors_of_samplers_have_the_fields_of_the_documents():
    for bits in range(1 << samplers.BITS):
        words = sum(word << 32 * n for n, word in enumerate(samplers.words(bits)))
        linear = resources.BILINEAR if bits & 0x20 else resources.POINT
        clamp = {4: resources.CLAMP_BORDER, 6: resources.WRAP, 8: resources.MIRROR}.get(bits & 14, 2)
        fields = {**{f"clamp_{axis}": clamp for axis in "xyz"}, "unnormalized": 1 - (bits & 1), "max_lod": 4095}
        fields |= {"mag_filter": linear, "min_filter": linear, "border": resources.BORDER_TRANSPARENT}
        assert words == resources.made(resources.SAMPLER, fields)


SHARED = """
kernel void k(read_only image2d_t in, write_only image2d_t out, global uchar *bytes) {
  int2 at = (int2)(get_global_id(0), 0);
  write_imageui(out, at + (int2)(0, 1), read_imageui(in, at) + 1);
  bytes[2 * 64 * CHANNELS + get_global_id(0)] = 7;
}
"""


def test_images_and_buffers_over_one_array_see_the_same_memory():
    """Wherever the array begins."""
    kernel = hw.device("vega64").build(SHARED.replace("CHANNELS", "4"), "shared.cl").kernels["k"]
    memory = np.zeros(3 * 64 * 4 + 512, np.uint8)
    at = (48 - memory.ctypes.data) % 256
    array = memory[at : at + 3 * 64 * 4].reshape(3, 64, 4)
    array[0] = np.arange(256).reshape(64, 4) % 200
    ran(kernel, hw.Image(array, channel_type="unsigned_int8"), hw.Image(array, channel_type="unsigned_int8"), array)
    assert (array[1] == array[0] + 1).all()
    assert (array[2].reshape(-1)[:64] == 7).all()
    assert not memory[:at].any()
    assert not memory[at + array.nbytes :].any()


def test_copies_of_images_of_three_channels_share_nothing():
    kernel = hw.device("vega64").build(SHARED.replace("CHANNELS", "3"), "shared.cl").kernels["k"]
    first, second = (np.zeros((3, 64, 3), np.uint8) for _ in range(2))

    def image(array):
        return hw.Image(array, "rgb", channel_type="unsigned_int8")

    ran(kernel, image(first), image(second), np.zeros(1024, np.uint8))
    assert (second[1] == 1).all()
    for args in ((image(first), image(second), first), (image(first), image(first), np.zeros(1024, np.uint8))):
        with pytest.raises(hw.LaunchError, match="over the same memory"):
            ran(kernel, *args)
    both = image(first)
    ran(kernel, both, both, np.zeros(1024, np.uint8))
    assert (first[1] == 1).all()
