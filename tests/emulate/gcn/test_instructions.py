"""Whole instructions, encoded at random: the translator against the reference interpreter."""

from __future__ import annotations

import random

import numpy as np
import pytest

from headwater.chips.gcn_isas import ISA_OF_TARGET
from headwater.isa.gcn.decode import decode
from headwater.isa.gcn.table import rows
from verification.isa_instructions import check, differences, encode, interpreted, make_trial, usable


def test_most_instructions_can_be_tried():
    rng, values = random.Random(1), np.random.default_rng(1)
    for isa in ("gfx900", "gfx90a"):
        found = [r for r in rows(isa) if usable(r, isa)]
        assert len(found) > 650
        made = [any(make_trial(r, isa, rng, values) for _ in range(8)) for r in found]
        assert sum(made) > 0.95 * len(found)


def test_encoding_gives_the_row_back():
    rng = random.Random(2)
    names = {"v_perm_b32", "v_pk_fma_f16", "v_add_f32", "s_bfe_u64", "v_cmp_lt_u16", "ds_add_rtn_u32", "s_cmovk_i32"}
    for row in rows("gfx906"):
        if row.name in names:
            assert decode(encode(row, "gfx906", rng) + bytes(8), 0, "gfx906").row is row


def test_translator_and_interpreter_agree():
    """`python -m verification.isa_instructions` does thousands."""
    assert check("gfx900", 70, seed=12) == []


@pytest.mark.parametrize("target", ["gfx803", "gfx906"])
def test_local_memory_at_two_places(target):
    names = {row.name for row in rows(ISA_OF_TARGET[target]) if "_src2_" in row.name or "wrxchg2" in row.name}
    assert len(names) == 35
    assert check(target, 70, seed=5, chosen=names) == []


def test_a_difference_is_told():
    rng, values = random.Random(1), np.random.default_rng(1)
    row = next(r for r in rows("gfx900") if r.name == "v_add3_u32")
    trial = make_trial(row, "gfx900", rng, values)
    want = interpreted(trial, "gfx900", "default")
    assert differences(trial, want, want, "gfx900") == ""
    got = want.copy()
    got[3, 7] ^= 1
    assert "v19, lane 7 is" in differences(trial, got, want, "gfx900")
