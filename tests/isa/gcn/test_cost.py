"""The cost column against CLRX's timings, AMD's matrix calculator and counted arithmetic, row by row."""

import re

import pytest

from headwater import chips
from headwater.isa.gcn import cost, table

RATES = {"full", "half", "quarter", "float32_fma", "float64_add", "float64_fma", "transcendental", "int32_multiply"}


def row(name):
    return next(r for r in table.rows() if r.name == name)


def test_every_row_names_a_unit_and_a_rate_that_a_chip_has():
    chip = chips.find("vega64")
    for r in table.rows():
        assert r.cost.unit in cost.UNITS, r.name
        if r.cost.unit == "VALU":
            assert r.cost.rate in RATES | {"int64", "matrix"}, r.name
            assert cost.alu_cycles(r.cost, chip) >= 4, r.name
        elif r.cost.unit == "VMEM":
            assert r.cost.rate in ("load", "image", "store", "atomic", "cmpswap", "invalidate", "other"), r.name
        elif r.cost.unit == "LDS":
            assert r.cost.number > 0, r.name
        else:
            assert r.cost.rate in ("full", "half", "quarter"), r.name


# CLRX, documentation, "GCN instruction timings": cycles, DPFACTOR is 8 on Vega 64 and 2 on HD 7970.
@pytest.mark.parametrize(
    ("name", "dpfactors", "most"),
    [
        ("v_add_f32", 0, 4),
        ("v_rcp_f32", 0, 16),
        ("v_mul_lo_u32", 0, 16),
        ("v_mqsad_pk_u16_u8", 0, 16),
        ("v_div_scale_f32", 0, 16),
        ("v_div_fmas_f32", 0, 16),
        ("v_div_fixup_f32", 0, 16),
        ("v_swap_b32", 0, 8),
        ("v_add_f64", 1, 99),
        ("v_fma_f64", 2, 99),
        ("v_div_scale_f64", 1, 99),
        ("v_div_fmas_f64", 2, 99),
        ("v_cmp_lt_f64", 1, 99),
        ("v_cmp_lt_u64", 1, 16),  # LLVM's cost model: never below a quarter of the rate
        ("v_lshlrev_b64", 1, 16),
    ],
)
def test_cycles_are_those_of_clrx(name, dpfactors, most):
    for chip, factor in (("vega64", 8), ("hd7970", 2)):
        want = min(most, 4 * factor * dpfactors) if dpfactors else most
        assert cost.alu_cycles(row(name).cost, chips.find(chip)) == want, chip


# AMD, matrix instruction calculator: passes of v_mfma_* on CDNA2.
@pytest.mark.parametrize(
    ("name", "cycles"),
    [
        ("v_mfma_f32_32x32x8f16", 64),
        ("v_mfma_f32_32x32x8bf16_1k", 64),
        ("v_mfma_f32_16x16x16bf16_1k", 32),
        ("v_mfma_f32_4x4x4f16", 8),
        ("v_mfma_f64_16x16x4f64", 32),
        ("v_mfma_f64_4x4x4f64", 16),
    ],
)
def test_passes_of_matrix_instructions(name, cycles):
    assert cost.alu_cycles(row(name).cost, chips.find("mi250x")) == cycles


def test_operations_of_matrix_instructions_are_their_shapes():
    """2 × rows × columns × depth × blocks; a result has rows × columns × blocks elements, over 64 lanes."""
    for r in table.rows():
        if r.cost.rate != "matrix" or r.name.startswith(("v_mfma_i32", "v_smfmac_i32")):
            continue
        depth = int(re.match(r"v_s?mfmac?_\w+?_\d+x\d+x(\d+)", r.name)[1])
        elements = re.match(r"v?(\d*)f(?:32|64)", r.operands[0].type)[1] or "1"
        assert r.cost.flops == 2 * depth * int(elements), r.name


def test_peaks_follow_from_rates_and_operations():
    """A full-rate multiply-addition reaches the chip's peak, and double precision its own."""
    for name in ("hd7970", "r9-290x", "vega64", "mi50"):
        chip = chips.find(name)
        for operation, peak in (("v_mac_f32", chip.float32_gflops), ("v_fma_f64", chip.float64_gflops)):
            of = row(operation).cost
            simds = chip.compute.compute_units * chip.compute.simds_per_compute_unit
            reached = 64 * of.flops * simds * chip.compute.clock_mhz / 1e3 / cost.alu_cycles(of, chip)
            assert reached == pytest.approx(peak), operation
