"""What is around a command: caches that others can write, users without a home, full disks, pipes for files, signals."""

import io
import os
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ON_POSIX = pytest.mark.skipif(os.name != "posix", reason="only here files have an owner and a mode")
KERNEL = "__kernel void k(__global int *a) { a[get_global_id(0)] = 7; }"
NAMELESS = "import pwd; pwd.getpwuid = lambda number: {}[number]; "


def run(folder, words, environment=None, before=""):
    """``headwater WORDS`` in a process of its own."""
    (folder / "k.cl").write_text(KERNEL)
    code = f"import sys; {before}from headwater.cli import main; sys.exit(main(sys.argv[1:]))"
    kept = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")}
    kept |= {"PYTHONPATH": str(ROOT)} | (environment or {})
    return subprocess.run(
        [sys.executable, "-c", code, *words], cwd=folder, env=kept, capture_output=True, text=True, timeout=120
    )


def plant(cache, code):
    """Put ``code`` into every library of a cache, with a checksum that is right."""
    found = list(cache.glob("v1/*/*/kernel.so"))
    for library in found:
        library.write_bytes(code)
        manifest = library.with_name("manifest")
        lines = manifest.read_text().split("\n")
        lines = [f"{zlib.crc32(code):08x} kernel.so" if line.endswith("kernel.so") else line for line in lines]
        manifest.write_text("\n".join(lines))
    return len(found)


@pytest.mark.skipif(sys.platform != "linux", reason="libraries have other names there")
def test_libraries_that_others_could_have_written_are_not_loaded(tmp_path):
    cache = tmp_path / "cache"
    words, environment = ["run", "k.cl", "zeros:4", "-d", "hd5870"], {"HEADWATER_CACHE_DIR": str(cache)}
    assert run(tmp_path, words, environment).returncode == 0
    assert plant(cache, b"foreign code")
    cache.chmod(0o777)
    ran = run(tmp_path, words, environment)
    assert ran.returncode == 0
    assert "[7 7 7 7]" in ran.stdout
    assert ran.stderr.count("\n") == 1
    assert f"warning: the cache in {cache} is not used" in ran.stderr


