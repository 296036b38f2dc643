"""The shim's C and a system's name pass in; the shared library that an OpenCL loader takes passes out.

It is compiled by Zig's C driver, which has the C libraries' headers of every system, and kept in the cache. On Linux it
wants a C library of 2017 or later.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

from headwater.base import cache, temporary
from headwater.base.version import VERSION
from headwater.errors import InternalError
from headwater.icd import constants, protocol
from headwater.native import toolchain

FOLDER = Path(__file__).with_name("shim")
_FORMAT = "icd shim 2"
_FLAGS = (
    "-std=c11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror",
    "-fno-sanitize=undefined", "-s",
)  # fmt: skip

_LINK = {"linux": ("-Wl,-Bsymbolic", "-lpthread", "-ldl")}
"""By `sys.platform`. A loader has functions of the same names; a program that is linked with it has them first, and
without ``-Bsymbolic`` our table of functions would hold the loader's, which call themselves for ever."""

TARGETS = {
    ("linux", "x86_64"): "x86_64-linux-gnu.2.27",
    ("linux", "aarch64"): "aarch64-linux-gnu.2.27",
    ("darwin", "x86_64"): "x86_64-macos.11.0",
    ("darwin", "aarch64"): "aarch64-macos.11.0",
}
"""Zig's targets, by `sys.platform` and machine."""


def library_name(system: str = sys.platform) -> str:
    """The file name of the platform's library."""
    return {"darwin": "libheadwater_icd.dylib"}.get(system, "libheadwater_icd.so")


def generated() -> dict[str, str]:
    """The headers that are made from tables, by name."""
    return {"cl_constants.h": "#pragma once\n" + constants.c_definitions(), "protocol.h": protocol.c_header()}


def build(system: str = sys.platform, machine: str = "") -> Path:
    """The library for a system, from the cache or the compiler. InternalError if it does not compile."""
    name = (machine or platform.machine()).lower()
    machine = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}.get(name, name)
    target = TARGETS.get((system, machine))
    if target is None:
        from headwater.errors import DeviceError

        known = ", ".join(f"{machine} on {system}" for system, machine in TARGETS)
        raise DeviceError(f"there is no OpenCL platform for {machine} on {system}", hint=f"there are for {known}")
    sources = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.iterdir())} | generated()
    key = cache.key(_FORMAT, target, VERSION, repr(sources), *_FLAGS, *_LINK.get(system, ()))
    found = cache.get(key)
    if found is None:
        found = cache.put(key, {library_name(system): _compile(sources, target, system)})
    return found / library_name(system)


def _compile(sources: dict[str, str], target: str, system: str) -> bytes:
    with temporary.folder() as folder:
        for name, text in sources.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        out = library_name(system)
        files = [name for name in sources if name.endswith(".c")]
        link = _LINK.get(system, ())
        command = ["cc", "-target", target, *_FLAGS, f'-DHEADWATER_VERSION="{VERSION}"', "-o", out, *files, *link]
        caches = {name: os.path.join(folder, "zig") for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
        done = toolchain.run(command, cwd=folder, environment=caches)
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()[-4000:]
            raise InternalError(f"compiling the OpenCL platform's library failed: {said}")
        return Path(folder, out).read_bytes()
