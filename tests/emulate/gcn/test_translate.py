"""The translator against the reference interpreter: instructions of every kind on random and special values."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
from gcn_snippets import code_of
from translated_runs import both, differing, random_inputs

import headwater as hw
from headwater.emulate.gcn import chunks
from headwater.emulate.gcn.program import LARGE_PROGRAM, LONGEST_BLOCK, read_program
from headwater.emulate.gcn.translate import translate
from headwater.emulate.gcn.translator import Options
from headwater.emulate.watch.trace import TraceObserver
from headwater.emulate.wave.registers import PARTS
from headwater.isa.gcn.decode import decode
from headwater.isa.semantics.model import Mode
from headwater.opencl import gcn

FLOATS = (
    0,
    0x80000000,
    0x3F800000,
    0xBF800000,
    0x7F800000,
    0xFF800000,
    0x7FC00000,
    1,
    0x80000001,
    0x007FFFFF,
    0x4F000000,
)
INTEGERS = (0, 1, 31, 32, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFF, 0x10000)
HALVES = (0x3C003C00, 0x7C00FC00, 0x00010001, 0x80000000, 0x7E003C00, 0x04000400)

SNIPPETS = {
    "float": (
        FLOATS,
        """
        v_add_f32 v20, v4, v5
        v_sub_f32 v21, v5, v6
        v_mul_f32 v22, s8, v7
        v_fma_f32 v23, v4, -v5, |v6|
        v_mac_f32 v24, v8, v9
        v_max_f32 v25, v10, v11
        v_min_f32_e64 v26, v10, v11 clamp
        v_mad_f32 v27, v4, v5, 1.0
        v_rndne_f32 v28, v12
        v_trunc_f32 v29, v13
        v_cvt_i32_f32 v30, v14
        v_cvt_f32_u32 v31, v15
        v_cvt_f16_f32 v32, v16
        v_ldexp_f32 v33, v17, 3
        v_med3_f32 v34, v4, v5, v6
        v_cmp_lt_f32 vcc, v4, v5
        v_cndmask_b32 v35, v6, v7, vcc
        v_cmp_class_f32 s[20:21], v8, v9
        v_cndmask_b32 v36, 0, 1, s[20:21]
        v_frexp_mant_f32 v37, v10
        v_cvt_pkrtz_f16_f32 v38, v11, v12
        """,
    ),
    "integer": (
        INTEGERS,
        """
        v_add_co_u32 v20, vcc, v4, v5
        v_addc_co_u32 v21, vcc, v6, v7, vcc
        v_sub_co_u32 v22, s[20:21], v8, v9
        v_cndmask_b32 v23, 0, -1, s[20:21]
        v_mul_lo_u32 v24, v4, v5
        v_mul_hi_i32 v25, v4, v5
        v_mad_u64_u32 v[26:27], vcc, v6, v7, v[8:9]
        v_lshlrev_b64 v[28:29], v10, v[4:5]
        v_ashrrev_i32 v30, v11, v12
        v_bfe_u32 v31, v13, 5, v14
        v_alignbit_b32 v32, v4, v5, v6
        v_perm_b32 v33, v7, v8, v9
        v_sad_u8 v34, v10, v11, v12
        v_ffbh_u32 v35, v13
        v_bcnt_u32_b32 v36, v14, v15
        v_mbcnt_lo_u32_b32 v37, s8, 0
        v_mbcnt_hi_u32_b32 v37, s9, v37
        v_max3_i32 v38, v16, v17, v18
        v_add3_u32 v39, v16, s10, v18
        v_xad_u32 v40, v4, v5, v6
        v_sub_u16 v41, v4, v5
        v_mul_i32_i24 v42, v6, v7
        """,
    ),
    "double": (
        (*FLOATS, 0x3FF00000, 0x7FF00000, 0xC0000000),
        """
        v_add_f64 v[20:21], v[4:5], v[6:7]
        v_mul_f64 v[22:23], v[4:5], -v[6:7]
        v_fma_f64 v[24:25], v[8:9], v[10:11], v[12:13]
        v_max_f64 v[26:27], v[8:9], v[10:11]
        v_cvt_f32_f64 v28, v[12:13]
        v_cvt_f64_i32 v[30:31], v14
        v_rndne_f64 v[32:33], v[16:17]
        v_cmp_gt_f64 vcc, v[4:5], v[8:9]
        v_cndmask_b32 v34, v4, v8, vcc
        v_ldexp_f64 v[36:37], v[12:13], 2
        """,
    ),
    "half": (
        HALVES,
        """
        v_add_f16 v20, v4, v5
        v_pk_fma_f16 v21, v6, v7, v8 op_sel:[1,0,0] op_sel_hi:[0,1,1] neg_lo:[0,1,0]
        v_pk_add_u16 v22, v9, v10 clamp
        v_pk_mul_lo_u16 v23, v11, s8
        v_pk_lshlrev_b16 v24, 3, v12
        v_fma_f16 v25, v13, v14, v15 op_sel:[1,0,0,1]
        v_mad_mix_f32 v26, v16, v17, v18 op_sel:[1,0,0] op_sel_hi:[1,1,0]
        v_mad_mixlo_f16 v27, v16, v17, v18
        v_mad_mixhi_f16 v27, v17, v18, v16
        v_cvt_f32_f16 v28, v4
        v_pk_max_i16 v29, v5, v6
        """,
    ),
    "sdwa and dpp": (
        INTEGERS,
        """
        v_add_u32_sdwa v20, v4, v5 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:BYTE_2
        v_mov_b32_sdwa v21, sext(v6) dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_3
        v_lshlrev_b16_sdwa v22, v7, v8 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:WORD_1
        v_cmp_lt_u32_sdwa s[20:21], v9, v10 src0_sel:WORD_0 src1_sel:WORD_1
        v_cndmask_b32 v23, 0, 1, s[20:21]
        s_nop 4
        v_mul_f32 v11, 2.0, v11
        v_mov_b32_dpp v24, v11 quad_perm:[3,1,0,2] row_mask:0xf bank_mask:0xf
        v_mov_b32_dpp v25, v12 row_shr:3 row_mask:0xf bank_mask:0xf bound_ctrl:0
        v_mov_b32_dpp v26, v13 row_shl:5 row_mask:0xf bank_mask:0xf
        v_add_u32_dpp v27, v14, v15 row_ror:7 row_mask:0xa bank_mask:0x6
        v_mov_b32_dpp v28, v16 row_bcast:15 row_mask:0xa bank_mask:0xf
        v_mov_b32_dpp v29, v17 row_bcast:31 row_mask:0xc bank_mask:0xf
        v_mov_b32_dpp v30, v18 wave_shr:1 row_mask:0xf bank_mask:0xf
        v_mov_b32_dpp v31, v4 row_mirror row_mask:0xf bank_mask:0xf
        v_mov_b32_dpp v32, v5 wave_rol:1 row_mask:0xf bank_mask:0xf
        v_add_f32_dpp v33, -v6, |v7| row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0
        """,
    ),
    "across lanes": (
        INTEGERS,
        """
        v_add_f32 v4, 1.0, v4
        v_readfirstlane_b32 s20, v4
        v_mov_b32 v20, s20
        v_readlane_b32 s21, v5, 37
        v_mov_b32 v21, s21
        s_and_b32 s22, s8, 63
        v_readlane_b32 s23, v6, s22
        v_mov_b32 v22, s23
        v_mov_b32 v23, v7
        v_writelane_b32 v23, 7, s22
        v_writelane_b32 v23, s10, 63
        ds_swizzle_b32 v24, v8 offset:swizzle(BITMASK_PERM, "01p0i")
        ds_swizzle_b32 v25, v9 offset:swizzle(QUAD_PERM, 3, 0, 2, 1)
        ds_bpermute_b32 v26, v10, v11
        ds_permute_b32 v27, v12, v13 offset:4
        """,
    ),
    "exec and scalars": (
        INTEGERS,
        """
        s_mov_b64 s[24:25], exec
        v_cmp_gt_i32 vcc, v4, v5
        v_mov_b32 v20, 1
        s_and_saveexec_b64 s[20:21], vcc
        v_mov_b32 v20, v6
        v_add_u32 v21, v6, v7
        s_xor_b64 exec, exec, s[20:21]
        v_sub_u32 v20, v8, v9
        v_add_u32 v22, v20, v21
        s_or_b64 exec, exec, s[20:21]
        v_cmpx_lt_u32 vcc, v10, v11
        v_mov_b32 v23, v12
        s_mov_b64 exec, s[24:25]
        s_add_u32 s26, s8, s9
        s_addc_u32 s27, s10, s11
        v_mov_b32 v24, s26
        v_mov_b32 v25, s27
        s_bfe_i32 s28, s12, 0x70003
        v_mov_b32 v26, s28
        s_ff1_i32_b64 s29, s[14:15]
        v_mov_b32 v27, s29
        s_cmp_lt_i32 s8, s9
        s_cselect_b32 s30, s10, s11
        v_mov_b32 v28, s30
        s_bcnt1_i32_b64 s31, vcc
        v_mov_b32 v29, s31
        s_mul_i32 s32, s8, s9
        s_mul_hi_u32 s33, s8, s9
        v_mov_b32 v30, s32
        v_mov_b32 v31, s33
        s_movk_i32 s20, 0
        loop:
        v_add_u32 v32, v32, v4
        s_add_u32 s20, s20, 1
        s_cmp_lt_u32 s20, 7
        s_cbranch_scc1 loop
        """,
    ),
    "local memory": (
        INTEGERS,
        """
        v_lshlrev_b32 v2, 2, v0
        ds_write_b32 v2, v4
        ds_write2_b32 v2, v5, v6 offset0:64 offset1:128
        v_lshlrev_b32 v3, 3, v0
        ds_write_b64 v3, v[8:9] offset:1024
        s_waitcnt lgkmcnt(0)
        v_xor_b32 v52, 0xfc, v2
        ds_read_b32 v20, v52
        ds_read2_b32 v[22:23], v2 offset0:64 offset1:128
        ds_read_b64 v[24:25], v3 offset:1024
        v_mov_b32 v53, 0
        ds_read_b128 v[28:31], v53 offset:256
        ds_read_u8 v26, v0 offset:17
        ds_read_i16 v27, v2 offset:2
        ds_add_u32 v53, v7 offset:2048
        ds_max_rtn_i32 v32, v52, v10
        ds_cmpst_rtn_b32 v33, v2, v5, v6
        s_waitcnt lgkmcnt(0)
        ds_read_b32 v34, v53 offset:2048
        ds_write_b8 v0, v11 offset:3000
        s_waitcnt lgkmcnt(0)
        ds_read_u8 v35, v0 offset:3000
        """,
    ),
    "loads to local memory": (
        INTEGERS,
        """
        s_mov_b32 s16, s0
        s_and_b32 s17, s1, 0xffff
        s_mov_b32 s18, -1
        s_mov_b32 s19, 0x27000
        v_and_b32 v2, 0xffc, v4
        v_and_b32 v3, 0xfff, v5
        s_mov_b32 m0, 0x70100
        buffer_load_dword v2, s[16:19], 0 offen offset:8 lds
        s_mov_b32 m0, 0x210
        s_movk_i32 s20, 0x40
        buffer_load_ubyte v3, s[16:19], s20 offen lds
        s_mov_b32 m0, 0x380
        v_and_b32 v3, 0xffe, v6
        buffer_load_sshort v3, s[16:19], 0 offen lds
        s_mov_b32 m0, 0x480
        buffer_load_dword off, s[16:19], 0 offset:12 lds
        v_lshlrev_b32 v52, 2, v0
        s_waitcnt vmcnt(0)
        ds_read_b32 v20, v52 offset:264
        ds_read_b32 v21, v52 offset:528
        ds_read_b32 v22, v52 offset:896
        ds_read_b32 v23, v52 offset:1164
        v_mov_b32 v24, v2
        """,
    ),
    "buffers that tell of residency": (
        INTEGERS,
        """
        s_mov_b32 s16, s0
        s_and_b32 s17, s1, 0xffff
        s_mov_b32 s18, -1
        s_mov_b32 s19, 0x27000
        v_and_b32 v2, 0xffc, v4
        v_mov_b32 v21, v5
        v_mov_b32 v24, v6
        v_mov_b32 v31, v7
        v_mov_b32 v33, v2
        s_mov_b64 s[20:21], exec
        s_mov_b64 exec, s[8:9]
        buffer_load_dword v[20:21], v2, s[16:19], 0 offen offset:8 tfe
        buffer_load_dwordx2 v[22:24], v2, s[16:19], 0 offen tfe
        buffer_load_dwordx4 v[27:31], v2, s[16:19], 0 offen tfe
        buffer_load_ubyte v[32:33], v33, s[16:19], 0 offen tfe
        s_mov_b64 exec, s[20:21]
        s_mov_b32 s16, s2
        s_and_b32 s17, s3, 0xffff
        v_lshlrev_b32 v3, 2, v0
        v_add_u32 v3, 0x1000, v3
        .long 0xe0701000, 0x80840803  // buffer_store_dword v8, v3, s[16:19], 0 offen tfe, which LLVM does not take
        v_mov_b32 v34, v9
        v_mov_b32 v35, v9
        s_waitcnt vmcnt(0)
        .long 0xe1085000, 0x80842203  // buffer_atomic_add v[34:35], v3, s[16:19], 0 offen glc tfe
        s_waitcnt vmcnt(0)
        buffer_load_dword v36, v3, s[16:19], 0 offen
        """,
    ),
    "global memory": (
        INTEGERS,
        """
        v_and_b32 v2, 0xffc, v4
        global_load_dword v20, v2, s[0:1]
        v_and_b32 v3, 0xfff, v5
        global_load_ubyte v21, v3, s[0:1]
        global_load_sshort v22, v2, s[0:1] offset:2
        v_mov_b32 v52, s0
        v_mov_b32 v53, s1
        global_load_dwordx4 v[24:27], v[52:53], off offset:64
        v_add_co_u32 v54, vcc, s0, v2
        v_addc_co_u32 v55, vcc, 0, v53, vcc
        flat_load_dwordx2 v[28:29], v[54:55]
        v_lshlrev_b32 v56, 1, v0
        global_store_short v56, v6, s[2:3] offset:2048
        s_waitcnt vmcnt(0)
        global_load_ushort v30, v56, s[2:3] offset:2048
        v_mov_b32 v57, 0
        global_atomic_add v31, v57, v0, s[2:3] glc
        global_atomic_umax v57, v7, s[2:3] offset:8
        s_waitcnt vmcnt(0)
        global_load_dword v32, v57, s[2:3]
        global_load_dword v33, v57, s[2:3] offset:8
        """,
    ),
}


WIDTHS = {"double": np.float64, "half": np.float16}
"""What a register, or two, of a snippet's results may hold besides single-precision numbers."""


