"""What careless people do: outputs over sources, full disks, closed pipes, kernels that run wild, odd files."""

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from headwater.errors import InternalError

ADD_BR = "kernel void add(float a<>, float b<>, out float c<>) { c = a + b; }\n"
FILL_CL = "kernel void fill(global float *x) { x[get_global_id(0)] = 1; }\n"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="of Linux")


def command(*words, stdout=subprocess.PIPE, **options):
    return subprocess.run(
        [sys.executable, "-m", "headwater", *words],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        **options,
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compile", "k.cl", "--device", "vega64", "-o", "k.cl"], "cannot write k.cl: it is an input"),
        (["disasm", "k.cl", "--device", "vega64", "-o", "./k.cl"], "cannot write ./k.cl: it is an input"),
        (["analyze", "k.cl", "-d", "vega64", "--html", "k.cl"], "cannot write k.cl: it is an input"),
        (["compile", "k.cl", "--device", "vega64", "-o", "."], "cannot write .: it is a directory"),
        (
            ["simulate", "k.cl", "random:9", "-d", "vega64", "--html", "a", "--timeline", "a"],
            "cannot write a: another output has that name",
        ),
    ],
)
def test_no_output_replaces_a_source_or_another_output(folder, headwater, words, message):
    (folder / "k.cl").write_text(FILL_CL)
    ran = headwater(*words)
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"headwater: error: {message}")
    assert (folder / "k.cl").read_text() == FILL_CL


def test_brcc_writes_into_a_folder_that_is_there(folder, headwater):
    (folder / "add.br").write_text(ADD_BR)
    ran = headwater("brcc", "add.br", "-o", "none/")
    assert (ran.code, ran.err) == (
        2,
        f"headwater: error: cannot write none{os.sep}add.cl: the directory none does not exist\n",
    )
    (folder / "made").mkdir()
    assert headwater("brcc", "add.br", "-o", "made/").code == 0
    assert sorted(path.name for path in (folder / "made").iterdir()) == ["add.cl", "add.py"]


@pytest.mark.parametrize(("command", "name"), [("brcc", "noise.br"), ("ilc", "noise.il"), ("run", "noise.cl")])
def test_bytes_are_no_source(folder, headwater, command, name):
    (folder / name).write_bytes(bytes(range(256)))
    ran = headwater(command, name)
    assert ran.code == 2
    assert "not a text file" in ran.err


def test_brcc_keeps_files_that_it_has_not_made(folder, headwater):
    (folder / "add.br").write_text(ADD_BR)
    assert headwater("brcc", "add.br").code == 0
    assert headwater("brcc", "add.br").code == 0  # over its own
    (folder / "add.cl").write_text(FILL_CL)
    ran = headwater("brcc", "add.br")
    assert ran.code == 2
    assert "add.cl is there, and was not made by brcc: it is not overwritten" in ran.err
    assert (folder / "add.cl").read_text() == FILL_CL


@pytest.mark.parametrize("command_name", ["simulate", "stats"])
def test_outputs_are_written_by_all_commands_that_run_a_kernel(folder, headwater, command_name):
    (folder / "k.cl").write_text(FILL_CL)
    ran = headwater(command_name, "k.cl", "zeros:9", "-d", "vega64", "-o", "x.npy")
    assert ran.code == 0
    assert "wrote x.npy: x, float32 9, 1 to 1" in ran.err
    assert np.load("x.npy").tolist() == [1] * 9


@LINUX
@pytest.mark.parametrize("words", [["devices", "--chips", "--json"], ["explain", "--list"], ["--help"]])
def test_a_full_disk_under_stdout_is_told(words):
    with open("/dev/full", "w") as full:
        ran = command(*words, stdout=full)
    assert ran.returncode == 2
    assert ran.stderr.startswith("headwater: error: cannot write: No space left on device\n")


@LINUX
def test_closed_streams_are_no_defect(folder):
    (folder / "k.cl").write_text(FILL_CL)
    for closed in ("1", "2"):
        line = f'exec "$@" {closed}>&-'
        words = ["bash", "-c", line, "sh", sys.executable, "-m", "headwater", "run", "k.cl", "zeros:9"]
        ran = subprocess.run(words, capture_output=True, text=True, timeout=120)
        assert (ran.returncode, ran.stderr) == (0, "")


