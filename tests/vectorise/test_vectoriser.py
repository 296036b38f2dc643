"""What the vectoriser writes for a chunk of work-items: parts that rows share, and prefetches."""

import re

import numpy as np
import pytest

import headwater as hw
from headwater.llvm.cfg import Cfg
from headwater.llvm.gathers import EMULATED_GATHERS, SLOW_GATHERS
from headwater.llvm.ir import Module
from headwater.opencl import clang, codegen, library
from headwater.opencl.kernels import CodeRequest
from headwater.vectorise.analysis.linearisation import Linear
from headwater.vectorise.analysis.shapes import Shapes
from headwater.vectorise.analysis.sums_of_products import Sums
from headwater.vectorise.layout import Layout
from headwater.vectorise.prepare.kernel import read_kernel
from tests.counted import count_calls

SUM = """
kernel void k(global const float *in, global float *out, int n)
{
    float total = 0;
    for (int i = get_local_id(0); i < n; i += get_local_size(0)) total += in[i];
    out[get_local_id(0)] = total;
}
"""
STENCIL = """
kernel void k(global const float *in, global float *out, int width)
{
    int i = (get_global_id(1) + 1) * width + get_global_id(0) + 1;
    out[i] = in[i - 1] + in[i] + in[i + 1] + in[i - width] + in[i - width - 1] + in[i + width] + in[i + width + 1];
}
"""


def prepared(source):
    front = clang.compile_to_ir(source, "k.cl", "")
    linked, _ = codegen.link(front.ir, library.definitions(library.called(front.ir)), ["k"], "k.cl")
    module = Module(codegen.prepare(linked, "k")[0])
    return module, read_kernel(module, "k")


def vectorised(source, layout, masked=False):
    module, kernel = prepared(source)
    return codegen.vectorised(module, kernel, "entry", CodeRequest("k", layout, masked=masked)).text


@pytest.mark.parametrize("layout", [Layout(16), Layout(16, 4, 0, 0), Layout(16, 4, 0, 1)], ids=str)
def test_a_strided_loop_counts_once_for_all_lanes_and_rows(layout):
    full = vectorised(SUM, layout).split("@chunk.masked(")[0]
    assert re.findall(r" = alloca (i\d+)$", full, re.MULTILINE) == ["i32"]  # in the bits that the index needs
    assert "load <16 x float>, ptr addrspace(1)" in full
    assert "gather" not in full


@pytest.mark.parametrize("index", ["int", "uint"])
@pytest.mark.parametrize("shift", ["", " + 1", " - 3", " + get_global_size(0)"])
def test_indices_of_32_bits_keep_their_stride(index, shift):
    source = f"""
    kernel void k(global const float *in, global float *out, int width)
    {{
        {index} i = get_global_id(1) * width + get_global_id(0){shift};
        out[get_global_id(0)] = in[i] + in[i + 2];
    }}
    """
    full = vectorised(source, Layout(16)).split("@chunk.masked(")[0]
    assert full.count("load <16 x float>, ptr addrspace(1)") == 2


@pytest.mark.parametrize("rows", [1, 4])
def test_loads_a_constant_apart_are_prefetched_once(rows):
    full = vectorised(STENCIL, Layout(16, rows, 0, 0)).split("@chunk.masked(")[0]
    assert full.count("call void @llvm.prefetch") == 3 * rows  # three lines of the picture, of 64 bytes a row


STRETCHES = """
kernel void k(global const float *in, global float *out)
{
    global const float *own = in + get_global_id(0) * 1024;
    float16 sum = 0;
    for (int i = 0; i < 64; ++i) sum += vload16(i, own);
    float last = sum.s0 + sum.s7 + sum.sf;
    for (int i = 0; i < 64; ++i) {
        float16 v = sqrt(vload16(i, own) + last) * 3.0f + 1.0f;
        vstore16(v, i, out + get_global_id(0) * 1024);
        last = v.sf;
    }
}
"""


@pytest.mark.parametrize(("lanes", "rows"), [(4, 1), (4, 2)])
def test_the_next_chunks_stretches_are_prefetched_in_the_loop_that_does_most(lanes, rows):
    source = STRETCHES
    full = vectorised(source, Layout(lanes, rows, 0, 0)).split("@chunk.masked(")[0]
    fetched = re.findall(r"call void @llvm.prefetch\.p1\(ptr addrspace\(1\) (%\w+), i32 0, i32 2", full)
    assert len(fetched) == lanes * rows  # a line of 64 bytes for each work-item, in one of the two loops
    offsets = {int(re.search(rf"{name} = getelementptr i8, .*, i64 (\d+)$", full, re.MULTILINE)[1]) for name in fetched}
    assert offsets == {lanes * rows * 4096}


