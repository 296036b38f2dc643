"""The semantics column: every row has a meaning, both evaluators agree about it, and it is what other sources say."""

from __future__ import annotations

import numpy as np
import pytest

from headwater.emulate.wave.evaluate_exact import compute, convert, ldexp
from headwater.emulate.wave.evaluate_numpy import evaluate
from headwater.isa.cost import NO_COST
from headwater.isa.gcn.model import OperandSpec, Row
from headwater.isa.gcn.semantics import semantics
from headwater.isa.gcn.table import rows
from headwater.isa.semantics.model import Mode, SemanticsError
from headwater.native.worker import Worker
from verification.isa_semantics import MODES, Library, cases, check, random_operand

FEW = (
    "v_add_f32 v_mad_f32 v_fma_f16 v_min_f32 v_max_f16 v_cvt_f16_f32 v_cvt_f32_f64 v_cmp_lt_f32 v_ldexp_f32 v_div_fmas_f32 "
    "v_pk_fma_f16 v_rndne_f32 v_med3_f32 v_exp_f32 v_sqrt_f16 v_cvt_f32_u32 v_fma_f64"
).split()


@pytest.fixture(scope="module")
def worker():
    return Worker()


def test_every_row_has_a_meaning():
    for row in rows():
        meaning = semantics(row)
        assert meaning.assignments or meaning.effects, row.name
        written = {target for target, _ in meaning.assignments}
        assert "D" not in written or any(o.name == "D" for o in row.operands), row.name
        if not any(meaning.effect(k) for k in ("unsupported", "image", "format", "count", "mfma", "nop")):
            assert {"D", "D1"} & {o.name for o in row.operands} <= written, row.name


def test_flags_and_texts_agree():
    for row in rows():
        meaning = semantics(row)
        if meaning.unsupported or any(meaning.effect(k) for k in ("image", "format", "count", "mfma", "nop")):
            continue
        assert ("writes_exec" in row.flags) == ("EXEC" in {t for t, _ in meaning.assignments} and meaning.vector), (
            row.name
        )
        assert ("reads_vcc" in row.flags) == ("VCC" in meaning.reads and meaning.vector), row.name
        assert ("atomic" in row.flags) == meaning.is_atomic, row.name
        loads = [a.kind for a in meaning.accesses]
        assert ("load" in row.flags) == ("load" in loads), row.name
        assert ("store" in row.flags) == ("store" in loads), row.name


def test_evaluators_agree(worker):
    """Every row under the default MODE; `python -m verification.isa_semantics` does more."""
    assert check(worker, "default", 32, seed=1) == []
    assert check(worker, "clamp", 32, seed=1) == []


@pytest.mark.parametrize("mode", [m for m in MODES if m not in ("default", "clamp")])
def test_evaluators_agree_in_every_mode(worker, mode):
    assert check(worker, mode, 96, seed=2, chosen=FEW) == []


def test_a_disagreement_is_told(worker, monkeypatch):
    from headwater.emulate.wave import evaluate_numpy

    monkeypatch.setitem(evaluate_numpy._INTEGER, "xor", np.bitwise_or)
    (line,) = check(worker, "default", 64, seed=1, chosen=["v_xor_b32"])
    assert line.startswith("v_xor_b32 (VOP2): D is ")


# ---- the language's own errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("D = S0 +", "cannot be read: invalid syntax: D = S0 +"),
        ("D = S0 + S1", "mixes u32 and f32: S0 + S1"),
        ("D = S3", "reads S3, which is not an operand"),
        ("D = frob(S0)", "calls frob, which is not known"),
        ("D = u64(S0)", "D = takes u32, not u64"),
        ("D = fma(S0, S0, S0)", "fma(u32, u32, u32): is not for this type"),
        ("D = S0 if S0 else S0", "wants a condition, not u32: S0"),
        ("D = S0 << S1", "shifts u32 by f32: S0 << S1"),
        ("D = S0; del S0", "is neither an assignment nor a call: del S0"),
        ("D = S0[0]", "uses a construct that the language does not have: S0[0]"),
        ("explode()", "has no effect explode"),
        ("D = bit_field(S0, 1)", "bit_field takes 3 values, not 2"),
        ("D = 0x1FFFFFFFF", "8589934591 does not fit u32"),
    ],
)
def test_errors(text, message):
    operands = (OperandSpec("D", "u32"), OperandSpec("S0", "u32"), OperandSpec("S1", "f32"))
    with pytest.raises(SemanticsError) as caught:
        semantics(Row("v_test", "VOP2", {}, operands, frozenset(), NO_COST, text))
    assert str(caught.value).startswith(f"semantics of v_test: {message}")


