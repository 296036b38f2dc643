"""Searches that choose points one after the other: what they find, and that they repeat themselves."""

from __future__ import annotations

import math
import sys

import pytest

from headwater import cli
from headwater.errors import UsageError
from headwater.sweep import entry
from headwater.sweep.store import Store
from headwater.sweep.table import table

pytest.importorskip("optuna")

SOURCE = """kernel void f(global float *x, int turns) {
  float sum = 0;
  for (int i = 0; i < turns; i++) sum = sum * 0.5f + x[(get_global_id(0) + i) & 1023];
  x[get_global_id(0)] = sum;
}"""
PLAN = {
    "device": ["vega64", "hd5870"],
    "kernel": {
        "source": SOURCE,
        "arguments": ["ones:1024", "{4 + abs(turns - 9)}"],
        "local": "{group}",
    },
    "values": {"turns": {"low": 1, "high": 24, "whole": True}, "group": [128, 64, 256]},
    "sample": {"points": 2},
    "constraints": ["group < 256 or turns > 9"],
}


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """The best rows of 16 trials, what was computed, and where it is."""
    results = tmp_path_factory.mktemp("trials") / "r"
    return *entry.minimise(PLAN, results, "cycles", trials=16, workers=2), results


def test_the_least_of_a_drawn_value_is_found(searched):
    best, state, _ = searched
    assert state.failed == 0
    assert [row["at"]["device"] for row in best] == ["vega64", "hd5870"]
    for row in best:
        assert abs(row["at"]["turns"] - 9) <= 2


def test_trials_are_points_that_satisfy_the_constraints(searched):
    best, state, results = searched
    rows = list(table(Store(results)).rows())
    assert state.done == len(rows) == 2 * 16
    assert all(row["group"] < 256 or row["turns"] > 9 for row in rows)
    for row in best:
        of_device = [one["cycles"] for one in rows if one["device"] == row["at"]["device"]]
        assert row["found"]["cycles"] == min(of_device)


def test_a_search_is_repeated_from_what_is_stored_however_many_work_on_it(searched):
    best, _, results = searched
    again, state = entry.minimise(PLAN, results, "cycles", trials=16, workers=1)
    assert (again, state.done) == (best, 0)


def test_a_search_ends_where_there_are_no_more_points(tmp_path):
    few = PLAN | {"device": "vega64", "values": {"turns": 9, "group": [64, 128]}, "sample": {}}
    best, state = entry.minimise(few, tmp_path / "r", trials=5, workers=1)
    assert (len(best), state.done) == (1, 2)


def test_searches_that_cannot_be_made_are_refused(tmp_path):
    with pytest.raises(UsageError, match="turns is drawn"):
        entry.minimise(PLAN, tmp_path / "r", each=["turns"], trials=4, workers=1)
    with pytest.raises(UsageError, match="trials are 1 or more, not 0"):
        entry.minimise(PLAN, tmp_path / "r", trials=0, workers=1)
    with pytest.raises(UsageError, match="no value 'tile'"):
        entry.minimise(PLAN, tmp_path / "r", each=["tile"], trials=4, workers=1)


def test_a_figure_that_is_no_number_is_never_the_least(searched, monkeypatch):
    *_, results = searched
    stored = Store.row

    def row(store, key):
        found = stored(store, key)
        return found and found | {"found": found["found"] | {"cycles": math.nan}}

    monkeypatch.setattr(Store, "row", row)
    assert entry.minimise(PLAN, results, "cycles", trials=2, workers=1)[0] == []


def test_what_trials_need_is_said(tmp_path, monkeypatch, capfd):
    plan = tmp_path / "plan.toml"
    plan.write_text('device = "vega64"\n[kernel]\nsource = "kernel void f(global int *x) { *x = 1; }"\n')
    words = ["sweep", str(plan), "--results", str(tmp_path / "r")]
    assert cli.main([*words, "--trials", "3"]) == 2
    assert "--minimise" in capfd.readouterr().err
    assert cli.main([*words, "--minimise", "seconds", "--trials", "0"]) == 2
    assert "--trials" in capfd.readouterr().err
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert cli.main([*words, "--minimise", "seconds", "--trials", "3"]) == 2
    assert "pip install headwater[optuna]" in capfd.readouterr().err
