"""What CDNA3 (gfx942) has beside CDNA2: floats of eight bits, XF32, wider matrix instructions, scratch memory that the
hardware knows of. Values are hand-worked from the formats (LLVM, APFloat.h: Float8E4M3FNUZ, Float8E5M2FNUZ)."""

from itertools import pairwise

import numpy as np
import pytest
from gcn_snippets import make_wave, run
from translated_runs import both, differing, random_inputs

import headwater as hw
from headwater.emulate.wave.reference_memory import FlatMemory

TARGET = "gfx942"


def value_of(code, fraction_bits, bias):
    """A number by its sign, exponent and fraction."""
    exponent, fraction = (code & 127) >> fraction_bits, code & (1 << fraction_bits) - 1
    if code == 0x80:
        return np.nan
    size = (fraction if not exponent else fraction + (1 << fraction_bits)) * 2.0 ** (
        max(exponent, 1) - bias - fraction_bits
    )
    return -size if code & 0x80 else size


FORMATS = {"fp8": (3, 8), "bf8": (2, 16)}
CODES = np.arange(256)


@pytest.mark.parametrize("kind", FORMATS)
def test_all_eight_bit_floats_are_read(kind):
    wave = make_wave(TARGET)
    for quarter in range(4):
        wave.vectors[2 + quarter] = CODES[64 * quarter : 64 * quarter + 64]
    text = [f"v_cvt_f32_{kind} v{8 + n}, v{2 + n}" for n in range(4)]
    run("\n".join(text), TARGET, wave)
    found = wave.vectors[8:12].reshape(-1).view(np.float32)
    assert np.array_equal(found, [value_of(code, *FORMATS[kind]) for code in range(256)], equal_nan=True)


def test_formats_by_hand():
    assert [value_of(code, 3, 8) for code in (0x01, 0x08, 0x40, 0x7F, 0xC0)] == [2**-10, 2**-7, 1, 240, -1]
    assert [value_of(code, 2, 16) for code in (0x01, 0x04, 0x40, 0x7F, 0xC0)] == [2**-17, 2**-15, 1, 57344, -1]


def converted(text, *inputs):
    """v8 after an instruction on these values of v2, v3 …"""
    wave = make_wave(TARGET)
    wave.vectors[8] = 0x11223344
    for n, numbers in enumerate(inputs):
        wave.vectors[2 + n] = np.resize(np.asarray(numbers), 64).view(np.uint32)
    run(text, TARGET, wave)
    return wave.vectors[8]


@pytest.mark.parametrize("kind", FORMATS)
def test_numbers_are_rounded_to_the_nearest_and_ties_to_even(kind):
    values = np.array([value_of(code, *FORMATS[kind]) for code in range(128)], np.float32)
    between = (values[:-1] + values[1:]) / 2
    for first in range(0, 128, 64):
        part = slice(first, first + 64)
        text = f"v_cvt_pk_{kind}_f32 v8, v2, -v3"
        exact = converted(text, values[part], values[part]) & 0xFFFF
        negative = np.where(CODES[part] == 0, 0, CODES[part] | 128)
        assert exact.tolist() == (CODES[part] | negative << 8).tolist()
        codes = np.arange(127)[part]
        ties = converted(text, between[part], between[part])[: len(codes)] & 255
        assert ties.tolist() == (codes + (codes & 1)).tolist()
        above = converted(text, np.nextafter(between[part], np.float32(np.inf)), values)[: len(codes)] & 255
        assert above.tolist() == (codes + 1).tolist()


def test_what_is_too_large_is_no_number_and_halves_are_kept():
    found = converted("v_cvt_pk_fp8_f32 v8, v2, v3 op_sel:[0,0,1]", np.float32([248, 247.9, np.inf]), np.float32([1]))
    assert [hex(n) for n in found[:3]] == ["0x40803344", "0x407f3344", "0x40803344"]
    found = converted("v_cvt_pk_bf8_f32 v8, v2, v3", np.float32([61440, 61439, np.nan]), np.float32([-0.0]))
    assert [hex(n) for n in found[:3]] == ["0x11220080", "0x1122007f", "0x11220080"]