# ---- other sources ---------------------------------------------------------------------------------------------------


def by_name(name, isa="gfx900"):
    return next(r for r in rows() if r.name == name and isa in r.opcodes)


def result(name, isa="gfx900", **operands):
    arrays = {k: np.atleast_1d(v) for k, v in operands.items()}
    bits = {k: v if v.dtype == bool else v.view(f"u{v.itemsize}") for k, v in arrays.items()}
    return evaluate(semantics(by_name(name, isa)), bits, Mode()).results


def ulps(got, exact):
    """The largest error in units in the last place of f32 results; subnormal results are left out."""
    exact = np.asarray(exact)
    unit = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    return np.max(np.abs(got.astype(np.float64) - exact) / unit)


def test_accuracy_of_transcendental_functions(worker):
    rng = np.random.default_rng(5)
    found = list(cases(Mode(), False, ["v_exp_f32", "v_log_f32", "v_sin_f32", "v_cos_f32"]))
    library = Library(worker, found)

    def result(name, values):
        n = next(n for n, case in enumerate(found) if case.row.name == name)
        return library.run(n, {"S0": values.view(np.uint32)}, len(values))["D"].view(np.float32)

    x = np.concatenate([rng.uniform(-126, 127, 50000), rng.uniform(-1, 1, 50000)]).astype(np.float32)
    assert ulps(result("v_exp_f32", x), np.exp2(x.astype(np.float64))) < 1.0
    y = np.concatenate([np.exp2(rng.uniform(-126, 127, 50000)), rng.uniform(0.5, 2, 50000)]).astype(np.float32)
    y[y == 1] = 3
    assert ulps(result("v_log_f32", y), np.log2(y.astype(np.float64))) < 2.0
    t = np.concatenate([rng.uniform(-1, 1, 50000), rng.uniform(-256, 256, 50000)]).astype(np.float32)
    turn = 2 * np.pi * (t.astype(np.float64) - np.rint(t.astype(np.float64)))
    for name, function in (("v_sin_f32", np.sin), ("v_cos_f32", np.cos)):
        got = result(name, t)
        assert np.max(np.abs(got - function(turn))) < 2**-23


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("v_exp_f32", -np.inf, 0.0),
        ("v_exp_f32", np.inf, np.inf),
        ("v_exp_f32", 128.0, np.inf),
        ("v_exp_f32", -127.0, 0.0),
        ("v_exp_f32", np.nan, np.nan),
        ("v_log_f32", 0.0, -np.inf),
        ("v_log_f32", 1e-40, -np.inf),
        ("v_log_f32", -1.0, np.nan),
        ("v_log_f32", np.inf, np.inf),
        ("v_log_f32", 1.0, 0.0),
        ("v_rcp_f32", 0.0, np.inf),
        ("v_rcp_f32", -np.inf, -0.0),
        ("v_rcp_f32", 2.0**127, 0.0),
        ("v_rsq_f32", -0.0, -np.inf),
        ("v_sqrt_f32", -1.0, np.nan),
        ("v_sin_f32", 0.25, 1.0),
        ("v_sin_f32", 300.0, 0.0),
        ("v_cos_f32", 300.0, 1.0),
        ("v_sin_f32", np.inf, np.nan),
        ("v_cos_f32", -np.inf, np.nan),
        ("v_sin_f32", -0.0, -0.0),
        ("v_sin_f32", -3.4028235e38, 0.0),
        ("v_sin_f32", 300.25, 1.0),
        ("v_cos_f32", 4097.5, -1.0),
        ("v_cos_f32", 0.25, 0.0),
        ("v_fract_f32", -1e-10, 0.99999994),
        ("v_fract_f32", 2.75, 0.75),
        ("v_frexp_mant_f32", -3.0, -0.75),
        ("v_frexp_mant_f32", 2.0**-149, 0.5),
        ("v_rndne_f32", 2.5, 2.0),
    ],
)
def test_special_values(name, value, expected):
    got = result(name, S0=np.float32(value))["D"].view(np.float32)
    assert np.array_equal(got, np.array([expected], np.float32), equal_nan=True)
    assert np.isnan(expected) or np.signbit(got[0]) == np.signbit(np.float32(expected))


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("v_bfe_u32", (0x12345678, 8, 12), 0x456),
        ("v_bfe_i32", (0x00000F00, 8, 4), -1),
        ("v_bfe_i32", (-0x80000000, 16, 31), -32768),
        ("v_bfe_u32", (0x12345678, 8, 0), 0),
        ("v_bfi_b32", (0xFF00, 0xABCD, 0x1234), 0xAB34),
        ("v_alignbit_b32", (0x11223344, 0x55667788, 8), 0x44556677),
        ("v_alignbyte_b32", (0x11223344, 0x55667788, 3), 0x22334455),
        ("v_perm_b32", (0x11223344, 0x55667788, 0x0C0D0700), 0x00FF1188),
        ("v_perm_b32", (0x91223344, 0x55667788, 0x0B0A0908), 0xFF000000),
        ("v_sad_u8", (0x01020304, 0x04030201, 100), 108),
        ("v_msad_u8", (0x01020304, 0x04000201, 100), 107),
        ("v_sad_hi_u8", (0x01020304, 0x04030201, 100), 100 + (8 << 16)),
        ("v_lerp_u8", (0x00FF0305, 0x02FF0406, 0x01000001), 0x01FF0306),
        ("v_mad_u32_u24", (0xFF000003, 5, 7), 22),
        ("v_mad_i32_i24", (-3, 5, 7), -8),
        ("v_lshl_add_u32", (3, 34, 1), 13),
        ("v_xad_u32", (5, 3, 10), 16),
        ("v_med3_i32", (-5, 7, 3), 3),
        ("v_dot4_i32_i8", (0xFF010203, 0x02030405, 10), 10 - 2 + 3 + 8 + 15),
        ("v_dot8_u32_u4", (0x11111111, 0x87654321, 1), 37),
    ],
)
def test_integer_instructions(name, operands, expected):
    sources = {f"S{n}": np.array([x & 0xFFFFFFFF], np.uint32) for n, x in enumerate(operands)}
    assert result(name, "gfx906", **sources)["D"][0] == expected & 0xFFFFFFFF


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("v_sad_u32", (5, 0xFFFFFFFF, 9), 0xFFFFFFFF),
        ("v_sad_u8", (0xFF, 0, 0xFFFFFF80), 0xFFFFFFFF),
        ("v_sad_hi_u8", (0xFFFFFFFF, 0, 0xFF000000), 0xFFFFFFFF),
        ("v_sad_u16", (0xFFFF, 0, 0xFFFF0001), 0xFFFFFFFF),
        ("v_msad_u8", (0xFF, 1, 0xFFFFFF80), 0xFFFFFFFF),
        ("v_mul_u32_u24", (0xFFFFFF, 0xFFFFFF), 0xFFFFFFFF),
        ("v_mul_i32_i24", (0x7FFFFF, 0x800000), 0x80000000),
        ("v_mad_i32_i16", (0x8000, 0x7FFF, 0x80000000), 0x80000000),
        ("v_mad_u32_u16", (0xFFFF, 0xFFFF, 0xFFFFFFFF), 0xFFFFFFFF),
        ("v_cvt_pkrtz_f16_f32", (0xC0000000, 0x40000000), 0x3C000000),
        ("v_cvt_pkrtz_f16_f32", (0x7FC00000, 0x3E800000), 0x34000000),
    ],
)
def test_clamp_limits_sums_and_products(name, operands, expected):
    """LLVM, "Syntax of AMDGPU Instruction Modifiers", clamp: the largest or smallest representable value."""
    meaning = semantics(by_name(name, "gfx900"))
    types = {"i16": np.uint16, "u16": np.uint16}
    values = {f"S{n}": np.array([x], types.get(meaning.types[f"S{n}"], np.uint32)) for n, x in enumerate(operands)}
    assert evaluate(meaning, values, Mode(), clamp=True).results["D"][0] == expected


