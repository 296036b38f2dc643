"""``headwater stats``: what it prints for people and for programs, and what it says where it cannot work."""

import json

import pytest


def test_json_counts_a_small_launch(headwater, folder):
    done = headwater(*"stats vadd.cl random:256 random:256 --local 64 --device vega64 --json".split())
    assert done.code == 0
    (launch,) = json.loads(done.out)["launches"]
    assert launch["kernel"] == "vadd"
    assert launch["target"] == "gfx900"
    assert (launch["wavefronts"], launch["global_size"], launch["local_size"]) == (4, [256], [64])
    total = launch["total"]
    # Three requests of a wavefront, each of four lines, all of whose bytes are used.
    assert (total["requests"], total["lines"]) == (12, 48)
    assert total["used_bytes"] == total["moved_bytes"] == 3072
    assert sum(row["count"] for row in launch["classes"].values()) == total["count"]
    assert {line["line"] for line in launch["lines"]} >= {5}


def test_text_names_lines_and_instructions(headwater, folder):
    done = headwater(*"stats vadd.cl random:256 random:256 --local 64 --device fiji --instructions".split())
    assert done.code == 0
    assert "vadd on gfx803: 256 work-items in groups of 64, 4 wavefronts" in done.out
    assert "c[i] = a[i] + b[i];" in done.out
    assert "s_endpgm" in done.out
    assert "4.00" in done.out


def test_brook_launches_are_counted(headwater, folder):
    done = headwater(*"stats sum.br --kernel add random:64 random:64 --device vega64 --json".split())
    assert done.code == 0
    assert len(json.loads(done.out)["launches"]) == 1


@pytest.mark.parametrize("device", ["hd3870", "hd6970"])
def test_vliw_chips(headwater, folder, device):
    arguments = f"stats vadd.cl random:256 random:256 --local 64 --device {device}".split()
    done = headwater(*arguments, "--json")
    assert done.code == 0
    (launch,) = json.loads(done.out)["launches"]
    assert (launch["wavefronts"], launch["mode"]) == (4, "compute")
    total = launch["total"]
    assert (total["requests"], total["lines"]) == (12, 48)
    assert 0 < total["packing"] < 1
    assert {line["line"] for line in launch["lines"]} >= {5}
    done = headwater(*arguments, "--instructions")
    assert done.code == 0
    assert "ALU slots filled" in done.out
    assert "VFETCH" in done.out
    assert "c[i] = a[i] + b[i];" in done.out


def test_keeps_the_trace(headwater, folder):
    from headwater.emulate.watch.trace import read

    done = headwater(*"stats vadd.cl random:256 random:256 --local 64 --device vega64 --trace a.trace --json".split())
    assert done.code == 0
    assert len(list(read(folder / "a.trace"))) == 4
    assert "wrote a.trace" in done.err


@pytest.mark.parametrize("device", ["cpu", ""])
def test_needs_a_simulated_chip(headwater, folder, device):
    done = headwater(*"stats vadd.cl random:256 random:256".split(), *([f"--device={device}"] if device else []))
    assert done.code == 2
    assert "cpu is not a simulated chip" in done.err
    assert "vega64" in done.err


def test_bytes_that_several_lanes_ask_for_are_no_share_of_those_moved(folder, headwater):
    (folder / "same.cl").write_text(
        "kernel void k(global const float *a, global float *b) { b[0] = a[get_local_id(0) & 1]; }"
    )
    ran = headwater("stats", "same.cl", "ones:64", "b=zeros:1", "-d", "vega64", "--global", "64")
    assert ran.code == 0, ran.err
    line = next(line for line in ran.out.splitlines() if line.startswith("asked for, of a byte moved"))
    assert float(line.split()[-2]) > 1
    assert "used" not in ran.out.replace("VALU use", "")