@pytest.mark.parametrize("lanes", [64, 41])
@pytest.mark.parametrize("name", SNIPPETS)
def test_instructions_as_the_reference_runs_them(name, lanes):
    specials, snippet = SNIPPETS[name]
    found, wanted = both(snippet, random_inputs(len(name) + lanes, specials), lanes)
    assert differing(found, wanted, WIDTHS.get(name, np.float32)) == []


@pytest.mark.parametrize("name", ["float", "double", "half"])
def test_instructions_that_are_called(name, monkeypatch):
    """As long ones are in kernels that multiply matrices; here all."""
    monkeypatch.setattr("headwater.emulate.gcn.translate.has_matrices", lambda program: True)
    monkeypatch.setattr("headwater.emulate.wave.outlined.LEAST_LINES", 1)
    specials, snippet = SNIPPETS[name]
    found, wanted = both(snippet, random_inputs(len(name), specials), 37)
    assert differing(found, wanted, WIDTHS.get(name, np.float32)) == []


def test_matrix_instructions():
    snippet = """
    v_mfma_f32_16x16x4f32 v[20:23], v4, v5, v[8:11]
    v_mfma_f32_4x4x4f16 v[24:27], v[4:5], v[6:7], v[8:11]
    v_mfma_i32_16x16x16i8 v[28:31], v4, v5, v[8:11]
    v_mfma_f64_4x4x4f64 v[32:33], v[4:5], v[6:7], v[8:9]
    v_mfma_f32_4x4x2bf16 v[36:39], v4, v5, 1.0 blgp:5
    v_mfma_f32_16x16x16f16 v[44:47], v[4:5], v[6:7], v[8:11] blgp:3
    v_mfma_f32_32x32x2f32 a[0:15], v12, v13, 0
    v_mfma_f32_32x32x4f16 a[16:47], v[4:5], v[6:7], 1.0 cbsz:1 abid:1
    s_nop 15
    v_accvgpr_read_b32 v40, a3
    v_accvgpr_read_b32 v41, a14
    v_accvgpr_read_b32 v42, a18
    v_accvgpr_read_b32 v43, a47
    """
    found, wanted = both(snippet, random_inputs(5, (0x3F800000, 0x40000000)), target="gfx90a")
    assert differing(found, wanted, np.float32) == []


