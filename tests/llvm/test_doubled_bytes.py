"""Vectors of 64 bytes that are doubled between two shuffles, at which LLVM does not end for AVX-512."""

import subprocess
import sys

import numpy as np
import pytest

from headwater.llvm.ir import Module
from headwater.llvm.passes.doubled_bytes import without_doubled_bytes
from tests.llvm.llvm_runs import ran

DOUBLINGS = {
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
  {{doubling}}
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
    return str(module) if without_doubled_bytes(module) else None


@pytest.mark.parametrize("kind", DOUBLINGS)
def test_they_are_the_same_in_pairs(kind):
    memory = np.random.default_rng(1).integers(0, 256, 80, dtype=np.uint8)
    a, negative = np.repeat(memory[:16], 4), memory[16:] >= 128
    found = ran(changed_text(TEXT.format(doubling=DOUBLINGS[kind])), memory)
    expected = a + np.where({"sum of some": negative, "some of a sum": ~negative}.get(kind, False), 0, a)
    assert found[16:].tolist() == (expected & 0xFF).tolist()
    assert (found[:16] == found[18::4]).all()


@pytest.mark.parametrize("doubling", DOUBLINGS.values(), ids=DOUBLINGS)
def test_their_code_is_generated(doubling):
    """In a process of its own: without the change, it takes for ever."""
    subprocess.run(
        [sys.executable, "-c", ENDS], input=TEXT.format(doubling=doubling), text=True, check=True, timeout=60
    )


@pytest.mark.parametrize(
    "other",
    [
        "%v = add <64 x i8> %r, %b",
        "%v = shl <64 x i8> %r, splat (i8 2)",
        "%v = mul <64 x i8> %r, %b",
        "%s = select <64 x i1> %c, <64 x i8> %b, <64 x i8> %r\n  %v = add <64 x i8> %r, %s",
    ],
)
def test_other_sums_and_products_stay(other):
    assert changed_text(TEXT.format(doubling=other)) is None
