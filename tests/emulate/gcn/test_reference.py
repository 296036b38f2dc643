"""The reference interpreter against what AMD's documents say, in numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from gcn_snippets import make_wave, run, run_all
from translated_runs import Fault, random_inputs, translated, whole

from headwater.emulate.wave.layout import PRIVATE_APERTURE, SHARED_APERTURE
from headwater.emulate.wave.reference_memory import FlatMemory, LocalMemory
from headwater.errors import KernelFault
from headwater.isa.gcn.model import EXEC, M0, VCC

LANE = np.arange(64, dtype=np.uint32)


def f32(a):
    return np.asarray(a).view(np.float32)


def test_scalar_arithmetic_sets_scc():
    wave = run("s_mov_b32 s0, -1\ns_add_u32 s1, s0, 1\ns_addc_u32 s2, s0, 5")
    assert wave.scalars[1] == 0
    assert wave.scalars[2] == 5
    assert wave.scc


def test_64_bit_carry_chain():
    wave = run("v_mov_b32 v1, -1\nv_mov_b32 v2, 3\nv_add_co_u32 v3, vcc, v1, v0\nv_addc_co_u32 v4, vcc, 0, v2, vcc")
    assert wave.vectors[3, 0] == 0xFFFFFFFF
    assert wave.vectors[4, 0] == 3
    assert (wave.vectors[3, 1:] == LANE[:-1]).all()
    assert (wave.vectors[4, 1:] == 4).all()


def test_compare_and_select_respect_exec():
    wave = make_wave()
    wave.set_pair(EXEC, 0xFFFF)
    run("v_cmp_gt_u32 vcc, 8, v0\nv_mov_b32 v2, 6\nv_cndmask_b32 v1, 5, v2, vcc", wave=wave)
    assert wave.pair(VCC) == 0xFF
    assert (wave.vectors[1] == np.where(LANE < 8, 6, np.where(LANE < 16, 5, 0))).all()


def test_saveexec_and_branches():
    wave = run(
        """v_mov_b32 v1, 1
        v_cmp_lt_u32 vcc, 31, v0
        s_and_saveexec_b64 s[2:3], vcc
        s_cbranch_execz skip
        v_mov_b32 v1, 2
        skip: s_or_b64 exec, exec, s[2:3]"""
    )
    assert (wave.vectors[1] == np.where(LANE > 31, 2, 1)).all()
    assert wave.pair(EXEC) == (1 << 64) - 1
    assert wave.pair(2) == (1 << 64) - 1


def test_loop_with_scc():
    wave = run("s_mov_b32 s0, 10\ns_mov_b32 s1, 0\nagain: s_add_i32 s1, s1, s0\ns_sub_i32 s0, s0, 1\n"
               "s_cmp_lg_u32 s0, 0\ns_cbranch_scc1 again")  # fmt: skip
    assert wave.scalars[1] == 55


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        ("quad_perm:[1,0,3,2]", LANE ^ 1),
        ("row_shr:1", np.where(LANE % 16 > 0, LANE - 1, 0)),
        ("row_shl:2", np.where(LANE % 16 < 14, LANE + 2, 0)),
        ("row_ror:4", (LANE & ~np.uint32(15)) + (LANE - 4) % 16),
        ("wave_shr:1", np.where(LANE > 0, LANE - 1, 0)),
        ("wave_rol:1", (LANE + 1) % 64),
        ("row_mirror", LANE ^ 15),
        ("row_half_mirror", LANE ^ 7),
        ("row_bcast:15", np.where(LANE >= 16, (LANE & ~np.uint32(15)) - 1, 0)),
        ("row_bcast:31", np.where(LANE >= 32, 31, 0)),
    ],
)
def test_dpp(control, expected):
    wave = run(f"v_mov_b32 v1, 77\nv_mov_b32_dpp v1, v0 {control} row_mask:0xf bank_mask:0xf bound_ctrl:0")
    assert (wave.vectors[1] == expected.astype(np.uint32)).all()


def test_dpp_without_a_source_writes_nothing():
    wave = run("v_mov_b32 v1, 77\nv_mov_b32_dpp v1, v0 row_shr:1 row_mask:0x3 bank_mask:0xf")
    assert (wave.vectors[1] == np.where((LANE % 16 > 0) & (LANE < 32), LANE - 1, 77)).all()


def test_sdwa_selects_and_keeps():
    wave = run(
        """v_mov_b32 v1, 0x80ff7f01
        v_mov_b32 v2, 0x11223344
        v_mov_b32 v3, v2
        v_mov_b32_sdwa v3, sext(v1) dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_2
        v_mov_b32 v4, v2
        v_mov_b32_sdwa v4, v1 dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:BYTE_3
        v_mov_b32_sdwa v5, v1 dst_sel:BYTE_2 dst_unused:UNUSED_SEXT src0_sel:BYTE_3"""
    )
    assert wave.vectors[3, 0] == 0xFFFF3344
    assert wave.vectors[4, 0] == 0x8000
    assert wave.vectors[5, 0] == 0xFF800000


def test_half_results_and_their_other_halves():
    text = "v_mov_b32 v1, 0xabcd3c00\nv_mov_b32 v2, v1\nv_add_f16 v1, v1, v1"
    assert run(text).vectors[1, 0] == 0x4000
    wave = run(text + "\nv_fma_f16 v2, v2, v2, v2")
    assert wave.vectors[2, 0] == 0xABCD4000
    wave = run(text + "\nv_fma_f16 v2, v2, v2, v2 op_sel:[0,0,0,1]")
    assert wave.vectors[2, 0] == 0x40003C00


def test_packed_halves_and_mixed_precision():
    wave = run(
        """v_mov_b32 v1, 0x40003c00
        v_pk_add_f16 v2, v1, v1 op_sel:[0,1] op_sel_hi:[1,0] neg_lo:[0,1]
        v_mov_b32 v3, 2.0
        v_mad_mix_f32 v4, v1, v3, v3 op_sel:[1,0,0] op_sel_hi:[1,0,0]
        v_mov_b32 v5, 0x11110000
        v_mad_mixhi_f16 v5, v1, v3, v3 op_sel_hi:[1,0,0]"""
    )
    assert wave.vectors[2, 0] == 0x4200BC00  # 2 + 1, 1 - 2
    assert f32(wave.vectors[4])[0] == 6.0
    assert wave.vectors[5, 0] == 0x44000000


def test_readlane_writelane_and_first_lane():
    wave = make_wave()
    wave.set_pair(EXEC, 0xF0)
    run("v_readlane_b32 s0, v0, 9\nv_readfirstlane_b32 s1, v0\ns_mov_b32 s3, 99\nv_writelane_b32 v0, s3, 2", wave=wave)
    assert list(wave.scalars[[0, 1]]) == [9, 4]
    assert list(wave.vectors[0, :4]) == [0, 1, 99, 3]


def test_exchange_between_lanes():
    wave = run(
        """v_lshlrev_b32 v1, 2, v0
        v_xor_b32 v1, 12, v1
        ds_bpermute_b32 v2, v1, v0
        ds_permute_b32 v3, v1, v0
        ds_swizzle_b32 v4, v0 offset:swizzle(BITMASK_PERM,"00p11")
        ds_swizzle_b32 v5, v0 offset:swizzle(QUAD_PERM,3,2,1,0)"""
    )
    assert (wave.vectors[2] == LANE ^ 3).all()
    assert (wave.vectors[3] == LANE ^ 3).all()
    assert (wave.vectors[4] == (LANE & 32) + (LANE & 4) + 3).all()
    assert (wave.vectors[5] == LANE ^ 3).all()


def test_counting_lanes():
    wave = run("s_mov_b32 s0, -1\nv_mbcnt_lo_u32_b32 v1, s0, 0\nv_mbcnt_hi_u32_b32 v1, s0, v1")
    assert (wave.vectors[1] == LANE).all()


def test_local_memory():
    wave = run(
        """s_mov_b32 m0, -1
        v_lshlrev_b32 v1, 2, v0
        ds_write_b32 v1, v0 offset:16
        ds_read2_b32 v[2:3], v1 offset0:4 offset1:5
        ds_read_u8 v4, v1 offset:16
        v_mov_b32 v5, 0
        ds_add_rtn_u32 v6, v5, v0
        ds_read_b32 v7, v5"""
    )
    assert (wave.vectors[2] == LANE).all()
    assert (wave.vectors[3, :-1] == LANE[1:]).all()
    assert (wave.vectors[4] == LANE).all()
    assert (wave.vectors[6] == np.cumsum(LANE) - LANE).all()
    assert wave.vectors[7, 0] == 63 * 32


def test_buffer_loads_to_local_memory():
    """M0, the offset and a dword for each lane that is active."""
    memory = FlatMemory()
    start = memory.allocate(1024)
    memory.write(start, np.arange(256, dtype=np.uint32).tobytes())
    wave = make_wave(memory=memory)
    wave.scalars[4:8] = [start & 0xFFFFFFFF, start >> 32, 0xFFFFFFFF, 0x27000]
    load = "v_lshlrev_b32 v1, 2, v0\ns_mov_b32 m0, 0x30100\nbuffer_load_dword v1, s[4:7], 0 offen offset:8 lds"
    run(f"v_cmpx_ne_u32 vcc, 5, v0\n{load}", wave=wave)
    words = np.frombuffer(wave.memories.lds.data, np.uint32)
    wanted = np.arange(2, 66)
    wanted[5] = 0
    np.testing.assert_array_equal(words[66:130], wanted)
    assert not words[:66].any()
    assert not words[130:].any()


def test_buffer_loads_tell_that_memory_is_resident():
    memory = FlatMemory()
    start = memory.allocate(256)
    memory.write(start, np.arange(64, dtype=np.uint32).tobytes())
    wave = make_wave(memory=memory)
    wave.scalars[4:8] = [start & 0xFFFFFFFF, start >> 32, 0xFFFFFFFF, 0x27000]
    load = "v_lshlrev_b32 v1, 2, v0\nbuffer_load_dword v[2:3], v1, s[4:7], 0 offen tfe"
    run(f"v_mov_b32 v3, 7\nv_cmpx_ne_u32 vcc, 5, v0\n{load}", wave=wave)
    np.testing.assert_array_equal(wave.vectors[2], np.where(LANE == 5, 0, LANE))
    np.testing.assert_array_equal(wave.vectors[3], np.where(LANE == 5, 7, 0))


def test_local_addresses_wrap():
    wave = run(
        "s_mov_b32 m0, -1\nv_mov_b32 v1, -8\nds_write_b32 v1, v0 offset:64\nv_mov_b32 v2, 0\nds_read_b32 v3, v2 offset:56"
    )
    assert (wave.vectors[3] == 63).all()


def test_local_addresses_below_zero_fail_on_southern_islands():
    """LLVM, isDSOffsetLegal: "On Southern Islands instruction with a negative base value and an offset don't seem to
    work"."""
    text = "s_mov_b32 m0, -1\nv_mov_b32 v4, -8\nds_read_b32 v20, v4 offset:64\ns_waitcnt lgkmcnt(0)"
    with pytest.raises(KernelFault, match="ds_read_b32"):
        run(text, "gfx600")
    with pytest.raises(Fault):
        translated(whole(text, "gfx600"), random_inputs(1, (0,)), 64, "gfx600")
    run(text, "gfx701")


