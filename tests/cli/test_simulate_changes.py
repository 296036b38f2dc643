"""``headwater simulate`` with changes of the chip and of work-groups."""

import json

import pytest


def test_set_adds_the_changed_chip(headwater, folder):
    words = "simulate vadd.cl random:65536 random:65536 --local 64 --device vega64 --json".split()
    done = headwater(*words, "--set", "memory.gigabytes_per_second=60")
    assert done.code == 0, done.err
    first, second = json.loads(done.out)["launches"]
    assert second["device"] == "Radeon RX Vega 64 with memory gigabytes_per_second 60"
    assert second["seconds"] > 1.5 * first["seconds"]
    done = headwater(*words, "--set", "memory.gigabytes=60")
    assert done.code == 2
    assert "gigabytes_per_second" in done.err


def test_set_refuses_what_the_cycle_model_of_the_chips_family_does_not_read(headwater, folder):
    words = "simulate vadd.cl random:64 random:64 --local 64".split()
    for device, figure, family in (("hd5870", "memory.page_bytes", "GCN"), ("vega64", "caches.vertex_bytes", "VLIW")):
        done = headwater(*words, "--device", device, "--set", f"{figure}=4096")
        assert done.code == 2
        assert f"has no figure '{figure}'" in done.err
        assert f"of {family}" in done.err


BANKS = """
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void scattered(global float *out) {
    local float kept[64 * 16];
    int l = get_local_id(0);
    for (int i = 0; i < 16; i++)
        kept[i * 64 + l] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0;
    for (int i = 0; i < 16; i++)
        sum += kept[l * 16 + i];
    out[get_global_id(0)] = sum;
}
"""


def test_conflicts_are_counted_for_each_chips_own_banks(headwater, folder):
    """HD 5450 has 16 banks of local memory, HD 5870 has 32: a recording of one does not say what the other does."""
    (folder / "banks.cl").write_text(BANKS)
    words = "simulate banks.cl zeros:256 --json".split()
    launches = [
        json.loads(headwater(*words, *devices).out)["launches"]
        for devices in (("--device", "hd5450"), ("--device", "hd5870", "--device", "hd5450"))
    ]
    assert launches[0][0]["cycles"] == launches[1][1]["cycles"]
    done = headwater(*words, "--device", "vega64", "--set", "local_memory.banks=16")
    assert done.code == 2
    assert "recorded with local_memory.banks 32" in done.err


def test_what_machine_code_depends_on_is_not_set_behind_its_back(headwater, folder):
    """A clause of HD 5870 has up to 128 words. On a chip with fewer the kernel would be another program."""
    words = "simulate vadd.cl random:256 random:256 --local 64 --device hd5870 --json --set".split()
    done = headwater(*words, "features.alu_slots_per_clause=64")
    assert done.code == 2
    assert "recorded with features.alu_slots_per_clause 128, and" in done.err
    assert headwater(*words, "features.texture_units=40").code == 0


def test_gains_shapes_and_the_analyzers_view_are_told(headwater, folder):
    words = "simulate vadd.cl random:65536 random:65536 --local 64 --device vega64 --shapes".split()
    done = headwater(*words, "--json")
    assert done.code == 0, done.err
    answer = json.loads(done.out)
    (launch,) = answer["launches"]
    assert {gain["what"] for gain in launch["gains"] if gain["kind"] == "shape"} == {
        "work-groups of 128",
        "work-groups of 256",
    }
    assert "twice the memory bandwidth" in {gain["what"] for gain in launch["gains"]}
    assert answer["analysis"]["bound_by"]
    done = headwater(*words)
    assert "work-groups of 256" in done.out
    assert "headwater analyze estimates" in done.out
    done = headwater(*words, "--set", "clock_mhz=1000")
    assert done.code == 2
    assert "--gains and --shapes are of one chip" in done.err


def test_shapes_that_change_results_are_left_out(headwater, folder):
    (folder / "own.cl").write_text("__kernel void own(__global int *y) { y[get_global_id(0)] = get_group_id(0); }\n")
    done = headwater(*"simulate own.cl y=zeros:1024 --global 1024 --local 64 -d hd5870 --shapes --json".split())
    assert done.code == 0, done.err
    (launch,) = json.loads(done.out)["launches"]
    assert launch["gains"]
    assert not [gain for gain in launch["gains"] if gain["kind"] == "shape"]


@pytest.mark.parametrize("units", ["4:2", "4:4", "-1:3", "0:99999", "64", "4:", ":4", "a", ""])
def test_compute_units_that_there_are_not_are_refused_before_anything_runs(headwater, folder, units):
    words = "simulate missing.cl -d vega64 --timeline t.json".split()
    done = headwater(*words, f"--timeline-units={units}")
    assert done.code == 2
    assert f"--timeline-units: '{units}' are no compute units of Radeon RX Vega 64" in done.err
    assert "hint: write 4, or 4:8 for 4 to 7; there are 64, counted from 0" in done.err
