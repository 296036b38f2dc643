"""The sweep over forced layouts runs, finds what is chosen, and compares results; the factors' sides exist."""

from dataclasses import replace

import layouts
import pytest
from suite import CASES

from headwater.vectorise.layout import Layout


def test_names_of_layouts_are_read_back():
    for layout in layouts.layouts_within((256, 16, 1), (0, 1)):
        assert layouts.parse_layout(layouts.layout_name(layout)) == layout
    for text in ("16x8/1", "16x8y/8", "8x4/2"):
        assert layouts.layout_name(layouts.parse_layout(text)) == text
    for text in ("", "16", "x4", "3x1", "16x3", "16x4z", "16x4/", "16x4/3", "16x4/8"):
        with pytest.raises(ValueError, match=r".*"):
            layouts.parse_layout(text)


def test_chunks_are_no_larger_than_the_group():
    assert {layouts.layout_name(x) for x in layouts.layouts_within((8, 2, 1), (0, 1))} == {
        *("1x1", "1x2", "1x4", "1x8", "1x2y", "4x1", "4x2", "4x2y", "8x1", "8x2y")
    }
    assert not any(layout.row_dim for layout in layouts.layouts_within((64, 64, 1), (0,)) if layout.rows > 1)


def test_a_sweep_has_the_chosen_layout_and_right_results():
    (row,) = layouts.sweep("transpose", [Layout(1), Layout(16, 1)], quick=True, rounds=1)
    assert {"chosen", "1x1", "16x1"} == set(row["ms"])
    assert all(value > 0 for value in row["ms"].values())
    assert row["wrong"] == []
    assert layouts.parse_layout(row["chosen"]).lanes > 1


def test_a_kernel_that_counts_its_groups_in_memory_can_be_swept():
    rows = layouts.sweep("scan", [Layout(4, 1)], quick=True, rounds=2)
    assert [(row["kernel"], row["wrong"]) for row in rows] == [("begin", []), ("scan", [])]


def test_wrong_results_are_told(monkeypatch):
    monkeypatch.setattr(layouts.np, "allclose", lambda *_, **__: False)
    (row,) = layouts.sweep("saxpy", [Layout(1)], quick=True, rounds=1)
    assert row["wrong"] == ["1x1"]


def test_factors_name_kernels_and_sides_that_exist(monkeypatch):
    claims = layouts._claims(16)
    for claim in claims:
        case = CASES[claim.case]
        (launch, *_) = [x for x in case.launches(case.make(True)) if x.kernel == claim.kernel]
        module = layouts.host.load(case.source.read_text(), str(case.source), case.options)
        group = layouts._group(module, launch)
        forced = [layouts.parse_layout(side) for side in {claim.slow, claim.fast} - {"chosen", "masks"}]
        candidates = layouts.layouts_within(group, module.facts(claim.kernel).dims)
        assert all(replace(layout, strip=0) in candidates for layout in forced)
    monkeypatch.setattr(layouts, "_claims", lambda base: [c for c in claims if c.case == "histogram"])
    (found,) = layouts.check_claims(quick=True, rounds=3)
    assert found["wrong"] == []
    assert found["factor"] > 0
    assert found["ms"]["masks"] != found["ms"]["chosen"]
