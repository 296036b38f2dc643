"""Whatever is wrong with what the analyzer is given: one clear message, exit code 2, never a traceback or a number."""

import os

import numpy as np
import pytest

import headwater
from headwater.cli import main
from headwater.errors import HeadwaterError

FILES = {
    "mm.cl": b"""kernel void mm(global const float *a, global float *c, int n) {
  float s = 0;
  for (int k = 0; k < n; k++) s += a[k * 64 + get_global_id(0)];
  c[get_global_id(0)] = s;
}
""",
    "large.cl": b"kernel void l(global float *a) { local float t[20000]; int i = get_local_id(0); t[i] = a[i]; barrier(1);"
    b" a[i] = t[255 - i]; }",
    "demands.cl": b"__attribute__((reqd_work_group_size(1024, 1, 1))) kernel void k(global float *a)"
    b" { a[get_global_id(0)] = 1; }",
    "empty.cl": b"",
    "empty.il": b"",
    "empty.br": b"",
    "empty.hsaco": b"",
    "bytes.cl": bytes(range(256)) * 8,
    "bytes.il": bytes(range(256)) * 8,
    "bytes.br": bytes(range(256)) * 8,
    "bytes.hsaco": bytes(range(256)) * 8,
    "cut.hsaco": b"\x7fELF\x02\x01\x01\x40\x02" + bytes(40),
    "latin.cl": b"kernel void k(global float *a) { a[0] = \xe4; }",
    "brook.cl": b"kernel void s(float a<>, out float c<>) { c = a; }",
    "opencl.br": b"kernel void k(global float *a) { a[0] = 1; }",
    "opencl.il": b"kernel void k(global float *a) { a[0] = 1; }",
    "syntax.cl": b"kernel void k(global float *a) { a[0] = b; }",
    "none.cl": b"float f(float x) { return x; }",
    "toml.toml": b"a = [",
    "strange.toml": b"colour = 1",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("bad")
    for name, data in FILES.items():
        (place / name).write_bytes(data)
    return place


def refused(words, folder, capsys):
    before = os.getcwd()
    os.chdir(folder)
    try:
        code = main(words.split())
    finally:
        os.chdir(before)
    said = capsys.readouterr()
    assert code == 2, (words, said)
    assert "Traceback" not in said.err
    assert "internal error" not in said.err
    assert said.out == "" or words.startswith("check")
    return said.err + said.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("mm.cl -d vega46", "did you mean vega64?"),
        ("mm.cl", "which chip?"),
        ("mm.cl -d mm.cl", "there is no chip 'mm.cl'"),
        ("mm.cl -d none.toml", "cannot read none.toml"),
        ("mm.cl -d toml.toml", "toml.toml: error"),
        ("mm.cl -d strange.toml", "a chip has no 'colour'"),
        ("none.cu -d vega64", "cannot read none.cu"),
        (". -d vega64", "cannot read .: "),
        ("-d vega64", "which kernel?"),
        ("large.cl -d vega64", "a work-group takes 80000 bytes of local memory, gfx900 has 65536"),
        ("large.cl -d hd5870", "local memory"),
        ("large.cl -d hd4870", "uses local memory, on Radeon HD 4870"),
        ("demands.cl -d vega64 --local 64", "reqd_work_group_size 1,024 × 1 × 1, not 64"),
        ("demands.cl -d hd5870", "256"),
        ("empty.cl -d vega64", "has no kernels"),
        ("empty.il -d vega64", "the program is empty"),
        ("empty.br -d vega64", "holds no kernel"),
        ("empty.hsaco -d vega64", "the file is empty"),
        ("bytes.cl -d vega64", "is not a text file"),
        ("bytes.il -d vega64", "is not a text file"),
        ("bytes.br -d hd4870", "is not a text file"),
        ("bytes.hsaco -d vega64", "the file is no ELF file"),
        ("cut.hsaco -d vega64", "cut.hsaco"),
        ("cut.hsaco -d hd5870", "cut.hsaco"),
        ("brook.cl -d vega64", "brook.cl:1:22"),
        ("opencl.br -d vega64", "pointers do not exist in kernels"),
        ("opencl.il -d vega64", "an IL program starts with its kind"),
        ("syntax.cl -d vega64", "use of undeclared identifier 'b'"),
        ("syntax.cl -d hd5870", "use of undeclared identifier 'b'"),
        ("none.cl -d vega64", "has no kernels"),
        ("none.cl -d hd5870", "none.cl has no kernels"),
        ("mm.cl -d vega64 --kernel nn", "its kernels are mm"),
        ("mm.cl -d vega64 --trip L1=-4", "--trip takes NAME=WHOLE NUMBER"),
        ("mm.cl -d vega64 --trip L1", "--trip takes NAME=WHOLE NUMBER"),
        ("mm.cl -d vega64 --trip L9=4", "its loops are L1"),
        (f"mm.cl -d vega64 --trip L1={10**30}", "cannot run"),
        ("mm.cl -d vega64 --arg m=4", "there are a, c, n"),
        ("mm.cl -d vega64 --arg a=4", "argument a is float*, no whole number"),
        (f"mm.cl -d vega64 --arg n={1 << 32}", "int has 32 bits"),
        (f"mm.cl -d hd5870 --arg n={-(1 << 32)}", "int has 32 bits"),
        ("mm.cl -d vega64 --arg n=1.5", "--arg takes NAME=WHOLE NUMBER"),
        ("mm.cl -d vega64 --global 0", "from 1"),
        ("mm.cl -d vega64 --global 1,2,3,4", "one to three numbers"),
        (f"mm.cl -d vega64 --global {10**30}", "0000000000"),
        ("mm.cl -d vega64 --local 2048", "has 1 to 1024"),
        ("mm.cl -d hd5870 --local 512", "has 1 to 256"),
        ("mm.cl -d vega64 --hit 1.5", "0 to 1"),
        ("mm.cl -d vega64 --hit nan", "--hit takes a number"),
        ("mm.cl -d vega64 --lds 100000", "has 0 to 65536"),
        ("mm.cl -d vega64 --lds much", "--lds takes a whole number"),
        ("mm.cl -d vega64 --transfer inf", "--transfer takes a number"),
        ("mm.cl -d vega64 --set memory_clok_mhz=1", "did you mean memory_clock_mhz"),
        ("mm.cl -d vega64 --set memory_clock_mhz=nan", "1 to 20000 MHz"),
        ("mm.cl -d vega64 --html none/report.html", "cannot write none/report.html"),
        ("--counts alu=inf -d hd3870", "takes a number"),
        ("--counts alu=1e308 -d hd3870", "alu is 0 to 1e+12"),
        ("--counts texture=1 -d hd3870", "no count 'texture'"),
        ("mm.cl --counts alu=1 -d hd3870", "--counts stands for a kernel's code"),
    ],
)
def test_analyze(words, message, folder, capsys):
    assert message in refused(f"analyze {words}", folder, capsys)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("check bytes.cl", "is not a text file"),
        ("check bytes.hsaco", "is machine code"),
        ("check brook.cl", "brook.cl:1:22: error: expected ')'"),
        ("check opencl.br", "opencl.br:1:"),
        ("check opencl.il", "opencl.il:1:1: error"),
        ("check empty.il", "the program is empty"),
        ("check latin.cl", "latin.cl:1:41: error"),
        ("check none.cu", "no such file: none.cu"),
        ("occupancy --device vega64 --group 256 --vgprs 300", "has 0 to 256"),
        ("occupancy --device vega64 --group 1024 --vgprs 200", "does not fit a compute unit"),
        ("occupancy --device hd4870 --group 256 --vgprs 200", "has 0 to 124"),
        (f"occupancy --device vega64 --lds {10**30}", "has 0 to 65536"),
        ("explain Ocupancy", "did you mean occupancy"),
        ("explain v_.*[", "there is no metric, instruction or field"),
        ("validate [", "no row is called"),
        ("validate add-latency-hd5670 --write none/page.md", "cannot write none/page.md"),
    ],
)
def test_other_commands(words, message, folder, capsys):
    assert message in refused(words, folder, capsys)