SATURATING = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1"
"""FP16_OVFL, which compilers set for conversions to floats of eight bits."""


def test_what_is_too_large_is_the_largest_number_with_fp16_ovfl():
    values = np.float32([1e9, np.inf, -np.inf, np.nan, -300, 247])
    found = converted(f"{SATURATING}\nv_cvt_pk_fp8_f32 v8, v2, v2", values) & 0xFF
    assert [hex(n) for n in found[:6]] == ["0x7f", "0x7f", "0xff", "0x80", "0xff", "0x7f"]
    found = converted(f"{SATURATING}\nv_cvt_sr_bf8_f32 v8, v2, v3", values * 256, np.uint32([1 << 31])) & 0xFF
    assert [hex(n) for n in found[:6]] == ["0x7f", "0x7f", "0xff", "0x80", "0xff", "0x7f"]
    # Halves keep infinities that were there before.
    found = converted(f"{SATURATING}\nv_cvt_f16_f32 v8, v2\nv_add_f16 v8, v8, v8", values) & 0xFFFF
    assert [hex(n) for n in found[:4]] == ["0x7bff", "0x7c00", "0xfc00", "0x7e00"]
    found = converted(f"{SATURATING}\nv_pk_mul_f16 v8, v2, v2", np.uint32([0x7C00_7BFF])) & 0xFFFFFFFF
    assert hex(found[0]) == "0x7c007bff"
    off = SATURATING.removesuffix("1") + "0"
    found = converted(f"{SATURATING}\n{off}\nv_cvt_f16_f32 v8, v2", values) & 0xFFFF
    assert hex(found[0]) == "0x7c00"


def test_random_bits_decide_how_a_number_is_rounded():
    """1 + 2/8 + 3/32 is 3/4 of the way from 0x42 to 0x43: up unless the random bits are below a quarter."""
    numbers, seeds = np.float32([1.34375]), np.uint32([0, 0x3FFFF000, 0x40000000, 0xFFFFFFFF])
    found = converted("v_cvt_sr_fp8_f32 v8, v2, v3 op_sel:[0,0,1,0]", numbers, seeds)
    assert [hex(n) for n in found[:4]] == ["0x11224244", "0x11224244", "0x11224344", "0x11224344"]
    # Half of the least number.
    found = converted(
        "v_cvt_sr_bf8_f32 v8, v2, v3 op_sel:[0,0,1,1]", np.float32([2**-18]), np.uint32([0x7FFFFFFF, 1 << 31])
    )
    assert [hex(n) for n in found[:2]] == ["0x223344", "0x1223344"]


def rounded_by(seed, value, fraction_bits, bias):
    """A code by the description in ROCm/rocm-systems, rocjitsu, data_types.h, whose part for the least numbers others
    found to be the hardware's: the significand is shifted to the least exponent first, what falls off does not count, and
    then as many upper bits of the seed are added as are cut off."""
    bits = int(np.float32(value).view(np.uint32))
    exponent, significand = (bits >> 23 & 255) - 127 + bias, bits & 0x7FFFFF | 0x800000
    if exponent < 1:
        significand, exponent = significand >> min(1 - exponent, 31), 1
    rounded = (significand + (seed >> 9 + fraction_bits)) >> 23 - fraction_bits
    code = rounded + (exponent - 1 << fraction_bits)
    return 0x80 if code > 127 else code | bits >> 24 & 128 if code else 0