def test_pairs_of_halves_keep_nans_without_dx10_clamp():
    nan = {f"S{n}": np.array([0x7FC00000], np.uint32) for n in range(2)}
    got = evaluate(semantics(by_name("v_cvt_pkrtz_f16_f32", "gfx900")), nan, Mode(dx10_clamp=False), clamp=True).results
    assert np.isnan(got["D"].view(np.float16)).all()


def test_the_mask_of_mad_i64_i32_is_the_sign_of_the_exact_sum():
    """AMD, "CDNA3" ISA Reference Guide, V_MAD_I64_I32: bit 64 of a sum of 65 bits."""
    a, b = np.array([0x7FFFFFFF, 3, 0x80000000], np.uint32), np.array([0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFFFFF], np.uint32)
    got = result("v_mad_i64_i32", S0=a, S1=b, S2=np.array([(1 << 63) - 1, 1, 1 << 63], np.uint64))
    assert got["D1"].tolist() == [False, True, True]


def test_the_median_of_zeros_is_left_over_by_the_largest():
    """AMD, "CDNA3" ISA Reference Guide, V_MED3_F32, which compares zeros as equal."""
    minus, plus = np.float32(-0.0), np.float32(0.0)
    assert not np.signbit(result("v_med3_f32", S0=minus, S1=plus, S2=minus)["D"].view(np.float32)[0])
    assert np.signbit(result("v_med3_f32", S0=plus, S1=minus, S2=minus)["D"].view(np.float32)[0])


