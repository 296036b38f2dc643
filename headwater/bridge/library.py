"""A shim's C and a system's name pass in; the shared library that a host program loads passes out.

It is compiled by Zig's C driver, which has the C libraries' headers of every system, and kept in the cache. On Linux it
wants a C library of 2017 or later.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headwater.base import cache, temporary
from headwater.base.version import VERSION
from headwater.errors import DeviceError, InternalError
from headwater.native import toolchain

FOLDER = Path(__file__).with_name("shim")
"""What all shims have in common."""
_FORMAT = "shim 3"
_FLAGS = (
    "-std=c11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror",
    "-fno-sanitize=undefined", "-s", "-D_FILE_OFFSET_BITS=64",
)  # fmt: skip

_LINK = {"linux": ("-Wl,-Bsymbolic", "-lpthread", "-ldl")}
"""By `sys.platform`. A loader has functions of the same names; a program that is linked with it has them first, and
without ``-Bsymbolic`` our table of functions would hold the loader's, which call themselves for ever."""

TARGETS = {
    ("linux", "x86_64"): "x86_64-linux-gnu.2.27",
    ("linux", "aarch64"): "aarch64-linux-gnu.2.27",
    ("linux", "i386"): "x86-linux-gnu.2.27",
    ("darwin", "x86_64"): "x86_64-macos.11.0",
    ("darwin", "aarch64"): "aarch64-macos.11.0",
}
"""Zig's targets, by `sys.platform` and machine."""


@dataclass(frozen=True)
class Shim:
    """The C of a door. ``what``: what it is, for messages; ``generated``: headers that are made from tables, by
    name."""

    what: str
    name: str
    folder: Path
    generated: Mapping[str, str]

    def sources(self) -> dict[str, str]:
        """The texts of all files, by name."""
        paths = [*sorted(FOLDER.iterdir()), *sorted(self.folder.iterdir())]
        return {path.name: path.read_text(encoding="utf-8") for path in paths} | dict(self.generated)

    def build(self, system: str = sys.platform, machine: str = "") -> Path:
        """The library for a system, from the cache or the compiler. InternalError if it does not compile."""
        name = (machine or platform.machine()).lower()
        machine = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}.get(name, name)
        target = TARGETS.get((system, machine))
        if target is None:
            known = ", ".join(f"{machine} on {system}" for system, machine in TARGETS)
            raise DeviceError(f"there is no {self.what} for {machine} on {system}", hint=f"there are for {known}")
        sources = self.sources()
        key = cache.key(_FORMAT, target, VERSION, repr(sources), *_FLAGS, *_LINK.get(system, ()))
        found = cache.get(key)
        if found is None:
            found = cache.put(key, {self.name: self._compile(sources, target, system)})
        return found / self.name

    def _compile(self, sources: dict[str, str], target: str, system: str) -> bytes:
        with temporary.folder() as folder:
            for name, text in sources.items():
                Path(folder, name).write_text(text, encoding="utf-8")
            files = [name for name in sources if name.endswith(".c")]
            link = _LINK.get(system, ())
            version = f'-DHEADWATER_VERSION="{VERSION}"'
            command = ["cc", "-target", target, *_FLAGS, version, "-o", self.name, *files, *link]
            caches = {name: os.path.join(folder, "zig") for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
            done = toolchain.run(command, cwd=folder, environment=caches)
            if done.returncode:
                said = done.stderr.decode(errors="replace").strip()[-4000:]
                raise InternalError(f"compiling the library of the {self.what} failed: {said}")
            return Path(folder, self.name).read_bytes()