def test_results_of_matrix_instructions_that_overlap_what_they_are_made_of():
    snippet = """
    v_mov_b32 v20, v4
    v_mov_b32 v21, v5
    v_mov_b32 v22, v6
    v_mov_b32 v23, v7
    v_mfma_f32_16x16x4f32 v[22:25], v4, v5, v[20:23]
    v_mov_b32 v28, v8
    v_mov_b32 v29, v9
    v_mfma_f32_4x4x4f16 v[28:31], v[28:29], v[6:7], v[10:13]
    v_mfma_f32_4x4x4f16 v[32:35], v[4:5], v[6:7], v[8:11] cbsz:2 abid:3
    v_mfma_f32_4x4x4f16 v[44:47], v[4:5], v[6:7], v[8:11] cbsz:7 abid:15
    v_mfma_f32_16x16x4f32 v[48:51], v4, v5, v[8:11] cbsz:1 abid:3
    v_mfma_f32_16x16x16f16 v[36:39], v[4:5], v[6:7], v[22:25]
    v_add_f32 v38, v38, v37
    v_mfma_f32_16x16x16f16 v[40:43], v[36:37], v[38:39], v[36:39]
    v_mov_b32 v41, v36
    """
    found, wanted = both(snippet, random_inputs(6, (0x3F803F80, 0x40003C00)), target="gfx90a")
    assert differing(found, wanted, np.float32) == []


