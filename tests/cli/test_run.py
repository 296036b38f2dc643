"""headwater run, from files to files: answers, text, JSON, exit codes, and one message for every fault."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from headwater.data import example, photograph


def test_arrays_in_an_array_out(folder, headwater):
    ran = headwater("run", "vadd.cl", "a.npy", "b.npy", "-o", "c.npy")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "wrote c.npy: c, float32 100, 0.5 to 99.5\n"
    np.testing.assert_array_equal(np.load("c.npy"), np.arange(100) + np.float32(0.5))


def test_a_picture_in_a_picture_out(folder, headwater):
    ran = headwater("run", "invert.cl", "--kernel", "invert", "in.png", "-o", "out.png")
    assert (ran.code, ran.out) == (0, "wrote out.png: od, 44 x 30 pixels\n")
    before, after = (np.asarray(Image.open(name)) for name in ("in.png", "out.png"))
    np.testing.assert_array_equal(after, 255 - before)


def test_the_photograph_through_the_median_filter(folder, headwater):
    source = example("median/median.cl")
    simple = headwater("run", source, "-k", "medianfilter_rgba", photograph(), "-o", "one.png")
    four = headwater("run", source, "-k", "medianfilter_rgba_x4", photograph(), "--global", "150,400", "-o", "four.png")
    assert (simple.code, four.code) == (0, 0)
    one, other = (np.asarray(Image.open(name)) for name in ("one.png", "four.png"))
    assert one.shape == (400, 600, 3)
    np.testing.assert_array_equal(one, other)
    # The rule of the kernel, done by NumPy: a pixel's luminance is the median of nine luminances.
    weights = np.array([0.3, 0.59, 0.11])
    before, after = np.asarray(Image.open(photograph())) @ weights, one @ weights
    windows = np.lib.stride_tricks.sliding_window_view(before, (3, 3)).reshape(398, 598, 9)
    np.testing.assert_allclose(after[1:-1, 1:-1], np.median(windows, axis=2), atol=1e-3)
    np.testing.assert_allclose(after[0], before[0])


def test_without_o_outputs_are_shown(folder, headwater):
    ran = headwater("run", "vadd.cl", "a.npy", "b.npy")
    assert "c, float32 100, 0.5 to 99.5" in ran.out
    assert "[ 0.5  1.5  2.5 ... 97.5 98.5 99.5]" in ran.out
    np.save("many.npy", np.ones((2,) * 16, np.float32))
    ran = headwater("run", "vadd.cl", "many.npy", "many.npy", "65536", "-g", "65536")
    assert "[2. 2. 2. ... 2. 2. 2.]" in ran.out


def test_work_in_place_leaves_the_input_file_alone(folder, headwater):
    before = Path("a.npy").read_bytes()
    assert headwater("run", "invert.cl", "-k", "scale", "a.npy", "-2", "-o", "out.npy").code == 0
    np.testing.assert_array_equal(np.load("out.npy"), np.arange(100) * -2)
    assert Path("a.npy").read_bytes() == before


def test_verbose_says_what_was_worked_out(folder, headwater):
    ran = headwater("run", "vadd.cl", "a.npy", "b.npy", "-v")
    assert "headwater: n = 100: the elements of a" in ran.err
    assert "headwater: global size 100: one work-item for each element of the output" in ran.err


def test_quiet_prints_nothing(folder, headwater):
    ran = headwater("run", "vadd.cl", "a.npy", "b.npy", "-q", "-o", "c.npy")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_json_tells_everything(folder, headwater):
    ran = headwater("run", "vadd.cl", "a.npy", "b.npy", "-o", "c.npy", "--json", "--time", "--repeat", "3")
    report = json.loads(ran.out)
    assert report["kernel"] == "vadd"
    assert report["global_size"] == [100]
    assert report["outputs"] == [
        {"name": "c", "shape": [100], "dtype": "float32", "file": "c.npy", "min": 0.5, "max": 99.5, "mean": 50.0}
    ]
    assert report["seconds"]["runs"] == 3
    assert 0 < report["seconds"]["least"] <= report["seconds"]["median"] <= report["seconds"]["greatest"]
    assert report["bytes_moved"] == 1200


def test_time_prints_a_median(folder, headwater):
    ran = headwater("run", "invert.cl", "-k", "scale", "a.npy", "2", "--time", "--repeat", "5")
    assert "of 5 runs" in ran.out
    assert "GB/s" in ran.out
    assert "0 to 198" in ran.out, "repeated runs must not show in the answer"


def test_verify_against_the_same_device_is_equal(folder, headwater):
    ran = headwater("run", "vadd.cl", "a.npy", "b.npy", "--verify", os.environ.get("HEADWATER_DEVICE", "cpu"))
    assert ran.code == 0
    assert "are equal" in ran.out


def test_verify_finds_a_kernel_that_disagrees(folder, headwater, monkeypatch):
    from headwater.jobs.job import Job

    honest = Job.run
    calls = []

    def drifting(self, device, watcher=None):
        outputs, seconds = honest(self, device, watcher)
        calls.append(device)
        if len(calls) == 2:
            outputs["c"][7] += 1
        return outputs, seconds

    monkeypatch.setattr(Job, "run", drifting)
    words = ("run", "vadd.cl", "a.npy", "b.npy", "--verify", os.environ.get("HEADWATER_DEVICE", "cpu"))
    ran = headwater(*words)
    assert ran.code == 1
    assert "1 of 100 elements differ" in ran.out
    assert "first [7]" in ran.out
    assert "FP_CONTRACT" not in ran.out, "floats have a tolerance"
    calls.clear()
    report = json.loads(headwater(*words, "--json").out)
    assert report["verify"]["ok"] is False
    assert report["verify"]["outputs"][0]["first"] == [7]


BRIGHTER = """
float light(uint x) { return 0.3f * (x & 255) + 0.59f * (x >> 8 & 255) + 0.11f * (x >> 16 & 255); }
__kernel void brighter(__global const uint *a, __global const uint *b, __global int *c)
{
    int i = get_global_id(0);
    c[i] = light(a[i]) > light(b[i]);
}
"""


def test_verify_tells_how_comparisons_of_floats_can_be_made_the_same(folder, headwater):
    # Colours of one luminance: which is brighter is decided by rounding, which an HD 5870 does once more often.
    a, b = np.random.default_rng(1).permutation(65536)[:20000].astype(np.uint32), np.zeros(20000, np.uint32)
    a[:150] = [59 + x for x in range(150)]
    b[:150] = [x + (30 << 8) for x in range(150)]
    np.save("a.npy", a)
    np.save("b.npy", b)
    words = ("brighter.cl", "a.npy", "b.npy", "-d", "cpu", "--verify", "hd5870", "-o", "c.npy")
    Path("brighter.cl").write_text(BRIGHTER)
    ran = headwater("run", *words)
    assert (ran.code, "elements differ" in ran.out, "FP_CONTRACT OFF" in ran.out) == (1, True, True)
    Path("brighter.cl").write_text("#pragma OPENCL FP_CONTRACT OFF" + BRIGHTER)
    ran = headwater("run", *words)
    assert (ran.code, "are equal" in ran.out, "FP_CONTRACT" in ran.out) == (0, True, False)


def test_macros_and_options_reach_the_compiler(folder, headwater):
    Path("k.cl").write_text('#include "f.h"\n__kernel void k(__global int *a) { a[get_global_id(0)] = N + F; }\n')
    (folder / "inc").mkdir()
    (folder / "inc" / "f.h").write_text("#define F 2\n")
    words = ("run", "k.cl", "a=zeros:4", "-DN=40", "-I", "inc", "--options", "-cl-fast-relaxed-math")
    assert "[42 42 42 42]" in headwater(*words).out
    ran = headwater("run", "k.cl", "a=zeros:4", "-DN=40", "-I", "inc", "--options", "--nonsense")
    assert ran.code == 2


def test_several_outputs(folder, headwater):
    Path("k.cl").write_text(
        "__kernel void k(__global const int *a, __global int *twice, __global int *half_)\n"
        "{ int i = get_global_id(0); twice[i] = a[i] * 2; half_[i] = a[i] / 2; }\n"
    )
    assert headwater("run", "k.cl", "arange:6", "-o", "half_=h.csv", "-o", "t.npy").code == 0
    assert np.load("t.npy").tolist() == [0, 2, 4, 6, 8, 10]
    assert Path("h.csv").read_text().split() == ["0", "0", "1", "1", "2", "2"]


# -- Brook+ ------------------------------------------------------------------------------------------------------------


def test_a_brook_kernel(folder, headwater):
    ran = headwater("run", "sum.br", "--kernel", "add", "a.npy", "b.npy", "-o", "c.npy", "--time", "--repeat", "3")
    assert (ran.code, ran.err) == (0, "")
    np.testing.assert_array_equal(np.load("c.npy"), np.arange(100) + np.float32(0.5))


def test_a_reduction_prints_its_value(folder, headwater):
    ran = headwater("run", "sum.br", "--kernel", "total", "a.npy")
    assert ran.out == "r = 4950.0\n"


def test_brook_takes_the_flags_of_brcc_and_tells_its_warnings(folder, headwater):
    Path("flags.br").write_text("#define N 3\nkernel void f(float4 a<>, out float b<>) { b = a * N; }\n")
    np.save("v.npy", np.arange(8, dtype=np.float32).reshape(2, 4))
    ran = headwater("run", "-a", "-pp", "flags.br", "v.npy", "-o", "r.npy")
    assert ran.code == 0
    assert "flags.br:2:50: warning: float4 is cut to its .x in the assignment" in ran.err
    assert np.load("r.npy").tolist() == [0, 12]
    assert "translate with -pp" in headwater("run", "-a", "flags.br", "v.npy").err
    assert headwater("run", "-a", "-pp", "-q", "flags.br", "v.npy").err == ""
    assert "it is Brook+'s" in headwater("run", "-pp", "vadd.cl", "a.npy", "b.npy").err


def test_global_size_is_not_for_brook(folder, headwater):
    ran = headwater("run", "sum.br", "--kernel", "add", "a.npy", "b.npy", "--global", "10")
    assert ran.code == 2
    assert "--shape" in ran.err


# -- faults ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothere.cl"], "nothere.cl"),
        (["vad.cl"], "did you mean vadd.cl?"),
        (["."], "directory"),
        (["in.png"], ""),
        (["vadd.cl"], "no value for a, b, c, n"),
        (["vadd.cl", "a.npy"], "no value for b"),
        (["vadd.cl", "a.npy", "c.npy"], "no file 'c.npy'"),
        (["vadd.cl", "a.npy", "b.npy", "--kernel", "vad"], "did you mean vadd?"),
        (["invert.cl", "in.png"], "several kernels"),
        (["vadd.cl", "a.npy", "in.csv"], "no file 'in.csv'"),
        (["vadd.cl", "a.npy", "b.npy", "--global", "0"], "--global"),
        (["vadd.cl", "a.npy", "b.npy", "--global", "1,2,3,4"], "one to three sizes"),
        (["vadd.cl", "a.npy", "b.npy", "--global", "many"], "--global"),
        (["vadd.cl", "a.npy", "b.npy", "--repeat", "0"], "--repeat"),
        (["vadd.cl", "a.npy", "b.npy", "--time-limit", "-1"], "--time-limit"),
        (["vadd.cl", "a.npy", "b.npy", "--device", "hd9999"], "hd9999"),
        (["vadd.cl", "a.npy", "b.npy", "--verify", "hd9999"], "hd9999"),
        (["vadd.cl", "a.npy", "b.npy", "-o", "c.docx"], "do not know how to write"),
        (["vadd.cl", "a.npy", "b.npy", "-o", "no/c.npy"], "does not exist"),
        (["vadd.cl", "a.npy", "b.npy", "--nonsense"], "--nonsense"),
        (["vadd.cl", "a.npy", "zeros:0"], "no elements"),
        (["vadd.cl", "a.npy", "zeros:99999999Gi"], "more memory than there is"),
        (["vadd.cl", "a.npy", "b.npy", "--local", "1000000"], ""),
        ([], "FILE"),
    ],
)
def test_faults_are_one_message_and_exit_code_2(folder, headwater, words, message):
    ran = headwater("run", *words)
    assert ran.code == 2
    assert message in ran.err
    assert ran.err.startswith("headwater: ")
    assert "Traceback" not in ran.err
    assert ran.out == ""


def test_a_syntax_error_has_its_place(folder, headwater):
    Path("bad.cl").write_text("__kernel void k(__global float *a)\n{\n    a[0] = undefined_name;\n}\n")
    ran = headwater("run", "bad.cl", "a=zeros:4", "-d", "cpu")
    assert ran.code == 2
    assert ran.err.startswith("headwater: bad.cl:3:12: error: ")
    assert "undefined_name" in ran.err
    report = json.loads(headwater("run", "bad.cl", "a=zeros:4", "-d", "cpu", "--json").out)
    assert (report["error"]["file"], report["error"]["line"], report["error"]["column"]) == ("bad.cl", 3, 12)


def test_a_brook_type_error_has_its_place(folder, headwater):
    Path("bad.br").write_text("kernel void k(float4 a<>, out float c<>)\n{\n    c = a;\n}\n")
    ran = headwater("run", "bad.br", "zeros:4")
    assert ran.code == 2
    assert ran.err.startswith("headwater: bad.br:3:")


def test_a_failed_run_writes_nothing(folder, headwater):
    Path("two.cl").write_text("__kernel void k(__global float *a, __global float *b) { a[0] = b[0] = 1; }\n")
    ran = headwater("run", "two.cl", "a=zeros:4", "b=zeros:4", "-o", "a=x.npy", "-o", "b=y.png")
    assert ran.code == 2
    assert "not a picture" in ran.err
    assert not list(folder.glob("*x.npy*"))
    assert not list(folder.glob("*y.png*"))


def test_an_access_out_of_bounds_names_its_line(folder, headwater):
    Path("shift.cl").write_text(
        "__kernel void shift(__global const float *a, __global float *b)\n"
        "{\n    int i = get_global_id(0);\n    b[i] = a[i + 1];\n}\n"
    )
    ran = headwater("run", "shift.cl", "arange:64", "--check", "-o", "out.npy", "-d", "cpu")
    assert ran.code == 2
    assert ran.err.startswith("headwater: shift.cl:4:12: error: ")
    assert not (folder / "out.npy").exists()
    assert "HEADWATER_CHECK" not in os.environ


def test_a_barrier_that_some_work_items_never_reach_is_named(folder, headwater):
    Path("early.cl").write_text(
        "__kernel void early(__global float *a, int n)\n{\n    int i = get_global_id(0);\n    if (i >= n) return;\n"
        "    barrier(CLK_GLOBAL_MEM_FENCE);\n    a[i] = i;\n}\n"
    )
    words = ("run", "early.cl", "zeros:64", "--local", "16", "--check", "-o", "out.npy", "-d", "cpu")
    ran = headwater(*words, "n=60")
    assert ran.code == 2
    assert ran.err.startswith("headwater: early.cl:5:5: error: work-item (48) of early waits at this barrier, but ")
    assert not (folder / "out.npy").exists()
    assert headwater(*words, "n=64").code == 0


def test_an_endless_loop_ends_at_its_time_limit(folder, headwater):
    Path("spin.cl").write_text("__kernel void spin(__global int *f) { while (f[0] == 0) ; f[1] = 1; }\n")
    ran = headwater("run", "spin.cl", "zeros:64", "--global", "1", "--time-limit", "0.3", "-d", "cpu")
    assert ran.code == 2
    assert "time limit of 0.3 s" in ran.err


def test_progress_is_shown_on_a_terminal(folder):
    pty = pytest.importorskip("pty")
    Path("spin.cl").write_text("__kernel void spin(__global int *f) { while (f[0] == 0) ; f[1] = 1; }\n")
    words = ["run", "spin.cl", "zeros:64", "--global", "1", "--time-limit", "1.5", "-d", "cpu"]
    parent, child = pty.openpty()
    ran = subprocess.Popen([sys.executable, "-m", "headwater", *words], stdout=subprocess.DEVNULL, stderr=child)
    os.close(child)
    shown = b""
    with contextlib.suppress(OSError):  # EIO: the other end is closed
        while piece := os.read(parent, 4096):
            shown += piece
    os.close(parent)
    assert ran.wait(60) == 2
    assert b"running spin on cpu: 1." in shown
    assert b"time limit" in shown


BUSY = {
    "c.cl": "__kernel void k(__global int *a) { a[get_global_id(0)] = 1; }\n",
    "b.br": "kernel void k(float a<>, out float b<>) { b = a; }\n",
    "i.il": "il_ps_2_0\ndcl_output_generic o0\nmov o0, r0\nend\n",
}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("compile c.cl --device vega64", ["compiling c.cl for vega64"]),
        ("compile c.cl --device hd5870", ["compiling c.cl for hd5870"] * 2),
        ("compile i.il --device hd4870", ["compiling i.il for hd4870"]),
        ("disasm c.cl --target gfx906", ["compiling c.cl for gfx906"]),
        ("disasm c.cl --device cpu", ["compiling c.cl for cpu"] * 2),
        ("analyze c.cl --device vega64", ["analyzing c.cl for vega64"]),
        ("ilc --opencl i.il", ["translating i.il"]),
        ("brcc b.br", ["translating b.br"]),
    ],
)
def test_what_may_take_long_has_a_line_of_progress(folder, headwater, monkeypatch, words, told):
    from headwater.cli import progress

    for name, source in BUSY.items():
        Path(name).write_text(source)
    heard = []

    def tell(what):
        heard.append(what)
        yield progress.Watcher(False)

    monkeypatch.setattr(progress, "_progress", tell)
    assert headwater(*words.split()).code == 0
    assert heard == told


def test_a_defect_of_ours_is_reported_as_one(folder, headwater, monkeypatch):
    from headwater.jobs.job import Job

    def broken(self, device, watcher=None):
        raise ZeroDivisionError("by accident")

    monkeypatch.setattr(Job, "run", broken)
    ran = headwater("run", "vadd.cl", "a.npy", "b.npy")
    assert ran.code == 70
    assert "internal error: ZeroDivisionError: by accident" in ran.err
    assert "Traceback" not in ran.err
    report = Path(next(word for word in ran.err.split() if "headwater-report" in word))
    assert "by accident" in report.read_text()
    report.unlink()


def test_an_interrupt_is_130(folder, headwater, monkeypatch):
    from headwater.jobs.job import Job

    def interrupted(self, device, watcher=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(Job, "run", interrupted)
    assert headwater("run", "vadd.cl", "a.npy", "b.npy").code == 130


# -- as a process ------------------------------------------------------------------------------------------------------


def process(*words):
    return subprocess.run([sys.executable, "-m", "headwater", *words], capture_output=True, text=True, timeout=120)


def test_the_command_as_a_process(folder):
    ran = process("run", "vadd.cl", "a.npy", "b.npy", "-o", "c.npy")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert process("run", "vadd.cl", "nothere.npy").returncode == 2


def test_a_closed_pipe_is_no_fault(folder):
    script = f'"{sys.executable}" -m headwater run --help | head -1'
    ran = subprocess.run(["bash", "-c", f"set -o pipefail; {script}"], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_an_error_that_nobody_reads_keeps_its_exit_code(folder):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ran = subprocess.run([sys.executable, "-m", "headwater", "run", "nothere.cl"], stderr=writer, timeout=60)
    finally:
        os.close(writer)
    assert ran.returncode == 2


@pytest.mark.parametrize("device", ["cpu", "vega64"])
def test_nor_is_one_that_a_kernel_prints_to(folder, device):
    (folder / "print.cl").write_text('kernel void k(global int *x) { printf("number %d\\n", (int)get_global_id(0)); }')
    script = f'"{sys.executable}" -m headwater run print.cl arange:20000 -d {device} | head -1'
    ran = subprocess.run(["bash", "-c", f"set -o pipefail; {script}"], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("module", ["llvmlite", "lark", "typer", "rich", "PIL", "pyopencl"])
def test_a_warm_run_imports_nothing_heavy(folder, module):
    script = (
        "import sys; from headwater.cli import main\n"
        "assert main(['run', 'vadd.cl', 'a.npy', 'b.npy', '-o', 'c.npy', '-q', '-d', 'cpu']) == 0\n"
        f"assert {module!r} not in sys.modules, 'imported'\n"
    )
    process("run", "vadd.cl", "a.npy", "b.npy", "-q", "-d", "cpu")
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("words", [["vadd.cl", "a.npy", "b.npy"], ["sum.br", "-k", "add", "a.npy", "b.npy"]])
def test_an_opencl_device_needs_numpy_and_pyopencl_only(folder, opencl_device, words, monkeypatch):
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(folder / "cache"))
    script = (
        "import sys\n"
        "for name in ('llvmlite', 'ziglang', 'lark', 'rich', 'PIL', 'numba'): sys.modules[name] = None\n"
        "from headwater.cli import main\n"
        f"sys.exit(main(['run', *{words!r}, '-o', 'c.npy', '-d', '{opencl_device}']))\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    np.testing.assert_array_equal(np.load("c.npy"), np.arange(100) + np.float32(0.5))


def test_verify_compares_cpu_and_opencl(folder, headwater, opencl_device):
    ran = headwater("run", "vadd.cl", "a.npy", "b.npy", "-d", "cpu", "--verify", opencl_device, "-q")
    assert (ran.code, ran.err) == (0, "")
    ran = headwater("run", "invert.cl", "-k", "invert", "in.png", "-d", opencl_device, "--verify", "cpu", "--time")
    assert ran.code == 0
    assert "are equal" in ran.out


RACE = """kernel void last(global int *o) {
    o[0] = get_global_id(0);
}
"""


def test_a_check_on_the_cpu_says_that_races_are_looked_for_on_chips(folder, headwater):
    (folder / "race.cl").write_text(RACE)
    words = ("run", "race.cl", "zeros:int:1", "-g", "64", "--check")
    on_cpu = headwater(*words, "--device", "cpu")
    assert on_cpu.code == 0
    assert on_cpu.err.count("finds neither data races") == 1
    assert "rely on wavefronts in step" in on_cpu.err
    assert "--device vega64" in on_cpu.err
    assert "finds neither" not in headwater(*words, "--device", "cpu", "-q").err
    on_chip = headwater(*words, "--device", "vega64")
    assert on_chip.code != 0
    assert "finds neither" not in on_chip.err
    assert "race" in on_chip.err
