"""`headwater ilc`, and `headwater run` of an IL program: checks, texts, pictures and written numbers."""

import re

import numpy as np
import pytest

from headwater.cli import main

SHIFTED = """il_ps_2_0
dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__
dcl_output_generic o0
dcl_cb cb0[1]
dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)
sample_resource(0)_sampler(0)_aoffimmi(1,0,0) r1, vWinCoord0.xy
mul o0, r1, cb0[0].x
end
"""


@pytest.fixture
def shifted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shifted.il").write_text(SHIFTED)
    return tmp_path


@pytest.mark.parametrize(("constants", "factor"), [("2.5,0,0,0", 2.5), ("2.5,", None), ("0.5", None)])
def test_run(shifted, capsys, constants, factor):
    picture = np.random.default_rng(0).random((3, 5, 4), np.float32)
    np.save("in.npy", picture)
    status = main(["run", "shifted.il", "in.npy", f"cb0={constants}", "-o", "out.npy"])
    if factor is None:
        assert status == 2
        assert "there is no file" in capsys.readouterr().err
        return
    assert status == 0
    expected = picture[:, [1, 2, 3, 4, 4]] * np.float32(factor)
    np.testing.assert_array_equal(np.load("out.npy"), expected)


def test_whole_numbers_are_int(shifted):
    (shifted / "count.il").write_text(SHIFTED.replace("mul o0, r1, cb0[0].x", "itof r2, cb0[0]\nmul o0, r1, r2.y"))
    np.save("in.npy", np.ones((2, 2, 4), np.float32))
    assert main(["run", "count.il", "in.npy", "cb0=1,7", "-o", "out.npy"]) == 0
    assert (np.load("out.npy") == 7).all()


@pytest.mark.parametrize(("words", "lanes"), [("ones:3x5", 4), ("ones:3x5x4", 4), ("ones:3x5x1", 1)])
def test_made_up_textures_may_say_their_lanes(shifted, words, lanes):
    assert main(["run", "shifted.il", words, "cb0=2.5,0,0,0", "-o", "out.npy"]) == 0
    expected = np.full((3, 5, 4), 2.5, np.float32)
    expected[..., lanes:3] = 0  # the fourth lane of a texture without one is 1
    np.testing.assert_array_equal(np.load("out.npy"), expected)


def test_check_print_and_translate(shifted, capsys):
    assert main(["ilc", "shifted.il"]) == 0
    assert capsys.readouterr().out == "shifted.il: pixel shader, 2 instructions; takes i0, cb0, o0\n"
    assert main(["ilc", "--print", "shifted.il", "-o", "again.il"]) == 0
    assert main(["ilc", "again.il"]) == 0
    assert "takes i0, cb0, o0" in capsys.readouterr().out
    assert main(["ilc", "--opencl", "shifted.il"]) == 0
    text = capsys.readouterr().out
    assert "__kernel void il_kernel(" in text
    # The functions that the program needs, and those that they call.
    functions = re.findall(r"^\w+ (il_\w+)\(", text, re.M)
    assert functions == ["il_mul", "il_texel", "il_sample", "il_output", "il_element", "il_main"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bad.il"], "bad.il:2:1: error: unknown operation mob"),
        (["none.il"], "cannot read none.il"),
        (["-o", "x.cl", "shifted.il"], "-o takes the result of one file"),
    ],
)
def test_bad_input_is_one_message(shifted, capsys, words, message):
    (shifted / "bad.il").write_text("il_ps_2_0\nmob r0, r1\nend\n")
    assert main(["ilc", *words]) == 2
    assert message in capsys.readouterr().err


def test_opencl_c_becomes_il_for_a_chip(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.cl").write_text(
        "kernel void one(global int *a) { a[get_global_id(0)] += 1; }\nkernel void two(global int *a) { atomic_inc(a); }"
    )
    assert main(["ilc", "two.cl", "--device", "hd5870"]) == 0
    assert [line.split(":")[1] for line in capsys.readouterr().out.splitlines()] == ["one", "two"]
    assert main(["ilc", "--print", "two.cl", "--device", "hd4870", "--kernel", "one", "-o", "one.il"]) == 0
    assert (tmp_path / "one.il").read_text().startswith("il_ps_2_0\n")
    capsys.readouterr()
    assert main(["ilc", "two.cl", "--device", "hd4870"]) == 2
    assert "two.cl:2:34: error: the kernel uses atomic operations, on Radeon HD 4870" in capsys.readouterr().err
    assert main(["ilc", "two.cl"]) == 2
    assert "say for which chip" in capsys.readouterr().err
    assert main(["ilc", "one.il", "--device", "hd4870"]) == 2
    assert "is IL, for every chip" in capsys.readouterr().err
