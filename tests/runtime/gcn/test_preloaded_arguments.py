"""Arguments that the hardware puts into SGPRs before a kernel starts: its first 256 bytes, for firmware that does not, are
skipped (LLVM, AMDGPUUsage, "Preloaded Kernel Arguments")."""

import struct

import numpy as np
import pytest

import headwater as hw
from headwater.emulate.gcn.reference_launch import launch
from headwater.errors import CodeObjectError
from headwater.isa.gcn import assembly
from headwater.isa.gcn.codeobject import load
from headwater.isa.gcn.listing import as_text
from headwater.opencl.gcn_build import assemble

# s[0:1] the arguments' address, then {length} dwords of them from dword {first} on, then the group's number. The prologue
# would end the kernel before it has done anything.
TEXT = """
	.amdgcn_target "amdgcn-amd-amdhsa--{target}"
	.amdhsa_code_object_version 5
	.text
	.globl f
	.p2align 8
	.type f,@function
f:
	s_endpgm
	.fill 63, 4, 0xbf800000
	{body}
	s_endpgm
.Lend:
	.size f, .Lend-f
	.section .rodata,"a",@progbits
	.p2align 6
	.amdhsa_kernel f
		.amdhsa_next_free_vgpr 4
		.amdhsa_next_free_sgpr 16
		.amdhsa_accum_offset 4
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_kernarg_preload_length {length}
		.amdhsa_user_sgpr_kernarg_preload_offset {first}
		.amdhsa_kernarg_size 24
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.version: [1,2]
amdhsa.target: amdgcn-amd-amdhsa--{target}
amdhsa.kernels:
  - .name: f
    .symbol: f.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 4
    .max_flat_workgroup_size: 64
    .args:
      - {{.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}}
      - {{.name: n, .size: 4, .offset: 8, .value_kind: by_value}}
      - {{.size: 4, .offset: 12, .value_kind: by_value}}
      - {{.size: 4, .offset: 16, .value_kind: hidden_block_count_x}}
      - {{.size: 4, .offset: 20, .value_kind: by_value}}
...
	.end_amdgpu_metadata
"""
# Every lane writes n + 2 * (the argument after it) + 4 * groups + 8 * (its group's number), and counts down n.
ALL = """s_lshl_b32 s5, s5, 1
	s_add_i32 s5, s5, s4
	s_lshl_b32 s6, s6, 2
	s_add_i32 s5, s5, s6
	s_lshl_b32 s6, s8, 3
	s_add_i32 s5, s5, s6
	v_lshl_add_u32 v1, s8, 6, v0
	v_lshlrev_b32_e32 v1, 2, v1
	v_mov_b32_e32 v2, s5
	global_store_dword v1, v2, s[2:3]
.Lagain:
	s_sub_u32 s4, s4, 1
	s_cmp_lg_u32 s4, 0
	s_cbranch_scc1 .Lagain"""
# From the third argument on; the first is loaded.
LATE = """s_load_dwordx2 s[10:11], s[0:1], 0x0
	v_lshlrev_b32_e32 v1, 2, v0
	s_add_i32 s2, s2, s4
	v_mov_b32_e32 v2, s2
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v2, s[10:11]"""


def code(body=ALL, first=0, length=6, target="gfx90a"):
    return assemble(TEXT.format(body=body, first=first, length=length, target=target), "f.s", target).code


@pytest.fixture
def kernel(tmp_path):
    (tmp_path / "f.hsaco").write_bytes(code())
    return hw.compile(str(tmp_path / "f.hsaco"), device="mi250x").f


WANTED = np.repeat(3 + 2 * 5 + 4 * 2 + 8 * np.arange(2), 64)


@pytest.mark.parametrize("check", [False, True])
def test_arguments_lie_in_registers(kernel, check):
    out = np.zeros(128, np.uint32)
    kernel[(128,), (64,)](out, 3, 5, 7, check=check)
    assert (out == WANTED).all()


def test_the_interpreter_has_them_there_too():
    out = np.zeros(128, np.uint32)
    launch(load(code(), "f.hsaco"), "f", [out, np.int32(3), np.int32(5), np.int32(7)], [128], [64])
    assert (out == WANTED).all()


def test_they_may_begin_anywhere(tmp_path):
    (tmp_path / "f.hsaco").write_bytes(code(LATE, 3, 3))
    out = np.zeros(64, np.uint32)
    hw.compile(str(tmp_path / "f.hsaco"), device="mi250x").f[(64,), (64,)](out, 3, 5, 7)
    assert (out == 5 + 7).all()


def test_the_prologue_is_not_timed(kernel):
    result = kernel[(128,), (64,)].simulate(np.zeros(128, np.uint32), 3, 5, 7)
    assert result.instructions == 2 * (10 + 3 * 3 + 1)


def test_the_analysis_knows_their_values(tmp_path):
    path = tmp_path / "f.hsaco"
    path.write_bytes(code())
    [report] = hw.analyze(str(path), device="mi250x", size=64, group=64, arguments={"n": 9})
    assert [loop.trip for loop in report.code.loops] == [9]


def test_the_prologue_is_listed_and_assembled_again():
    read = load(code(), "f.hsaco")
    text = as_text(read, read.kernels.values())
    assert f"starts at {read.kernels['f'].entry:#x}, dwords 0 to 5 of the arguments in SGPRs" in text
    again = load(assemble(assembly.text(read), "again.s", "gfx90a").code, "again.hsaco")
    one, other = read.kernels["f"], again.kernels["f"]
    assert one.preload == other.preload == (0, 6)
    assert read.image()[one.start : one.code_end] == again.image()[other.start : other.code_end]


def test_a_descriptor_with_too_few_registers_is_refused():
    data = bytearray(code())
    at = next(n for n in range(0, len(data), 4) if data[n + 58 : n + 60] == struct.pack("<H", 6) and data[n + 8] == 24)
    struct.pack_into("<H", data, at + 58, 15)
    with pytest.raises(
        CodeObjectError, match="8 user SGPRs, and 15 dwords of its arguments are to be preloaded after 2"
    ):
        load(bytes(data), "f.hsaco")