def test_what_is_not_walked_through_in_lines_is_not_prefetched():
    gaps = STRETCHES.replace("vload16(i,", "vload16(2 * i,")
    words = STRETCHES.replace("vload16(i, own)", "(float16)own[i]")
    for source in (gaps, words):
        assert "llvm.prefetch" not in vectorised(source, Layout(4, 2, 0, 0))


ROWS = """
kernel void k(global const float *a, global const int *columns, global const int *starts, global const float *x,
              global float *y, int n)
{
    int row = get_global_id(0);
    float sum = 0;
    for (int i = FIRST; i < LAST; ++i) sum += a[i] * x[columns[i]];
    y[row] = sum;
}
"""


def test_what_follows_a_stretch_is_prefetched_if_a_table_tells_where_it_begins():
    told = ROWS.replace("FIRST", "starts[row]").replace("LAST", "starts[row + 1]")
    full = vectorised(told, Layout(1)).split("@chunk.masked(")[0]
    fetched = re.findall(r"call void @llvm.prefetch\.p1\(ptr addrspace\(1\) (%\w+), i32 0, i32 3", full)
    assert len(fetched) == 2  # once a row, of the elements and of their columns
    assert full.index(fetched[-1]) < full.index("fmuladd")  # before the loop
    for other in (
        ROWS.replace("FIRST", "row * n").replace("LAST", "row * n + n"),  # all lengths alike
        ROWS.replace("FIRST", "row * n").replace("LAST", "row * n + starts[row]"),  # where it begins is known
        told.replace("a[i] *", "a[2 * i] *").replace("columns[i]", "3 * i"),  # not one element after the other
    ):
        assert "llvm.prefetch" not in vectorised(other, Layout(1))


@pytest.mark.parametrize(
    ("kind", "words"), [("uchar4", "v8i32"), ("short2", "v8i32"), ("half8", "v32i32"), ("uchar2", "v16i8")]
)
def test_masks_of_small_elements_are_those_of_words(kind, words):
    source = f"""#pragma OPENCL EXTENSION cl_khr_fp16 : enable
    kernel void k(global const {kind} *in, global {kind} *out)
    {{ int i = get_global_id(0); out[i] = in[i] + in[i + 1]; }}"""
    code = vectorised(source, Layout(8), masked=True)
    assert set(re.findall(r"@llvm\.masked\.(?:load|store)\.(\w+)", code)) == {words}


SEARCHES = """
kernel void k(global const float *in, global const int *at, global float *out)
{
    int i = get_global_id(0), place = at[i];
    if (place > 3) out[place] = in[place & 255];
}"""


def test_lanes_that_are_off_go_nowhere_where_gathers_have_no_masks(monkeypatch):
    calls = re.compile(
        r"call \S+(?: x \S+)? @llvm\.masked\.(?:gather|scatter)\S+\(.* (%\S+|splat \(i1 true\))(?:, .*poison)?\)$", re.M
    )
    monkeypatch.setattr(codegen, "gathers", lambda: SLOW_GATHERS)
    masks = calls.findall(vectorised(SEARCHES, Layout(8)))
    assert len(masks) == 2
    assert all(mask.startswith("%") for mask in masks)
    monkeypatch.setattr(codegen, "gathers", lambda: EMULATED_GATHERS)
    code = vectorised(SEARCHES, Layout(8))
    assert calls.findall(code) == ["splat (i1 true)"] * 2
    assert code.count('addrspacecast ptr %"nowhere"') == 2


def test_vectors_of_one_work_item_stay_whole():
    """A product of matrices by rows of ``float4`` took eight times as long by components."""
    source = """
    kernel void k(global const float4 *a, global const float4 *b, global float *c, int n) {
      float4 sum = 0.0f;
      for (int i = 0; i < n; ++i) sum += a[i] * b[get_global_id(0) * n + i];
      c[get_global_id(0)] = sum.x + sum.y + sum.z + sum.w;
    }"""
    text = vectorised(source, Layout(1))
    loop = text[text.index("load <4 x float>") :]
    assert re.search(r"= call <4 x float> @llvm\.(fmuladd|fma)\.v4f32", loop)
    assert "float @llvm.fma" not in loop.replace("<4 x float> @llvm.fma", "")
    assert loop.count("extractelement <4 x float>") == 4  # of the sum, after the loop


