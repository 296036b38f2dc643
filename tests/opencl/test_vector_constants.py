"""Vector constants that LLVM writes as expressions."""

from headwater.llvm.ir import Value
from headwater.llvm.modules import parse
from headwater.llvm.types import I32, vec_type


def test_components_of_another_vectors_bits():
    value = Value(vec_type(4, I32), "bitcast (<2 x i64> splat (i64 6137) to <4 x i32>)")
    found = [value.component(index) for index in range(4)]
    assert all(part.ty == I32 for part in found)
    stores = "".join(f"  store <8 x i32> splat (i32 {part.text}), ptr %out\n" for part in found)
    module = str(parse(f"define void @f(ptr %out) {{\n{stores}  ret void\n}}\n"))
    assert module.count("store <8 x i32>") == 4
