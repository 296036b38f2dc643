"""Programs in C, linked with CAL's libraries, which run as they are; what they print is what Python's CAL gives."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from headwater import cal
from headwater.cal.abi import functions, library, protocol
from headwater.native import toolchain

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="CAL's C libraries are made for Linux")

PROGRAMS = Path(__file__).with_name("programs")
CHIPS = ["hd3870", "hd4870", "hd5870", "hd6970"]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Compiles a program of the tests, once."""
    folder = tmp_path_factory.mktemp("cal")
    place = library.folder(library.machines()[0])

    def make(name):
        made = folder / name
        if not made.exists():
            flags = ["-O1", "-Wall", "-Werror", f"-I{place}", f"-L{place}", "-laticalrt", "-laticalcl", "-lpthread"]
            _cc(folder, [str(PROGRAMS / f"{name}.c"), "-o", str(made), *flags])
        return str(made)

    return make


def _cc(folder, words):
    done = toolchain.cc(words, str(folder))
    assert done.returncode == 0, done.stderr.decode()


def run(program, device, *words):
    environ = {**os.environ, **library.environment(device)}
    done = subprocess.run([program, *words], env=environ, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Session:
    """A device of Python's CAL with a context."""

    def __init__(self, name):
        cal.calInit(name)
        self.dev = cal.calDeviceOpen(0)
        self.ctx = cal.calCtxCreate(self.dev)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        cal.calShutdown()

    def load(self, il):
        target = cal.calDeviceGetInfo(0).target
        image = cal.calclLink([cal.calclCompile(cal.CAL_LANGUAGE_IL, il, target)])
        self.module = cal.calModuleLoad(self.ctx, image)
        return cal.calModuleGetEntry(self.ctx, self.module, "main")

    def bind(self, name, resource):
        found = cal.calModuleGetName(self.ctx, self.module, name)
        cal.calCtxSetMem(self.ctx, found, cal.calCtxGetMem(self.ctx, resource))


def il_of(program, name):
    """The IL text that a program of the tests holds in a variable."""
    source = (PROGRAMS / f"{program}.c").read_text()
    text = source.split(f"static const char {name}[] = ")[1].split(";\n")[0]
    return "".join(line.strip()[1:-3] + "\n" for line in text.split("\n"))


@pytest.mark.parametrize("device", [*CHIPS, "cpu"])
def test_a_pixel_program_gives_what_python_gives(device, compiled):
    said = run(compiled("pixels"), device).split()
    with Session(device) as session:
        func = session.load(il_of("pixels", "IL"))
        local = cal.calResAllocLocal2D(session.dev, 70, 3, cal.CAL_FORMAT_FLOAT_4)
        out = cal.calResAllocLocal2D(session.dev, 70, 3, cal.CAL_FORMAT_FLOAT_4)
        constant = cal.calResAllocRemote1D([session.dev], 1, cal.CAL_FORMAT_FLOAT_4)
        memory, _ = cal.calResMap(local)
        memory[:, :70] = (np.arange(280) * np.arange(3)[:, None] / 8).reshape(3, 70, 4)
        cal.calResUnmap(local)
        memory, _ = cal.calResMap(constant)
        memory[0] = 3, 0, 0, 0
        cal.calResUnmap(constant)
        for name, resource in (("i0", local), ("o0", out), ("cb0", constant)):
            session.bind(name, resource)
        cal.calCtxRunProgram(session.ctx, func, cal.CALdomain(0, 0, 70, 3))
        memory, _ = cal.calResMap(out)
        wanted = memory[:, :70].copy().view(np.uint32).reshape(-1)
    assert said == [f"{value:08x}" for value in wanted]


@pytest.mark.parametrize("device", CHIPS)
def test_wrong_calls_give_the_results_that_cal_names(device, compiled):
    said = run(compiled("rules"), device).rsplit(maxsplit=2)
    cal.calInit(device)
    has = cal.calDeviceGetAttribs(0)
    cal.calShutdown()
    assert said == [has.boardName, str(has.localRAM), str(has.numberOfSIMD)]


def test_devices_share_remote_memory(compiled):
    run(compiled("shared"), "hd4870,hd3870")


@pytest.mark.parametrize("device", CHIPS)
def test_grids_pinned_memory_threads_and_counters(device, compiled):
    share, rate = map(float.fromhex, run(compiled("grids"), device).split())
    with Session(device) as session:
        func = session.load(il_of("grids", "PS"))
        for name in ("i0", "o0"):
            session.bind(name, cal.calResAllocLocal2D(session.dev, 64, 64, cal.CAL_FORMAT_FLOAT_4))
        kinds = (cal.CAL_COUNTER_IDLE, cal.CAL_COUNTER_INPUT_CACHE_HIT_RATE)
        counters = [cal.calCtxCreateCounter(session.ctx, kind) for kind in kinds]
        for counter in counters:
            cal.calCtxBeginCounter(session.ctx, counter)
        cal.calCtxRunProgram(session.ctx, func, cal.CALdomain(0, 0, 64, 64))
        for counter in counters:
            cal.calCtxEndCounter(session.ctx, counter)
        wanted = [cal.calCtxGetCounter(session.ctx, counter) for counter in counters]
    assert [share, rate] == [float(np.float32(value)) for value in wanted]


def test_a_program_is_run_with_checks():
    words = [sys.executable, "-m", "headwater", "cal", "run", "--check", "--", "env"]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "HEADWATER_CHECK=1" in ran.stdout.splitlines()


def test_a_server_that_is_killed_gives_errors_and_the_next_session_works(compiled):
    run(compiled("death"), "hd4870")


def test_a_host_that_is_killed_leaves_no_server(compiled):
    environ = {**os.environ, **library.environment("hd4870")}
    host = subprocess.Popen([compiled("death"), "wait"], env=environ, stdout=subprocess.PIPE, text=True)
    server = int(host.stdout.readline())
    assert Path(f"/proc/{server}/cmdline").read_bytes()
    host.send_signal(signal.SIGKILL)
    host.wait()
    host.stdout.close()
    while True:  # the test's limit of time ends it
        try:
            if "\nState:\tZ" in Path(f"/proc/{server}/status").read_text():
                return
        except FileNotFoundError:
            return
        time.sleep(0.01)


def test_the_library_has_all_functions_of_the_headers():
    declared = [
        line.split("(")[0].split()[-1].lstrip("*")
        for line in (library.FOLDER / "cal.h").read_text().splitlines()
        if "CALAPIENTRY cal" in line
    ]
    loaded = ctypes.CDLL(str(library.build()))
    assert len(declared) == 51
    assert [name for name in declared if not hasattr(loaded, name)] == []
    assert {name for name in functions.PLAIN if "Counter" not in name} <= set(declared)


def test_messages_are_read_as_they_were_written():
    for message in protocol.MESSAGES.values():
        for fields in (message.request, message.reply):
            record = _example(fields)
            assert protocol.unpack(fields, protocol.pack(fields, record)) == record


def _example(fields):
    values = {"u32": 7, "u64": 1 << 40, "bytes": b"text"}
    return tuple(values[k] if k in values else [_example(protocol.RECORDS[k[1:-1]])] * 2 for _, k in fields)


def test_the_example_runs(compiled, tmp_path):
    place = library.folder(library.machines()[0])
    source = Path(__file__).parents[2] / "examples" / "cal" / "double.c"
    _cc(tmp_path, [str(source), f"-I{place}", f"-L{place}", "-laticalrt", "-laticalcl", "-o", "double"])
    assert run(str(tmp_path / "double"), "hd4870") == "2 726\n"
