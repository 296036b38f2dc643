"""Arguments over the same memory: all devices see one memory, also where an array has to be copied for the launch, or
refuse the launch."""

import numpy as np
import pytest

import headwater as hw
from headwater.errors import LaunchError

CHIPS = ("cpu", "vega64", "hd5870")
BYTES = """kernel void k(global uchar *a, global const uchar *b, global uchar *c) {
  int i = get_global_id(0);
  a[i] = b[i] + 1;
  if (i == 0) c[6] = 77;
}"""
BOTH = """kernel void k(global int *a, global int *b) {
  int i = get_global_id(0);
  if (i < 3) a[i] = b[i] + 100; else b[i] += 1000;
}"""
BOTH_IN_PLACE = [100, 101, 102, 1003, 1004, 1005]


@pytest.mark.parametrize("device", CHIPS)
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("begin", [0, 1])
def test_bytes_that_are_no_whole_dwords_in_place(device, step, begin):
    whole = np.arange(16, dtype=np.uint8)
    x = whole[begin : begin + 7 * step : step]
    expected = whole.copy()
    expected[begin : begin + 6 * step : step] += 1
    expected[begin + 6 * step] = 77
    hw.compile(BYTES, device=device).k[(6,), (6,)](x, x, x[:], device=device)
    np.testing.assert_array_equal(whole, expected)


@pytest.mark.parametrize("device", CHIPS)
def test_bytes_that_overlap_by_parts_of_dwords(device):
    x = np.arange(16, dtype=np.uint8)
    hw.compile(BYTES, device=device).k[(6,), (6,)](x[:7], x[8:], x[1:9], device=device)
    assert x.tolist() == [9, 10, 11, 12, 13, 14, 6, 77, 8, 9, 10, 11, 12, 13, 14, 15]


def test_overlapping_dwords_that_are_not_aligned_are_refused_where_only_dwords_are_accessed():
    x = np.zeros(41, np.uint8)
    one, other = x[1:33].view(np.int32), x[5:37].view(np.int32)
    with pytest.raises(LaunchError, match="begins at no multiple of 4 bytes"):
        hw.compile(BOTH, device="hd5870").k[(6,), (6,)](one, other, device="hd5870")


@pytest.fixture(params=[*CHIPS, "opencl"])
def device(request):
    return request.getfixturevalue("opencl_device") if request.param == "opencl" else request.param


@pytest.mark.parametrize("step", [1, 2])
def test_the_same_elements_twice_are_one_memory(device, step):
    x = np.arange(6 * step, dtype=np.int32)
    x[::step] = np.arange(6)
    hw.compile(BOTH, device=device).k[(6,), (6,)](x[::step], x[::step], device=device)
    assert x[::step].tolist() == BOTH_IN_PLACE


@pytest.mark.parametrize("kind", [np.int32, np.float32])
@pytest.mark.parametrize("step", [1, 2])
def test_what_is_written_is_not_lost_if_the_array_is_also_passed_read_only(device, step, kind):
    source = """kernel void k(global const int *b, global TYPE *a) {
      int i = get_global_id(0);
      a[i] = b[i] + 100;
    }"""
    x = np.arange(6 * step, dtype=np.int32)
    fixed = x[::step]
    fixed.flags.writeable = False
    name = {np.int32: "int", np.float32: "float"}[kind]
    written = x.view(kind)[::step]
    hw.compile(source, device=device, options=f"-DTYPE={name}").k[(6,), (6,)](fixed, written, device=device)
    assert written.tolist() == [100 + step * i for i in range(6)]


@pytest.mark.parametrize("gaps_first", [True, False])
def test_a_copy_and_what_overlaps_it_are_refused(device, gaps_first):
    x = np.arange(12, dtype=np.int32)
    arrays = [x[::2], x] if gaps_first else [x, x[::2]]
    with pytest.raises(LaunchError, match="are over the same memory"):
        hw.compile(BOTH, device=device).k[(6,), (6,)](*arrays, device=device)
    assert x.tolist() == list(range(12))