def test_matrices_of_doubles():
    snippet = "v_mfma_f64_16x16x4f64 v[20:27], v[4:5], v[6:7], v[8:15]"
    found, wanted = both(snippet, random_inputs(7, (0x3FF00000, 0x40000000)), target="gfx90a")
    assert differing(found, wanted, np.float64) == []


@pytest.mark.parametrize("lanes", [64, 41])
def test_halves_of_multiply_adds(lanes):
    """Of some the carry or the high half is wanted, of others neither, or only by what needs neither itself."""
    snippet = """
    v_mad_u64_u32 v[20:21], s[20:21], v4, v5, v[6:7]
    v_mad_i64_i32 v[22:23], s[20:21], v20, s8, v[20:21]
    v_mov_b32 v21, v22
    v_mov_b32 v23, 7
    v_mad_u64_u32 v[24:25], s[22:23], v8, v9, v[10:11]  ; the carry
    v_cndmask_b32 v25, 0, 1, s[22:23]
    v_mad_u64_u32 v[26:27], s[22:23], v12, v13, v[14:15]  ; the high half
    v_mad_u64_u32 v[28:29], vcc, v15, v16, v[14:15]  ; neither; the addend's high half is a factor
    v_mov_b32 v29, 1
    v_mad_u64_u32 v[30:31], vcc, v4, v17, 5
    v_mov_b32 v31, 2
    v_cmp_lt_i32 vcc, v4, v5
    s_and_saveexec_b64 s[20:21], vcc
    v_mad_i64_i32 v[32:33], vcc, v4, v6, s[8:9]
    v_mov_b32 v33, 3  ; other lanes keep theirs
    v_mad_u64_u32 v[34:35], vcc, v8, v6, v[10:11]
    s_mov_b64 exec, s[20:21]
    v_mov_b32 v35, 4
    v_mad_u64_u32 v[36:37], vcc, v4, v5, v[10:11] clamp
    v_mov_b32 v37, 0
    """
    found, wanted = both(snippet, random_inputs(lanes, INTEGERS), lanes)
    assert differing(found, wanted, np.float32) == []