@pytest.mark.parametrize(
    "options",
    [
        {"device": "vega46"},
        {"device": []},
        {"device": 64},
        {"size": ()},
        {"size": (0,)},
        {"group": (1, 2, 3, 4)},
        {"hit": float("nan")},
        {"hit": -1.0},
        {"lds_bytes": -4},
        {"path": "shortest"},
        {"trips": {"L1": -1}},
        {"arguments": {"n": 1 << 70}},
        {"arguments": {"q": 1}},
        {"set": ["clock_mhz"]},
        {"language": "cobol"},
        {"transfer_bytes": (-1.0, 0.0)},
    ],
    ids=str,
)
def test_from_python(options):
    with pytest.raises(HeadwaterError):
        headwater.analyze(FILES["mm.cl"].decode(), **{"device": "vega64", **options})


@pytest.mark.parametrize("source", [None, 7, b"kernel", [], ["missing.cl"], "", "mm", "no file"], ids=str)
def test_what_is_no_source(source):
    with pytest.raises(HeadwaterError):
        headwater.analyze(source, device="vega64")


@pytest.mark.parametrize(
    "options",
    [
        {"hit": "much"},
        {"hit": None},
        {"size": 1.5},
        {"size": True},
        {"trips": {"L1": True}},
        {"size": "64"},
        {"size": np.ones(2)},
        {"group": [8, None]},
        {"trips": [1]},
        {"trips": {"L1": 0.5}},
        {"arguments": "n=4"},
        {"arguments": {"n": np.ones(3)}},
        {"kernel": 3},
        {"kernel": [3]},
        {"set": 3},
        {"set": b"clock_mhz=1"},
        {"device": None},
        {"device": 3.5},
    ],
)
def test_wrong_types_are_told(options):
    text = FILES["mm.cl"].decode()
    with pytest.raises(HeadwaterError) as caught:
        headwater.analyze(text, **{"device": "vega64", **options})
    assert caught.value.exit_code == 2


def test_whole_numbers_of_numpy_are_taken():
    text = FILES["mm.cl"].decode()
    report = headwater.analyze(text, device="vega64", size=np.int64(4096), arguments={"n": np.int32(64)})
    assert report[0].code.loops[0].trip == 64
