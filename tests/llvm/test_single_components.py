"""Operations on vectors of which one component is used are computed of that alone."""

import numpy as np
from llvm_runs import ran

from headwater.llvm.ir import Module
from headwater.llvm.passes.single_components import with_single_components

CHAIN = """
define void @f(ptr %p) {
  %a = load <4 x i32>, ptr %p
  %q = getelementptr i8, ptr %p, i64 16
  %b = load <4 x float>, ptr %q
  %v0 = add <4 x i32> %a, <i32 1, i32 2, i32 3, i32 4>
  %"a b" = xor <4 x i32> %v0, %a
  %1 = bitcast <4 x i32> %"a b" to <4 x float>
  %2 = fmul nnan <4 x float> %1, %b
  %3 = fadd <4 x float> %2, splat (float 2.0)
  %t = extractelement <4 x float> %3, i64 2
  %w0 = mul <4 x i32> %a, splat (i32 3)
  %w1 = sub <4 x i32> zeroinitializer, %w0
  %w = shufflevector <4 x i32> %w1, <4 x i32> %a, <4 x i32> <i32 3, i32 4, i32 3, i32 5>
  %both = lshr <4 x i32> %a, splat (i32 1)
  %x = extractelement <4 x i32> %both, i64 0
  %y = extractelement <4 x i32> %both, i64 1
  %all = udiv <4 x i32> %a, splat (i32 7)
  store float %t, ptr %p
  %p1 = getelementptr i8, ptr %p, i64 16
  store <4 x i32> %w, ptr %p1
  %p2 = getelementptr i8, ptr %p, i64 32
  store i32 %x, ptr %p2
  %p3 = getelementptr i8, ptr %p, i64 48
  store i32 %y, ptr %p3
  %p4 = getelementptr i8, ptr %p, i64 64
  store <4 x i32> %all, ptr %p4
  ret void
}
"""


MEMORY = np.zeros(24, np.uint32)
MEMORY[:4] = 0x3F800001, 0xBF812345, 0x40490FDB, 0x12345678
MEMORY[4:8] = np.float32([1.5, -2.25, 3.75, 0.5]).view(np.uint32)


def test_one_component_is_computed_alone() -> None:
    module = Module(CHAIN)
    assert with_single_components(module)
    text = str(module)
    for operation in ("add i32", "xor i32", "bitcast i32", "fmul nnan float", "fadd float", "mul i32", "sub i32"):
        assert f" = {operation} " in text, operation
    assert " = lshr <4 x i32> " in text
    assert " = udiv <4 x i32> " in text
    assert not with_single_components(Module(text))
    np.testing.assert_array_equal(ran(text, MEMORY), ran(CHAIN, MEMORY))