@pytest.mark.parametrize("lanes", [64, 41])
def test_long_chains_of_integer_operations(lanes):
    # Enough instructions for the translator to cut the chains, and masks that change in between.
    turn = """
    v_lshlrev_b32 v20, 13, v21
    v_xor_b32 v21, v20, v21
    v_alignbit_b32 v22, v21, v20, v4
    v_alignbyte_b32 v23, v22, v21, v5
    v_mad_u64_u32 v[24:25], vcc, v23, v22, v[24:25]
    v_cmp_lt_i32 vcc, v24, v6
    s_and_saveexec_b64 s[20:21], vcc
    v_add3_u32 v21, v25, v24, v21
    v_bfe_u32 v26, v21, 3, v7
    v_add_u32 v21, v26, v21
    s_or_b64 exec, exec, s[20:21]
    v_mul_f32 v27, v21, v22
    v_lshl_or_b32 v21, v27, 5, v21
    """
    found, wanted = both(turn * 24, random_inputs(lanes, INTEGERS), lanes)
    assert differing(found, wanted, np.float32) == []


@pytest.mark.parametrize("lanes", [64, 37])
def test_counters_are_added_to_once_for_all_lanes(lanes):
    """ds_append and ds_consume return what the counter was, in all lanes."""
    snippet = """
    v_mov_b32 v2, 0x80
    v_mov_b32 v3, 5
    s_mov_b32 m0, -1
    ds_write_b32 v2, v3 offset:4
    s_mov_b32 m0, 0x80
    ds_append v20 offset:4
    ds_append v21 offset:4
    v_cmp_gt_u32 vcc, 10, v0
    s_and_saveexec_b64 s[20:21], vcc
    ds_consume v22 offset:4
    s_mov_b64 exec, s[20:21]
    s_mov_b32 m0, -1
    s_waitcnt lgkmcnt(0)
    ds_read_b32 v23, v2 offset:4
    """
    got, want = both(snippet, random_inputs(3, (0,)), lanes)
    assert (got == want).all()
    assert got[:4, 0].tolist() == [5, 5 + lanes, 5 + 2 * lanes, 5 + 2 * lanes - 10]
    assert not got[2, 10:].any()


TWO_ROWS = """
kernel void rows(global int *out, local int *tile, int n, int step) {
  int i = get_local_id(0);
  for (int k = 0; k < 4; k++) tile[64 * k + i] = 1000 * k + i;
  barrier(CLK_LOCAL_MEM_FENCE);
  int at = i * step & 63;
  if (i < n) out[i] = tile[at] + 7 * tile[at + 192] + 100000 * (tile[at + 128] - tile[at + 64]);
}"""


@pytest.mark.parametrize("step", [1, 0, 3])
@pytest.mark.parametrize("active", [64, 37, 16, 3])
def test_two_addresses_of_one_instruction_whose_lanes_follow_each_other(step, active):
    """Up to the last byte of local memory."""
    program = hw.device("vega64").build(TWO_ROWS, "rows.cl")
    out = np.zeros(64, np.int32)
    args = [out, hw.Local(1024), np.int32(active), np.int32(step)]
    program.kernels["rows"].prepare((64,), (64,))(args, None, None).wait()
    at = np.arange(64) * step & 63
    wanted = np.where(np.arange(64) < active, at + 7 * (at + 3000) + 100000 * 1000, 0)
    assert (out == wanted).all()


