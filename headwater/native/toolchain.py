"""Input: arguments of clang or lld, from the package ``ziglang``. Output: what they print and their exit status."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.errors import DeviceError
from headwater.native import limits

if TYPE_CHECKING:
    import subprocess

_OTHERS = ("CPATH", "C_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS")
"""Variables that add include folders and options: results would depend on the caller's shell."""

_running: set[subprocess.Popen[bytes]] = set()


def zig_path() -> Path:
    """The ``zig`` executable of the package ``ziglang``, which holds clang and lld; DeviceError if it is missing."""
    return _zig_path()


def run(
    arguments: Sequence[str],
    data: bytes = b"",
    *,
    cwd: str | None = None,
    timeout: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a tool, ``("clang", …)`` or ``("ld.lld", …)``, with ``data`` on its standard input; ``environment`` has
    further variables.

    It has a limit to its memory (`headwater.native.limits`) and ends with this process. Raises DeviceError if it cannot
    be started, subprocess.TimeoutExpired after ``timeout`` seconds.
    """
    import subprocess  # warm starts run no tool

    variables = {name: value for name, value in os.environ.items() if name not in _OTHERS} | dict(environment or {})
    command = [str(zig_path()), *arguments]
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd, env=variables)
    except OSError as error:
        raise DeviceError(
            f"clang could not be started: {error}", hint="pip install --force-reinstall ziglang==0.17.0"
        ) from None
    with process:
        _running.add(process)
        try:
            limits.limit(process)
            output, messages = process.communicate(data, timeout)
        except BaseException:
            process.kill()
            raise
        finally:
            _running.discard(process)
    return subprocess.CompletedProcess(command, process.returncode, output, messages)


def cc(arguments: Sequence[str], folder: str) -> subprocess.CompletedProcess[bytes]:
    """Run Zig's C compiler in a folder, where it keeps what it makes on the way.

    Nothing is linked but the C library. Zig would compile its own run-time library first, for half a minute: code for
    32 bits or for large numbers may need functions of it.
    """
    caches = {name: os.path.join(folder, "zig") for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
    return run(["cc", "-fno-sanitize=undefined", "-rtlib=none", *arguments], cwd=folder, environment=caches)


@atexit.register
def _end() -> None:
    """End what threads are still waiting for, such as one that compiles ahead."""
    for process in list(_running):
        process.kill()


@functools.cache
def _zig_path() -> Path:
    spec = importlib.util.find_spec("ziglang")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for name in ("zig", "zig.exe"):
            path = Path(folder) / name
            if path.is_file():
                return path
    raise DeviceError(
        "compiling for the cpu device needs clang, which the package 'ziglang' provides, and it is not installed",
        hint="pip install ziglang==0.17.0 llvmlite==0.50.0, or run on an OpenCL device, whose driver has its compiler",
    )
