"""The tables: every operation once for each generation, every text well-typed, every name to be found."""

from collections import Counter

import pytest

from headwater.chips.vliw_isas import GENERATION_OF_TARGET, GENERATIONS
from headwater.isa.vliw import table
from headwater.isa.vliw.encodings import FIELD_NAMES, form, kinds
from headwater.isa.vliw.model import ALU_KINDS, KINDS, Fields
from headwater.isa.vliw.semantics import semantics

SLOTS = ("any", "vec", "trans", "vec4", "replicated")


@pytest.mark.parametrize("generation", GENERATIONS)
def test_opcodes_and_names_are_unique(generation: str) -> None:
    rows = list(table.rows(generation))
    opcodes = Counter((row.kind, row.opcodes[generation]) for row in rows)
    names = Counter((row.kind, name) for row in rows for name in {row.name, row.mnemonic})
    assert [what for what, count in (opcodes | names).items() if count > 1] == []
    for row in rows:
        assert table.find(generation, row.kind, row.opcodes[generation]) is row


def test_every_text_is_well_typed() -> None:
    for row in table.rows():
        if row.semantics:
            assert semantics(row).vector
        else:
            assert row.kind not in ALU_KINDS


def test_rows_are_complete() -> None:
    kinds_seen = set()
    for row in table.rows():
        kinds_seen.add(row.kind)
        if row.kind in ALU_KINDS:
            assert set(row.slots) == set(row.opcodes)
            assert set(row.slots.values()) <= set(SLOTS), row.name
            assert row.nsrc <= (2 if row.kind == "OP2" else 3)
        for generation in row.opcodes:
            assert row.kind == "RAT_INST" or row.kind in kinds(generation), row.name
    assert kinds_seen == set(KINDS)


def test_what_generations_lack() -> None:
    assert table.named("r600", "OP2", "MOVA_GPR_INT") is not None
    assert table.named("r700", "OP2", "MOVA_GPR_INT") is None
    assert table.named("cayman", "CF", "VTX") is None
    assert table.named("cayman", "OP2", "RECIP_UINT") is None
    assert table.alu("evergreen", "MULADD_IEEE").opcodes == {"r600": 20, "r700": 20, "evergreen": 24, "cayman": 24}
    assert table.alu("cayman", "RCP_e").slots["cayman"] == "replicated"
    assert table.alu("r600", "SIN") is not table.alu("r700", "SIN")  # radians, then turns
    with pytest.raises(KeyError):
        table.alu("r600", "LDS_ADD")


@pytest.mark.parametrize("generation", GENERATIONS)
def test_fields_do_not_overlap(generation: str) -> None:
    for kind in kinds(generation):
        taken = 0
        for name, (low, width) in form(generation, kind).items():
            mask = ((1 << width) - 1) << low
            assert not taken & mask, (kind, name)
            taken |= mask
        assert taken < 1 << (128 if kind in ("TEX", "VTX", "SEM", "GDS", "MEM_RD", "MEM_DSW", "MEM_DSR") else 64)


def test_targets_have_a_generation() -> None:
    assert set(GENERATION_OF_TARGET.values()) == set(GENERATIONS)


def test_fields_read_as_zero_where_absent() -> None:
    fields = Fields({"addr": 3, "count": 0})
    assert (fields["addr"], fields["count"], fields["barrier"]) == (3, 0, 0)
    assert fields == {"addr": 3}
    assert "count" not in fields
    assert set(fields) <= FIELD_NAMES
    with pytest.raises(KeyError):
        fields["adress"]