@LINUX
def test_an_interrupted_or_failed_run_leaves_no_trace(folder, headwater):
    (folder / "k.cl").write_text(FILL_CL)
    ran = headwater("stats", "k.cl", "zeros:9", "--global", "20", "-d", "vega64", "--trace", "k.trace")
    assert ran.code == 2
    assert "work-item (9) of fill writes 4 bytes at byte 36" in ran.err
    assert not [name for name in os.listdir() if "trace" in name]


@pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="of Linux on x86-64")
def test_a_kernel_that_runs_wild_ends_in_a_message(folder):
    # The index is read: what is known of it before the launch would be refused.
    (folder / "wild.cl").write_text("kernel void wild(global float *x) { x[(int)x[0] + (1ul << 40)] = 1; }\n")
    ran = command("run", "wild.cl", "zeros:9")
    assert ran.returncode == 2
    assert ran.stderr.startswith("headwater: error: the kernel accessed memory that is not there, and was ended\n")
    assert "--check" in ran.stderr


@pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="of Linux on x86-64")
@pytest.mark.parametrize("loop", ["i = x[0]; i < 400; i++", "i = 8 - x[0]; i > -1500000; i--"])
def test_a_kernel_that_writes_far_beyond_its_array_ends_in_a_message(folder, loop):
    (folder / "wild.cl").write_text(f"kernel void wild(global float *x) {{ for (int {loop}) x[i] = i; }}\n")
    ran = command("run", "wild.cl", "x=zeros:9", "--global", "1")
    assert ran.returncode == 2
    assert ran.stderr.startswith("headwater: error: the kernel accessed memory that is not there, and was ended\n")


@LINUX
@pytest.mark.parametrize(("place", "told"), [("9", "behind the end"), ("-1", "before the start")])
@pytest.mark.parametrize("options", [[], ["--time", "--repeat", "2"], ["--verify", "cpu"]])
def test_a_kernel_that_writes_beside_its_array_is_told(folder, headwater, place, told, options):
    (folder / "k.cl").write_text(f"kernel void k(global float *x, global int *y) {{ y[{place} - (int)x[0]] = 1; }}\n")
    ran = headwater("run", "k.cl", "x=zeros:3", "y=zeros:9", "--global", "1", "-o", "y=y.npy", *options)
    assert ran.code == 2
    assert ran.err.startswith(f"headwater: error: the kernel wrote {told} of y\n  hint: run it with --check")
    assert not os.path.exists("y.npy")


@LINUX
def test_a_count_beside_a_table_is_told(folder, headwater):
    # Each thread counts in a table of its own.
    (folder / "k.cl").write_text("kernel void k(global int *bins) { atomic_inc(&bins[get_global_id(0) / 7 % 17]); }\n")
    ran = headwater("run", "k.cl", "bins=zeros:16", "--global", "100000")
    assert ran.code == 2
    assert ran.err.startswith("headwater: error: the kernel wrote behind the end of bins\n")


def test_a_benchmark_that_is_killed_is_told(headwater, monkeypatch, tmp_path):
    killed = tmp_path / "killed.py"
    killed.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n")
    monkeypatch.setattr("headwater.data.benchmark", lambda name: killed)
    ran = headwater("bench", "--quick")
    assert ran.code == 2
    assert "the benchmark was ended by SIGTERM" in ran.err


def test_a_device_that_is_not_here_does_not_hide_those_that_are(headwater, monkeypatch):
    monkeypatch.setenv("HEADWATER_DEVICE", "vega65")
    ran = headwater("devices", "--json")
    assert ran.code == 0
    assert json.loads(ran.out)[0]["name"] == "cpu"
    assert ran.err == "headwater: warning: HEADWATER_DEVICE=vega65: no device 'vega65'\n"