# LLVM's time grows faster than a block does. While M0 is added to registers' numbers, a block goes on.
STRAIGHT = "\n".join(
    [
        *(f"v_mad_u32_u24 v{20 + n % 8}, v{4 + n % 16}, s8, v{20 + (n + 3) % 8}" for n in range(LARGE_PROGRAM)),
        "s_mov_b32 s9, 3",
        "s_set_gpr_idx_on s9, gpr_idx(SRC0)",
        *(f"v_mov_b32 v{30 + n % 2}, v{4 + n % 8}" for n in range(LONGEST_BLOCK)),
        "s_set_gpr_idx_off",
        *(f"v_xor_b32 v{40 + n % 4}, v{30 + n % 2}, v{20 + n % 8}" for n in range(2 * LONGEST_BLOCK)),
    ]
)


def test_long_blocks_of_large_programs_are_cut():
    code = code_of(STRAIGHT)
    program = read_program(lambda at: decode(code, at, "gfx900"), 0, "gfx900", lambda at: at < len(code))
    lengths = [len(block.instructions) for block in program.blocks.values()]
    assert sum(lengths) == program.instruction_count == LARGE_PROGRAM + 3 * LONGEST_BLOCK + 4
    assert sorted(lengths)[:-1][-1] == LONGEST_BLOCK
    indexed = max(program.blocks.values(), key=lambda block: len(block.instructions))
    assert len(indexed.instructions) > LONGEST_BLOCK
    names = [instruction.row.name for instruction in indexed.instructions]
    assert "s_set_gpr_idx_on" in names
    assert "s_set_gpr_idx_off" in names


def test_pairs_of_dwords_by_op_sel():
    """v_pk_mov_b32 takes one dword of each source: of pairs of scalar registers, too, the same one twice among them."""
    texts = []
    for n, (low, high) in enumerate(((0, 0), (0, 1), (1, 0), (1, 1))):
        for turn, sources in enumerate(("v[4:5], v[6:7]", "s[8:9], s[8:9]", "s[8:9], v[6:7]", "v[4:5], v[4:5]")):
            at = 20 + 8 * n + 2 * turn
            texts.append(f"v_pk_mov_b32 v[{at}:{at + 1}], {sources} op_sel:[{low},{high}]")
    found, wanted = both("\n".join(texts), random_inputs(3, INTEGERS), target="gfx90a")
    assert (found == wanted).all()
    assert (wanted[10] == wanted[2]).all()  # s8
    assert (wanted[11] != wanted[3]).all()  # s9 and s8


def test_the_text_does_not_depend_on_the_hash_seed(tmp_path):
    """Operands were fetched in the order of a set of names, so that the same kernel was compiled under several keys."""
    code = tmp_path / "k.hsaco"
    kernel = (
        "kernel void k(global int *a, local int *l) { size_t i = get_local_id(0); l[i] = a[i]; "
        "for (size_t n = get_local_size(0) / 2; n; n /= 2) { barrier(1); if (i < n) l[i] += l[i + n]; } "
        "if (!i) a[get_group_id(0)] = l[0]; }"
    )
    code.write_bytes(gcn.compile_code_object(kernel, "k.cl", target="gfx900").code)
    script = (
        "import sys, pathlib\n"
        "from headwater.emulate.gcn.translate import translate_kernel\n"
        "from headwater.emulate.gcn.translator import Options\n"
        "from headwater.isa.gcn.codeobject import load\n"
        "code = load(pathlib.Path(sys.argv[1]).read_bytes(), 'k')\n"
        "for name in code.kernels: print(translate_kernel(code, name, Options(full=False)).text)\n"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", script, str(code)],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in range(6)
    }
    assert len(texts) == 1


# What is known of scalar registers where ways meet.
KNOWN_NUMBERS = """
s_mov_b32 s16, 0x05040100
s_mov_b32 s17, 0x03020706
s_mov_b32 s18, 0x0c0b0d01
s_mov_b32 s20, 3
s_cmp_lt_u32 s8, s9
s_cbranch_scc1 other
s_mov_b32 s19, 0x03020706
s_branch again
other:
s_mov_b32 s19, 0x00010203
again:
v_add_f32 v20, v4, v5
v_perm_b32 v21, v4, v5, s16
v_perm_b32 v22, v4, 7, s17
v_perm_b32 v23, v4, v5, s18
v_perm_b32 v24, v4, v5, s19
v_mov_b32 v25, s20
s_add_u32 s20, s20, 1
s_cmp_lt_u32 s20, 6
s_cbranch_scc1 again
"""


