"""Carets stand under what an error is about, whatever letters stand before it, in every language."""

import numpy as np
import pytest

import headwater as hw
from headwater.errors import SourceError, Span, span_of_bytes
from headwater.il.parser import parse

# What stands before the fault, and how many cells of a terminal it takes: letters of one cell that take two bytes, a
# tab, which stays one, characters of two cells, and a letter with an accent of its own that combines with it.
BEFORE = [("/* ascii */ ", 12), ("/* größe */ ", 12), ("/* 漢字 */ ", 11), ("/* e\u0301 */ ", 8), ("/* 😀 */ ", 9)]


def caret(error, text, fault):
    """The cells before the caret; the line that it is about must be there."""
    lines = str(error).splitlines()
    shown = next(n for n, line in enumerate(lines) if line.startswith("    ") and text in line)
    assert lines[shown + 1].strip() == "^"
    assert error.span.column == text.index(fault) + 1
    return lines[shown + 1][4:].index("^")


@pytest.mark.parametrize(("before", "cells"), BEFORE)
@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
def test_opencl(device, before, cells):
    text = f"{before}nonsense; }}"
    with pytest.raises(SourceError) as caught:
        hw.compile(f"kernel void k(global int *a) {{\n{text}", device=device, language="opencl")
    assert caret(caught.value, text, "nonsense") == cells


@pytest.mark.parametrize(("before", "cells"), BEFORE)
def test_opencl_that_a_chip_cannot_run(before, cells):
    text = f"{before}((global uchar *)a)[3] = 1; }}"
    with pytest.raises(SourceError) as caught:
        hw.compile(f"kernel void k(global int *a) {{\n{text}", device="hd4870", language="opencl")
    assert caret(caught.value, text, "= 1") == cells + 23


@pytest.mark.parametrize(("before", "cells"), BEFORE)
def test_brook(before, cells):
    text = f"{before}result = nonsense; }}"
    with pytest.raises(SourceError) as caught:
        hw.compile(f"kernel void k(float x<>, out float result<>) {{\n{text}", language="brook")
    assert caret(caught.value, text, "nonsense") == cells + 9


@pytest.mark.parametrize(("written", "cells"), [("öl", 8), ("漢字", 8)])
def test_il(written, cells):
    """Letters beyond ASCII are in comments and faults alone."""
    text = f"mov r0, {written} ; {written}"
    with pytest.raises(SourceError) as caught:
        parse(f"il_ps_2_0\n{text}\nend\n", "k.il")
    assert caret(caught.value, text, written) == cells


@pytest.mark.parametrize(("before", "cells"), BEFORE)
def test_accesses_that_leave_an_array(before, cells):
    text = f"{before}a[get_global_id(0)] = 1; }}"
    kernel = hw.compile(f"kernel void k(global int *a) {{\n{text}", language="opencl", device="cpu").k
    with pytest.raises(hw.LaunchError) as caught:
        kernel[(8,), (8,)](np.zeros(4, np.int32))
    lines = str(caught.value).splitlines()
    shown = next(n for n, line in enumerate(lines) if text in line)
    assert lines[shown + 1][4:].index("^") == cells + 20


def test_columns_of_bytes_become_columns_of_characters():
    assert span_of_bytes("f", 3, 6, "äöü") == Span("f", 3, 4)
    assert span_of_bytes("f", 3, 2, "abc") == Span("f", 3, 2)
    assert span_of_bytes("f", 3, 0, "äöü") == Span("f", 3, 0)