@pytest.mark.parametrize("kind", FORMATS)
def test_random_rounding_between_all_codes(kind):
    rng = np.random.default_rng(6)
    least = value_of(1, *FORMATS[kind])
    codes = [value_of(code, *FORMATS[kind]) for code in range(128)]
    numbers = np.float32([a + (b - a) * x for a, b in pairwise(codes) for x in (0, 0.3, 0.99999)])
    numbers = np.concatenate(
        [numbers, -numbers, np.float32([least * 2.0**-n for n in range(1, 40)]), [codes[-1] * 1.06]]
    )
    numbers = numbers.astype(np.float32)
    seeds = rng.integers(0, 2**32, len(numbers), dtype=np.uint32)
    seeds[::5] = 0xFFFFFFFF
    for first in range(0, len(numbers), 64):
        part, given = numbers[first : first + 64], seeds[first : first + 64]
        found = converted(f"v_cvt_sr_{kind}_f32 v8, v2, v3", part, given)[: len(part)] & 255
        wanted = [rounded_by(int(seed), value, *FORMATS[kind]) for seed, value in zip(given, part, strict=True)]
        assert found.tolist() == wanted


def test_integers_and_floats_of_64_bits():
    wave = make_wave(TARGET)
    wave.vectors[2], wave.vectors[3] = 0x90000001, 0x2
    wave.vectors[4], wave.vectors[5] = 0x10, 0xFFFFFFFF
    wave.vectors[6] = 3
    run(
        """v_lshl_add_u64 v[8:9], v[2:3], v6, v[4:5]
        v_mov_b64 v[10:11], v[4:5]
        v_mov_b64 v[12:13], 1.0""",
        TARGET,
        wave,
    )
    total = (0x290000001 << 3) + 0xFFFFFFFF00000010 & (1 << 64) - 1
    assert wave.vectors[8:14, 5].tolist() == [total & 0xFFFFFFFF, total >> 32, 0x10, 0xFFFFFFFF, 0, 0x3FF00000]


INSTRUCTIONS = """
v_mov_b64 v[20:21], v[4:5]
v_lshl_add_u64 v[22:23], v[4:5], v6, v[8:9]
v_fmamk_f32 v24, v4, 0x40200000, v5
v_fmaak_f32 v25, v4, v5, 0x40200000
v_cvt_f32_fp8_sdwa v26, v4 src0_sel:BYTE_2
v_cvt_pk_f32_bf8_sdwa v[28:29], v4 src0_sel:WORD_1
v_cvt_pk_fp8_f32 v30, v4, -v5
v_cvt_pk_bf8_f32 v31, |v4|, v5 op_sel:[0,0,1]
v_cvt_sr_fp8_f32 v32, v4, v5 op_sel:[0,0,0,1]
v_cvt_sr_bf8_f32 v33, v4, v5
ds_write_b32 v0, v4
ds_pk_add_bf16 v0, v5
ds_pk_add_rtn_f16 v34, v0, v6
s_waitcnt lgkmcnt(0)
ds_read_b32 v35, v0
s_waitcnt lgkmcnt(0)
"""


@pytest.mark.parametrize("lanes", [64, 41])
def test_instructions_as_the_reference_runs_them(lanes):
    text = "v_lshlrev_b32 v0, 2, v0\n" + INSTRUCTIONS
    inputs = random_inputs(lanes, (0x3F800000, 0x3C000000, 0x43700000, 0x80000000))
    found, wanted = both(text, inputs, lanes, target=TARGET)
    assert differing(found, wanted, np.float32) == []


OVERFLOWS = f"""
{SATURATING}
v_cvt_pk_fp8_f32 v20, v4, -v5
v_cvt_pk_bf8_f32 v21, v4, v5
v_cvt_sr_fp8_f32 v22, v4, v5
v_cvt_sr_bf8_f32 v23, v4, v5
v_cvt_f16_f32 v24, v4
v_pk_mul_f16 v25, v5, v6
v_fma_f16 v26, v4, v5, v6
v_fma_mixlo_f16 v27, v4, v5, v6 op_sel_hi:[1,0,0]
v_rcp_f16 v28, v6
v_ldexp_f16 v29, v5, v4
v_max_f16 v30, v4, v5
"""


