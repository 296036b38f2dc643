"""Arrays spread over devices: launches leave them there, and their results are those of one device."""

import numpy as np
import pytest

import headwater as hw
from headwater.errors import HeadwaterError, UsageError
from headwater.jobs.distributed import DistributedArray

DEVICES = ["cpu", "vega64", "hd5870"]
BROOK = """
kernel void saxpy(float a, float x<>, float y<>, out float r<>) { r = a * x + y; }
kernel void both(float4 x<>, float table[], out float p<>, out float4 q<>) { p = x.x + table[1]; q = x * x; }
reduce void total(int x<>, reduce int r<>) { r += x; }
kernel void where(float x<>, out float r<>) { r = x + (indexof(r)).x; }
"""
OPENCL = """
kernel void add(global const float *a, global float *b, int n) {
  int i = get_global_id(1) * get_global_size(0) + get_global_id(0);
  if (i < n) b[i] += a[i];
}
kernel void wrong(global float *x) { x[get_global_id(0) + 100000000] = 1; }
"""


@pytest.fixture(scope="module")
def brook():
    return hw.compile(BROOK)


def floats(*shape):
    return np.random.default_rng(1).random(shape, np.float32)


@pytest.mark.parametrize("count", [3, 1000, 10_007])
def test_parts_together_are_the_array(count):
    x = floats(count, 2)
    parts = hw.spread(x, DEVICES)
    assert [device.name for device in parts.devices] == DEVICES
    assert parts.bounds[0] == 0
    assert parts.bounds[-1] == count == len(parts)
    assert np.array_equal(parts.read(), x)
    assert np.array_equal(np.asarray(parts), x)
    parts.write(x + 1)
    assert np.array_equal(parts.read(), x + 1)
    assert (parts.ndim, parts.size, parts.dtype) == (2, 2 * count, np.float32)


def test_shares_are_in_proportion():
    x = floats(1000)
    assert hw.spread(x, ["cpu", "vega64"], [3, 1]).bounds == (0, 750, 1000)
    assert hw.spread(x, ["cpu", "vega64"], {"vega64": 100, "cpu": 900}).bounds == (0, 900, 1000)
    assert hw.spread(x, ["cpu", "cpu", "vega64"], {"vega64": 500, "cpu": 500}).bounds == (0, 250, 500, 1000)
    assert hw.spread(x[:3], DEVICES, [1000, 1, 1]).bounds == (0, 1, 2, 3)
    measured = {}
    hw.map(hw.compile(BROOK).saxpy, 1.0, x, x, devices=["cpu", "cpu"], shares=measured)
    assert hw.spread(x, ["cpu"], measured).bounds == (0, 1000)


def test_results_are_parts_and_nothing_moves(brook, monkeypatch):
    x, y = floats(5000), floats(5000)[::-1]
    given = hw.spread(x, DEVICES), hw.spread(y, DEVICES)
    from headwater.runtime.streams import Stream

    monkeypatch.setattr(Stream, "read", lambda *a: pytest.fail("a part was moved"))
    made = hw.map(brook.saxpy, 2.0, *given)
    again = hw.map(brook.saxpy, -2.0, given[0], made)
    made.wait()
    monkeypatch.undo()
    assert isinstance(made, DistributedArray)
    assert made.devices == given[0].devices
    assert np.array_equal(made.read(), brook.saxpy(2.0, x, y))
    assert np.allclose(again.read(), y, atol=1e-6)


def test_results_are_written_where_asked_and_gathers_go_whole(brook):
    x, table = floats(999, 4), np.array([3, 5], np.float32)
    shares = {}
    p, q = hw.map(brook.both, hw.spread(x, DEVICES), table, shares=shares)
    assert np.array_equal(p.read(), x[:, 0] + 5)
    assert np.array_equal(q.read(), x * x)
    assert shares == {"cpu": 333, "vega64": 333, "hd5870": 333}
    outs = hw.spread(np.zeros(999, np.float32), DEVICES), hw.spread(np.zeros_like(x), DEVICES)
    assert hw.map(brook.both, hw.spread(x, DEVICES), table, out=outs) is outs
    assert np.array_equal(outs[1].read(), x * x)


