"""Plans: which points they have, which of these share a launch, and what is wrong with them."""

import pytest

from headwater import chips
from headwater.errors import UsageError
from headwater.sweep.plan import read

SOURCE = "kernel void f(global float *x) { x[get_global_id(0)] *= 2; }"
KERNEL = {"source": SOURCE, "name": "f", "arguments": ["ones:{n}"], "local": "{group}"}


def plan(**more):
    table = {"device": "vega64", "kernel": KERNEL, "values": {"n": [64, 128], "group": 64}}
    return read({**table, **more})


def places(made):
    return [dict(point.values) for _, point in made.points()]


def test_the_grid_is_all_combinations_in_order():
    made = plan(device=["vega64", "hd5870"], set={"compute.clock_mhz": [800, 900]})
    found = places(made)
    assert len(found) == 8
    assert found[0] == {"kernel": "f", "device": "vega64", "n": 64, "group": 64, "compute.clock_mhz": 800}
    assert [one["compute.clock_mhz"] for one in found[:4]] == [800, 900, 800, 900]


def test_points_that_differ_in_figures_alone_share_a_job():
    made = plan(set={"clock_mhz": "800:1600:5", "memory.gigabytes_per_second": [100, 200]})
    groups = made.grouped()
    assert [len(points) for _, points in groups] == [10, 10]
    assert [job.request.words for job, _ in groups] == [("ones:64",), ("ones:128",)]
    assert groups[0][1][0].settings == ("compute.clock_mhz=800", "memory.gigabytes_per_second=100")


def test_chips_share_a_recording_if_they_differ_only_in_what_a_replay_reads(tmp_path):
    for name, figure in (("units", "texture_units = 40"), ("slots", "alu_slots_per_clause = 64")):
        (tmp_path / f"{name}.toml").write_text(f'base = "hd5870"\nname = "{name}"\n[features]\n{figure}\n')
    devices = ["hd5870", str(tmp_path / "units.toml"), str(tmp_path / "slots.toml")]
    jobs = plan(device=devices, values={"n": 64, "group": 64}).grouped()
    assert [[point.chip.name for point in points] for _, points in jobs] == [["Radeon HD 5870", "units"], ["slots"]]


def test_chips_that_run_the_same_code_share_a_recording_and_others_do_not():
    made = plan(device=["vega64", "mi25", "mi50", "hd5870"], values={"n": 64, "group": 64})
    assert [[point.values["device"] for point in points[1]] for points in made.grouped()] == [
        ["vega64", "mi25"],
        ["mi50"],
        ["hd5870"],
    ]


def test_ranges_in_equal_steps_and_by_factors():
    values = {"n": {"low": 64, "high": 1024, "count": 5, "log": True}, "group": "16:64:4"}
    assert sorted({one["n"] for one in places(plan(values=values))}) == [64, 128, 256, 512, 1024]
    assert sorted({one["group"] for one in places(plan(values=values))}) == [16, 32, 48, 64]


def test_sizes_and_options_to_choose_from():
    kernel = {**KERNEL, "local": [[64], "32"], "options": ["", "-DX=1"]}
    made = plan(kernel=kernel, values={"n": 128})
    assert [(job.request.local_size, job.options) for job, _ in made.points()] == [
        ((64,), ""),
        ((32,), ""),
        ((64,), "-DX=1"),
        ((32,), "-DX=1"),
    ]
    assert places(made)[1] == {"kernel": "f", "device": "vega64", "n": 128, "options": "", "local": "32"}


def test_constraints_see_values_figures_and_the_chip():
    made = plan(
        values={"n": [64, 128, 256], "group": [64, 128]}, constraints=["n >= group", "n < compute.compute_units * 4"]
    )
    assert chips.find("vega64").compute.compute_units == 64
    assert [(one["n"], one["group"]) for one in places(made)] == [(64, 64), (128, 64), (128, 128)]
    made = plan(set={"compute.compute_units": [8, 64]}, constraints=["compute.compute_units > 8"])
    assert {one["compute.compute_units"] for one in places(made)} == {64}


@pytest.mark.parametrize("method", ["sobol", "random"])
def test_a_sample_draws_ranges_and_choices_and_crosses_them_with_grids(method):
    made = plan(
        values={"n": [64, 128], "group": {"choices": [32, 64]}},
        set={
            "compute.clock_mhz": {"low": 800, "high": 1600},
            "compute.compute_units": {"low": 8, "high": 64, "whole": True},
        },
        sample={"points": 32, "method": method, "seed": 3},
    )
    found = places(made)
    assert len(found) == 64
    assert {one["group"] for one in found} == {32, 64}
    assert all(800 <= one["compute.clock_mhz"] < 1600 for one in found)
    units = {one["compute.compute_units"] for one in found}
    assert len(units) > 15
    assert all(type(one) is int and 8 <= one <= 64 for one in units)
    assert places(made) == found


