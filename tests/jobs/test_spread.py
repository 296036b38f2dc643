"""One launch on several devices at once: the same results as on one, whoever computed what."""

import numpy as np
import pytest

import headwater as hw
from headwater.errors import HeadwaterError, UsageError
from headwater.jobs import spread

BROOK = """
kernel void saxpy(float a, float x<>, float y<>, out float r<>) { r = a * x + y; }
kernel void both(float x<>, float table[], out float p<>, out float q<>) { p = x + table[1]; q = x * table[0]; }
reduce void total(int x<>, reduce int r<>) { r += x; }
kernel void where(float x<>, out float r<>) { r = x + (indexof(r)).x; }
kernel void spill(float x<>, out float r[]) { r[0] = x; }
"""
OPENCL = """
kernel void add(global const float *a, global const float *b, global float *c, int n) {
  int i = get_global_id(0);
  if (i < n) c[i] = a[i] + b[i];
}
kernel void rows(global const float *x, global float *y, int width) {
  int i = get_global_id(1) * width + get_global_id(0);
  y[i] = x[i] * 2 + get_local_id(1);
}
kernel void wrong(global float *x) { x[get_global_id(0) + 100000000] = 1; }
"""
DEVICES = ["cpu", "vega64", "hd5870"]


@pytest.fixture(scope="module")
def brook():
    return hw.compile(BROOK)


@pytest.fixture(scope="module")
def opencl():
    return hw.compile(OPENCL)


def floats(*shape):
    return np.random.default_rng(1).random(shape, np.float32)


@pytest.mark.parametrize("count", [1, 63, 64, 100_003])
def test_streams_are_cut_and_put_together(brook, count):
    x, y = floats(count), floats(count)[::-1]
    shares = {}
    found = hw.map(brook.saxpy, 2.0, x, y, devices=DEVICES, shares=shares)
    assert np.array_equal(found, brook.saxpy(2.0, x, y))
    assert sum(shares.values()) == count


def test_gather_arrays_go_whole_and_several_results_come_back(brook):
    x, lut = floats(3000, 4)[:, 0], np.array([3.0, 5.0], np.float32)
    p, q = hw.map(brook.both, x, lut, devices=["cpu", "cpu", "vega64"])
    assert np.array_equal(p, x + 5)
    assert np.array_equal(q, x * 3)


def test_rows_of_matrices(brook):
    x, y = floats(333, 65), floats(333, 65)
    assert np.array_equal(hw.map(brook.saxpy, 2.0, x, y, devices=DEVICES), brook.saxpy(2.0, x, y))


def test_reductions_of_pieces_are_reduced(brook):
    x = np.arange(70_000, dtype=np.int32)
    assert int(hw.map(brook.total, x, devices=DEVICES)) == int(x.sum(dtype=np.int32)) == int(brook.total(x))


def test_arrays_of_opencl_kernels_are_cut_and_written_in_place(opencl):
    a, b, c = floats(50_000), floats(50_000), np.zeros(50_000, np.float32)
    count = lambda begin, end: end - begin  # noqa: E731
    hw.map(opencl.add, a, b, c, count, devices=DEVICES, size=50_000, split=["a", "b", "c"])
    assert np.array_equal(c, a + b)


def test_the_last_dimension_is_cut_in_whole_work_groups(opencl):
    x = floats(96, 64)
    y, expected = np.zeros_like(x), np.zeros_like(x)
    hw.map(opencl.rows, x, y, 64, devices=DEVICES, size=(64, 96), local=(64, 4), split=["x", "y"])
    opencl.rows[(64, 96), (64, 4)](x, expected, 64)
    assert np.array_equal(y, expected)


def test_faster_devices_get_more():
    domain = spread._Domain(100_000, 2, 64)
    speeds = {0: 1000.0, 1: 250.0}
    clock, rows = {0: 0.0, 1: 0.0}, {0: 0, 1: 0}
    covered = 0
    while True:
        device = min(clock, key=clock.get)
        piece = domain.take(device)
        if piece is None:
            break
        assert piece[0] == covered
        covered = piece[1]
        count = piece[1] - piece[0]
        clock[device] += count / speeds[device]
        rows[device] += count
        domain.done(device, count, count / speeds[device])
    assert covered == 100_000
    assert rows[0] / rows[1] == pytest.approx(4, rel=0.05)
    assert max(clock.values()) < 1.03 * 100_000 / 1250


def test_an_error_of_one_device_is_raised(opencl):
    with pytest.raises(HeadwaterError, match="wrong"):
        hw.map(opencl.wrong, np.zeros(4096, np.float32), devices=["vega64", "hd5870"], size=4096, split=["x"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b, o, x: hw.map(b.saxpy, 2.0, x, x, devices=[]), "at least one device"),
        (lambda b, o, x: hw.map(b.where, x, devices=["cpu"]), "cannot be cut"),
        (lambda b, o, x: hw.map(b.spill, x, devices=["cpu"]), "cannot be cut"),
        (lambda b, o, x: hw.map(b.saxpy, 2.0, x, x[:50], devices=["cpu"]), "cannot be cut"),
        (lambda b, o, x: hw.map(b.saxpy, 2.0, x, devices=["cpu"]), "takes 3 arguments"),
        (lambda b, o, x: hw.map(b.saxpy, 2.0, x, x, devices=["cpu"], size=3), "are for OpenCL C"),
        (lambda b, o, x: hw.map(o.add, x, x, x, 1, devices=["cpu"]), "needs a global size"),
        (lambda b, o, x: hw.map(o.add, x, x, x, 1, devices=["cpu"], size=100), "c is written and not split"),
        (lambda b, o, x: hw.map(o.add, x, x, x, 1, devices=["cpu"], size=100, split=["d"]), "no parameter 'd'"),
        (lambda b, o, x: hw.map(o.add, x, x, x, 1, devices=["cpu"], size=99, split=["c"]), "in 99 parts"),
    ],
)
def test_what_cannot_be_cut_is_said(brook, opencl, call, message):
    with pytest.raises(UsageError, match=message):
        call(brook, opencl, floats(100))


def test_kernels_map_blocks_of_dask_arrays(brook):
    da = pytest.importorskip("dask.array")
    x = floats(1000)
    blocks = da.from_array(x, chunks=300)
    found = da.map_blocks(lambda part: brook.saxpy(2.0, part, part), blocks, dtype=np.float32).compute()
    assert np.array_equal(found, brook.saxpy(2.0, x, x))
