"""The tables' files themselves."""

import pytest

from headwater.chips.gcn_isas import ISAS
from headwater.isa.gcn import table
from headwater.isa.gcn.encodings import layouts
from headwater.isa.gcn.model import FLOWS
from headwater.isa.gcn.operands import IMMEDIATES, KINDS
from headwater.isa.gcn.semantics import semantics
from headwater.isa.semantics.types import TYPE_BITS
from tests.counted import count_calls

FLAGS = frozenset(
    "accvgpr atomic bitop3 blgp_lanes blgp_signs byte_sel clears_half cmpswap dpp dpp90a e64 f8f6f4 fmods format "
    "gather gds high_half interp keeps_half lanes ld_scale load mfma mix no_dst_sel offset2 op_sel permlane "
    "reads_d reads_vcc sdwa sdwa8 smfmac src2 store swizzle vop3b writes_exec".split()
)
FLOW_OF_EFFECT = {"end": {"exit"}, "barrier": {"barrier"}, "gws": {"barrier"}, "branch": {"branch", "jump", "call"}}


def test_an_opcode_means_one_operation():
    seen = {}
    for row in table.rows():
        for isa, opcode in row.opcodes.items():
            key = row.encoding, isa, opcode
            assert key not in seen, (row.name, seen[key])
            seen[key] = row.name
            assert table.find(isa, row.encoding, opcode) is row


def test_types_files_and_flags_are_known():
    for row in table.rows():
        assert {operand.type for operand in row.operands} <= TYPE_BITS.keys(), row.name
        assert {operand.file for operand in row.operands} <= {"", "s", "v", "a"}, row.name
        assert row.flags <= FLAGS | FLOWS, (row.name, row.flags - FLAGS)
        names = [operand.name for operand in row.operands]
        assert len(set(names)) == len(names), row.name


def test_control_goes_where_semantics_say():
    found = set()
    for row in table.rows():
        what = semantics(row)
        flows = [FLOW_OF_EFFECT[effect.kind] for effect in what.effects if effect.kind in FLOW_OF_EFFECT]
        flows += [{"indirect", "call"} for target, _ in what.assignments if target == "PC"]
        if what.unsupported:
            flows = [FLOWS] * len(FLOWS & row.flags)
        assert len(flows) == len(FLOWS & row.flags), row.name
        assert all(FLOWS & row.flags <= one for one in flows), row.name
        found |= FLOWS & row.flags
        if what.jumps_if is not None:
            assert "branch" in row.flags, row.name
    assert found == FLOWS


def test_forms_have_every_operand_of_their_rows_in_fields_that_exist():
    for row in table.rows():
        form = "VOP3B" if "vop3b" in row.flags and row.encoding == "VOP3" else row.encoding
        form = "VOP3_INTERP" if "interp" in row.flags and row.encoding == "VOP3" else form
        assert {operand.name for operand in row.operands} <= table.form(form).keys(), row.name
    for isa in ISAS:
        for name, fields in layouts(isa).items():
            for operand, place in table.form(name).items():
                assert place.kind in KINDS.keys() | IMMEDIATES, (name, operand, place)
                fields_of_two_words = fields | layouts(isa)["VOP2"] if name in ("SDWA", "SDWA_VOPC", "DPP") else fields
                absent = (name, operand) in {("SMEM", "SOFFSET"), ("SDWA_VOPC", "D")}  # before gfx9
                assert place.field in {"", *fields_of_two_words} or absent, (isa, name, operand)


def test_the_last_opcode_given_holds_for_the_generations_that_follow():
    assert table.opcode_columns("- 08 10") == {"gfx7": 8} | dict.fromkeys(ISAS[2:], 16)
    assert table.opcode_columns("25 25 19 -") == {"gfx6": 0x25, "gfx7": 0x25, "gfx8": 0x19}


def test_reading_the_tables_is_cheap():
    for cached in (table._lines, table._index):
        cached.cache_clear()

    def look():
        for encoding in table.FILE_OF_ENCODING:
            table.find("gfx906", encoding, 0)

    assert count_calls(look) < 20_000  # 9,055 as it was written


def test_rows_are_sorted_out_by_generation():
    names = {row.name for row in table.rows("gfx6")}
    assert "v_mac_legacy_f32" in names
    assert "v_pk_fma_f16" not in names
    assert "global_load_dword" not in names


@pytest.mark.parametrize(
    ("isa", "encoding", "name", "update", "comparand"),
    [
        ("gfx900", "FLAT", "flat_atomic_swap", "xchg", ""),
        ("gfx900", "FLAT", "flat_atomic_cmpswap", "cmpxchg", ""),
        ("gfx900", "DS", "ds_cmpst_rtn_b64", "cmpxchg", "DATA"),
        ("gfx900", "DS", "ds_mskor_b32", "mskor", "DATA"),
        ("gfx900", "DS", "ds_max_rtn_f32", "max", ""),
        ("gfx900", "DS", "ds_or_b32", "or", ""),
        ("gfx900", "DS", "ds_rsub_u32", "sub", ""),
        ("gfx942", "FLAT", "flat_atomic_pk_add_bf16", "other", ""),
        ("gfx900", "VOP2", "v_and_b32", "", ""),
    ],
)
def test_what_atomic_instructions_make_of_memory(isa, encoding, name, update, comparand):
    what = semantics(table.named(isa, encoding, name))
    assert (what.update, what.comparand) == (update, comparand)


@pytest.mark.parametrize(
    ("encoding", "name", "found"),
    [
        ("VOPC", "v_cmp_ne_u32", ("ne", "u32")),
        ("SOPC", "s_cmp_lg_i32", ("ne", "i32")),
        ("SOPK", "s_cmpk_lt_u32", ("lt", "u32")),
        ("SOPC", "s_bitcmp0_b32", None),
        ("VOP1", "v_ffbh_u32", None),
        ("VOPC", "v_cmpx_eq_u32", None),
    ],
)
def test_comparisons_of_operands(encoding, name, found):
    comparison = semantics(table.named("gfx900", encoding, name)).comparison
    assert (comparison and (comparison[0], comparison[1].type)) == found
