"""What a worker answers, asked without a server: machine code that was changed runs with its source's arguments."""

import base64
from types import SimpleNamespace

import numpy as np
import pytest

from headwater.ui import tasks

BROOK = """\
kernel void blend(float a<>, float weight, out float c<>)
{
    c = a * weight + 4.0f;
}
"""
PIXELS = """\
il_ps_2_0
dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__
dcl_output_generic o0
dcl_cb cb0[1]
dcl_literal l0, 0x40800000, 0x40800000, 0x40800000, 0x40800000
add r0, cb0[0].x, l0
mov o0, r0
end
"""
STREAM = ["arange:8", "3"], [4, 7, 10, 13, 16, 19, 22, 25]
CONSTANT = ["cb0=ones:1x4", "o0=zeros:1x2x4"], [5] * 8
EDITS = ("4.0", "2.0"), ("0x40800000", "0x40000000"), ("1.121039e-44f", "1.0f")
"""The constant 4, however a chip's code has it."""


@pytest.fixture
def ask(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADWATER_CHECK", "")  # runs of the page set it
    return lambda task, **given: tasks.answer(task, given, tmp_path)


def numbers(answer):
    (output,) = answer["value"]["outputs"]
    return np.frombuffer(base64.b64decode(output["base64"]), output["dtype"]).tolist()


def changed(text):
    made = text
    for old, new in EDITS:
        made = made.replace(old, new)
    assert made != text
    return made


@pytest.mark.parametrize(
    ("file", "source", "given", "device", "version"),
    [  # the version that is launched
        ("k.br", BROOK, STREAM, "vega64", "blend_linear"),
        ("k.br", BROOK, STREAM, "hd5870", "blend_linear"),
        ("k.br", BROOK, STREAM, "hd4870", "blend"),
        ("k.il", PIXELS, CONSTANT, "hd4870", "main"),
        ("k.il", PIXELS, CONSTANT, "vega64", "main"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 else "",
)
def test_changed_machine_code_takes_the_arguments_of_its_source(ask, file, source, given, device, version):
    words, expected = given
    sizes = {"global": "2,1"} if file == "k.il" else {}
    question = {"files": {file: {"text": source}}, "main": file, "device": device, "kernel": version}
    code = ask("code", **question)["value"]
    assert version in code["names"]
    text = ask("assembly", **question, symbol=code["kernels"][0]["symbol"])["value"]["text"]
    for assembly, off in ((text, 0), (changed(text), 2)):
        ran = ask("run", **question, words=words, assembly=assembly, **sizes)
        assert numbers(ran) == [number - off for number in expected], ran


def test_the_version_that_is_shown_is_the_one_that_is_launched(ask):
    source = "kernel void place(float step, out float c<>)\n{\n    c = indexof(c).x * step + 4.0f;\n}\n"
    question = {"files": {"k.br": {"text": source}}, "main": "k.br", "device": "vega64", "kernel": "place"}
    symbol = ask("code", **question)["value"]["kernels"][0]["symbol"]
    text = ask("assembly", **question)["value"]["text"]
    begin, end = text.index(f"{symbol}:"), text.index(f".size {symbol},")
    edited = text[:begin] + changed(text[begin:end]) + text[end:]
    ran = ask("run", **question, words=["1"], shape="2x4", assembly=edited)
    assert numbers(ran) == [2, 3, 4, 5] * 2, ran


def test_the_board_begins_with_the_launch_that_is_shown_whatever_kernels_are_called():
    host = SimpleNamespace(launch_seconds=1e-6, in_seconds=2e-6, out_seconds=0)
    chip = SimpleNamespace(compute=SimpleNamespace(clock_mhz=1000))
    reports = [SimpleNamespace(host=host, kernel=name, seconds=4e-6, chip=chip) for name in ("launch", "launch")]
    board = tasks._board(reports, 1)
    assert [round(one["start"]) for one in board] == [-10000, -9000, -7000, -3000, -2000, 0]


def test_what_is_launched_is_told_where_something_else_was_changed(ask):
    question = {"files": {"k.br": {"text": BROOK}}, "main": "k.br", "device": "vega64"}
    text = ask("assembly", **question)["value"]["text"]
    begin, end = text.index("blend_mapped:"), text.index(".size blend_mapped")
    edited = text[:begin] + changed(text[begin:end]) + text[end:]
    ran = ask("run", **question, words=STREAM[0], assembly=edited)
    assert ran["error"]["message"] == (
        "with these arguments blend_linear is launched, and what was changed is blend_mapped"
    )
