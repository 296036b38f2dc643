"""Memory of OpenCL devices that is used again."""

import gc
import subprocess
import sys

import numpy as np
import pytest

import headwater as hw
from headwater.errors import DeviceError
from headwater.runtime.opencl.pool import Pool

pytest.importorskip("pyopencl")


@pytest.fixture
def device():
    try:
        known = hw.device("opencl")
    except DeviceError as error:
        pytest.skip(str(error))
    return type(known)(known.name, known.cl_device)  # whose queue is the only one


def place(stream):
    return stream.buffer.memory.int_ptr


def test_memory_is_used_again_for_the_same_size(device):
    first = hw.stream(np.ones(5000, np.float32), device=device)
    where = place(first)
    del first
    gc.collect()
    other = hw.stream(np.zeros(5001, np.float32), device=device)
    again = hw.stream(np.arange(5000, dtype=np.float32), device=device)
    assert place(other) != where
    assert place(again) == where
    assert (again.read() == np.arange(5000)).all()


def test_memory_that_somebody_else_may_use_is_not(device):
    first = hw.stream(np.ones(5000, np.float32), device=device)
    memory = first.buffer.mem
    del first
    gc.collect()
    assert device.pool.take(20000) is None
    assert memory.size == 20000
    hw.stream(np.ones(5000, np.float32), device=device)
    hw.Queue(device)
    gc.collect()
    hw.stream(np.ones(5000, np.float32), device=device)
    gc.collect()
    assert device.pool.take(20000) is None


SLOW = """
kernel void slow(global volatile uint *x, uint n) {
  uint v = 1;
  for (uint i = 0; i < n; i++) v = (v * 1664525u + 1013904223u) ^ x[1];
  for (int i = 0; i < 2000; i++) x[i] = v | 1;
}
"""


def test_what_a_new_queue_writes_stays_where_memory_had_another_user(device):
    slow = hw.compile(SLOW, device=device).slow[(1,), (1,)]
    used = hw.stream(np.zeros(2000, np.uint32), device=device)
    slow(used, 10, device=device).wait()
    slow(used, 10_000_000, device=device)
    device.flush()
    where = place(used)
    del used
    gc.collect()
    again = hw.Stream(device, (2000,), np.dtype(np.uint32), device.allocate(8000))
    assert place(again) == where
    queue = hw.Queue(device)
    slow(again, 0, queue=queue, device=device)
    queue.wait()
    device.finish()
    assert (again.read() == 1).all()


def test_launches_with_arrays_use_memory_again(device):
    program = hw.compile("kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }", device=device)
    x = np.arange(5000, dtype=np.int32)
    for _ in range(3):
        program.twice[(5000,), None](x, device=device)
    assert (x == 8 * np.arange(5000)).all()
    gc.collect()
    assert device.pool.take(20000) is not None
    assert device.pool.take(20000) is None


def test_a_pool_keeps_the_newest_up_to_its_size():
    pool = Pool(4 * Pool.SMALLEST)
    for name in "abcde":
        pool.give(Pool.SMALLEST, name)
    pool.give(Pool.SMALLEST - 1, "small")
    pool.give(5 * Pool.SMALLEST, "large")
    assert pool.take(Pool.SMALLEST - 1) is None
    assert [pool.take(Pool.SMALLEST) for _ in range(5)] == ["e", "d", "c", "b", None]
    pool.give(Pool.SMALLEST, "a")
    assert pool.take(5 * Pool.SMALLEST) is None  # and frees what is kept
    assert pool.take(Pool.SMALLEST) is None


def test_the_garbage_collector_gives_back_while_memory_is_taken():
    pool, before = Pool(100 * Pool.SMALLEST), gc.get_threshold()

    class Garbage:
        def __init__(self):
            self.itself = self

        def __del__(self):
            pool.give(Pool.SMALLEST, object())

    try:
        for threshold in range(1, 8):
            gc.set_threshold(threshold, 1000, 1000)
            for _ in range(50):
                Garbage()
                assert pool.take(2 * Pool.SMALLEST) is None
                pool.give(Pool.SMALLEST, object())
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert pool.take(Pool.SMALLEST) is not None


def test_buffers_may_outlive_the_modules_when_the_interpreter_ends():
    """It empties those modules that something holds, the last imported first: ``os`` is one of the first."""
    program = """
import os
import sys
from types import SimpleNamespace
from headwater.runtime.opencl.device import ClBuffer
from headwater.runtime.opencl.pool import Pool
sys.held = list(sys.modules.values())
os.kept = ClBuffer(SimpleNamespace(pool=Pool(1 << 20)), object(), 1 << 16)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
