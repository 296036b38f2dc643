"""Constants in indices are added after the extension, where nothing else wants the sum of 32 bits."""

import numpy as np
import pytest

import headwater as hw
from headwater.llvm.ir import Module
from headwater.llvm.modules import parse
from headwater.llvm.passes.index_constants import constants_outside
from headwater.opencl import clang

SOURCE = "kernel void k(global const int *a, global int *b, int i) {{ int j; b[0] = {}; }}"


def rewritten(expression, options=""):
    """How often the rewriting finds something, in IR that LLVM accepts after it."""
    module = Module(clang.compile_to_ir(SOURCE.format(expression), "k.cl", options).ir)
    constants_outside(module)
    new = str(module)
    parse(new).verify()
    return sum(line.lstrip().split(" = ")[-1].startswith(("add nsw i64", "sub nsw i64")) for line in new.split("\n"))


@pytest.mark.parametrize(
    ("expression", "count"),
    [
        ("a[i - 1]", 1),
        ("a[i + 3] + a[i - 7]", 2),
        ("a[(j = i - 1)] + j", 0),
        ("a[i]", 0),
        ("a[i - b[1]]", 0),
        ("a[(uint)i + 1u]", 0),
        ("a[i * 4 + 1]", 1),
        ("a[1 + i]", 0),
    ],
)
def test_what_is_rewritten(expression, count):
    assert rewritten(expression) == count


def test_lines_of_the_source_stay():
    assert rewritten("a[i - 1]", "-g") == 1


def test_text_without_such_indices_stays_itself():
    module = Module(clang.compile_to_ir(SOURCE.format("a[i]"), "k.cl", "").ir)
    before = str(module)
    constants_outside(module)
    assert str(module) == before


def test_indices_mean_the_same():
    source = """
    kernel void k(global const int *a, global int *b, int n)
    {
        int i = get_global_id(0) + 1, j;
        b[i] = a[i - 1] * 3 + a[i + 1] * 5 + a[n - 1] + a[(j = i - 1)] * j + a[(char)(i + 127) + 128];
    }
    """
    a, b = np.arange(300, dtype=np.int32) ** 2, np.zeros(300, np.int32)
    hw.compile(source, device="cpu").k[(200,), None](a, b, np.int32(300))
    i = np.arange(1, 201)
    expected = (
        a[i - 1] * 3 + a[i + 1] * 5 + a[299] + a[i - 1] * (i - 1) + a[(i + 127).astype(np.int8).astype(int) + 128]
    )
    np.testing.assert_array_equal(b[1:201], expected.astype(np.int32))
    assert not b[0]
    assert not b[201:].any()