def test_the_low_product_of_dot2_is_added_first():
    """AMD, "CDNA3" ISA Reference Guide, V_DOT2_F32_F16: (2^30 + 1) - 2^30, each sum rounded, is 0."""
    low_first = result(
        "v_dot2_f32_f16", "gfx906", S0=np.uint32(0xF800_3C00), S1=np.uint32(0x7800_3C00), S2=np.float32(2**30)
    )
    assert low_first["D"].view(np.float32)[0] == 0.0


def test_a_denormal_numerator_has_a_denormal_quotient():
    """AMD, "CDNA3" ISA Reference Guide, V_DIV_SCALE_F32: 2^-148 / 0.042 is denormal; nothing is of a NaN."""
    numerator, divisor = np.float32(2.0**-148), np.float32(0.042)
    got = result("v_div_scale_f32", S0=numerator, S1=divisor, S2=numerator)
    assert got["D1"][0]
    assert got["D"].view(np.float32)[0] == 2.0**-84
    assert result("v_div_scale_f32", S0=divisor, S1=divisor, S2=numerator)["D"].view(np.float32)[0] == divisor
    nothing = result("v_div_scale_f32", S0=np.float32(1e-5), S1=np.float32(np.nan), S2=np.float32(1e-5))
    assert not nothing["D1"][0]
    assert nothing["D"].view(np.float32)[0] == np.float32(1e-5)


def test_scalar_bit_instructions():
    def scalar(name, bits, width=64):
        return int(result(name, S0=np.array([bits], f"u{width // 8}"))["D"][0])

    assert scalar("s_wqm_b64", 0x8000_0000_0000_0102) == 0xF000_0000_0000_0F0F
    assert scalar("s_quadmask_b64", 0x8000_0000_0000_0102) == 0x8005
    assert scalar("s_quadmask_b32", 0x80000102, 32) == 0x85
    assert scalar("s_bitreplicate_b64_b32", 0x80000005, 32) == 0xC000_0000_0000_0033
    assert scalar("s_flbit_i32_i64", 0xFFFF_0000_0000_0000) == 16
    assert scalar("s_flbit_i32", 0xFFFFFFFF, 32) == 0xFFFFFFFF
    assert scalar("s_ff0_i32_b32", 7, 32) == 3


