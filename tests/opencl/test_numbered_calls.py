"""Numbers of textures and their like become part of the names of the functions that take them."""

from headwater.llvm.ir import Module
from headwater.opencl.numbered_calls import number_calls, parts_of

IR = """\
declare <4 x i32> @__hw_vliw_sample(i32 noundef, float noundef, float noundef) #1
declare void @__hw_vliw_lds_write(i32 noundef, i32 noundef, <4 x i32> noundef)
define void @k(i32 %n, float %x, float %y) {
  %a = tail call <4 x i32> @__hw_vliw_sample(i32 noundef 3, float noundef %x, float noundef 0.000000e+00) #4, !dbg !7
  %b = call <4 x i32> @__hw_vliw_sample(i32 noundef %n, float noundef %x, float noundef %y) #4
  call void @__hw_vliw_lds_write(i32 noundef 16, i32 noundef 4, <4 x i32> noundef <i32 1, i32 2, i32 3, i32 4>)
}
"""


def test_constant_numbers_become_names():
    module = Module(IR)
    number_calls(module)
    assert module.bodies["k"].lines == [
        "  %a = tail call <4 x i32> @__hw_vliw_sample.3(float noundef %x, float noundef 0.000000e+00) #4, !dbg !7",
        "  %b = call <4 x i32> @__hw_vliw_sample(i32 noundef %n, float noundef %x, float noundef %y) #4",
        "  call void @__hw_vliw_lds_write.16.4(<4 x i32> noundef <i32 1, i32 2, i32 3, i32 4>)",
    ]
    lines = module.declares.values()
    assert "declare <4 x i32> @__hw_vliw_sample.3(float noundef, float noundef) #1" in lines
    assert "declare void @__hw_vliw_lds_write.16.4(<4 x i32> noundef)" in lines


def test_names_tell_their_numbers():
    assert parts_of("__hw_vliw_lds_write.16.4") == ("lds_write", [16, 4])
    assert parts_of("__hw_vliw_output4.1") == ("output4", [1])
    assert parts_of("__hw_vliw_window_x") == ("window_x", [])
