"""Kernels that wait for memory: which they are, and that large launches of them take a cache line at a time."""

import numpy as np
import pytest

import headwater as hw
from headwater.llvm.ir import Module
from headwater.llvm.modules import host_target
from headwater.native.worker import WORKER
from headwater.opencl import codegen, host
from headwater.opencl.kernels import CodeRequest
from headwater.vectorise.layout import Layout
from headwater.vectorise.plan import launch_layout
from headwater.vectorise.plan.launch_layout import choose_layout
from headwater.vectorise.prepare.kernel import read_kernel

SAXPY = "y[i] = 0.5f * x[i] + y[i];"


@pytest.fixture
def halves(monkeypatch):
    """This machine is one of those that move whole vectors in halves, for code that is made in this process, as all is
    then, and for launches of any size."""
    monkeypatch.setattr(codegen, "HALF_PATHS", frozenset((host_target().cpu,)))
    monkeypatch.setattr(
        WORKER, "call", lambda function, *args, **named: getattr(codegen, function.partition(":")[2])(*args, **named)
    )
    monkeypatch.setattr(launch_layout, "caches_bytes", lambda: (0, 0))


def facts(body, element="float", arguments=""):
    source = f"""
    kernel void f(global const {element} *x, global {element} *y{arguments})
    {{
        int i = get_global_id(0);
        {body}
    }}
    """
    module = host.load(source, "lines.cl")
    return codegen.prepare(module.text("f"), "f")[1]


@pytest.mark.parametrize(("element", "items"), [("float", 16), ("int", 16), ("double", 8), ("long", 8)])
def test_what_only_moves_memory_counts_the_items_of_a_line(halves, element, items):
    assert facts("y[i] = x[i] + y[i];", element).line_items == items


@pytest.mark.parametrize(
    ("body", "element", "arguments"),
    [
        ("y[i] = x[i];", "uchar", ""),  # half a vector of lanes is less than half a register
        ("y[i] = x[2 * i];", "float", ""),
        ("y[i] = x[z[i]];", "float", ", global const int *z"),
        ("y[i] = z[i];", "float", ", global const uchar *z"),
        ("y[i] = x[i];", "float4", ""),
        ("y[i] = exp(sin(x[i]));", "float", ""),  # computes
        ("y[i] = x[i]; atomic_inc(&z[0]);", "float", ", global int *z"),
        ("for (int k = 0; k < n; ++k) y[i] += x[i + k];", "float", ", int n"),
        ("local float t[64]; t[i & 63] = x[i]; barrier(CLK_LOCAL_MEM_FENCE); y[i] = t[i & 31];", "float", ""),
    ],
)
def test_what_does_something_else_has_no_such_items(halves, body, element, arguments):
    assert facts(body, element, arguments).line_items == 0


def test_other_processors_take_whole_vectors(monkeypatch):
    monkeypatch.setattr(codegen, "HALF_PATHS", frozenset())
    assert facts(SAXPY).line_items == 0


def test_launches_beyond_the_caches_take_a_line_at_a_time(monkeypatch):
    monkeypatch.setattr(launch_layout, "caches_bytes", lambda: (1 << 20, 1 << 22))
    found = facts(SAXPY)._replace(line_items=16)
    group = (4096, 1, 1)
    usual = choose_layout(found, group, 64)
    assert choose_layout(found, group, 64, (1 << 20, 1, 1)) == usual  # an array fills the cache
    assert choose_layout(found, group, 64, ((1 << 20) + 1, 1, 1)) == Layout(8, 2, 0, 0)
    assert choose_layout(found, group, 64, (1 << 11, 1 << 10, 1)) == Layout(8, 2, 0, 0)
    assert choose_layout(found, (8, 1, 1), 64, (1 << 22, 1, 1)) == choose_layout(found, (8, 1, 1), 64)
    assert choose_layout(found._replace(line_items=8), group, 64, (1 << 20, 1, 1)) == Layout(4, 2, 0, 0)