@pytest.mark.parametrize(("kind", "bits"), [("f32", 32), ("f64", 64)])
def test_division_by_steps_is_exact(kind, bits):
    """The sequence that LLVM makes of a division (LLVM, SITargetLowering::LowerFDIV32) gives IEEE 754's quotient."""
    rng = np.random.default_rng(11)
    number = np.float32 if kind == "f32" else np.float64
    n = random_operand(rng, kind, 120)
    d = random_operand(rng, kind, 120)
    with np.errstate(all="ignore"):
        expected = n.view(number) / d.view(number)
    one = np.array([1], number)

    def fma(a, b, c, name=f"v_fma_{kind}", **more):
        return result(name, S0=a, S1=b, S2=c, **more)["D"].view(number)

    den = result(f"v_div_scale_{kind}", S0=d, S1=d, S2=n)["D"].view(number)
    scaled = result(f"v_div_scale_{kind}", S0=n, S1=d, S2=n)
    num = scaled["D"].view(number)
    r = result(f"v_rcp_{kind}", S0=den)["D"].view(number)
    for _ in range(1 if kind == "f32" else 2):
        r = fma(fma(-den, r, one), r, r)
    q = result(f"v_mul_{kind}", S0=num, S1=r)["D"].view(number)
    if kind == "f32":
        q = fma(fma(-den, q, num), r, q)
    q = fma(fma(-den, q, num), r, q, f"v_div_fmas_{kind}", VCC=np.broadcast_to(scaled["D1"], len(n)))
    got = result(f"v_div_fixup_{kind}", S0=q, S1=d, S2=n)["D"].view(number)
    same = (got == expected) & (np.signbit(got) == np.signbit(expected)) | np.isnan(got) & np.isnan(expected)
    wrong = [[x.hex() for x in v[~same][:3].tolist()] for v in (n.view(number), d.view(number), got, expected)]
    assert same.all(), wrong


def test_reduction_of_large_angles_by_trig_preop():
    """Three segments of 2/π times an angle give its quarter turns, as OCML's reduction expects."""
    from fractions import Fraction

    for angle in (1e5, 1.5e30, 2.0**1000, 3.0):
        total = Fraction(0)
        for segment in range(3):
            got = result("v_trig_preop_f64", S0=np.float64(angle), S1=np.uint32(segment))["D"].view(np.float64)[0]
            total += Fraction(float(got))
        scale = Fraction(2) ** 128 if np.frexp(angle)[1] + 1022 >= 1968 else 1
        turns = float(total / scale * Fraction(angle) % 4)
        mpmath = pytest.importorskip("mpmath")
        with mpmath.workprec(2000):
            exact = float(mpmath.fmod(mpmath.mpf(angle) * 2 / mpmath.pi, 4))
        assert abs((turns - exact + 2) % 4 - 2) < 1e-9


def test_exact_arithmetic_is_ieee():
    rng = np.random.default_rng(3)
    for kind, number in (("f16", np.float16), ("f32", np.float32), ("f64", np.float64)):
        a, b = random_operand(rng, kind, 300), random_operand(rng, kind, 300)
        x, y = a.view(number), b.view(number)
        with np.errstate(all="ignore"):
            for op, values in (
                ("fadd", x + y),
                ("fsub", x - y),
                ("fmul", x * y),
                ("fdiv", x / y),
                ("sqrt", np.sqrt(x)),
            ):
                args = [a] if op == "sqrt" else [a, b]
                got = np.array(
                    [compute(op, [int(v) for v in pair], kind, 0) for pair in zip(*args, strict=True)], a.dtype
                )
                assert np.array_equal(got.view(number), values, equal_nan=True), (op, kind)
    assert convert(0x477FF001, "f32", "f16", 0) == 0x7C00
    assert convert(0x477FF001, "f32", "f16", 3) == 0x7BFF
    assert ldexp(0x3F800000, -149, "f32") == 1
    assert ldexp(0x3F800000, -150, "f32") == 0
    assert ldexp(0x3FC00000, -150, "f32") == 1


def test_common_operations_are_single_instructions(worker):
    """What matters for speed is one host operation: nothing stands around an fma in the default MODE."""
    from headwater.emulate.wave.builder import Value, WaveBuilder
    from headwater.emulate.wave.lower_llvm import lower

    for name in (
        "v_fma_f32",
        "v_add_f32",
        "v_mul_f32",
        "v_sub_f32",
        "v_add_u32",
        "v_cmp_lt_f32",
        "v_cvt_f32_i32",
        "v_and_b32",
    ):
        meaning = semantics(by_name(name))
        b = WaveBuilder()
        operands = {o: Value(f"%{o}", meaning.types[o], 16) for o in meaning.reads}
        lower(b, meaning, operands, Mode())
        assert len(b.block.lines) == 1, (name, b.block.lines)


def test_library_runs_cases(worker):
    (case,) = cases(Mode(), False, ["v_add_f32"])
    library = Library(worker, [case])
    one = np.full(32, 0x3F800000, np.uint32)
    assert (library.run(0, {"S0": one, "S1": one}, 32)["D"] == 0x40000000).all()
