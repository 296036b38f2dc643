"""OpenCL C that calls the functions of `headwater.il.from_llvm.drawing`, as IL."""

import pytest

from headwater import chips
from headwater.errors import SourceError
from headwater.il import from_llvm

PROTOTYPES = """
float __hw_vliw_window_x(void) __attribute__((const));
float __hw_vliw_window_y(void) __attribute__((const));
uint4 __hw_vliw_sample(int n, float x, float y) __attribute__((const));
uint4 __hw_vliw_constant(int n, int size, int i) __attribute__((const));
uint4 __hw_vliw_global_read(int i) __attribute__((pure));
void __hw_vliw_global_write2(int i, uint2 v);
void __hw_vliw_output1(int n, uint v);
int __hw_vliw_thread(void) __attribute__((const));
uint4 __hw_vliw_lds_read(int each, int thread, int dword) __attribute__((pure));
void __hw_vliw_lds_write(int each, int dword, uint4 v);
__attribute__((convergent)) void __hw_vliw_sync(void);
"""


def il(body: str, arguments: str = "int a") -> list[str]:
    source = f"{PROTOTYPES}__kernel void k({arguments})\n{{\n{body}\n}}\n"
    return from_llvm.kernel(source, "k", chips.find("hd4870")).text.splitlines()


def test_a_texture_at_the_pixel_is_sampled_there():
    lines = il("__hw_vliw_output1(3, __hw_vliw_sample(2, __hw_vliw_window_x(), __hw_vliw_window_y()).z);")
    assert lines[0] == "il_ps_2_0"
    assert "dcl_output_generic o3" in lines
    assert any(line.startswith("dcl_resource_id(2)_type(2d,unnorm)") for line in lines)
    code = ["sample_resource(2)_sampler(0) r0.xyzw, vWinCoord0.xyxx", "mov o3.x___, r0.zzzz", "end"]
    assert lines[-3:] == code


def test_the_global_buffer_and_constant_buffers_are_indexed():
    lines = il(
        "__hw_vliw_global_write2(a, __hw_vliw_global_read(a + 1).yz + __hw_vliw_constant(4, 30, a).xx);"
        "__hw_vliw_output1(0, 1u);"
    )
    text = "\n".join(lines)
    assert "dcl_cb cb4[30]" in lines
    assert "cb4[r" in text
    assert ".xyzw, g[r" in text
    assert "mov g[r" in text
    assert "].xy__," in text


def test_work_groups_own_parts_of_lds():
    lines = il(
        "int t = __hw_vliw_thread();"
        "__hw_vliw_lds_write(8, 4 * (2 * t + 1 - 2 * t), (uint4)(t, a, 0, 1));"
        "__hw_vliw_sync();"
        "__hw_vliw_global_write2(t, __hw_vliw_lds_read(8, 63 - t, 4).xw);"
    )
    assert lines[0] == "il_cs_2_0"
    assert "dcl_lds_size_per_thread 8" in lines
    assert any(line.startswith("lds_write_vec_lOffset(4) mem[0].xyzw, ") for line in lines)
    assert any(line.startswith("lds_read_vec r") for line in lines)
    assert "fence_threads_lds_memory" in lines


def test_calls_that_are_the_same_are_made_once():
    """OpenCL's functions are convergent, which held LLVM from seeing it."""
    sample = "__hw_vliw_sample(0, __hw_vliw_window_x(), __hw_vliw_window_y())"
    lines = il(f"uint v = {sample}.x; if (a) v += {sample}.x * 3; __hw_vliw_output1(0, v);")
    assert sum(line.strip().startswith("sample_resource") for line in lines) == 1


def test_a_texture_must_be_known():
    with pytest.raises(SourceError, match=r"number of a texture.* is not constant"):
        il("__hw_vliw_output1(0, __hw_vliw_sample(a, 0.0f, 0.0f).x);")