def test_arrays_with_gaps_that_lie_between_each_other_are_taken(device):
    x = np.arange(12, dtype=np.int32)
    hw.compile(BOTH, device=device).k[(6,), (6,)](x[::2], x[1::2], device=device)
    assert x.tolist() == [101, 1, 103, 3, 105, 5, 6, 1007, 8, 1009, 10, 1011]


WRITTEN = """kernel void k(write_only image2d_t o, int width) {
  int i = get_global_id(0);
  write_imageui(o, (int2)(i % width, i / width), (uint4)(i + 1));
}"""


@pytest.mark.parametrize("device", CHIPS)
@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_images_end_where_their_last_pixel_does(device, kind):
    pixels = np.zeros((3, 5), kind)
    image = hw.Image(pixels, "r", f"unsigned_int{8 * pixels.itemsize}")
    hw.compile(WRITTEN, device=device).k[(15,), (15,)](image, 5, device=device)
    np.testing.assert_array_equal(pixels.ravel(), np.arange(1, 16))


BUSY = """kernel void busy(global int *o, int n) {
  int x = 1;
  for (int i = 0; i < n; i++) x = x * 1103515245 + 12345;
  o[get_global_id(0)] = x;
}
kernel void k(global float *a, global const float *b) {
  int i = get_global_id(0);
  a[i] = b[i] + 1;
}"""
IL = """il_ps_2_0
dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__
dcl_output_generic o0
dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)
dcl_literal l0, 1.0, 1.0, 1.0, 1.0
sample_resource(0)_sampler(0) r0, vWinCoord0.xyxx
add o0, r0, l0
end
"""


def test_a_queue_reads_arrays_with_gaps_as_its_earlier_launches_left_them(device):
    queue, spent = hw.Queue(device), np.zeros(1, np.int32)
    opencl, il = hw.compile(BUSY, device=device), hw.compile(IL)
    x, y, z = (np.zeros((8, 8, 4), np.float32) for _ in range(3))
    opencl.busy[(1,), (1,)](spent, 1_000_000, device=device, queue=queue)
    opencl.k[(256,), (64,)](x, x, device=device, queue=queue)
    opencl.k[(128,), (64,)](y[::2], x[::2], device=device, queue=queue)
    il.main[(8, 4), None](i0=y[::2], o0=z[:4], device=device, queue=queue)
    queue.wait()
    np.testing.assert_array_equal(y[::2], np.full((4, 8, 4), 2, np.float32))
    np.testing.assert_array_equal(z[:4], np.full((4, 8, 4), 3, np.float32))


@pytest.mark.parametrize("part", [slice(0, 32), slice(1, 33), slice(0, 64, 2)], ids=["plain", "not aligned", "gaps"])
def test_brook_in_a_queue_reads_arrays_as_its_earlier_launches_left_them(device, part):
    queue, spent = hw.Queue(device), np.zeros(1, np.int32)
    opencl = hw.compile(BUSY, device=device)
    brook = hw.compile("kernel void f(float a<>, out float b<>) { b = a + 1.0f; }", language="brook")
    x, result = np.zeros(64, np.float32), hw.stream((32,), np.float32, device=device)
    opencl.busy[(1,), (1,)](spent, 1_000_000, device=device, queue=queue)
    opencl.k[(64,), (64,)](x, x, device=device, queue=queue)
    brook.f(x[part], out=result, device=device, queue=queue)
    queue.wait()
    np.testing.assert_array_equal(result.read(), np.full(32, 2, np.float32))


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
def test_arrays_of_numpys_subclasses_are_taken_as_their_memory(device):
    k = hw.compile("kernel void k(global int *x) { x[get_global_id(0)] += 1; }", device=device).k
    for made in (np.ma.masked_array, np.asmatrix, lambda array: array.view(type("Other", (np.ndarray,), {}))):
        memory = np.zeros(16, np.int32)
        k[(16,), None](made(memory))
        assert (memory == 1).all()