def test_an_unknown_device_suggests_chips(folder, headwater):
    (folder / "k.cl").write_text(FILL_CL)
    ran = headwater("run", "k.cl", "zeros:9", "-d", "vega65")
    assert ran.code == 2
    assert "did you mean 'vega64'?" in ran.err


def test_options_that_would_do_nothing_are_refused(folder, headwater):
    (folder / "k.cl").write_text(FILL_CL)
    assert "add --time" in headwater("run", "k.cl", "zeros:9", "--repeat", "3").err
    assert "--tolerance is that of --verify" in headwater("run", "k.cl", "zeros:9", "--tolerance", "1").err
    wrong = headwater("run", "k.cl", "zeros:9", "--verify", "cpu", "--tolerance", "-1")
    assert "--tolerance takes a number of 0 or more, not '-1'" in wrong.err
    assert "--pixel goes with --counts" in headwater("analyze", "k.cl", "-d", "vega64", "--pixel").err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("k.s", "v_nop", "k.s is assembly"),
        ("k.cal", "", "k.cal: the file is empty"),
    ],
)
def test_run_says_what_files_are(folder, headwater, name, text, message):
    (folder / name).write_text(text)
    ran = headwater("run", name, "zeros:9", "-d", "hd5870")
    assert ran.code == 2
    assert message in ran.err


def test_other_languages_are_named_where_only_some_will_do(folder, headwater):
    (folder / "add.br").write_text(ADD_BR)
    (folder / "k.il").write_text("il_ps_2_0\nend\n")
    assert "k.il is ATI IL, and this compiles OpenCL C" in headwater("compile", "k.il", "--device", "vega64").err
    assert "k.il is ATI IL, no machine code" in headwater("disasm", "k.il", "--device", "vega64").err
    assert "add.br is Brook+" in headwater("ilc", "add.br", "--device", "hd5870").err


def test_opencl_c_is_read_from_stdin_for_vliw_chips_too(folder):
    ran = command("compile", "-", "--device", "hd5870", "--emit", "ir", "-o", "-", input=FILL_CL)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("il_cs_2_0")


@pytest.mark.parametrize("command_name", ["run", "simulate", "stats"])
def test_only_the_file_is_required(headwater, command_name):
    first = headwater(command_name).err.splitlines()[0]
    assert first == "headwater: error: the following arguments are required: FILE"


@LINUX
def test_what_fills_the_disk_says_so(tmp_path):
    """In a process of its own, whose files may have a mebibyte."""
    (tmp_path / "k.cl").write_text(FILL_CL)
    for name in ("x.npy", "x.bin", "x.npz", "x.csv"):
        line = f"ulimit -f 1024; trap '' XFSZ; {sys.executable} -m headwater run k.cl zeros:1Mi -o {name}"
        ran = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, cwd=tmp_path)
        assert (ran.returncode, ran.stderr) == (2, f"headwater: error: cannot write {name}: File too large\n")
    assert os.listdir(tmp_path) == ["k.cl"]


def test_a_report_that_cannot_be_kept_is_printed(folder, headwater, monkeypatch):
    from headwater.jobs.job import Job

    def broken(self, device, watcher=None):
        raise InternalError(f"code.o: '{os.strerror(errno.ENOSPC)}'" if full else "by accident")

    def none(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Job, "run", broken)
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", none)
    full = False
    ran = headwater("run", "vadd.cl", "a.npy", "b.npy")
    assert ran.code == 70
    assert "Traceback" in ran.err
    assert ran.err.endswith("please report it with what stands above and the kernel\n")
    full = True  # a compiler's words of a full disk
    ran = headwater("run", "vadd.cl", "a.npy", "b.npy")
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"headwater: error: cannot write: {os.strerror(errno.ENOSPC)}")


