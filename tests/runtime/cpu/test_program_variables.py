"""OpenCL's program-scope variables: all kernels of a program use the same ones, which no other program does, not even
one of the same source, and they keep their values."""

import uuid

import numpy as np
import pytest

import headwater as hw
from headwater.opencl import clang, host

SOURCE = """
global int counter = 5;
global uchar bytes[100];
global int *global chosen = &counter;
kernel void write(global int *x) { counter = x[0]; bytes[7] = x[0]; }
kernel void read(global int *x) { x[get_global_id(0)] = *chosen + bytes[7]; }
kernel void count(global int *x) { static global int calls = 3; if (get_global_id(0) == 0) x[0] = ++calls; }
"""


def launched(program, name, values, group, check=None):
    array = np.array(values, np.int32)
    program.kernels[name].prepare(array.shape, (group,), check=check)([program.device.wrap(array)])
    return array.tolist()


@pytest.mark.parametrize(("name", "check"), [("cpu", False), ("cpu", True), ("vega64", False)])
def test_kernels_share_the_programs_variables_whatever_their_groups(name, check, monkeypatch):
    monkeypatch.setenv("HEADWATER_CHECK", "1" if check else "0")
    device = hw.device(name)
    program, other = (device.build(SOURCE, "x.cl", "-cl-std=CL3.0") for _ in range(2))
    assert launched(program, "read", [0] * 64, 64) == [5] * 64
    launched(program, "write", [40], 1)
    assert launched(program, "read", [0] * 64, 64) == [80] * 64
    assert launched(program, "read", [0] * 3, 1) == [80] * 3
    assert launched(program, "read", [0] * 512, 512) == [80] * 512
    assert [launched(program, "count", [0], 1)[0], launched(program, "count", [0] * 64, 64)[0]] == [4, 5]
    assert launched(other, "read", [0] * 2, 2) == [5] * 2


@pytest.mark.parametrize("name", ["cpu", "vega64", "hd5870"])
def test_one_compilation_tells_the_size_of_the_variables(name, monkeypatch):
    runs = []
    run = clang.run_clang
    monkeypatch.setattr(clang, "run_clang", lambda *args, **named: runs.append(args) or run(*args, **named))
    text = "global int v = 3; global uchar b[10]; kernel void f(global int *x) { x[0] = v + b[0]; }"
    text += f"// {uuid.uuid4()}"
    for _ in range(2):  # compiled, and found in the cache
        assert hw.device(name).build(text, "x.cl", "-cl-std=CL2.0").variable_bytes == 14
        host._loaded.clear()
    assert len([args for args in runs if text in args[1]]) == 1


@pytest.mark.parametrize("name", ["cpu", "vega64"])
def test_sources_of_one_meaning_have_variables_of_their_own(name):
    device = hw.device(name)
    text = "global {0} v = 5; kernel void next(global int *x) {{ x[0] = ++v; }}"
    programs = [device.build(text.format(ty), "x.cl", "-cl-std=CL3.0") for ty in ("int", "ptrdiff_t", "long", "int")]
    assert [launched(program, "next", [0], 1) for program in programs] == [[6]] * 4


@pytest.mark.parametrize("name", ["cpu", "vega64"])
def test_checked_launches_have_variables_of_their_own(name):
    program = hw.device(name).build(SOURCE, "x.cl", "-cl-std=CL3.0")
    for check in (False, True):
        launched(program, "write", [40 + check], 1, check=check)
    assert [launched(program, "read", [0], 1, check=check) for check in (False, True)] == [[80], [82]]
