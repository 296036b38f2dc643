"""Rows along y share what is surely the same in two of them: addresses, and so loads; such kernels are laid out so."""

import re

import numpy as np
import pytest

from benchmarks.forced_layouts import LAYOUTS, build, run
from headwater.llvm.ir import Module
from headwater.opencl import clang, codegen, library
from headwater.opencl.kernels import CodeRequest
from headwater.vectorise.layout import Layout
from headwater.vectorise.plan.launch_layout import choose_group, choose_layout
from headwater.vectorise.prepare.kernel import read_kernel

BOX = """
kernel void k(global const float *in, global float *out, int width)
{
    int x = get_global_id(0), y = get_global_id(1);
    float total = 0;
    for (int j = 0; j < 3; ++j)
        for (int i = 0; i < 3; ++i)
            total += in[(y + j) * width + x + i];
    out[y * width + x] = total;
}
"""
CROSS = """
kernel void k(global const float *in, global float *out, int width)
{
    int i = (get_global_id(1) + 1) * width + get_global_id(0) + 1;
    out[i] = in[i - width] + in[i - 1] + in[i] + in[i + 1] + in[i + width];
}
"""
NINE = """
kernel void k(global const float *in, global float *out, int width)
{
    int x = get_global_id(0) + 1, y = get_global_id(1) + 1, i = y * width + x;
    out[i] = in[i - width - 1] + in[i - width] + in[i - width + 1] + in[i - 1] + in[i] + in[i + 1]
           + in[i + width - 1] + in[i + width] + in[i + width + 1];
}
"""
APART = "kernel void k(global const float *in, global float *out, int width) { %s }"
PLAIN = APART % "int i = get_global_id(1) * width + get_global_id(0); out[i] = in[i];"
STORED = APART % "int i = get_global_id(1) * width + get_global_id(0); out[i] = 1; out[i] = in[i] + in[i + width];"
LOOP = APART % (
    "int i = get_global_id(1) * width + get_global_id(0); float t = 0;"
    "for (int j = 0; j < width; ++j) t += in[i + j * width] + in[i + (j + 1) * width]; out[i] = t;"
)


def prepared(source):
    front = clang.compile_to_ir(source, "k.cl", "")
    linked, _ = codegen.link(front.ir, library.definitions(library.called(front.ir)), ["k"], "k.cl")
    return codegen.prepare(linked, "k")


@pytest.mark.parametrize(("source", "loads"), [(BOX, 12), (CROSS, 8), (NINE, 12), (PLAIN, 2)])
def test_two_rows_load_from_as_few_places_as_there_are(source, loads):
    module = Module(prepared(source)[0])
    code = codegen.vectorised(module, read_kernel(module, "k"), "entry", CodeRequest("k", Layout(16, 2, 0, 1))).text
    full = code.split("@chunk.masked(")[0]
    assert len(set(re.findall(r"load <16 x float>, ptr addrspace\(1\) ([^,]+),", full))) == loads


@pytest.mark.parametrize(
    ("source", "share"), [(BOX, True), (CROSS, True), (NINE, True), (PLAIN, False), (STORED, False), (LOOP, False)]
)
def test_which_kernels_share_loads_between_rows(source, share):
    assert prepared(source)[1].rows_share is share


def test_rows_that_share_lie_along_y():
    facts = prepared(BOX)[1]
    facts = facts._replace(flow=facts.flow._replace(live=1.0, chain=100.0, instructions=100.0))
    assert choose_layout(facts, (2046, 8, 1), 64) == Layout(32, 2, 0, 1)
    assert choose_layout(facts, (16, 16, 1), 64) == Layout(16, 2, 0, 1)
    assert choose_layout(facts, (2046, 7, 1), 64) == Layout(16, 4, 0, 0)  # each group's last row would be masked
    assert choose_layout(facts._replace(rows_share=False), (2046, 8, 1), 64) == Layout(16, 4, 0, 0)


@pytest.mark.parametrize(
    ("size", "group"),
    [((5000, 100), (5000, 2)), ((9000, 100), (9000, 2)), ((9000, 1), (9000, 1)), ((100, 7), (100, 6))],
)
def test_groups_of_such_kernels_have_an_even_number_of_rows(size, group):
    assert choose_group(prepared(BOX)[1], (*size, 1)) == (*group, 1)


WRAPPING = {
    "products": "in[(uint)(y * 0x10000u * 0x10000u) + x] + in[(uint)((y + 1) * 0x40000000u) / 0x40000000u + x]",
    "extended sums": "in[((long)(int)(y * 0x40000000) >> 30) + 2 + x] "
    "+ in[(((long)(int)(y * 0x40000000) + 0x40000000) >> 30) + 2 + x] "
    "+ in[((long)(int)((y + 1) * 0x40000000) >> 30) + 2 + x]",
    "unsigned differences": "in[(ulong)(uint)(y - 3u) % 5 + x] + in[((ulong)y + 0xfffffffdul) % 5 + x] "
    "+ in[(ulong)(uint)(y - 2u) % 5 + x]",
    "bytes": "in[(uchar)(y * 100) + x] + in[(uchar)(y * 100 + 100) + x] + in[y * 100 % 256 + x]",
    "rows from the end": "in[(7 - y) * 40 + x] + in[(6 - y) * 40 + x] + in[(8 - y) * 40 + x]",
    "where it depends": "y % 3 ? in[y * 40 + x] : in[(y + 1) * 40 + x] + in[(y + 2) * 40 + x]",
}


@pytest.mark.parametrize("expression", WRAPPING.values(), ids=WRAPPING.keys())
@pytest.mark.parametrize("layout", [None, *(layout for layout in LAYOUTS if layout.rows > 1)], ids=str)
def test_rows_are_not_mixed_up_where_indices_wrap_around(expression, layout):
    source = APART % f"uint x = get_global_id(0), y = get_global_id(1); out[y * width + x] = {expression};"
    values = np.random.default_rng(3).random(4096).astype(np.float32)
    args = (values, np.zeros(37 * 7, np.float32), np.int32(37))
    expected = run(build(source, Layout(1)), "k", (37, 7), None, args)
    got = run(build(source, layout), "k", (37, 7), None, args)
    np.testing.assert_array_equal(got[1], expected[1])