def test_global_memory_and_scalar_loads():
    memory = FlatMemory()
    data = np.arange(256, dtype=np.uint32)
    start = memory.add(0x7000_0000_0000, memoryview(data))
    wave = make_wave(memory=memory)
    wave.set_pair(4, start)
    run(
        """v_lshlrev_b32 v1, 3, v0
        global_load_dwordx2 v[2:3], v1, s[4:5] offset:8
        s_load_dwordx2 s[8:9], s[4:5], 0x14
        v_mov_b32 v4, s4
        v_mov_b32 v5, s5
        v_add_co_u32 v4, vcc, v4, v1
        v_addc_co_u32 v5, vcc, 0, v5, vcc
        flat_store_short v[4:5], v0
        global_load_short_d16_hi v3, v[4:5], off
        global_atomic_add v6, v[4:5], v0, off glc""",
        wave=wave,
    )
    assert (wave.vectors[2] == 2 * LANE + 2).all()
    assert list(wave.scalars[8:10]) == [5, 6]
    assert (wave.vectors[3] == (2 * LANE + 3 | LANE << 16)).all()
    assert (wave.vectors[6] == LANE).all()
    assert (data[:128:2] == 2 * LANE).all()


def test_private_memory_by_buffer_scratch_and_flat_instructions():
    memory = FlatMemory()
    wave = make_wave(memory=memory)
    private = wave.memories.private
    for n, word in enumerate(
        (private.start & 0xFFFFFFFF, private.start >> 32 | 1 << 31, 0xFFFFFFFF, 3 << 21 | 1 << 23)
    ):
        wave.scalars[n] = word
    run(
        f"""v_mov_b32 v1, 8
        v_add_u32 v2, 100, v0
        buffer_store_dword v2, v1, s[0:3], 0 offen offset:4
        scratch_load_dword v3, v1, off offset:4
        v_mov_b32 v4, 12
        v_mov_b32 v5, 0x{PRIVATE_APERTURE:x}
        flat_load_dword v6, v[4:5]
        buffer_store_byte v0, off, s[0:3], 0 offset:13
        scratch_load_dword v7, v1, off offset:4""",
        wave=wave,
    )
    assert (wave.vectors[3] == LANE + 100).all()
    assert (wave.vectors[6] == LANE + 100).all()
    assert (wave.vectors[7] == (LANE + 100 & 0xFF) + (LANE << 8)).all()


