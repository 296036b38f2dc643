"""No component of a vector is kept for phis alone."""

import numpy as np
from llvm_runs import ran

import headwater as hw
from headwater.llvm.ir import Module
from headwater.llvm.passes.demanded_components import with_demanded_components

LOOPS = """
define void @f(ptr %p) {
entry:
  %a = load <4 x i32>, ptr %p
  br label %outer
outer:
  %n = phi i32 [ 0, %entry ], [ %n1, %out ]
  %v = phi <4 x i32> [ %a, %entry ], [ %v2, %out ]
  %w = phi <4 x i32> [ %a, %entry ], [ %w2, %out ]
  %d = phi <4 x i32> [ %a, %entry ], [ %d1, %out ]
  %v0 = insertelement <4 x i32> %v, i32 %n, i64 0
  br label %inner
inner:
  %k = phi i32 [ 0, %outer ], [ %k1, %inner ]
  %v1 = phi <4 x i32> [ %v0, %outer ], [ %v2, %inner ]
  %w1 = phi <4 x i32> [ %w, %outer ], [ %w2, %inner ]
  %x = extractelement <4 x i32> %v1, i64 0
  %x1 = add i32 %x, %k
  %v2 = insertelement <4 x i32> %v1, i32 %x1, i64 0
  %w2 = insertelement <4 x i32> %w1, i32 %x1, i64 1
  %k1 = add i32 %k, 1
  %again = icmp ult i32 %k1, 3
  br i1 %again, label %inner, label %out
out:
  %d0 = insertelement <4 x i32> %d, i32 7, i64 2
  %d1 = udiv <4 x i32> splat (i32 1000), %d0
  %n1 = add i32 %n, 1
  %more = icmp ult i32 %n1, 5
  br i1 %more, label %outer, label %end
end:
  %v3 = add <4 x i32> %v2, %w2
  %one = extractelement <4 x i32> %v3, i64 0
  %two = extractelement <4 x i32> %v3, i64 1
  %three = extractelement <4 x i32> %d1, i64 2
  store i32 %one, ptr %p
  %q = getelementptr i8, ptr %p, i64 4
  store i32 %three, ptr %q
  %r = getelementptr i8, ptr %p, i64 16
  store <4 x i32> %w2, ptr %r
  ret void
}
"""


MEMORY = np.array([3, 5, 11, 2, 0, 0, 0, 0], np.uint32)


def test_unused_components_are_not_carried_round_loops() -> None:
    assert not with_demanded_components(Module(LOOPS))  # %two is a component of %a that went through all loops
    less = LOOPS.replace("extractelement <4 x i32> %v3, i64 1", "extractelement <4 x i32> %w2, i64 1")
    module = Module(less)
    assert with_demanded_components(module)
    text = str(module)
    assert "%v0 = insertelement <4 x i32> poison, i32 %n, i64 0" in text
    assert "%v2 = insertelement <4 x i32> poison," in text
    assert "%w2 = insertelement <4 x i32> %w1," in text  # the other components are stored
    assert "%d0 = insertelement <4 x i32> %d, i32 7" in text  # a divisor
    np.testing.assert_array_equal(ran(text, MEMORY), ran(less, MEMORY))


def test_loops_inside_each_other_are_quick_to_compile() -> None:
    """With a register each, of which one component is used: 40 of them took 17 s of processor time for the cpu."""
    opened = "mov r{0}.x, l0.x\nwhileloop\nige r4.x, r{0}.x, r2.x\nbreak_logicalnz r4.x\niadd r1.x, r1.x, r{0}.x\n"
    closed = "iadd r{0}.x, r{0}.x, l0.x\nendloop\n"
    loops = "".join(opened.format(k) for k in range(10, 30)) + "".join(closed.format(k) for k in range(29, 9, -1))
    source = f"""il_cs_2_0
dcl_num_thread_per_group 64
dcl_literal l0, 1, 0, 0, 0
mov r2, g[vaTid0.x]
mov r1, r2
{loops}mov g[vaTid0.x], r1
endmain
end
"""
    g = np.zeros((64, 4), np.uint32)
    g[:, 0], g[:, 1] = np.arange(64) % 3, 9
    expected = g[:, 0] + 20 * (g[:, 0] == 2)
    hw.compile(source, language="il").main[64](g=g)
    assert (g[:, 0] == expected).all()
    assert (g[:, 1] == 9).all()
