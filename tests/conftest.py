"""What all tests share: an OpenCL device that works, where there is one; Ctrl-C as in a terminal."""

import gc
import signal

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What ten thousand tests are made of lives to the end: searching it for garbage took a quarter of the time of
    collecting them, and each full search by a test would go through it again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def ctrl_c():
    """A test run that a shell started in the background inherits an ignored SIGINT; tests of Ctrl-C want Python's."""
    previous = signal.getsignal(signal.SIGINT)
    if previous is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.fixture(scope="session")
def opencl_device():
    """The name of the first OpenCL device whose driver can build a kernel; skips the test if there is none.

    A driver may be installed and yet refuse every kernel: PoCL 3.0 from PyPI, with its LLVM 14, does not know newer
    processors.
    """
    pytest.importorskip("pyopencl")
    from headwater.errors import HeadwaterError
    from headwater.runtime.opencl.device import enumerate_devices

    for device in enumerate_devices():
        try:
            device.build("__kernel void k(__global int *a) { a[get_global_id(0)] = 1; }", "probe.cl")
        except HeadwaterError:
            continue
        return device.name
    pytest.skip("no OpenCL device that can build a kernel")