def test_flat_access_to_local_memory():
    wave = run(
        f"""v_lshlrev_b32 v1, 2, v0
        v_mov_b32 v2, 0x{SHARED_APERTURE:x}
        flat_store_dword v[1:2], v0
        ds_read_b32 v3, v1"""
    )
    assert (wave.vectors[3] == LANE).all()


def test_barrier_between_wavefronts():
    lds = LocalMemory("LDS", bytearray(4096))
    waves = [make_wave(lds=lds), make_wave(lds=lds)]
    waves[1].vectors[0] += 64
    run_all(
        """v_lshlrev_b32 v1, 2, v0
        ds_write_b32 v1, v0
        s_waitcnt lgkmcnt(0)
        s_barrier
        v_xor_b32 v1, 0x1fc, v1
        ds_read_b32 v2, v1""",
        waves,
    )
    assert (waves[0].vectors[2] == 127 - LANE).all()
    assert (waves[1].vectors[2] == 63 - LANE).all()


def test_movrel_and_index_mode():
    wave = make_wave("gfx803")
    wave.vectors[5:8] = [[50] * 64, [60] * 64, [70] * 64]
    run("s_mov_b32 m0, 2\nv_movrels_b32 v1, v5\nv_movreld_b32 v10, v6", "gfx803", wave)
    assert wave.vectors[1, 0] == 70
    assert wave.vectors[12, 0] == 60
    wave = make_wave()
    wave.vectors[5:8] = [[50] * 64, [60] * 64, [70] * 64]
    run(
        "s_mov_b32 s0, 1\ns_set_gpr_idx_on s0, gpr_idx(SRC0)\nv_mov_b32 v1, v6\ns_set_gpr_idx_off\nv_mov_b32 v2, v6",
        wave=wave,
    )
    assert wave.vectors[1, 0] == 70
    assert wave.vectors[2, 0] == 60
    assert wave.scalars[M0] & 0xFF == 1


