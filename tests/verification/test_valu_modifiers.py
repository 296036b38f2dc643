"""VALU modifiers and inline constants against NumPy: a sample, and that a wrong value is found."""

from dataclasses import replace

import numpy as np
import pytest

from verification.valu_modifiers import (
    Operand,
    Variation,
    check,
    compared,
    constant_bits,
    encoded,
    inputs,
    interpreted,
    taken,
)
from verification.valu_values import OPERATIONS


def test_the_assembler_takes_most_variations():
    found, missing = taken("gfx90a", 1, 20, "add_")
    assert len(found) > 100
    assert {"add_f16", "add_f64", "pk_add_f32", "pk_add_u16"} <= {one.name for one in found}
    assert "v_swap_b32" in missing


@pytest.mark.parametrize(("target", "only", "every"), [("gfx90a", "fma_mix_f32", 150), ("gfx942", "pk_add_u16", 9)])
def test_a_sample_has_its_values(target, only, every):
    counts, lines = zip(*check(target, 2, every, only), strict=True)
    assert sum(counts) > 15
    assert "".join(lines) == ""


NAMES = (
    "addc_co_u32 cndmask_b32 cubesc_f32 cvt_f32_bf8 cvt_pk_fp8_f32 cvt_pkrtz cvt_sr_fp8_f32 div_fixup_f64 div_fmas_f32 "
    "div_scale_f32 dot2_f32_f16 mad_i32_i16 mad_i64_i32 mbcnt_hi med3_f16 mqsad_u32_u8 qsad_pk_u16_u8 sad_u32 sin_f32 trig"
).split()


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_has_its_values_in_the_interpreter(name):
    rng = np.random.default_rng(3)
    found = taken("gfx942", 3, 5, name)[0][:12]
    assert found
    for one in found:
        registers = inputs(one.operation.explicit, rng)
        assert compared(one, interpreted(one, registers, "gfx942"), registers, "interpreted") == ""


def test_a_wrong_value_is_found():
    """v_fma_mix takes half an inline constant where op_sel_hi says so (llvm-project 183487): 2 × 1 + 1."""
    operands = [Operand("2.0"), Operand("1.0"), Operand("1.0")]
    one = Variation("fma_mix_f32", OPERATIONS["fma_mix_f32"], "PACKED", operands)
    one.code = encoded("gfx90a", [one.text()])[0]
    registers = inputs(one.operation.types[1:], np.random.default_rng(1))
    got = interpreted(one, registers, "gfx90a")
    assert (got & np.uint64(0xFFFFFFFF) == np.float32(3).view(np.uint32)).all()
    assert compared(one, got, registers, "interpreted") == ""
    other = replace(one, operands=[Operand("2.0", op_sel_hi=0), *operands[1:]])
    assert compared(other, got, registers, "interpreted") == ""
    other = replace(one, operands=[Operand("4.0"), *operands[1:]])
    assert "expected" in compared(other, got, registers, "interpreted")


def test_products_of_denormals_are_flushed_before_they_are_added():
    """v_mad_legacy_f32 rounds and flushes twice ("Vega" ISA: "denormals are flushed"): -2^-130 + 0 is 0, not -0."""
    operands = [Operand("0.5", neg=1), Operand(), Operand("0")]
    one = Variation("mad_legacy_f32", OPERATIONS["mad_legacy_f32"], "VOP3_ONLY", operands)
    one.code = encoded("gfx900", [one.text()])[0]
    registers = np.full((8, 64), np.float32(2.0**-126).view(np.uint32))
    assert not (interpreted(one, registers, "gfx900") & np.uint64(0xFFFFFFFF)).any()


def test_values_of_constants():
    assert constant_bits("0.5", "f16") == 0x3800
    assert constant_bits("0.5", "p16i") == 0x3F000000
    assert constant_bits("-2", "f64") == 0xFFFFFFFFFFFFFFFE