def test_an_interrupt_that_an_import_made_another_error_is_one(headwater, monkeypatch):
    from headwater.cli import devices

    def importing(words):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("as NumPy does") from None

    monkeypatch.setattr(devices, "main", importing)
    ran = headwater("devices")
    assert (ran.code, ran.err) == (130, "headwater: interrupted\n")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_device_is_given_once_or_compared(folder, headwater):
    (folder / "k.cl").write_text(FILL_CL)
    ran = headwater("run", "k.cl", "zeros:9", "-d", "cpu", "--device", "vega64")
    assert ran.code == 2
    assert "--device is given twice, cpu and vega64: this takes one" in ran.err
    ran = headwater("simulate", "k.cl", "zeros:9", "-d", "vega64", "-d", "hd5870", "-o", "x=no/x.npy")
    assert (ran.code, ran.err) == (2, "headwater: error: cannot write no/x.npy: the directory no does not exist\n")


@pytest.mark.parametrize("name", ["simulate", "stats"])
def test_the_environment_names_the_device_of_all_commands(folder, headwater, monkeypatch, name):
    (folder / "k.cl").write_text(FILL_CL)
    monkeypatch.delenv("HEADWATER_DEVICE", raising=False)
    assert "cpu is not a simulated chip" in headwater(name, "k.cl", "zeros:9").err
    monkeypatch.setenv("HEADWATER_DEVICE", "vega64")
    assert headwater(name, "k.cl", "zeros:9").out.startswith("fill on ")


def test_names_that_are_too_long_are_no_defect(folder, headwater):
    (folder / "k.cl").write_text(FILL_CL)
    name = "a" * 300
    assert headwater("run", "k.cl", f"{name}.npy").err == f"headwater: error: there is no file '{name}.npy'\n"
    ran = headwater("run", "k.cl", "zeros:9", "-o", f"{name}.npy")
    assert (ran.code, ran.err) == (2, f"headwater: error: cannot write {name}.npy: File name too long\n")


def test_what_a_kernel_left_as_it_was_takes_a_line(folder, headwater):
    (folder / "k.cl").write_text("kernel void k(global float *x, global float *y) { y[get_global_id(0)] += x[0]; }")
    ran = headwater("run", "k.cl", "x=ones:9", "y=arange:9")
    assert ran.out == "x, float32 9, 1 to 1: as it was given\ny, float32 9, 1 to 9\n  [1. 2. 3. 4. 5. 6. 7. 8. 9.]\n"


def test_an_image_that_a_kernel_left_as_it_was_takes_a_line(folder, headwater):
    (folder / "k.cl").write_text(
        "kernel void k(write_only image2d_t o, int x) { if (x) write_imagef(o, (int2)(x, x), 0.0f); }"
    )
    assert headwater("run", "k.cl", "in.png", 0).out == "o, uint8 30 x 44 x 4, 0 to 255: as it was given\n"
    assert "as it was given" not in headwater("run", "k.cl", "in.png", 1).out


def test_atomic_types_are_numbers(folder, headwater):
    (folder / "k.cl").write_text(
        "kernel void k(global atomic_int *x, global atomic_uint *y) { atomic_fetch_add(x, 2); }"
    )
    ran = headwater("run", "k.cl", "ones:1", "arange:2", "--global", 3, "--options=-cl-std=CL2.0")
    assert ran.out == "x = 7\ny, uint32 2, 0 to 1: as it was given\n"


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_a_link_that_leads_nowhere_is_told(folder, headwater):
    os.symlink("none.cl", "dead.cl")
    assert headwater("run", "dead.cl").err == "headwater: error: dead.cl is a link that leads nowhere\n"


def test_the_encoding_of_a_source_is_told(folder, headwater):
    (folder / "wide.cl").write_text(FILL_CL, encoding="utf-16")
    ran = headwater("run", "wide.cl", "zeros:9")
    assert ran.err == "headwater: error: wide.cl is not a text file\n  hint: it is UTF-16: save it as UTF-8\n"


def test_a_device_is_not_suggested_for_itself(folder, headwater, monkeypatch):
    from headwater.runtime.opencl import device as opencl

    cpu = next((device for device in opencl.enumerate_devices() if not device.is_gpu), None)
    if cpu is None:
        pytest.skip("no OpenCL device")
    monkeypatch.setattr(opencl, "enumerate_devices", lambda: [cpu])
    ran = headwater("run", "vadd.cl", "zeros:9", "zeros:9", "-d", "gpu")
    assert "none of the OpenCL devices is a GPU" in ran.err
    assert "did you mean" not in ran.err