def test_mode_register():
    wave = run(
        """v_mov_b32 v1, 0x00000400
        v_add_f32 v2, v1, v1
        s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0
        v_add_f32 v3, v1, v1
        s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1
        v_add_f32 v4, 1.0, v5
        s_getreg_b32 s0, hwreg(HW_REG_MODE, 0, 10)""",
        wave=_with(5, 0x33000000),
    )
    assert wave.vectors[2, 0] == 0x800
    assert wave.vectors[3, 0] == 0
    assert wave.vectors[4, 0] == 0x3F800001
    assert wave.scalars[0] == 0x3C1


def _with(register, bits):
    wave = make_wave()
    wave.vectors[register] = bits
    return wave


def test_clamp_and_output_modifier():
    wave = make_wave()
    wave.mode = 0x100  # not IEEE, denormals flushed
    wave.vectors[1] = np.float32(0.75).view(np.uint32)
    wave.vectors[2] = np.float32("nan").view(np.uint32)
    run(
        "v_add_f32 v3, v1, v1 clamp\nv_mul_f32 v4, v1, v1 mul:4\nv_add_f32 v5, v2, v1 clamp\nv_add_f32 v6, -v1, -|v1| div:2",
        wave=wave,
    )
    assert list(f32(wave.vectors[3:7, 0])) == [1.0, 2.25, 0.0, -0.75]
    assert run("v_mov_b32 v1, -5\nv_add_u32 v2, v1, v1 clamp").vectors[2, 0] == 0xFFFFFFFF