@pytest.mark.parametrize("large", [False, True])
def test_numbers_that_are_known_from_block_to_block(large, monkeypatch):
    if large:  # registers lie in memory between blocks, which are compiled apart
        monkeypatch.setattr("headwater.emulate.gcn.translate.LARGE_PROGRAM", 0)
        monkeypatch.setattr("headwater.emulate.gcn.translate.LEAST_MODULE", 1)
    found, wanted = both(KNOWN_NUMBERS, random_inputs(5, INTEGERS), 37, modules=3)
    assert (found == wanted).all()


def test_selectors_that_are_known_make_one_shuffle():
    """A selector from a scalar register took 90 operations of LLVM's a part; attention of Triton's has 144 of them."""
    code = code_of(KNOWN_NUMBERS)
    program = read_program(lambda at: decode(code, at, "gfx900"), 0, "gfx900", lambda at: at < len(code))
    text = translate(program, Mode(), Options()).text
    assert text.count("shufflevector <64 x i8>") == 2 * PARTS


@pytest.mark.parametrize(("wanted", "products"), [("v20", 0), ("v21", PARTS)])
def test_products_are_of_64_bits_where_the_high_half_is_wanted(wanted, products):
    code = code_of(f"v_mad_u64_u32 v[20:21], vcc, v4, v5, v[20:21]\nv_mov_b32 v20, {wanted}\nv_mov_b32 v21, 0")
    program = read_program(lambda at: decode(code, at, "gfx900"), 0, "gfx900", lambda at: at < len(code))
    assert translate(program, Mode(), Options()).text.count("= mul <16 x i64>") == products


def test_one_function_is_one_module(monkeypatch):
    """However long it is, as nothing would be left for a second compiler process."""
    monkeypatch.setattr("headwater.emulate.gcn.translate.LEAST_MODULE", 1)
    code = code_of("v_add_f32 v20, v4, v5")
    program = read_program(lambda at: decode(code, at, "gfx900"), 0, "gfx900", lambda at: at < len(code))
    assert len(translate(program, Mode(), Options()).modules(8)) == 1


MOVED_IN_THE_FRAME = """
v_lshlrev_b32 v3, 4, v0
s_mov_b64 s[20:21], exec
v_cmp_gt_u32 vcc, 50, v0
ds_write_b128 v3, v[4:7] offset:64
ds_write2_b64 v3, v[8:9], v[10:11] offset0:200 offset1:3
ds_write_b16 v3, v12 offset:2
ds_write_b8 v3, v13 offset:3001
s_and_b64 exec, exec, vcc
v_mov_b32 v20, v4
ds_read_b64 v[20:21], v3 offset:64
ds_read_u16 v22, v3 offset:2
ds_read_i8 v23, v3 offset:3001
v_mov_b32 v24, v3
ds_read2_b64 v[24:27], v24 offset0:200 offset1:1
v_add_u32 v2, 1, v3
ds_read2_b32 v[28:29], v2 offset0:7 offset1:0
v_mov_b32 v30, s0
v_mov_b32 v31, s1
global_load_dwordx3 v[30:32], v[30:31], off offset:20
global_load_ubyte v33, v3, s[0:1] offset:5
global_load_short_d16_hi v34, v3, s[0:1] offset:4
v_add_f32 v35, v20, v30
s_mov_b64 exec, s[20:21]
v_add_u32 v36, v24, v28
"""


@pytest.mark.parametrize("active", [64, 37])
def test_accesses_that_move_registers_of_the_frame(active, monkeypatch):
    """Of large kernels where memory instructions are calls: one call, which writes active lanes only."""
    monkeypatch.setattr("headwater.emulate.gcn.translate.LARGE_PROGRAM", 0)
    monkeypatch.setattr("headwater.emulate.gcn.translate.INLINE_ACCESSES", 0)
    found, wanted = both(MOVED_IN_THE_FRAME, random_inputs(6, INTEGERS), active)
    assert (found == wanted).all()
    code = code_of(MOVED_IN_THE_FRAME)
    program = read_program(lambda at: decode(code, at, "gfx900"), 0, "gfx900", lambda at: at < len(code))
    text = translate(program, Mode(), Options(avx512=False)).text
    assert text.count("call i32 @hw_move_wave") == 10
    assert text.count("call i32 @hw_load_part") == 2 * PARTS  # what extends a sign, and what keeps a half


BESIDE_MATRICES = """
v_lshlrev_b32 v3, 4, v0
ds_write_b128 v3, v[4:7] offset:64
ds_write2_b64 v3, v[8:9], v[10:11] offset0:200 offset1:3
ds_read2st64_b64 v[20:23], v3 offset0:1 offset1:2
ds_read_b32 v24, v3 offset:64
ds_read_i8 v25, v3 offset:65
s_waitcnt lgkmcnt(0)
v_mfma_f32_4x4x4f16 v[28:31], v[20:21], v[22:23], v[8:11]
"""