def test_such_launches_are_right(halves):
    source = (
        f"/* by lines */ kernel void f(global const float *x, global float *y) {{ int i = get_global_id(0); {SAXPY} }}"
    )
    program = hw.compile(source, device="cpu")
    for items in (1, 15, 16, 33, 70_001):
        group = (64, 1, 1)
        layout = host.load(source, "kernel.cl").layout("f", group, (items, 1, 1))
        assert layout == (Layout(8, 2, 0, 0) if items >= 16 else layout)
        x, y = np.arange(items, dtype=np.float32), np.ones(items + 1, np.float32)
        program.f[(items,), None](x, y[1:]).wait()
        assert (y[1:] == 0.5 * x + 1).all()
        assert y[0] == 1


SUM = """
kernel void sum(global const float *x, global float *out, int part)
{
    global const float *own = x + get_group_id(0) * part;
    float total = 0;
    for (int i = get_local_id(0); i < part; i += get_local_size(0)) total += OF(own[i]);
    out[get_global_id(0)] = total;
}
"""


def registers(source):
    module = host.load(source, "sum.cl")
    (name,) = module.kernels
    ir = Module(module.text(name))
    layout = Layout(16, 4, 0, 0)
    return codegen.vectorised(ir, read_kernel(ir, name), "entry", CodeRequest(name, layout, masked=True)).text


def test_loops_that_only_read_use_half_registers(halves):
    whole = host_target().vector_bytes * 8
    assert f'"prefer-vector-width"="{whole // 2}"' in registers(SUM.replace("OF", ""))
    for computes in ("exp", "native_rsqrt"):
        assert f'"prefer-vector-width"="{whole}"' in registers(SUM.replace("OF", computes))


def test_loops_that_write_use_whole_registers(halves):
    grid = "for (int i = get_global_id(0); i < n; i += get_global_size(0)) y[i] += x[i];"
    source = f"kernel void f(global const float *x, global float *y, int n) {{ {grid} }}"
    assert f'"prefer-vector-width"="{host_target().vector_bytes * 8}"' in registers(source)


def test_private_arrays_still_fit_the_stack(halves):
    found = facts(SAXPY)._replace(line_items=16, private_bytes=launch_layout.MAX_PRIVATE_BYTES // 4)
    layout = choose_layout(found, (4096, 1, 1), 64, (1 << 26, 1, 1))
    assert layout.lanes * layout.rows == 4


def test_other_processors_use_whole_registers(monkeypatch):
    monkeypatch.setattr(codegen, "HALF_PATHS", frozenset())
    assert f'"prefer-vector-width"="{host_target().vector_bytes * 8}"' in registers(SUM.replace("OF", ""))


def test_sums_by_half_registers_are_right(halves):
    program = hw.compile(SUM.replace("OF", "/* by halves */"), device="cpu")
    x = np.arange(3000, dtype=np.float32)
    for part, group in ((1000, 64), (997, 100), (5, 64)):
        out = np.zeros(3 * group, np.float32)
        program.sum[(3 * group,), (group,)](x, out, np.int32(part)).wait()
        expected = [x[g * part : (g + 1) * part][i::group].sum() for g in range(3) for i in range(group)]
        assert (out == np.array(expected, np.float32)).all()


def test_lines_are_not_prefetched(halves):
    source = f"kernel void f(global const float *x, global float *y) {{ int i = get_global_id(0); {SAXPY} }}"
    ir = Module(host.load(source, "lines.cl").text("f"))
    text = {
        layout: codegen.vectorised(ir, read_kernel(ir, "f"), "entry", CodeRequest("f", layout)).text
        for layout in (Layout(8, 2, 0, 0), Layout(16, 2, 0, 0))
    }
    assert "@llvm.prefetch" not in text[Layout(8, 2, 0, 0)]
    assert "@llvm.prefetch" in text[Layout(16, 2, 0, 0)]
