"""What inline constants are to operations on halves and pairs, in numbers worked out by hand: the interpreter and the
translated code share the table of constants, so that comparing them shows nothing."""

import numpy as np
import pytest
from gcn_snippets import make_wave, run
from translated_runs import both, random_inputs

INLINE_CONSTANTS = {
    # LLVM, AMDGPUBaseInfo.cpp, getInlineEncodingV216, and llvm-project PR 183487 of the mix instructions: an f16 operand
    # gets a float as a half in the low 16 bits and 0 above, integers are 32 bits, sign-extended. With a = 2.0, b = 3.0:
    "v_fma_mix_f32 v9, v4, 1.0, 0 op_sel_hi:[1,1,1]": 0x40000000,  # 2 * 1
    "v_fma_mix_f32 v9, v4, 1.0, 0 op_sel_hi:[1,0,1]": 0x40000000,  # the same by a constant of single precision
    "v_fma_mix_f32 v9, v4, 4.0, 1.0 op_sel_hi:[1,1,1]": 0x41100000,  # 2 * 4 + 1
    "v_fma_mix_f32 v9, v4, -4.0, |-1.0| op_sel:[1,0,0] op_sel_hi:[1,1,1]": 0xC1300000,  # 3 * -4 + 1
    "v_fma_mix_f32 v9, v4, 1.0, v5 op_sel:[0,1,0] op_sel_hi:[1,1,0]": 0x40A00000,  # 2 * 0 + 5: above the half is 0
    "v_fma_mix_f32 v9, v4, 0, 0.15915494 op_sel_hi:[1,0,1]": 0x3E230000,  # the half nearest to 1/(2 pi), made single
    "v_fma_mix_f32 v9, v4, 0, 0.15915494 op_sel_hi:[1,0,0]": 0x3E22F983,
    "v_fma_mix_f32 v9, v4, 0, 64 op_sel_hi:[1,0,1]": 0x36800000,  # 64 steps of the smallest half, 2^-24
    "v_fma_mixlo_f16 v9, v4, 1.0, 1.0 op_sel_hi:[1,1,1]": 0x77774200,  # 2 * 1 + 1
    "v_fma_mixhi_f16 v9, v4, 1.0, 1.0 op_sel_hi:[1,1,1]": 0x42007777,
    "v_pk_add_f16 v9, v4, 1.0": 0x42004200,  # 3 + 0, 2 + 1
    "v_pk_add_f16 v9, v4, 1.0 op_sel_hi:[1,0]": 0x44004200,  # 3 + 1, 2 + 1
    "v_pk_add_f16 v9, v4, 1.0 op_sel:[0,1]": 0x42004000,  # 3 + 0, 2 + 0
    "v_pk_add_u16 v9, v6, 1": 0x00100021,  # 0x10 + 0, 0x20 + 1
    "v_pk_add_u16 v9, v6, 1 op_sel_hi:[1,0]": 0x00110021,
    "v_pk_add_u16 v9, v6, -1": 0x000F001F,
    "v_pk_add_u16 v9, v6, 1.0": 0x3F900020,  # 0x3f800000 in two halves
    "v_pk_lshlrev_b16 v9, 4, v6 op_sel_hi:[0,1]": 0x01000200,
    "v_add_i16 v9, v6, -1": 0x7777001F,
    "v_add_i16 v9, v6, -1 op_sel:[1,1,0]": 0x7777000F,  # 0x10 + 0xffff, the high half of -1
    "v_add_i16 v9, v6, 1 op_sel:[1,1,0]": 0x77770010,
}


OPERANDS = "v_mov_b32 v4, 0x42004000\nv_mov_b32 v5, 0x40a00000\nv_mov_b32 v6, 0x100020"
TARGETS = {"gfx900": "mad_mix", "gfx906": "fma_mix", "gfx90a": "fma_mix"}


@pytest.mark.parametrize("target", TARGETS)
def test_constants_of_mixed_and_packed_operations(target):
    for text, wanted in INLINE_CONSTANTS.items():
        shown = text.replace("fma_mix", TARGETS[target])
        wave = run(f"{OPERANDS}\nv_mov_b32 v9, 0x77777777\n{shown}", target)
        assert hex(wave.vectors[9, 5]) == hex(wanted), shown


@pytest.mark.parametrize("target", TARGETS)
def test_translated_code_has_the_same_constants(target):
    lines = [OPERANDS, *(f"v_mov_b32 v{20 + n}, 0x77777777" for n in range(len(INLINE_CONSTANTS)))]
    for n, text in enumerate(INLINE_CONSTANTS):
        lines.append(text.replace("v9", f"v{20 + n}").replace("fma_mix", TARGETS[target]))
    results, _ = both("\n".join(lines), random_inputs(1, (0,)), target=target)
    assert [hex(row[5]) for row in results[: len(INLINE_CONSTANTS)]] == [
        hex(bits) for bits in INLINE_CONSTANTS.values()
    ]


def test_float_constants_of_unpacked_short_operations():
    """On gfx8 and gfx9 an integer operand of 16 bits gets the low half of the single-precision number (llvm-project PR
    198005), but exponents and classes get a half (issue 58167)."""
    wave = make_wave("gfx803")
    wave.vectors[1], wave.vectors[3] = 1, 0xBC00
    run("v_add_u16 v2, 0.15915494, v1\nv_cmp_class_f16 s[8:9], v3, 0.15915494", "gfx803", wave)
    assert wave.vectors[2, 0] == 0xF984  # 0x3e22f983
    assert wave.scalars[8] == 0xFFFFFFFF  # 0x3118 has the bit of negative normal numbers, 0x3e22f983 has not


def test_packed_single_precision_gets_a_constant_twice():
    # AMD's emulator rocjitsu, ROCm/rocm-systems PR 10589: inline constants are splat, scalar registers are pairs.
    text = "v_mov_b32 v2, 3.0\nv_mov_b32 v3, 5.0\nv_pk_mul_f32 v[4:5], v[2:3], 2.0\nv_pk_add_f32 v[6:7], v[2:3], 1.0"
    wave = run(text + " op_sel_hi:[1,0]", "gfx90a")
    assert [float(wave.vectors[n].view(np.float32)[0]) for n in (4, 5, 6, 7)] == [6, 10, 4, 6]