def test_call_and_return():
    wave = run(
        """s_getpc_b64 s[0:1]
        s_add_u32 s0, s0, target-.-0
        s_addc_u32 s1, s1, 0
        s_swappc_b64 s[30:31], s[0:1]
        v_mov_b32 v2, 2
        s_endpgm
        target: v_mov_b32 v1, 1
        s_setpc_b64 s[30:31]""".replace("target-.-0", "20")
    )
    assert wave.vectors[1, 0] == 1
    assert wave.vectors[2, 0] == 2


def test_matrix_product():
    wave = make_wave("gfx908")
    rng = np.random.default_rng(3)
    a, b = rng.integers(-4, 5, (32, 2)).astype(np.float32), rng.integers(-4, 5, (2, 32)).astype(np.float32)
    wave.vectors[1] = a.T.reshape(-1).view(np.uint32)
    wave.vectors[2] = b.reshape(-1).view(np.uint32)
    wave.vectors[256:272] = np.float32(1).view(np.uint32)
    run("v_mfma_f32_32x32x2f32 a[0:15], v1, v2, a[0:15]", "gfx908", wave)
    product = a @ b + 1
    lane, register = np.meshgrid(np.arange(64), np.arange(16))
    rows = register // 4 * 8 + lane // 32 * 4 + register % 4
    assert (f32(wave.vectors[256:272]) == product[rows, lane % 32]).all()


LANES_BY_BLGP = {
    1: [*range(32)] * 2,
    2: [*range(32, 64)] * 2,
    3: [*range(16, 64), *range(16)],
    **{4 + n: [*range(16 * n, 16 * n + 16)] * 4 for n in range(4)},
}
"""The lane whose B each lane has (AMD, matrix instruction calculator, "Calculations are: BLGP=0 : Default pattern …")."""


@pytest.mark.parametrize("blgp", LANES_BY_BLGP)
def test_lanes_of_a_matrix_that_blgp_chooses(blgp):
    """Of 16 blocks of 4 × 4, k = 1: lane 4 n + j holds A[j] and B[j] of block n, and column j of its result."""
    wave = make_wave("gfx90a")
    rng = np.random.default_rng(blgp)
    a, b = (rng.integers(-9, 10, 64).astype(np.float32) for _ in range(2))
    wave.vectors[1], wave.vectors[2] = a.view(np.uint32), b.view(np.uint32)
    run(f"v_mfma_f32_4x4x1f32 v[4:7], v1, v2, 0 blgp:{blgp}", "gfx90a", wave)
    wanted = a.reshape(16, 4).repeat(4, 0).T * b[LANES_BY_BLGP[blgp]]
    assert (f32(wave.vectors[4:8]) == wanted).all()


