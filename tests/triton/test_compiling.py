"""Code objects of Triton functions that say what they take, and the commands that launch them."""

import json
from pathlib import Path

import numpy as np
import pytest

import headwater as hw
from headwater.cli.options import Parser, add_triton_options, triton_code
from headwater.errors import SourceError, UsageError
from headwater.isa.gcn.codeobject import load
from headwater.isa.msgpack import pack, unpack
from headwater.triton.binary import Description
from headwater.triton.compiling import _members, _parsed, described

OBJECTS = Path(__file__).parent / "objects"
KERNELS = Path(__file__).parent / "kernels.py"


def softmax_object():
    file = OBJECTS / "row_softmax.gfx90a.hsaco"
    about = Description.of(json.loads(file.with_suffix(".json").read_text()))
    types = {"x": "*fp32", "out": "*fp32", "columns": "i32"}
    return described(file.read_bytes(), about, types, file.name), about


def test_metadata_are_read_as_they_were_written():
    value = {"a": [1, -5, 300, 2**40, None, True, 1.5], "b" * 40: {"c": "ü"}, "d": []}
    assert unpack(pack(value)) == value


def test_files_that_do_not_run_are_told(tmp_path):
    file = tmp_path / "kernels.py"
    with pytest.raises(UsageError, match="no such file"):
        _members(str(file))
    file.write_text("x = 1\ny = (\n")
    with pytest.raises(SourceError) as told:
        _members(str(file))
    assert (told.value.span.file, told.value.span.line) == (str(file), 2)
    file.write_text("import no_such_module")
    with pytest.raises(UsageError, match="does not run: ModuleNotFoundError"):
        _members(str(file))


def test_a_described_object_has_names_types_and_its_group():
    code, about = softmax_object()
    kernel = load(code, "k.hsaco").kernel("row_softmax")
    assert [(arg.name, arg.type_name) for arg in kernel.args] == [
        ("x", "float*"),
        ("out", "float*"),
        ("columns", "int"),
    ]
    assert kernel.reqd_group_size == (64 * about.num_warps, 1, 1)
    assert kernel.group_segment_bytes == about.shared > 0


def test_a_described_object_is_launched_as_any_machine_code(tmp_path):
    code, about = softmax_object()
    file = tmp_path / "softmax.hsaco"
    file.write_bytes(code)
    x = np.random.default_rng(1).standard_normal((5, 300), np.float32)
    out = np.zeros_like(x)
    hw.compile(file, device="mi250x").row_softmax[(5 * 64 * about.num_warps,), None](x, out, 300)
    grown = np.exp(x - x.max(1, keepdims=True))
    assert np.allclose(out, grown / grown.sum(1, keepdims=True), rtol=1e-5)


def test_signatures():
    types, constants, hints = _parsed("*fp32:16, *bf16, i32, 0.5", ["a", "b", "n", "C"], "f")
    assert types == {"a": "*fp32", "b": "*bf16", "n": "i32", "C": "constexpr"}
    assert constants == {(3,): 0.5}
    assert hints == {(0,): [["tt.divisibility", 16]]}


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("*fp32", "the signature has 1 parts, f has 2 parameters: a, b"),
        ("*fp32, float", "b: 'float' is no type of Triton's and no constant"),
        ("*fp32:8, i32", "a: '\\*fp32:8'"),
    ],
)
def test_what_a_signature_cannot_be(signature, message):
    with pytest.raises(UsageError, match=message):
        _parsed(signature, ["a", "b"], "f")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--warps", "8"], "--warps is of a Triton function"),
        (["--signature", "i32"], "k.py names none"),
    ],
)
def test_options_without_a_function_are_refused(words, message):
    parser = Parser("run", "", "", "")
    add_triton_options(parser)
    with pytest.raises(UsageError, match=message):
        triton_code(parser.parse(words), "k.py", hw.device("mi250x"))


def test_a_function_is_compiled_and_simulated(tmp_path, capsys):
    pytest.importorskip("triton.language")
    from headwater.cli import analyze, simulate

    out = tmp_path / "out.npy"
    name, signature = f"{KERNELS}::scaled_sum", ["--signature", "*fp32:16, *fp32, *fp32, i32, fp32, 256"]
    words = ["x=arange:1000", "y=ones:1000", "out=zeros:1000", "n=1000", "factor=0.5", "-g", "1024", "-o", f"out={out}"]
    assert simulate.main([name, *words, "-d", "mi300x", *signature]) == 0
    assert (np.load(out) == np.arange(1000) + np.float32(0.5)).all()
    assert "1,024 work-items in groups of 256" in capsys.readouterr().out
    assert analyze.main([name, "-d", "mi250x", *signature, "--warps", "2"]) == 0
    assert "work-groups of 128" in capsys.readouterr().out
    with pytest.raises(UsageError, match="one processor at a time, not for gfx90a, gfx942"):
        analyze.main([name, "-d", "mi250x", "-d", "mi300x", *signature])
    with pytest.raises(UsageError, match="has no Triton function there_is_none"):
        analyze.main([f"{KERNELS}::there_is_none", "-d", "mi250x", "--signature", "i32"])