def test_reductions_of_parts_are_reduced(brook):
    x = np.arange(7001, dtype=np.int32)
    assert hw.map(brook.total, hw.spread(x, DEVICES)) == x.sum()


@hw.stream_kernel
def scaled(x, factor):
    return factor * x


@hw.stream_kernel(reduction=True)
def summed(total, x):
    return total + x


def test_stream_kernels_in_python():
    x = np.arange(3000, dtype=np.float32)
    assert np.array_equal(hw.map(scaled, hw.spread(x, DEVICES), 2.0).read(), 2 * x)
    assert np.array_equal(hw.map(scaled, x, 2.0, devices=["cpu", "vega64"]), 2 * x)
    assert hw.map(summed, hw.spread(x, DEVICES)) == x.sum()


def test_opencl_kernels_run_over_their_own_rows():
    program = hw.compile(OPENCL)
    a, b = floats(60, 32), floats(60, 32)
    parts = hw.spread(b, DEVICES, [2, 3, 1])
    count = lambda begin, end: (end - begin) * 32  # noqa: E731
    assert hw.map(program.add, hw.spread(a, DEVICES, [2, 3, 1]), parts, count, size=(32, 60), local=(32, 1)) is None
    assert np.array_equal(parts.read(), b + a)


def test_errors_of_one_device_are_raised():
    program = hw.compile(OPENCL)
    with pytest.raises(HeadwaterError, match="wrong"):
        hw.map(program.wrong, hw.spread(floats(256), ["vega64", "hd5870"]), size=256)


def test_what_cannot_be_is_said(brook):
    x = hw.spread(floats(100), ["cpu", "cpu"])
    for call, message in (
        (lambda: hw.spread(floats(2), DEVICES), "cannot be cut for 3 devices"),
        (lambda: hw.spread(floats(9), []), "cannot be cut for 0 devices"),
        (lambda: hw.spread(floats(9), ["cpu", "cpu"], [1]), "shares are 2 positive numbers"),
        (lambda: hw.spread(floats(9), ["cpu", "vega64"], {"cpu": 3}), "says nothing of vega64"),
        (lambda: x.write(floats(99)), "the parts have the shape"),
        (lambda: hw.map(brook.where, x), "cannot be cut"),
        (
            lambda: hw.map(brook.saxpy, 1.0, x, hw.spread(floats(100), ["cpu", "cpu"], [1, 2])),
            "the same devices and shares",
        ),
        (lambda: hw.map(brook.saxpy, 1.0, x, x, devices=["cpu"]), "leave devices= out"),
        (lambda: hw.map(brook.saxpy, 1.0, x, x, size=3), "are for OpenCL C"),
        (lambda: hw.map(brook.saxpy, 1.0, x, x, out=floats(100)), "the same devices and shares"),
        (lambda: hw.map(brook.saxpy, 1.0, floats(9), floats(9)), "map wants devices"),
        (lambda: hw.map(brook.saxpy, 1.0, floats(9), floats(9), devices=["cpu"], out=x), "out= is for arguments"),
        (lambda: hw.map(hw.compile(OPENCL).wrong, x), "needs a global size"),
    ):
        with pytest.raises(UsageError, match=message):
            call()


def test_launches_begin_before_any_is_waited_for(brook, monkeypatch):
    from headwater.runtime.interface import Device

    flushed = []
    monkeypatch.setattr(Device, "flush", lambda self: flushed.append(self.name))
    hw.map(brook.saxpy, 1.0, *[hw.spread(floats(64), ["vega64", "hd5870"])] * 2)
    assert sorted(flushed) == ["hd5870", "vega64"]


def test_gather_arrays_stay_until_their_launch_has_ended(brook):
    x, table = floats(64, 4), np.array([3, 5], np.float32)
    p, q = hw.map(brook.both, hw.spread(x, ["vega64", "hd5870"]), table)
    for result in (p, q):
        assert sorted(one.device.name for one in result._held) == ["hd5870", "vega64"]
    p.wait()
    assert np.array_equal(q.read(), x * x)
    assert not p._held
    assert not q._held