def test_sums_of_addresses():
    _, kernel = prepared(STENCIL)
    sums = Sums(kernel.function)
    insts = [i for block in kernel.function.blocks.values() for i in block.insts]
    places = [dict(sums.of(i.args[0])) for i in insts if i.op == "load"]
    offsets = sorted(place.pop((), 0) for place in places)
    lines = {frozenset(place.items()) for place in places}
    assert offsets == [0, 0, 4, 4, 4, 8, 8]  # bytes from the element before the middle
    assert len(lines) == 3


LARGE = """
kernel void k(global float *out)
{
    float own[SIZE];
    for (int i = 0; i < SIZE; ++i) own[i] = out[0] + i;
    out[get_global_id(0)] = own[(int)out[0] + get_global_id(0)];
}
"""


@pytest.mark.parametrize("size", [1000, 20_000, 200_000])
def test_large_private_arrays_leave_room_on_the_stack(size):
    out = np.zeros(64, np.float32)
    hw.compile(LARGE, options=f"-D SIZE={size}", device="cpu").k[64, None](out)
    assert (out == np.arange(64)).all()


def test_private_arrays_that_are_too_large_are_refused():
    program = hw.compile(LARGE, options="-D SIZE=4000000", device="cpu")
    with pytest.raises(hw.ResourceError, match="k: the private arrays of a work-item take 16000000 bytes"):
        program.k[64, None](np.zeros(64, np.float32))


def test_a_chosen_format_of_printf_is_refused():
    source = 'kernel void k(global float *a) { printf(a[get_global_id(0)] > 1 ? "more %f" : "less %f", a[0]); }'
    with pytest.raises(hw.SourceError, match="the format of printf must be a string literal"):
        hw.compile(source, device="cpu").k[64, None](np.zeros(64, np.float32))


def test_branches_in_sequence_are_put_in_order_in_time_that_grows_with_their_number():
    def calls(number):
        line = "  if (x * {0} & 64) {{ a[i] = x; x += {0}; }}\n"
        lines = "".join(line.format(2 * k + 1) for k in range(number))
        head = "kernel void k(global int *a)\n{\n  int i = get_global_id(0), x = a[i];\n"
        kernel = prepared(f"{head}{lines}  a[i] = x;\n}}\n")[1]
        shapes = Shapes(kernel.function, kernel.cfg, Layout(16), {})
        return count_calls(Linear, kernel.function, kernel.cfg, shapes)

    assert calls(200) < 15 * calls(20)


def test_values_that_meet_far_from_where_lanes_part_take_time_that_grows_with_their_number():
    """Two rows of blocks, from each of which lanes go on in either."""

    def calls(number):
        lines = ["entry:", "  %id = call i64 @_Z13get_global_idj(i32 0)"]
        lines += ["  %c = icmp eq i64 %id, 9", "  br i1 %c, label %a0, label %b0"]
        for k in range(number):
            for row in "ab":
                ways = f"[ %va{k - 1}, %a{k - 1} ], [ %vb{k - 1}, %b{k - 1} ]" if k else f"[ {ord(row)}, %entry ]"
                lines += [f"{row}{k}:", f"  %v{row}{k} = phi i32 {ways}", f"  %c{row}{k} = icmp eq i32 %v{row}{k}, {k}"]
                lines += [f"  br i1 %c{row}{k}, label %a{k + 1}, label %b{k + 1}"]
        lines += [f"a{number}:", "  ret void", f"b{number}:", "  ret void"]
        text = "\n".join(["define void @f() {", *lines, "}", "declare i64 @_Z13get_global_idj(i32)"])
        function = Module(text).function("f")
        return count_calls(Shapes, function, Cfg(function), Layout(16), {})

    assert calls(200) < 15 * calls(20)


def test_a_variable_that_a_loop_sets_now_and_then_needs_no_first_value():
    source = """kernel void k(global const int *x, global int *out, int n) {
      int g = get_global_id(0), last;
      for (int i = 0; i < n; i++) { int v = x[i * 64 + g]; if (v > 3) last = v * 2; }
      out[g] = last; }"""
    x = np.random.default_rng(1).integers(0, 10, (10, 64)).astype(np.int32)
    x[0] = 9
    out = np.zeros(64, np.int32)
    hw.compile(source, device="cpu").k[64, None](x.ravel(), out, 10)
    assert out.tolist() == [2 * column[column > 3][-1] for column in x.T]
