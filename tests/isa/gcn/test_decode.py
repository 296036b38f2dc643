"""What decoding makes of operands, modifiers and fields; and what it refuses."""

import random
import struct

import pytest

from headwater.chips.gcn_isas import ISAS
from headwater.errors import DecodeError, DeviceError
from headwater.isa.gcn.decode import decode, decode_all
from headwater.isa.gcn.model import Constant, Literal, Register, constant_bits
from headwater.isa.gcn.printer import text
from headwater.runtime.devices import device, device_for


def code(*words):
    return struct.pack(f"<{len(words)}I", *words)


def test_a_literal_belongs_to_the_instruction():
    i = decode(code(0x020604FF, 0x3F800000), 0, "gfx906")
    assert (i.row.name, i.size_bytes, i.source("S0").value) == ("v_add_f32", 8, Literal(0x3F800000))


def test_a_field_without_an_operand_announces_no_literal():
    i = decode(code(0xBED01CFF), 0, "gfx8")
    assert (i.row.name, i.size_bytes, i.sources) == ("s_getpc_b64", 4, ())


def test_constants_and_registers_are_told_apart():
    i = decode(code(0x80050681), 0, "gfx906")
    assert i.source("S0").value == Constant(129)
    assert i.source("S1").value == Register("s", 6, 1)
    assert i.dest("D").register == Register("s", 5, 1)


def test_vop3_modifiers():
    i = decode(code(0xD1CB8201, 0x2C120702), 0, "gfx906")
    assert [(s.neg, s.abs) for s in i.sources] == [(True, False), (False, True), (False, False)]
    assert (i.fields["clamp"], i.fields["omod"]) == (1, 1)
    assert text(i, "gfx906") == "v_fma_f32 v1, -v2, |v3|, v4 clamp mul:2"


def test_implicit_vcc_is_an_operand():
    i = decode(code(0x38020702), 0, "gfx906")
    assert i.row.name == "v_addc_co_u32"
    assert i.dest("D1").register == i.source("S2").value == Register("s", 106, 2)


def test_the_same_bits_are_another_operation_on_another_generation():
    assert decode(code(0x4A020702), 0, "gfx6").row.name == "v_add_i32"
    assert decode(code(0x4A020702, 0x3C00), 0, "gfx8").row.name == "v_madak_f16"
    assert decode(code(0x32020702), 0, "gfx8").row.operands[1].name == "D1"
    assert decode(code(0x68020702), 0, "gfx900").row.name == "v_add_u32"


@pytest.mark.parametrize(("simm16", "target"), [(0xFFFF, 0x100), (0xFFFE, 0xFC), (3, 0x110)])
def test_branch_targets_are_addresses(simm16, target):
    assert decode(code(0xBF820000 | simm16), 0, "gfx906", 0x100).target == target


def test_scalar_offsets_are_in_bytes_on_every_generation():
    assert decode(code(0xC0008302), 0, "gfx6").fields["offset_bytes"] == 8
    assert decode(code(0xC0020002, 0x10), 0, "gfx8").fields["offset_bytes"] == 16
    assert decode(code(0xC0020002, 0x1FFFF0), 0, "gfx900").fields["offset_bytes"] == -16
    literal = decode(code(0xC00080FF, 0x1000), 0, "gfx7")
    assert (literal.fields["offset_bytes"], literal.size_bytes) == (0x4000, 8)


def test_flat_offsets_are_signed_and_a_scalar_base_makes_the_vector_a_32_bit_offset():
    i = decode(code(0xDC509FF0, 0x017F0002), 0, "gfx900")
    assert (i.form, i.fields["offset"], i.source("ADDR").value) == ("GLOBAL", -16, Register("v", 2, 2))
    i = decode(code(0xDC508010, 0x01040002), 0, "gfx900")
    assert (i.source("ADDR").value, i.source("SADDR").value) == (Register("v", 2, 1), Register("s", 4, 2))


def test_an_image_loads_what_its_mask_says():
    def width(word, high, isa):
        return decode(code(word, high), 0, isa).dest("D").register.dwords

    assert width(0xF0000700, 0x00020400, "gfx906") == 3
    assert width(0xF0000700, 0x80020400, "gfx906") == 2  # packed halves
    assert width(0xF0000700, 0x80020400, "gfx8") == 3  # halves of their own
    assert width(0xF0010700, 0x00020400, "gfx906") == 4  # and the texture-fault word


def test_matrix_operations_use_accumulation_registers():
    i = decode(code(0xD3C00008, 0x05E2B128), 0, "gfx908")
    assert i.row.name == "v_mfma_f32_32x32x1f32"
    assert i.dest("D").register.file == "a"


