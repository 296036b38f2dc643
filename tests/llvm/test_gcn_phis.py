"""Values that branches leave, annotated where LLVM would mix them up."""

from headwater.llvm.ir import Module
from headwater.llvm.passes.gcn_phis import with_values_kept

BODY = """define amdgpu_kernel void @k(i1 %c, float %x, <4 x i16> %v, ptr addrspace(1) %o) {{
  br i1 %c, label %one, label %other

one:
  {first}
  br label %end

other:
  br label %end

end:
  %p = phi {ty} [ {value}, %one ], [ {old}, %other ]
  ret void
}}
"""


def annotated(ty, value, old, first="%t = fneg float %x"):
    module = Module(BODY.format(ty=ty, value=value, old=old, first=first))
    return [line.strip() for line in str(module).split("\n")] if with_values_kept(module) else None


def test_an_instruction_that_costs_nothing_is_annotated_in_its_branch():
    lines = annotated("float", "%t", "%x")
    assert "%p = phi float [ %hw.kept.0, %one ], [ %x, %other ]" in lines
    at = lines.index("%hw.kept.0.bits = bitcast float %t to i32")
    assert (
        lines[at + 1]
        == "%hw.kept.0.same = call i32 @llvm.annotation.i32.p0(i32 %hw.kept.0.bits, ptr null, ptr null, i32 0)"
    )
    assert lines[at + 2 : at + 4] == ["%hw.kept.0 = bitcast i32 %hw.kept.0.same to float", "br label %end"]
    assert "declare i32 @llvm.annotation.i32.p0(i32, ptr, ptr, i32)" in lines


def test_vectors_are_annotated_wherever_they_arise():
    lines = annotated("<4 x i16>", "%v", "zeroinitializer")
    assert "%p = phi <4 x i16> [ %hw.kept.0, %one ], [ zeroinitializer, %other ]" in lines
    assert "%hw.kept.0.bits = bitcast <4 x i16> %v to i64" in lines


def test_pointers_keep_their_address_space():
    first = "%t = getelementptr i8, ptr addrspace(1) %o, i64 4"
    lines = annotated("ptr addrspace(1)", "%t", "%o", first)
    call = "call ptr addrspace(1) @llvm.ptr.annotation.p1.p0(ptr addrspace(1)"
    at = lines.index(f"%hw.kept.0.same = {call} %t, ptr null, ptr null, i32 0, ptr null)")
    assert lines[at + 1] == f"%hw.kept.0 = {call} %hw.kept.0.same, ptr null, ptr null, i32 0, ptr null)"


def test_integers_are_annotated_twice():
    """One annotation costs nothing, and was moved as what it annotates had been moved before."""
    lines = annotated("i32", "%t", "%y", "%t = trunc i64 %w to i32")
    call = "call i32 @llvm.annotation.i32.p0(i32"
    at = lines.index(f"%hw.kept.0.same = {call} %t, ptr null, ptr null, i32 0)")
    assert lines[at + 1] == f"%hw.kept.0 = {call} %hw.kept.0.same, ptr null, ptr null, i32 0)"


def test_other_values_stay():
    assert annotated("float", "%t", "%x", "%t = fadd float %x, %x") is None
    assert annotated("float", "%x", "%x") is None
