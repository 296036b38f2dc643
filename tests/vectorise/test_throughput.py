"""How many rows of work-items keep the processor busy, estimated from a kernel's chains of operations."""

import pytest

from headwater.llvm.gathers import EMULATED_GATHERS, QUICK_GATHERS, SLOW_GATHERS
from headwater.llvm.ir import Module
from headwater.opencl import codegen, host
from headwater.vectorise.analysis.row_count import Flow
from headwater.vectorise.layout import Layout
from headwater.vectorise.plan.launch_layout import choose_layout
from headwater.vectorise.prepare.kernel import read_kernel

HASH = """
kernel void hash(global const uint *keys, global uint *hashes, int rounds)
{
    int i = get_global_id(0);
    uint h = keys[i];
    for (int r = 0; r < rounds; ++r) {
        h *= 0x85ebca6bu;
        h ^= h >> 13;
        h *= 0xc2b2ae35u;
        h ^= h >> 16;
    }
    hashes[i] = h;
}
"""
FILTER = """
kernel void filter(global const float *in, constant float *weights, global float *out)
{
    int i = get_global_id(0);
    float sum = 0;
    #pragma unroll
    for (int k = 0; k < 25; ++k)
        sum += weights[k] * in[i + k];
    out[i] = sum;
}
"""
COPY = "kernel void copy(global const float *in, global float *out) { int i = get_global_id(0); out[i] = in[i]; }"


def facts(source):
    module = host.load(source, "flow.cl")
    (name,) = module.kernels
    return module.facts(name)


def test_a_loop_that_waits_for_itself_gets_rows_that_do_not_wait():
    found = facts(HASH)
    # Two products of 10 cycles, two shifts and two exclusive ors.
    assert found.flow == Flow(24.0, 8 / 3, 0.0, 0.0, 2.0, 1.0, found.flow.instructions, loop=True)
    assert choose_layout(found, (4096, 1, 1), 32) == Layout(8, 16, 0, 0)
    assert choose_layout(found, (4096, 1, 1), 64) == Layout(16, 16, 0, 0)
    assert choose_layout(found, (64, 1, 1), 64) == Layout(16, 4, 0, 0)


def test_weights_that_all_work_items_load_are_loaded_for_several_rows():
    found = facts(FILTER)
    assert (found.flow.loads, found.flow.shared) == (25.0, 25.0)
    assert found.flow.chain >= 100.0
    assert choose_layout(found, (4096, 1, 1), 32).rows >= 8
    assert choose_layout(found, (4096, 1, 1), 64).rows == 4


@pytest.mark.parametrize(("live", "registers", "rows"), [(10.0, 16, 2), (14.0, 32, 2), (20.0, 16, 1)])
def test_values_that_fill_the_registers_leave_no_room_for_rows(live, registers, rows):
    median = Flow(9.0, 10.0, 9.0, 0.0, live, 0.0, 65.0, loop=False)
    assert median.rows(2, 16, registers) == rows


def test_what_only_moves_memory_keeps_the_usual_rows():
    assert choose_layout(facts(COPY), (4096, 1, 1), 64) == Layout(16, 2, 0, 0)


def test_long_code_is_not_made_longer():
    long = Flow(200.0, 50.0, 0.0, 0.0, 4.0, 0.0, 1000.0, loop=False)
    short = Flow(200.0, 50.0, 0.0, 0.0, 4.0, 0.0, 100.0, loop=False)
    assert long.rows(2, 16, 32) == 2
    assert short.rows(2, 16, 32) > 2


PRODUCT = """
kernel void product(global const float *values, global const int *columns, global const int *starts,
                    global const float *x, global float *y)
{
    int row = get_global_id(0);
    float total = 0;
    for (int k = starts[row]; k < starts[row + 1]; ++k) total += values[k] * x[columns[k]];
    y[row] = total;
}
"""
SEARCH = """
kernel void search(global const float *sorted, global const float *wanted, global int *found, int n)
{
    int i = get_global_id(0), low = 0, high = n;
    float value = wanted[i];
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < value) low = middle + 1; else high = middle;
    }
    found[i] = low;
}
"""


@pytest.mark.parametrize(
    ("source", "gathers", "layout"),
    [
        (PRODUCT, SLOW_GATHERS, Layout(1, 1, 0, 1)),
        (PRODUCT, EMULATED_GATHERS, Layout(1, 1, 0, 1)),
        (PRODUCT, QUICK_GATHERS, Layout(8, 1, 0, 0)),  # its three gathers a trip wait for nothing
        (SEARCH, QUICK_GATHERS, Layout(16, 2, 0, 0)),  # each waits for the one before
    ],
)
def test_what_gathers_cost_decides_on_lanes_and_rows(source, gathers, layout, monkeypatch):
    monkeypatch.setattr(codegen, "gathers", lambda: gathers)
    (name,) = host.load(source, "flow.cl").kernels
    text = host.load(source, "flow.cl").text(name)
    found = codegen._facts(read_kernel(Module(text), name))
    assert choose_layout(found, (256, 1, 1), 64) == layout