@ON_POSIX
@pytest.mark.parametrize(
    "words", [["run", "k.cl", "zeros:4"], ["disasm", "k.cl", "-d", "hd5870"], ["cache"], ["devices"]]
)
def test_a_user_without_a_home_directory_can_do_all(tmp_path, words):
    ran = run(tmp_path, words, {"HEADWATER_CACHE_DIR": "", "TMPDIR": str(tmp_path)}, NAMELESS)
    assert ran.returncode == 0, ran.stderr
    assert [line for line in ran.stderr.splitlines() if "warning" not in line] == []
    assert sorted(os.listdir(tmp_path)) == ["k.cl"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_home_that_cannot_be_written_is_told_once(tmp_path):
    environment = {"HEADWATER_CACHE_DIR": "/dev/full/cache", "TMPDIR": str(tmp_path)}
    ran = run(tmp_path, ["run", "k.cl", "zeros:4", "-d", "vega64"], environment)
    assert ran.returncode == 0
    assert "[7 7 7 7]" in ran.stdout
    assert ran.stderr.count("cannot write the cache") == ran.stderr.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == ["k.cl"]


@ON_POSIX
@pytest.mark.parametrize(
    "words",
    [
        ["run", "PIPE.cl", "zeros:1"],
        ["run", "PIPE.hsaco", "zeros:1"],
        ["run", "vadd.cl", "PIPE.npy"],
        ["run", "vadd.cl", "PIPE.npz"],
        ["run", "vadd.cl", "PIPE.png"],
        ["run", "vadd.cl", "PIPE.csv"],
        ["run", "vadd.cl", "PIPE.bin:float"],
        ["run", "vadd.cl", "a.npy", "-d", "PIPE.toml"],
        ["simulate", "PIPE.br", "zeros:1", "-d", "vega64"],
        ["stats", "PIPE.il", "zeros:1", "-d", "hd5870"],
        ["analyze", "PIPE.cl", "-d", "vega64"],
        ["check", "PIPE.cl"],
        ["compile", "PIPE.cl", "-d", "vega64"],
        ["compile", "PIPE.il", "-d", "hd5870"],
        ["disasm", "PIPE.cal"],
        ["asm", "PIPE.s"],
        ["ilc", "PIPE.il"],
        ["brcc", "PIPE.br"],
        ["devices", "PIPE.toml"],
        ["demo", "PIPE.png"],
    ],
    ids=" ".join,
)
def test_a_pipe_is_not_waited_for(folder, headwater, words):
    for word in words:
        if word.startswith("PIPE"):
            os.mkfifo(word.partition(":")[0])
    ran = headwater(*words)
    assert ran.code == 2
    assert "is a pipe, not a file" in ran.err


ENDLESS = "__kernel void k(__global volatile int *a) { while (a[0] == 0) ; a[1] = 3; }"
MANY = """
#define A(x) x = x * 3 + (x >> 3) ^ get_global_id(0);
#define B(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x)
#define C(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x)
#define D(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x)
__kernel void k(__global uint *a) { uint x = a[0]; D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) a[1] = x; }
"""


def processes(mark):
    """Command lines of all processes that have this variable in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
@pytest.mark.parametrize(
    ("source", "command", "during"),
    [
        (ENDLESS, "run", "running k on cpu"),
        (ENDLESS, "stats", "running k on vega64"),
        (MANY, "run", "compiling k.cl for vega64"),
    ],
    ids=["in a kernel", "in a recorded kernel", "in the compiler"],
)
def test_sigterm_says_what_it_ended_and_leaves_nothing(tmp_path, source, command, during):
    (tmp_path / "k.cl").write_text(source)
    words = [command, "k.cl", "zeros:16", "-d", during.split()[-1], "-o", "a=out.npy"]
    words += ["--trace", "trace.bin"] if command == "stats" else []
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HEADWATER_TEST": f"{tmp_path}",
        "HEADWATER_CACHE_DIR": str(tmp_path / "cache"),
        "TMPDIR": str(tmp_path),
    }
    mark = f"HEADWATER_TEST={tmp_path}"
    code = (
        "import sys, headwater.cli.progress as progress; from headwater.cli import main; started = progress._progress\n"
        "def tell(what):\n    print(what, file=sys.stderr, flush=True)\n    yield from started(what)\n"
        "progress._progress = tell; sys.exit(main(sys.argv[1:]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    )
    for line in process.stderr:
        if line.strip() == during:
            break
    if during.startswith("compiling"):
        while len(processes(mark)) < 2:
            time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    rest = process.communicate(timeout=30)[1]
    assert process.returncode == 143
    assert rest == f"headwater: ended by SIGTERM while {during}: headwater {' '.join(words)}\n"
    assert processes(mark) == []
    assert sorted(set(os.listdir(tmp_path)) - {"cache"}) == ["k.cl"]


@ON_POSIX
def test_signals_are_handled_as_before_when_a_command_has_ended(headwater):
    before = signal.getsignal(signal.SIGTERM)
    assert headwater("--version").code == 0
    assert signal.getsignal(signal.SIGTERM) is before


@ON_POSIX
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_a_signal_has_its_exit_code(headwater, monkeypatch, request, number, code):
    from headwater.cli import devices

    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests that nohup runs ignore it
    request.addfinalizer(lambda: signal.signal(signal.SIGHUP, before))
    monkeypatch.setattr(devices, "main", lambda words: signal.raise_signal(number))
    ran = headwater("devices", "--chips")
    said = {130: "interrupted", 143: "ended by SIGTERM: headwater devices --chips"}
    assert (ran.code, ran.err) == (code, f"headwater: {said.get(code, 'ended by SIGHUP: headwater devices --chips')}\n")


@pytest.fixture
def stdin(monkeypatch):
    """Have standard input hold a text."""

    def give(text):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    return give


BROOK = "kernel void twice(float a<>, out float b<>) { b = a * 2.0f; }"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["run", "-", "zeros:4"], KERNEL),
        (["run", "-", "zeros:4", "-d", "hd5870", "--language", "opencl"], KERNEL),
        (["run", "-", "ones:4"], BROOK),
        (["simulate", "-", "zeros:64", "-d", "vega64"], KERNEL),
        (["stats", "-", "ones:64", "-d", "hd5870"], BROOK),
        (["analyze", "-", "-d", "vega64", "--language", "brook"], BROOK),
        (["check", "-"], BROOK),
        (["compile", "-", "-d", "vega64", "--emit", "asm"], KERNEL),
        (["compile", "-", "-d", "hd5870", "--emit", "asm", "--kernel", "twice_linear"], BROOK),
        (["disasm", "-", "-d", "vega64"], KERNEL),
        (["disasm", "-", "-d", "hd5870", "--language", "brook"], BROOK),
        (["ilc", "-", "-d", "hd5870", "--print"], KERNEL),
    ],
)
def test_every_command_reads_a_source_from_standard_input(folder, headwater, stdin, words, text):
    stdin(text)
    ran = headwater(*words)
    assert ran.code == 0, ran.err
    assert ran.out or words[0] == "check"


def test_a_language_that_is_not_told_can_be_said(folder, headwater, stdin):
    stdin("int x;")
    assert "--language on a command line" in headwater("run", "-", "zeros:4").err