@pytest.mark.parametrize("signs", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)])
def test_signs_of_doubles_that_blgp_chooses(signs):
    wave = make_wave("gfx942")
    for register, number in ((2, 2.0), (4, 3.0), (6, 5.0)):
        words = np.array([number]).view(np.uint32)
        wave.vectors[register], wave.vectors[register + 1] = words[0], words[1]
    run(f"v_mfma_f64_4x4x4_4b_f64 v[8:9], v[2:3], v[4:5], v[6:7] neg:[{','.join(map(str, signs))}]", "gfx942", wave)
    a, b, c = ((-1) ** sign for sign in signs)
    found = (wave.vectors[8].astype(np.uint64) | wave.vectors[9].astype(np.uint64) << np.uint64(32)).view(np.float64)
    assert (found == 4 * 2 * a * 3 * b + 5 * c).all()


@pytest.mark.parametrize(
    ("text", "address", "wanted"),
    [
        # A second place 64 dwords on, by the offset and by the address.
        ("ds_add_src2_u32 v0 offset:64", 4 * LANE, lambda x: [*(x[:64] + x[64:128]), *x[64:]]),
        ("ds_rsub_src2_u32 v0 offset:32768", 4 * LANE | 64 << 17, lambda x: [*(x[64:128] - x[:64]), *x[64:]]),
        # One dword back: each lane reads what the one before it has written.
        ("ds_write_src2_b32 v0 offset:32767", 4 * LANE + 4, lambda x: [x[0]] * 65 + [*x[65:]]),
        ("ds_write_src2_b32 v0 offset:65535", 4 * LANE + 4 | 0x7FFF << 17, lambda x: [x[0]] * 65 + [*x[65:]]),
    ],
)
def test_a_second_place_in_local_memory(text, address, wanted):
    """A is the address, without the bits that say where B is; B is so many dwords from it."""
    numbers = np.random.default_rng(4).integers(0, 1 << 32, 1024, np.uint32)
    wave = make_wave(lds=LocalMemory("LDS", bytearray(numbers.tobytes())))
    wave.vectors[0] = address
    run(text, wave=wave)
    assert np.frombuffer(bytes(wave.memories.lds.data), np.uint32).tolist() == list(wanted(numbers))


def test_exchanges_of_two_places():
    numbers = np.random.default_rng(5).integers(0, 1 << 32, 1024, np.uint32)
    wave = make_wave(lds=LocalMemory("LDS", bytearray(numbers.tobytes())))
    wave.vectors[0], wave.vectors[1], wave.vectors[2] = 4 * LANE, 1000 + LANE, 2000 + LANE
    run("ds_wrxchg2st64_rtn_b32 v[4:5], v0, v1, v2 offset0:1 offset1:3", wave=wave)
    assert (wave.vectors[4] == numbers[64:128]).all()
    assert (wave.vectors[5] == numbers[192:256]).all()
    found = np.frombuffer(bytes(wave.memories.lds.data), np.uint32)
    assert (found[64:128] == 1000 + LANE).all()
    assert (found[192:256] == 2000 + LANE).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "v_mov_b32 v1, 0\nglobal_load_dword v2, v[0:1], off",
            "global_load_dword at 0x4, lane 0: 4 bytes at 0x0 are in no",
        ),
        ("v_mov_b32 v1, 0xfff\nds_read_b32 v2, v1", "ds_read_b32 at 0x8, lane 0: 4 bytes at 0xfff are beyond the 4096"),
        ("again: s_branch again", "did not end within 1000 instructions"),
        ("s_trap 2", "s_trap 2 at 0x0"),
        ("ds_condxchg32_rtn_b64 v[0:1], v0, v[2:3]", "ds_condxchg32_rtn_b64 at 0x0: this exchange is not emulated"),
        ("ds_ordered_count v0, v1 gds", "ds_ordered_count at 0x0: ordered counts are not emulated"),
    ],
)
def test_faults(text, message):
    with pytest.raises(KernelFault, match=message):
        run(text)
