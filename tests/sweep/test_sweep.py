"""Sweeps from a plan to a table: the same whoever computes, never twice, and to the end whatever fails."""

import os
import pickle
import signal

import numpy as np
import pytest

import headwater as hw
from headwater import chips
from headwater.chips.whatif import changed
from headwater.errors import UsageError
from headwater.sweep import entry, local, plan as plans
from headwater.sweep.run import Run, shard
from headwater.sweep.store import Store
from headwater.sweep.table import table
from headwater.timing import Recorded

SOURCE = """kernel void f(global float *x, int turns) {
  float sum = x[get_global_id(0)];
  for (int i = 0; i < turns; i++) sum = sum * 0.5f + x[(get_global_id(0) + i * 64) & 1023];
  x[get_global_id(0)] = sum;
}"""
PLAN = {
    "device": ["vega64", "hd5870"],
    "kernel": {"source": SOURCE, "arguments": ["random:1024", "{turns}"], "local": "64"},
    "values": {"turns": [4, 8]},
    "set": {"clock_mhz": "800:1600:5"},
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The table of the plan, from two workers of this machine."""
    path = tmp_path_factory.mktemp("whole") / "results"
    return hw.sweep(PLAN, path, workers=2), path


def counted(plan, path, **options):
    """Points that a run found, computed, and saw fail."""
    state = entry.run(plans.read(plan), Store(path, create=True), workers=1, **options)
    return state.found, state.done, state.failed


def test_a_row_is_what_a_simulation_reports(whole):
    found, _ = whole
    assert len(found) == 20
    program, x = hw.compile(SOURCE, device="vega64"), random_floats(1024)
    recorded = Recorded(lambda: program.f[(1024,), (64,)](x, 8, device="vega64"))
    (report,) = recorded.reports(changed(chips.find("vega64"), ["clock_mhz=1000"])[0])
    (row,) = (
        one for one in found.rows() if (one["device"], one["turns"], one["compute.clock_mhz"]) == ("vega64", 8, 1000)
    )
    assert (row["cycles"], row["seconds"], row["bottleneck"]) == (report.cycles, report.seconds, report.bottleneck)


def random_floats(count):
    from headwater import files

    kind = files.element("float")
    return files.fit(files.read(f"random:{count}"), kind)


@pytest.mark.parametrize("device", ["vega64", "hd5870"])
def test_launches_that_travelled_report_the_same(device):
    program = hw.compile(SOURCE, device=device)
    recorded = Recorded(lambda: program.f[(1024,), (64,)](np.ones(1024, np.float32), 4, device=device))
    again = Recorded.of(pickle.loads(pickle.dumps([launch.traced for launch in recorded.launches])))
    chip = chips.find(device)
    assert [one.as_json() for one in again.reports(chip)] == [one.as_json() for one in recorded.reports(chip)]


def test_shards_into_one_directory_make_the_same_table(whole, tmp_path):
    found, _ = whole
    for number in (3, 1, 2):
        hw.sweep(PLAN, tmp_path / "r", workers=1, part=(number, 3))
    assert table(Store(tmp_path / "r"), plans.read(PLAN).record).csv() == found.csv()


def test_shards_are_all_points_once():
    groups = plans.read(PLAN).grouped()
    for count in (1, 3, 7, 40):
        parts = [point.label for n in range(count) for _, points in shard(groups, n + 1, count) for point in points]
        assert parts == [point.label for _, points in groups for point in points]
    for number, count in ((0, 3), (4, 3), (1, 0)):
        with pytest.raises(UsageError, match=f"no part {number} of {count}"):
            shard(groups, number, count)


def test_workers_of_dask_make_the_same_table(whole, tmp_path):
    pytest.importorskip("distributed")
    found, _ = whole
    assert hw.sweep(PLAN, tmp_path / "r", dask="local", workers=1).csv() == found.csv()


def test_what_is_stored_is_not_computed_again(whole, tmp_path):
    _, path = whole
    assert counted(PLAN, path) == (20, 0, 0)
    more = {**PLAN, "set": {"compute.clock_mhz": [800, 850]}}
    assert counted(more, path) == (4, 4, 0)
    assert counted({**PLAN, "set": {"clock_mhz": 1600.0}}, path)[:2] == (0, 4)  # 1600 and 1600.0 are other points


def test_other_text_with_the_same_code_computes_nothing_and_other_code_replaces_its_rows(tmp_path):
    path = tmp_path / "r"
    one = {**PLAN, "device": "vega64", "values": {"turns": 4}}
    assert counted(one, path) == (0, 5, 0)
    text = {**one, "kernel": {**PLAN["kernel"], "source": SOURCE + "\n// said differently\n"}}
    assert counted(text, path) == (5, 0, 0)
    other = {**one, "kernel": {**PLAN["kernel"], "source": SOURCE.replace("0.5f", "0.5f + 1")}}
    assert counted(other, path) == (0, 5, 0)
    assert Store(path).counts().superseded == 5
    assert len(table(Store(path))) == 5
    assert counted(one, path) == (5, 0, 0)
    assert Store(path).counts().superseded == 5


def test_headers_are_part_of_the_code(tmp_path):
    (tmp_path / "k.cl").write_text('#include "k.h"\nkernel void f(global float *x) { x[get_global_id(0)] *= A; }')
    made = {"device": "vega64", "kernel": {"file": str(tmp_path / "k.cl"), "arguments": ["ones:64"]}}
    header = tmp_path / "k.h"
    for text, computed in (("#define A 2\n", 1), ("#define A 2 // two\n", 0), ("#define A 3\n", 1)):
        header.write_text(text)
        assert counted(made, tmp_path / "r")[1] == computed


def test_points_that_fail_are_rows_with_their_message(tmp_path):
    made = {
        "device": "vega64",
        "kernel": {
            "source": "kernel void f(global float *x) { x[get_global_id(0) + FROM] = 1; }",
            "arguments": ["ones:64"],
            "options": ["-DFROM=0", "-DFROM=1000000", "-DFROM=nothing"],
        },
        "set": {"registers.vgprs": [16, 256]},
    }
    found = hw.sweep(made, tmp_path / "r", workers=1)
    errors = dict(zip(zip(found["options"], found["registers.vgprs"], strict=True), found["error"], strict=True))
    assert errors["-DFROM=0", 256] is None
    assert "writes 4 bytes at byte 4000000 of `float *x`, which has 256 bytes" in errors["-DFROM=1000000", 256]
    assert "undeclared identifier 'nothing'" in errors["-DFROM=nothing", 16]
    assert counted(made, tmp_path / "r")[:2] == (6, 0)
    failed = sum(error is not None for error in errors.values())
    assert counted(made, tmp_path / "r", retry=True) == (6 - failed, failed, failed)


def test_outputs_are_checked_against_another_device(tmp_path):
    made = {
        "device": "vega64",
        "check": "cpu",
        "kernel": [
            {"source": SOURCE, "arguments": ["random:1024", "4"], "local": "64"},
            {
                "source": "kernel void g(global int *x) { x[get_global_id(0)] = sizeof(x) + get_local_size(0); }",
                "name": "g",
                "arguments": ["zeros:1024"],
            },
        ],
    }
    found = hw.sweep(made, tmp_path / "r", workers=1)
    checks = dict(zip(found["kernel"], found["check"], strict=True))
    assert checks["<source>"] == "same"
    assert all(len(one) == 16 for one in found["outputs"])


def test_another_tolerance_checks_again(tmp_path):
    source = "kernel void f(global float *x) { x[get_global_id(0)] = native_sin(x[get_global_id(0)]); }"
    made = {"device": "hd5870", "check": "cpu", "kernel": {"source": source, "arguments": ["random:1024"]}}
    checks = [hw.sweep({**made, "tolerance": one}, tmp_path / "r", workers=1)["check"] for one in (1.0, 0.0)]
    assert checks[0] == ["same"]
    assert checks[1][0].startswith("x: ")


def test_a_damaged_row_is_named_and_computed_again(whole, tmp_path):
    _, path = whole
    store = Store(tmp_path / "r", create=True)
    (one,) = (path / "rows").iterdir()
    data = bytearray(one.read_bytes())
    data[data.index(b'"seconds"', data.index(b'"compute.clock_mhz":1000}')) + 12] ^= 1
    (tmp_path / "r" / "rows" / one.name).write_bytes(data)
    state = entry.run(plans.read(PLAN), Store(tmp_path / "r"), workers=1)
    assert (state.done, state.failed) == (1, 0)
    assert any(note.endswith("is damaged; it is computed again") for note in state.notes)
    store.reload()
    assert not store.damaged


def test_a_worker_that_is_killed_is_told_with_its_point_and_nothing_is_lost(tmp_path):
    engine = local.LocalEngine(2)
    killed = []

    def kill(state):
        if state.done > 2 and len(killed) < 2 and engine._workers:
            victim = engine._workers[len(killed)].process
            if victim not in killed:
                killed.append(victim)
                os.kill(victim.pid, signal.SIGKILL)

    store = Store(tmp_path / "r", create=True)
    many = {**PLAN, "set": {"clock_mhz": "800:1600:61"}}
    state = Run(plans.read(many).grouped(), store, engine, kill).run()
    engine.close()
    assert len(killed) == 2
    assert state.done == len(table(store)) == 244
    assert any("ended by SIGKILL" in note and "kernel <source>, device" in note for note in state.notes)


def test_ctrl_c_keeps_what_was_made_and_the_next_run_goes_on(tmp_path):
    many = {**PLAN, "device": "vega64", "set": {"clock_mhz": "800:1600:41"}}

    def stop(state):
        if state.done > 20:
            raise KeyboardInterrupt

    store = Store(tmp_path / "r", create=True)
    with pytest.raises(KeyboardInterrupt):
        entry.run(plans.read(many), store, workers=1, progress=stop)
    stored = len(Store(tmp_path / "r"))
    assert 20 < stored < 82
    assert counted(many, tmp_path / "r") == (stored, 82 - stored, 0)


def test_a_cluster_that_is_not_there_is_said():
    pytest.importorskip("distributed")
    with pytest.raises(UsageError, match="no Dask cluster"):
        entry.engine(None, "tcp://127.0.0.1:9")


TUNED = {
    "device": ["vega64", "hd5870"],
    "kernel": {
        "source": SOURCE,
        "name": "f",
        "arguments": ["random:1024", "{turns}"],
        "local": ["16", "32", "64", "128", "256"],
        "options": ["", "-cl-fast-relaxed-math"],
    },
    "values": {"turns": [4, 8]},
}


def test_halving_finds_what_all_points_would_show_for_each_chip_and_value(tmp_path):
    best, state = entry.minimise(TUNED, tmp_path / "a", each=["turns"], workers=1)
    assert state.failed == 0
    assert state.done == 4 * (10 + 4 + 2)
    whole = hw.sweep(TUNED, tmp_path / "b", workers=1)
    for row in best:
        alike = [
            one["seconds"]
            for one in whole.rows()
            if (one["device"], one["turns"]) == (row["at"]["device"], row["at"]["turns"])
        ]
        assert row["found"]["seconds"] == min(alike)
    assert {(row["at"]["device"], row["at"]["turns"]) for row in best} == {
        ("vega64", 4),
        ("vega64", 8),
        ("hd5870", 4),
        ("hd5870", 8),
    }
    again, state = entry.minimise(TUNED, tmp_path / "a", each=["turns"], workers=1)
    assert (again, state.done) == (best, 0)


def test_a_rung_replays_a_part_of_the_work_groups(tmp_path):
    made = {
        "device": "vega64",
        "kernel": {"source": SOURCE, "arguments": ["random:2Mi", "1"], "local": ["64", "256"]},
        "set": {"compute_units": 4},
    }
    best, _ = entry.minimise(made, tmp_path / "r", workers=1)
    found = table(Store(tmp_path / "r"))
    assert sorted(one for one in found["part"] if one is not None) == [1 / 9, 1 / 9, 1 / 3]
    ninth = [error for part, error in zip(found["part"], found["sampling_error"], strict=True) if part == 1 / 9]
    assert all(error > 0 for error in ninth)
    assert (len(best), best[0]["found"]["sampling_error"]) == (1, 0.0)


def test_what_cannot_be_searched_for_is_said(tmp_path):
    with pytest.raises(UsageError, match=r"'bottleneck' cannot be minimised: rows have .*seconds"):
        entry.minimise(PLAN, tmp_path / "r", "bottleneck", workers=1)
    with pytest.raises(UsageError, match="no value 'group'"):
        entry.minimise(PLAN, tmp_path / "r", each=["group"], workers=1)