def test_the_number_of_values_of_a_sweep_is_told(folder, headwater):
    ran = headwater("simulate", "vadd.cl", "a.npy", "b.npy", "-d", "vega64", "--sweep", "clock_mhz=1000:1500:1")
    assert ran.code == 2
    assert "for nine values (there may be 2 to " in ran.err


def test_a_size_is_not_taken_from_the_longer_of_two_arrays(folder, headwater):
    ran = headwater("run", "vadd.cl", "zeros:100", "ones:50")
    assert ran.code == 2
    assert ran.err == ("headwater: error: is n 100, the elements of a, or 50, those of b?\n  hint: give n=100, say\n")
    assert headwater("run", "vadd.cl", "zeros:100", "ones:50", "n=50").code == 0
    assert headwater("run", "vadd.cl", "zeros:50", "ones:100").code == 0


def test_infinity_is_a_number(folder, headwater):
    (folder / "k.cl").write_text("kernel void k(global float *x, float a) { x[get_global_id(0)] = a; }")
    assert headwater("run", "k.cl", "zeros:1", "inf").out == "x = inf\n"
    assert headwater("run", "k.cl", "zeros:1", "2.5f").out == "x = 2.5\n"
    assert headwater("run", "k.cl", "zeros:1", "-inf").out == "x = -inf\n"
    assert "a=1e39 does not fit float, which ends at 3.40282e+38" in headwater("run", "k.cl", "zeros:1", "1e39").err


def test_metrics_are_listed_as_json(headwater):
    rows = json.loads(headwater("explain", "--list", "--json").out)
    assert "occupancy" in {row["name"] for row in rows}


def test_two_outputs_share_an_archive_but_no_other_file(folder, headwater):
    (folder / "two.br").write_text("kernel void two(float a<>, out float b<>, out float c<>) { b = a; c = a + a; }\n")
    ran = headwater("run", "two.br", "ones:3", "-o", "b=x.npy", "-o", "c=./x.npy")
    assert (ran.code, ran.err) == (2, "headwater: error: two outputs would be written to x.npy\n")
    assert not os.path.exists("x.npy")
    ran = headwater("run", "two.br", "ones:3", "-o", "x.npz")
    assert ran.out.splitlines()[1] == "not written: c, float32 3, 2 to 2; -o c=FILE does it"
    assert headwater("run", "two.br", "ones:3", "-o", "x.npz", "-o", "x.npz").code == 0
    with np.load("x.npz") as archive:
        assert {name: archive[name].tolist() for name in archive} == {"b": [1, 1, 1], "c": [2, 2, 2]}


def test_tables_keep_their_units_in_pipes(folder, headwater):
    text = "".join(
        f"kernel void kernel_of_a_long_name_number_{n}(global float *x) {{ x[get_global_id(0)] += {n}; }}\n"
        for n in range(4)
    )
    (folder / "long.cl").write_text(text)
    (folder / "bom.cl").write_bytes(b"\xef\xbb\xbf" + text.encode())
    ran = headwater("analyze", "long.cl", "-d", "vega64")
    heads, _, *rows = ran.out.splitlines()[1:7]
    assert (
        heads.split() == "kernel, chip time bound by headroom occupancy limited by regs A:F GFLOP/s GB/s fill".split()
    )
    assert all(" µs " in row for row in rows)
    assert headwater("check", "bom.cl").code == 0  # a byte order mark is no character of the source


def test_signs_that_the_terminal_lacks_are_no_fault(folder):
    words = [sys.executable, "-m", "headwater", "analyze", "vadd.cl", "-d", "vega64"]
    ran = subprocess.run(words, capture_output=True, timeout=60, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.isascii()


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes")
def test_a_name_that_is_no_text_is_printed_as_it_is(folder):
    words = [sys.executable, "-m", "headwater", "run", "vadd.cl", "a.npy", "b.npy", "-o", b"caf\xe9.npy"]
    ran = subprocess.run(words, capture_output=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.startswith(b"wrote caf\xe9.npy: ")
