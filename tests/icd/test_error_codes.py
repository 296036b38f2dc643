"""Wrong calls give the error codes that OpenCL's specification names, and never end the host."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.errors import GroupSizeError, LaunchError, OutOfMemoryError, ResourceError
from headwater.icd.constants import CL
from headwater.icd.server.launches import status_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the library is run on Linux")


HERE = Path(__file__).parent


def run(command, devices, **variables):
    """A program in a process of its own, which calls the platform without a loader."""
    environ = {**os.environ, "HEADWATER_ICD_DEVICES": devices, "HEADWATER_PYTHON": sys.executable}
    environ["HEADWATER_PYTHONPATH"] = str(HERE.parents[1])
    return subprocess.run(
        [sys.executable, *command], env=environ | variables, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize("devices", ["cpu,vega64", "vega64,cpu", "hd5870,cpu"])
def test_every_wrong_call_gives_the_error_that_the_specification_names(devices):
    done = run([HERE / "wrong_calls.py"], devices)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (GroupSizeError("too large"), "INVALID_WORK_GROUP_SIZE"),
        (LaunchError("`int groups` takes a number"), "OUT_OF_RESOURCES"),
        (OutOfMemoryError("none left"), "MEM_OBJECT_ALLOCATION_FAILURE"),
        (ResourceError("no memory for so many blocks on this chip"), "OUT_OF_RESOURCES"),
    ],
)
def test_a_launch_fails_with_the_code_of_its_error(error, name):
    assert status_of(error) == CL[name]


LOST = """
import ctypes, glob, os, signal, subprocess, time
from ctypes import byref, c_char_p, c_uint32, c_void_p
from calls import PLATFORM, call, handles, make, sizes
from headwater.icd.constants import CL

devices, said = handles(None), []
call("clGetDeviceIDs", PLATFORM, CL["DEVICE_TYPE_ALL"], 1, devices, None)
report = ctypes.CFUNCTYPE(None, c_char_p, c_void_p, ctypes.c_size_t, c_void_p)(lambda text, *_: said.append(text))
context = make("clCreateContext", None, 1, devices, report, None)
queue = make("clCreateCommandQueue", context, devices[0], 0)
source = b"kernel void f(global volatile int *x) { while (x[1]) x[0] += 1; }"
program = make("clCreateProgramWithSource", context, 1, (c_char_p * 1)(source), None)
assert call("clBuildProgram", program, 0, None, None, None, None) == 0
kernel = make("clCreateKernel", program, b"f")
memory = (ctypes.c_int32 * 2)(0, 1)
buffer = make("clCreateBuffer", context, CL["MEM_COPY_HOST_PTR"], 8, memory)
call("clSetKernelArg", kernel, 0, 8, byref(buffer))

def children():
    return [int(child) for file in glob.glob("/proc/self/task/*/children") for child in open(file).read().split()]

def lose():
    event = c_void_p()
    assert call("clEnqueueNDRangeKernel", queue, kernel, 1, None, sizes(1), None, 0, None, byref(event)) == 0
    assert call("clFlush", queue) == 0
    mapped = call("clEnqueueMapBuffer", make("clCreateCommandQueue", context, devices[0], 0), buffer, 1, 1, 0, 8, 0, None, None)
    counter = ctypes.cast(mapped, ctypes.POINTER(ctypes.c_int32))
    while not counter[0]:
        time.sleep(0.001)
    for child in children():
        os.kill(child, signal.SIGKILL)
    return event

read = lambda: call("clEnqueueReadBuffer", queue, buffer, 1, 0, 8, memory, 0, None, None)
"""


def test_a_lost_launch_is_told_once_by_whatever_the_program_does_next():
    text = """
lost = CL["OUT_OF_RESOURCES"]
lose()
print(call("clFinish", queue) == lost, call("clFinish", queue), len(said), b"f: no server" in said[0])
zero = (ctypes.c_int32 * 2)(0, 0)
assert call("clEnqueueWriteBuffer", queue, buffer, 1, 0, 8, zero, 0, None, None) == 0
assert call("clEnqueueWriteBuffer", queue, buffer, 1, 4, 4, (ctypes.c_int32 * 1)(1), 0, None, None) == 0
lose()
print(read() == lost, read())
assert call("clEnqueueWriteBuffer", queue, buffer, 1, 0, 4, zero, 0, None, None) == 0
event = lose()
print(call("clWaitForEvents", 1, handles(event)) == CL["EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"], read())
assert call("clEnqueueWriteBuffer", queue, buffer, 1, 0, 8, zero, 0, None, None) == 0
assert call("clEnqueueNDRangeKernel", queue, kernel, 1, None, sizes(1), None, 0, None, None) == 0
print(call("clFinish", queue), len(said))
while len(children()) > 1:  # those that were killed are not left behind
    time.sleep(0.01)
"""
    done = run(["-c", LOST + text], "cpu", PYTHONPATH=os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]))
    assert done.stdout == "True 0 1 True\nTrue 0\nTrue 0\n0 3\n", done.stderr


def test_a_native_kernel_gets_the_addresses_of_its_buffers():
    text = """
import ctypes
from ctypes import byref, c_int32, c_void_p
from calls import PLATFORM, call, handles, make, sizes
from headwater.icd.constants import CL

class Arguments(ctypes.Structure):
    _fields_ = [("count", c_int32), ("x", c_void_p)]

def double(arguments):
    given = ctypes.cast(arguments, ctypes.POINTER(Arguments))[0]
    x = ctypes.cast(given.x, ctypes.POINTER(c_int32))
    for i in range(given.count):
        x[i] *= 2

devices = handles(None)
call("clGetDeviceIDs", PLATFORM, CL["DEVICE_TYPE_ALL"], 1, devices, None)
context = make("clCreateContext", None, 1, devices, None, None)
queue = make("clCreateCommandQueue", context, devices[0], 0)
memory = (c_int32 * 4)(1, 2, 3, 4)
buffer = make("clCreateBuffer", context, CL["MEM_COPY_HOST_PTR"], 16, memory)
function = ctypes.CFUNCTYPE(None, c_void_p)(double)
given = Arguments(3, buffer)
places = handles(ctypes.addressof(given) + Arguments.x.offset)
native = ctypes.cast(function, c_void_p)
size, none = ctypes.sizeof(given), (0, None, None)
assert call("clEnqueueNativeKernel", queue, native, byref(given), size, 1, handles(buffer), places, *none) == 0
given.count = 0  # they were copied
assert call("clEnqueueReadBuffer", queue, buffer, 1, 0, 16, memory, *none) == 0
print(list(memory))
# A place that leaves no room for an address is not written to.
assert call("clEnqueueNativeKernel", queue, native, byref(c_int32(0)), 4, 1, handles(buffer), places, *none) == 0
print(call("clFinish", queue))
"""
    done = run(["-c", text], "cpu", PYTHONPATH=os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]))
    assert done.stdout == "[2, 4, 6, 4]\n0\n", done.stderr