@pytest.mark.parametrize("is_traced", [False, True])
def test_accesses_to_lds_beside_matrices(is_traced):
    """They are one call of the wavefront each, and what extends a sign is written out."""
    code = code_of(BESIDE_MATRICES, "gfx90a")
    program = read_program(lambda at: decode(code, at, "gfx90a"), 0, "gfx90a", lambda at: at < len(code))
    options = Options(avx512=False, observer=TraceObserver() if is_traced else None)
    text = translate(program, Mode(), options).text
    assert text.count("call i32 @hw_move_wave") == 4
    assert text.count("call i32 @hw_load_part") == PARTS
    if not is_traced:
        found, wanted = both(BESIDE_MATRICES, random_inputs(6, (0x3C00BC00, 0x40003C00)), 41, "gfx90a")
        assert differing(found, wanted, np.float32) == []


NAMED_BY_M0 = (
    ("SRC0,SRC1", "v_perm_b32 v20, v4, v5, s16"),
    ("SRC0", "v_readlane_b32 s20, v4, 50\nv_readlane_b32 s21, v5, s10\nv_readfirstlane_b32 s22, v6"),
    ("SRC0,DST", "v_mov_b32_dpp v2, v9 row_shl:1 bank_mask:0x7\nv_mov_b32_dpp v3, v10 wave_shl:1"),
    ("SRC0,DST", "v_mov_b32_sdwa v4, v11 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1"),
    ("DST", "v_writelane_b32 v5, s8, 50\nv_writelane_b32 v6, s8, m0"),
    ("SRC1,DST", "v_mac_f32 v7, v6, v9\nv_add_f32_e64 v8, v6, v10 clamp\nv_add_f16 v9, v9, v10"),
    ("SRC0,DST", "v_swap_b32 v10, v11"),
    ("DST", "v_swap_b32 v12, v15"),
    ("SRC1,DST", "v_lshlrev_b64 v[13:14], 7, v[4:5]"),
    ("SRC2,DST", "v_mad_u64_u32 v[15:16], vcc, v4, v5, v[6:7]"),
)


def test_registers_that_m0_names():
    """All that an instruction does with an operand, it does with the register that M0 names."""
    lines = ["s_mov_b32 s9, 2", "s_and_b32 s10, s10, 63", "s_mov_b32 s16, 0x07000304"]
    for mode, code in NAMED_BY_M0:
        lines += [f"s_set_gpr_idx_on s9, gpr_idx({mode})", code, "s_set_gpr_idx_off"]
    lines += [f"v_mov_b32 v{21 + n}, s{20 + n}" for n in range(3)] + [
        f"v_mov_b32 v{20 + n}, v{n}" for n in range(4, 20)
    ]
    found, wanted = both("\n".join(lines), random_inputs(5, INTEGERS), 37)
    assert (found == wanted).all()


@pytest.mark.parametrize("places", [0, 1 << 20])
def test_a_kernel_of_many_blocks_calls_them_by_places_or_by_a_table(places, monkeypatch):
    made, by_table, by_places = [], chunks._by_table, chunks._by_places
    monkeypatch.setattr("headwater.emulate.gcn.translate.is_large", lambda program: True)
    monkeypatch.setattr(chunks, "MOST_PLACES", places)
    monkeypatch.setattr(chunks, "_by_table", lambda numbers: made.append("table") or by_table(numbers))
    monkeypatch.setattr(chunks, "_by_places", lambda numbers: made.append("places") or by_places(numbers))
    factor = time.time_ns() % 1_000_000  # code that no cache has
    cases = "".join(f"case {n}: s += x * {n + 3}u ^ (s >> {n % 31}); break; " for n in range(40))
    source = f"""kernel void f(global uint *a) {{
      local uint all[64];
      uint i = get_local_id(0), x = a[i] + {factor}u, s = 0;
      for (uint k = 0; k < 5; k++) {{ switch ((x + k) % 40u) {{ {cases} }} }}
      all[i] = s;
      barrier(CLK_LOCAL_MEM_FENCE);
      a[i] = all[63 - i];
    }}"""
    a = np.arange(64, dtype=np.uint32) * 77
    expected = a + np.uint32(factor)
    results = np.zeros(64, np.uint32)
    for k in range(5):
        n = (expected + np.uint32(k)) % 40
        results += expected * (n + 3).astype(np.uint32) ^ (results >> (n % 31).astype(np.uint32))
    hw.compile(source, device="vega64").f[(64,), (64,)](a)
    np.testing.assert_array_equal(a, results[::-1])
    assert made == ["places" if places else "table"]
