"""Vectors of bytes that are divided by constants: what LLVM gets wrong where lanes of the results are spread."""

import numpy as np
import pytest

import headwater as hw
from headwater.llvm.ir import Module
from headwater.llvm.passes.byte_quotients import without_byte_quotients
from headwater.opencl.host import HostModule
from headwater.vectorise.layout import Layout
from tests.llvm.llvm_runs import ran

SOURCE = """
kernel void {name}(global {ty} *out, global const int *more, uint m)
{{
    int i = get_global_id(0);
    {ty}2 x = ({ty}2)(({ty})(i * 3 + 1), ({ty})(i * 5));
    for (int n = 0; n < (int)(m & 7); n++) x += ({ty}2)(({ty})more[n]);
    for (int n = 0; n < 2; n++) x *= x {op} ({ty}2)(31);
    out[i] = x.s1;
}}
"""
KINDS = [("uchar", "/"), ("uchar", "%"), ("char", "/"), ("char", "%")]


def divided(op, values, by):
    """As in C: rounded to 0."""
    quotients = np.sign(values) * np.sign(by) * (np.abs(values) // np.abs(by))
    return quotients if op == "/" else values - quotients * by


@pytest.mark.parametrize("layout", [Layout(1), Layout(2), Layout(4), Layout(4, 4), Layout(8), Layout(16)], ids=str)
def test_quotients_of_bytes_that_are_spread_and_multiplied(layout, monkeypatch):
    monkeypatch.setattr(HostModule, "layout", lambda *_: layout)
    names = [f"k{number}" for number in range(len(KINDS))]
    kernels = [SOURCE.format(name=name, ty=ty, op=op) for name, (ty, op) in zip(names, KINDS, strict=True)]
    program = hw.compile("".join(kernels) + f"// {layout}", device="cpu")
    more = np.arange(5, dtype=np.int32) * 7
    for name, (ty, op) in zip(names, KINDS, strict=True):
        narrow = np.uint8 if ty == "uchar" else np.int8
        out = np.zeros(256, narrow)
        getattr(program, name)[out.size](out, more, np.uint32(5))
        x = (np.arange(256) * 5 + more.sum()).astype(narrow)
        for _ in range(2):
            x *= divided(op, x.astype(int), 31).astype(narrow)
        np.testing.assert_array_equal(out, x, f"{ty} {op}")


LANES = 64
LOOP = """define void @f(ptr %memory) {{
entry:
  br label %loop
loop:
  %n = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr <{lanes} x i8>, ptr %memory, i64 %n
  %x = load <{lanes} x i8>, ptr %at, align 1
  %y = {op} <{lanes} x i8> %x, <{divisors}>
  store <{lanes} x i8> %y, ptr %at, align 1
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, 256
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


@pytest.mark.parametrize("op", ["udiv", "urem", "sdiv", "srem"])
def test_every_byte_divided_by_every_byte(op):
    divisors = [d for d in (range(-128, 128) if op.startswith("s") else range(256)) if d]
    for group in (divisors[n : n + LANES] for n in (*range(0, 3 * LANES, LANES), len(divisors) - LANES)):
        module = Module(LOOP.format(lanes=LANES, op=op, divisors=", ".join(f"i8 {d}" for d in group)))
        assert without_byte_quotients(module)
        assert f" {op} " not in str(module)
        values = np.arange(-128, 128) if op.startswith("s") else np.arange(256)
        rows = np.repeat(values[:, None], LANES, 1)
        found = ran(str(module), rows.astype(np.uint8).ravel()).reshape(rows.shape)
        wanted = divided("/" if op.endswith("div") else "%", rows, np.array(group))
        np.testing.assert_array_equal(found, wanted.astype(np.uint8))


def test_divisions_that_are_left_alone():
    for divided in ("udiv <4 x i8> %x, splat (i8 8)", "sdiv <4 x i8> %x, %x", "udiv <4 x i16> %x, splat (i16 7)"):
        ty = divided.split("> ")[0].split(" ", 1)[1] + ">"
        module = Module(f"define {ty} @f({ty} %x) {{\n  %y = {divided}\n  ret {ty} %y\n}}\n")
        assert not without_byte_quotients(module)
