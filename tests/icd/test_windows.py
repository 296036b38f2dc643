"""Windows' library, loaded by a program of Windows under Wine. The server runs in this system's Python, which maps the
file that the library shares, where Windows' would open a mapping by its name."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headwater.bridge.library import FOLDER, windows_headers
from headwater.icd import library
from headwater.native import toolchain

WINE = shutil.which("wine")
FLAGS = ("-D_UCRT", "-D_WIN32_WINNT=0x0a00", "-O1", "-fno-stack-protector", "-mno-stack-arg-probe", "-Wno-everything")
IMPORTS = {
    "kernel32": "LoadLibraryA GetProcAddress GetLastError ExitProcess GetEnvironmentVariableA GetStdHandle ReadFile "
    "CreateThread WaitForMultipleObjects GetExitCodeThread",
    "ucrtbase": "__acrt_iob_func __stdio_common_vfprintf fflush memcpy memset strstr",
}
SERVER = """\
import mmap, os, pathlib, sys
sys.path[:0] = {path!r}
from headwater.bridge import arena, transport
here = pathlib.Path({folder!r})
(here / "started").write_text(f"{{os.getpid()}} {{os.environ[transport.VARIABLE]}}")

def map_file(path, nbytes):
    unix = here / "prefix" / "dosdevices" / path.replace("C:", "c:").replace("\\\\", "/")
    (here / "arena").write_text(str(unix))
    return mmap.mmap(os.open(unix, os.O_RDWR), nbytes)

arena._map_named = map_file
from headwater.icd.server.__main__ import main
sys.exit(main())
"""


def tool(folder, *words):
    done = toolchain.run(words, cwd=str(folder))
    assert done.returncode == 0, done.stderr.decode()


def build_host(folder):
    dispatch = library.shim("win32").sources()["dispatch.c"]
    functions = re.findall(r"\b(?:CALL|NONE)\((\w+)\)", dispatch.split("#define ALL(CALL, NONE)")[1].split("//")[0])
    named = {name: place for place, name in reversed(list(enumerate(functions))) if name.startswith("cl")}
    (folder / "table.h").write_text("enum {" + ", ".join(f"{name} = {place}" for name, place in named.items()) + "};")
    shutil.copy(Path(__file__).with_name("windows_host.c"), folder)
    tool(
        folder,
        "clang",
        "-target",
        "x86_64-windows-gnu",
        "-c",
        "-std=gnu11",
        *windows_headers(),
        *FLAGS,
        "windows_host.c",
    )
    for dll, names in IMPORTS.items():
        (folder / f"{dll}.def").write_text("\n".join([f"LIBRARY {dll}.dll", "EXPORTS", *names.split(), ""]))
        tool(folder, "dlltool", "-m", "i386:x86-64", "-d", f"{dll}.def", "-l", f"{dll}.lib")
    libraries = [f"{dll}.lib" for dll in IMPORTS]
    link = ["lld-link", "/entry:start", "/subsystem:console", "/nodefaultlib", "/out:host.exe"]
    tool(folder, *link, "windows_host.o", *libraries)


@pytest.fixture
def wine(tmp_path):
    environ = {**os.environ, "WINEPREFIX": str(tmp_path / "prefix"), "WINEDEBUG": "-all", "DISPLAY": ""}
    subprocess.run([WINE, "wineboot", "-i"], env=environ, capture_output=True, timeout=300, check=True)
    yield environ
    subprocess.run([shutil.which("wineserver") or "/usr/lib/wine/wineserver64", "-k"], env=environ, timeout=60)


def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.skipif(WINE is None or sys.platform != "linux", reason="needs Wine")
def test_a_program_of_windows_runs_kernels_and_outlives_its_server(tmp_path, wine):
    (tmp_path / "hw.dll").write_bytes(library.build("win32", "x86_64").read_bytes())
    build_host(tmp_path)
    (tmp_path / "server.py").write_text(SERVER.format(path=[str(FOLDER.parents[2]), *sys.path], folder=str(tmp_path)))
    server = tmp_path / "server.sh"
    server.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path}/server.py"\n')
    server.chmod(0o700)
    windows = {
        "LIBRARY": f"Z:{tmp_path}/hw.dll".replace("/", "\\"),
        "HEADWATER_PYTHON": f"Z:{server}".replace("/", "\\"),
        "HEADWATER_ICD_DEVICES": "cpu,vega64",
    }
    pipe = subprocess.PIPE
    host = subprocess.Popen([WINE, tmp_path / "host.exe"], env={**wine, **windows}, stdin=pipe, stdout=pipe, text=True)
    with host:
        said = [host.stdout.readline().strip() for _ in range(3)]
        assert [line.partition(": ")[2] for line in said[:2]] == ["0", "0"], said
        assert "vega64" in said[1]
        assert said[2] == "wrong -11 with a log"
        started = tmp_path / "started"
        pid, port, _ = re.split("[ :]", started.read_text())
        with (
            socket.create_connection(("127.0.0.1", int(port))) as stranger,
            socket.create_connection(("127.0.0.1", int(port))),
        ):  # the second says nothing
            stranger.sendall(bytes(16))
            host.stdin.write("\n")
            host.stdin.flush()
            assert [host.stdout.readline().strip() for _ in range(4)] == ["thread 0"] * 4
            assert stranger.recv(1) == b""
        started.unlink()
        os.kill(int(pid), signal.SIGKILL)
        file = Path((tmp_path / "arena").read_text())
        assert file.exists()
        output, _ = host.communicate("\n", timeout=120)
        assert output.strip() in ("after the end -5, then 0", "after the end 0, then 0")
        assert host.returncode == 0
        assert started.exists()  # another one, which ends with its host
    second = int(started.read_text().split()[0])
    until(lambda: not Path(f"/proc/{second}").exists())
    assert not file.exists()