def test_a_plan_in_toml_finds_files_beside_itself(tmp_path, monkeypatch):
    (tmp_path / "f.cl").write_text(SOURCE)
    (tmp_path / "x.csv").write_text("1\n2\n")
    (tmp_path / "mine.toml").write_text('base = "vega64"\nname = "Mine"\n')
    (tmp_path / "plan.toml").write_text(
        'device = "mine.toml"\n[kernel]\nfile = "f.cl"\narguments = ["x=x.csv"]\n[set]\ncompute.clock_mhz = [1, 2]\n'
    )
    job, points = read(tmp_path / "plan.toml").grouped()[0]
    assert job.chip.name == "Mine"
    assert job.request.words == (f"x={tmp_path / 'x.csv'}",)
    assert [one.values["compute.clock_mhz"] for one in points] == [1, 2]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"devices": "vega64"}, "a plan has no entry 'devices'"),
        ({"device": "vega65"}, "there is no chip 'vega65'"),
        ({"device": []}, "names no chip"),
        ({"device": ["vega64", "vega64"]}, "a chip twice"),
        ({"kernel": {**KERNEL, "fil": 1}}, "has no entry 'fil'"),
        ({"kernel": {"name": "f"}}, "a file or a source"),
        ({"kernel": {"file": "nix.cl"}}, "no such file"),
        ({"kernel": [KERNEL, KERNEL]}, "two kernels of the plan are called f"),
        ({"kernel": []}, "has no kernel"),
        ({"values": {"n": 64}}, "asks for 'group'"),
        ({"values": {"n": [64, 64], "group": 1}}, "a value twice"),
        ({"values": {"n": [], "group": 1}}, "takes numbers or texts"),
        ({"values": {"n": {"low": 4}, "group": 1}}, "takes low and high"),
        ({"values": {"n": {"low": 4, "high": 2, "count": 2}, "group": 1}}, "ranges from 4 to 2"),
        ({"values": {"n": {"low": 4, "high": 8}, "group": 1}}, "how often"),
        ({"sample": {"points": 3}}, "nothing to draw"),
        ({"set": {"clok_mhz": 3}}, "no figure 'clok_mhz'"),
        ({"set": {"clock_mhz": "fast"}}, "takes numbers"),
        ({"constraints": ["nn > 3"]}, "asks for 'nn'"),
        ({"record": ["speed"]}, "cannot record 'speed'"),
        ({"kernel": {**KERNEL, "local": ["{n}", "64"]}}, "several texts with {expressions}"),
        ({"kernel": 5}, "is a table, not 5"),
        ({"kernel": {**KERNEL, "lds": "64,64"}}, "lds takes one size"),
        ({"kernel": {**KERNEL, "values": {"n": 64}}}, "gives 'n' twice"),
        ({"kernel": {**KERNEL, "options": ["", "-DX"], "values": {"options": [1]}}}, "gives 'options' twice"),
        ({"set": {"clock_mhz": [1, 2], "compute.clock_mhz": 3}}, "gives 'compute.clock_mhz' twice"),
        ({"values": {"n": 64, "group": 64, "device": [1, 2]}}, "'device' is a plan's own"),
        ({"values": {"n": 64, "group": 64, "part": [1, 2]}}, "'part' is a plan's own"),
        ({"values": {"n": [64, float("nan")], "group": 1}}, "takes numbers or texts"),
        ({"values": {"n": [10**400], "group": 1}}, "takes numbers or texts"),
        ({"values": {"n": "0:inf:3", "group": 1}}, "ranges from 0 to inf"),
        ({"values": {"n": {"low": -1e308, "high": 1e308, "count": 3}, "group": 1}}, "ranges from"),
        ({"values": {"n": {"low": 1.5, "high": 4, "whole": True}, "group": 1}}, "ranges from 1.5 to 4"),
        ({"values": {"n": {"choices": [[1], 2]}, "group": 1}}, "takes numbers or texts"),
        ({"set": {"clock_mhz": {"choices": ["fast"]}}, "sample": {"points": 2}}, "takes numbers"),
        ({"set": {"clock_mhz": float("inf")}}, "takes numbers"),
        ({"time_limit": -1}, "above 0, not -1"),
        ({"tolerance": -1}, "0 or more, not -1"),
        ({"constraints": ["-" * 990 + "1"]}, "nested too deeply"),
    ],
)
def test_what_is_wrong_with_a_plan_is_named(more, message):
    with pytest.raises(UsageError, match=message):
        plan(**more).grouped()


def test_more_points_than_anybody_wants_are_refused():
    with pytest.raises(UsageError, match="1,002,001 points"):
        plan(values={"n": "1:1001:1001", "group": "1:1001:1001"}).grouped()


def test_what_is_no_toml_is_said(tmp_path):
    (tmp_path / "plan.toml").write_text("device = [")
    with pytest.raises(UsageError, match="is no TOML file"):
        read(tmp_path / "plan.toml")
    (tmp_path / "plan.toml").write_text("device = " + "[" * 5000)
    with pytest.raises(UsageError, match="is no TOML file"):
        read(tmp_path / "plan.toml")
    with pytest.raises(UsageError, match="cannot read the plan"):
        read(tmp_path / "nix.toml")


def test_an_argument_may_be_longer_than_a_files_name(tmp_path):
    numbers = ",".join("1" * 300)
    (tmp_path / "plan.toml").write_text(f"device = 'vega64'\n[kernel]\nsource = '{SOURCE}'\narguments = ['{numbers}']")
    ((job, _),) = read(tmp_path / "plan.toml").grouped()
    assert job.request.words == (numbers,)