def test_overflows_are_limited_as_by_the_reference():
    special = (0x7F800000, 0x43800000, 0x7C00, 0x7BFF7C00, 0x80000000, 0x477FF000)
    found, wanted = both(OVERFLOWS, random_inputs(3, special), target=TARGET)
    assert (found[:4] == wanted[:4]).all()
    assert differing(found, wanted, np.float16) == []


MATRICES = """
v_mfma_f32_16x16x32_fp8_bf8 v[20:23], v[4:5], v[6:7], v[8:11]
v_mfma_f32_16x16x8_xf32 v[24:27], v[4:5], v[6:7], v[8:11]
v_mfma_i32_16x16x32_i8 v[28:31], v[4:5], v[6:7], v[8:11]
v_mfma_f32_4x4x4_16b_bf16 v[32:35], v[4:5], v[6:7], 1.0
v_mfma_f32_16x16x16_f16 v[36:39], v[4:5], v[6:7], v[8:11] blgp:1
v_mfma_f64_4x4x4_4b_f64 v[52:53], v[4:5], v[6:7], v[8:9] neg:[1,0,1]
v_mfma_f64_4x4x4_4b_f64 v[54:55], v[4:5], v[6:7], 1.0 neg:[0,1,1]
v_smfmac_f32_16x16x32_f16 v[44:47], v[4:5], v[8:11], v6 abid:2
v_smfmac_i32_16x16x64_i8 v[48:51], v[4:5], v[8:11], v6 abid:1
v_smfmac_i32_16x16x64_i8 v[28:31], v[4:5], v[8:11], v29
v_smfmac_i32_16x16x64_i8 v[12:15], v[4:5], v[8:11], v12
v_mfma_f32_32x32x4_xf32 a[0:15], v[4:5], v[6:7], 0
s_nop 15
v_accvgpr_read_b32 v40, a3
v_accvgpr_read_b32 v41, a14
v_mov_b32 v42, v12
v_mov_b32 v43, v15
"""


def test_matrix_instructions_as_the_reference_runs_them():
    found, wanted = both(MATRICES, random_inputs(5, (0x3F800000, 0x40000000)), target=TARGET)
    assert differing(found, wanted, np.float32) == []