@pytest.mark.parametrize(
    ("isa", "words", "reason"),
    [
        ("gfx906", [0xD1CB0001, 0x040E06FF], "cannot have a literal"),
        ("gfx906", [0x800506D1], "reserved"),
        ("gfx906", [0xBE8028FF], "ends within"),
        ("gfx906", [0xDC50D000, 0], "segment"),
        ("gfx906", [0xBFFF0000], "no operation"),
        ("gfx6", [0xDC300000, 0], "reserved encoding"),
        ("gfx8", [0xBE80007D], "125"),
        ("gfx906", [0x020604FA, 0xFF0150FF], "dpp_ctrl"),
    ],
)
def test_refusals_say_why_and_where(isa, words, reason):
    with pytest.raises(DecodeError, match=reason) as caught:
        decode(b"\0\0\0\0" + code(*words), 4, isa, 0x1000)
    assert caught.value.address == 0x1004
    assert "0x1004" in str(caught.value)


def test_decode_all_covers_every_byte():
    body = code(0x80050681, 0xD1CB0001, 0x04120702, 0xBF810000)
    instructions = decode_all(body, "gfx906", base=0x40)
    assert [i.address for i in instructions] == [0x40, 0x44, 0x4C]


@pytest.mark.parametrize("isa", ISAS)
def test_random_bytes_give_an_instruction_or_a_decode_error(isa):
    rng = random.Random(isa)
    decoded = 0
    for _ in range(4000):
        try:
            instruction = decode(rng.randbytes(8), 0, isa)
        except DecodeError:
            continue
        assert text(instruction, isa).startswith(instruction.row.name)
        decoded += 1
    assert decoded > 500


@pytest.mark.parametrize(
    ("number", "kind", "bits"),
    [
        (128, "b32", 0),
        (193, "i32", 0xFFFFFFFF),
        (193, "i16", 0xFFFFFFFF),
        (208, "b64", 0xFFFFFFFFFFFFFFF0),
        (242, "f32", 0x3F800000),
        (242, "f16", 0x3C00),
        (242, "f64", 0x3FF0000000000000),
        (242, "v2f16", 0x3C00),
        (193, "v2f16", 0xFFFFFFFF),
        (242, "v2i16", 0x3F800000),
        (242, "u16", 0x3F800000),
        (242, "v2f32", 0x3F8000003F800000),
        (248, "f32", 0x3E22F983),
    ],
)
def test_inline_constants(number, kind, bits):
    assert constant_bits(number, kind) == bits


def test_conversions_from_bytes_write_all_of_their_destination():
    """Their SDWA form selects of the source alone, as llvm-mc 22 has it."""
    i = decode(code(0x7F68ACF9, 0x000406B2), 0, "gfx942")
    assert text(i, "gfx942") == "v_cvt_pk_f32_fp8_sdwa v[180:181], v178 src0_sel:WORD_0"
    for words in ((0x7F68ACF9, 0x000404B2), (0x7F68ACF9, 0x00040EB2)):
        with pytest.raises(DecodeError, match="whole destination"):
            decode(code(*words), 0, "gfx942")


def test_scales_belong_to_the_matrix_operation_after_them():
    """One instruction of 128 bits where the second half says so, else two; as llvm-objdump 22 has it."""
    scales, product = (0xD3AC0000, 0x00035188), 0x05A29128
    i = decode(code(*scales, 0xD3AE0808, product), 0, "gfx950")
    assert i.size_bytes == 16
    assert text(i, "gfx950") == (
        "v_mfma_scale_f32_32x32x64_f8f6f4 v[8:23], v[40:47], v[72:79], v[104:119], v136, v168 op_sel_hi:[0,0,0]"
    )
    two = decode_all(code(*scales, 0xD3AE0008, product), "gfx950")
    assert [text(i, "gfx950") for i in two] == [
        "v_mfma_ld_scale_b32 v136, v168 op_sel_hi:[0,0]",
        "v_mfma_f32_32x32x64_f8f6f4 v[8:23], v[40:47], v[72:79], v[104:119]",
    ]
    assert decode(code(*scales), 0, "gfx950").size_bytes == 8


def test_gfx950_lacks_products_of_xf32():
    words = 0xD3BE0008, 0x0592790A
    assert text(decode(code(*words), 0, "gfx942"), "gfx942").startswith("v_mfma_f32_16x16x8_xf32")
    with pytest.raises(DecodeError, match="no operation 0x3e"):
        decode(code(*words), 0, "gfx950")


@pytest.mark.parametrize("target", ["gfx950", "gfx1100"])
def test_no_chip_runs_other_processors(target):
    """The message names those that there are, however the processor is asked for."""
    for find in (device_for, device):
        with pytest.raises(DeviceError, match=f"no chip executes machine code for {target}") as caught:
            find(target)
        assert "gfx90a, gfx942" in str(caught.value)
