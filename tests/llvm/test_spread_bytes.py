"""Sums of 64 bytes that a shuffle spreads, at which LLVM does not end for AVX-512."""

import subprocess
import sys

import numpy as np
import pytest

import headwater as hw
from headwater.llvm.ir import Module
from headwater.llvm.passes.spread_bytes import with_spread_bytes_kept
from headwater.opencl.host import HostModule
from headwater.vectorise.layout import Layout

SUMS = {
    "sum": "%v = add <64 x i8> %r, %r",
    "shift": "%v = shl <64 x i8> %r, splat (i8 1)",
    "product": "%v = mul <64 x i8> %r, splat (i8 2)",
    "sum of some": "%s = select <64 x i1> %c, <64 x i8> zeroinitializer, <64 x i8> %r\n  %v = add <64 x i8> %r, %s",
    "some of a sum": "%s = select <64 x i1> %c, <64 x i8> %r, <64 x i8> zeroinitializer\n  %v = add <64 x i8> %s, %r",
}
SPREAD = ", ".join(f"i32 {lane // 4}" for lane in range(64))
PICKED = ", ".join(f"i32 {lane * 4 + 2}" for lane in range(16))
TEXT = f"""define void @f(ptr %memory) {{{{
  %a = load <16 x i8>, ptr %memory
  %at = getelementptr i8, ptr %memory, i64 16
  %b = load <64 x i8>, ptr %at
  %c = icmp slt <64 x i8> %b, zeroinitializer
  %r = shufflevector <16 x i8> %a, <16 x i8> poison, <64 x i32> <{SPREAD}>
  {{sum}}
  store <64 x i8> %v, ptr %at
  %w = shufflevector <64 x i8> %v, <64 x i8> poison, <16 x i32> <{PICKED}>
  store <16 x i8> %w, ptr %memory
  ret void
}}}}
"""
ENDS = """
import sys
from headwater.llvm.modules import emit_object, machine, parse
tm = machine()
emit_object(parse(sys.stdin.read()), tm)
"""


def changed_text(text):
    module = Module(text)
    return str(module) if with_spread_bytes_kept(module) else None


@pytest.mark.parametrize("lines", SUMS.values(), ids=SUMS)
def test_their_code_is_generated(lines):
    """In a process of its own: without the change, it takes for ever."""
    subprocess.run([sys.executable, "-c", ENDS], input=TEXT.format(sum=lines), text=True, check=True, timeout=60)


def test_what_is_spread_to_more_registers_goes_through_several_texts():
    mask = ", ".join(f"i32 {lane // 8}" for lane in range(128))
    changed = changed_text(
        f"""define <128 x i8> @f(<16 x i8> %a) {{
  %r = shufflevector <16 x i8> %a, <16 x i8> poison, <128 x i32> <{mask}>
  %v = add <128 x i8> %r, %r
  ret <128 x i8> %v
}}
"""
    )
    assert changed.count('asm ""') == 2


@pytest.mark.parametrize(
    "line", ["%v = shufflevector <64 x i8> %r, <64 x i8> %b, <64 x i32> zeroinitializer", "%v = add <64 x i8> %b, %b"]
)
def test_what_is_only_shuffled_or_stored_stays(line):
    assert changed_text(TEXT.format(sum=line)) is None


SOURCE = """
kernel void k(global uchar *out, global const uchar *a, uint n) {{
  int i = get_global_id(0);
  uchar{width} x = (uchar{width})((uchar)i), y = (uchar{width})(a[i]);
  for (uint q = 0; q < n; q++) {{
    x -= y;
    if (i & 1) x -= y;
    x ^= (uchar{width})(a[i + 1]) + y;
  }}
  out[i] = x.s{last} + x.s0 * 3;
}}"""


@pytest.mark.parametrize("layout", [Layout(8), Layout(16), Layout(16, 2)], ids=str)
@pytest.mark.parametrize("width", [4, 8, 16])
def test_kernels_that_spread_bytes(width, layout, monkeypatch):
    monkeypatch.setattr(HostModule, "layout", lambda *_: layout)
    out, a = np.zeros(200, np.uint8), np.random.default_rng(1).integers(0, 256, 201, dtype=np.uint8)
    source = SOURCE.format(width=width, last=f"{width - 1:x}") + f"// {layout}"
    hw.compile(source, device="cpu").k[out.size](out, a, np.uint32(3))
    i = np.arange(200)
    x = i.astype(np.uint8)
    for _ in range(3):
        x = x - a[:-1] * np.where(i & 1, 2, 1).astype(np.uint8)
        x ^= a[1:] + a[:-1]
    assert out.tolist() == (x * np.uint8(4)).tolist()