def product_of(name, a, b, addend=0.0):
    """A (m × k) times B (k × m) by a 16 × 16 instruction, lanes and registers filled as AMD's matrix instruction calculator
    says: lane i + 16 g has row i of A and column i of B, factors g k / 4 to (g + 1) k / 4."""
    wave = make_wave(TARGET)
    depth = a.shape[1]
    rows = np.concatenate([a[:, n : n + depth // 4] for n in range(0, depth, depth // 4)])
    columns = np.concatenate([b.T[:, n : n + depth // 4] for n in range(0, depth, depth // 4)])
    for first, factors in ((2, rows), (4, columns)):
        words = np.ascontiguousarray(factors).view(np.uint32)
        wave.vectors[first : first + words.shape[1]] = words.T
    wave.vectors[8:12] = np.float32(addend).view(np.uint32)
    run(f"{name} v[8:11], v[2:3], v[4:5], v[8:11]", TARGET, wave)
    i, j = np.meshgrid(np.arange(16), np.arange(16), indexing="ij")
    return wave.vectors[8 + i % 4, j + 16 * (i // 4)]


@pytest.mark.parametrize("a_kind", FORMATS)
@pytest.mark.parametrize("b_kind", FORMATS)
def test_products_of_eight_bit_floats(a_kind, b_kind):
    rng = np.random.default_rng(1)
    a, b = rng.integers(0x20, 0x48, (16, 32)).astype("u1"), rng.integers(0x20, 0x48, (32, 16)).astype("u1")
    a |= rng.integers(0, 2, a.shape).astype("u1") << 7
    values = [np.vectorize(lambda code, kind=kind: value_of(int(code), *FORMATS[kind])) for kind in (a_kind, b_kind)]
    found = product_of(f"v_mfma_f32_16x16x32_{a_kind}_{b_kind}", a, b, 0.5).view(np.float32)
    assert np.allclose(found, values[0](a) @ values[1](b) + 0.5, rtol=1e-5, atol=1e-5)


def test_products_of_bytes_and_of_xf32():
    rng = np.random.default_rng(2)
    a, b = rng.integers(-128, 128, (16, 32)).astype("i1"), rng.integers(-128, 128, (32, 16)).astype("i1")
    found = product_of("v_mfma_i32_16x16x32_i8", a, b).view(np.int32)
    assert (found == a.astype(int) @ b.astype(int)).all()
    # Ten bits of fraction, the others cut off (microsoft/MMA-Sim, simulator/amd.py, found on the hardware).
    numbers = np.float32([1 + 2**-11, 1 + 3 * 2**-11, -1 - 2**-10 - 2**-23, 2 - 2**-23, 2**-126 - 2**-149, 2**-149])
    a, b = np.repeat(np.resize(numbers, 16)[:, None], 8, 1), np.eye(8, 16, dtype=np.float32)
    found = product_of("v_mfma_f32_16x16x8_xf32", a, b).view(np.float32)
    cut = [1, 1 + 2**-10, -1 - 2**-10, 2 - 2**-10, 2**-126 - 2**-136, 0]
    assert found[:6, :8].tolist() == [[value] * 8 for value in cut]
    assert found[:, :8].tolist() == (a.view(np.uint32) & 0xFFFFE000).view(np.float32).tolist()


SPARSE = [
    (16, 32, "f16", "f16"),
    (32, 16, "f16", "f16"),
    (16, 32, "bf16", "bf16"),
    (32, 16, "bf16", "bf16"),
    (16, 64, "i8", "i8"),
    (32, 32, "i8", "i8"),
    *((m, 1024 // m, a, b) for m in (16, 32) for a in FORMATS for b in FORMATS),
]
SMALL = {
    "f16": lambda numbers: numbers.astype(np.float16).view(np.uint16),
    "bf16": lambda numbers: (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16),
    "i8": lambda numbers: numbers.astype(np.int8).view(np.uint8),
    "fp8": lambda numbers: codes_of("fp8")[numbers],
    "bf8": lambda numbers: codes_of("bf8")[numbers],
}
"""Whole numbers from -3 to 3 as bits of the factors' types."""


def codes_of(kind):
    """The codes of 0 to 3, and behind them of -3 to -1."""
    found = [next(c for c in range(256) if value_of(c, *FORMATS[kind]) == n) for n in (0, 1, 2, 3, -3, -2, -1)]
    return np.uint8(found)


@pytest.mark.parametrize(("m", "depth", "a_kind", "b_kind"), SPARSE)
@pytest.mark.parametrize("cbsz", [0, 1])
def test_sparse_products(m, depth, a_kind, b_kind, cbsz):
    """Of each four factors of a row of A two are there; the register of indices has several sets, of which ABID chooses one
    if CBSZ is 0. Where A, B, the indices and the result lie is what AMD's matrix instruction calculator says: lane
    i + m g has of row i of A, of the indices and of column i of B those of the depths from g d / (64 / m) on."""
    rng = np.random.default_rng(3)
    lanes_deep = 64 // m
    of_lane = depth // lanes_deep // 2  # factors of A that a lane has
    sets = 16 // of_lane
    b = rng.integers(-3, 4, (depth, m))
    values = rng.integers(-3, 4, (m, depth // 4, 2))
    chosen = np.sort([[rng.choice(4, 2, replace=False) for _ in range(depth // 4)] for _ in range(m)], axis=2)
    dense = np.zeros((m, depth // 4, 4), int)
    np.put_along_axis(dense, chosen, values, 2)
    wave = make_wave(TARGET)
    for first, rows, kind in ((2, values.reshape(m, -1), a_kind), (4, b.T, b_kind)):
        step = rows.shape[1] // lanes_deep
        lanes = np.concatenate([rows[:, n : n + step] for n in range(0, rows.shape[1], step)])
        words = np.ascontiguousarray(SMALL[kind](lanes)).view(np.uint32)
        wave.vectors[first : first + words.shape[1]] = words.T
    bits = np.zeros(64, np.uint64)
    for n in range(of_lane):
        per_lane = np.concatenate([chosen.reshape(m, -1)[:, g * of_lane + n] for g in range(lanes_deep)])
        bits |= per_lane.astype(np.uint64) << np.uint64(2 * n)
    own = 0 if cbsz else sets - 1
    wave.vectors[1] = (bits << np.uint64(own * 32 // sets)).astype(np.uint32)
    wave.vectors[8:24] = 0
    result, both_kinds = ("i32", "i8") if a_kind == "i8" else ("f32", f"{a_kind}_{b_kind}" if "8" in a_kind else a_kind)
    name = f"v_smfmac_{result}_{m}x{m}x{depth}_{both_kinds}"
    run(f"{name} v[8:{7 + m * m // 64}], v[2:3], v[4:7], v1 cbsz:{cbsz} abid:{sets - 1}", TARGET, wave)
    i, j = np.meshgrid(np.arange(m), np.arange(m), indexing="ij")
    lane, register = j + m * (i // 4 % lanes_deep), 4 * (i // (4 * lanes_deep)) + i % 4
    found = wave.vectors[8 + register, lane].view(np.int32 if result == "i32" else np.float32)
    assert (found == dense.reshape(m, depth) @ b).all()


def test_pairs_of_bfloats_are_added_in_memory():
    memory = FlatMemory()
    place = memory.allocate(256)
    memory.write(place, np.full(64, 0x3F80_4000, np.uint32).tobytes())  # 2 and 1
    wave = make_wave(TARGET, memory)
    wave.set_pair(2, place)
    wave.vectors[1] = np.arange(64) * 4
    wave.vectors[2] = 0x3F80_3F80
    run("global_atomic_pk_add_bf16 v3, v1, v2, s[2:3] sc0\ns_waitcnt vmcnt(0)", TARGET, wave)
    assert (wave.vectors[3] == 0x3F80_4000).all()
    assert set(np.frombuffer(memory.read(place, 256), np.uint32).tolist()) == {0x4000_4040}


SOURCE = """
kernel void k(global int *out, int n) {
  int own[96], x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  for (int i = 0; i < 96; i++) own[(i * 7 + x) % 96] = i + y * n;
  int sum = 0;
  for (int i = 0; i < n; i++) sum += own[(x * 3 + i) % 96] * (i + 1);
  out[(z * get_global_size(1) + y) * get_global_size(0) + x] = sum + 1000 * z;
}
"""


def test_private_memory_and_ids():
    """Private arrays lie where the hardware says, and v0 holds all three ids."""
    results = []
    for device in ("mi300x", "mi250x"):
        out = np.zeros((2, 3, 64), np.int32)
        hw.compile(SOURCE, device=device).k[(64, 3, 2), (32, 3, 2)](out, 5)
        results.append(out)
    assert (results[0] == results[1]).all()
    assert results[0].any()


def test_the_code_is_assembled_again_from_its_disassembly(tmp_path):
    from headwater.isa.gcn import assembly
    from headwater.isa.gcn.codeobject import load
    from headwater.opencl.gcn import compile_code_object
    from headwater.opencl.gcn_build import assemble

    code = load(compile_code_object(SOURCE, "k.cl", "", TARGET).code, "k.hsaco")
    again = load(assemble(assembly.text(code), "k.s", TARGET).code, "k.hsaco")
    one, other = code.kernels["k"], again.kernels["k"]
    assert code.image()[one.start : one.code_end] == again.image()[other.start : other.code_end]
    assert one.enable_wave_offset
    assert (one.rsrc, one.properties) == (other.rsrc, other.properties)
    assert not one.mode.half_overflow
    limited = assembly.text(code).replace(".amdhsa_fp16_overflow 0", ".amdhsa_fp16_overflow 1")
    assert load(assemble(limited, "k.s", TARGET).code, "k.hsaco").kernels["k"].mode.half_overflow
