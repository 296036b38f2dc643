"""Input: a shim's C and a system's name. Output: the shared library that a host program loads.

Wheels contain it for every system of `TARGETS` (``build_backend.py``). Elsewhere it is compiled at its first use by
Zig's C driver, which has the C libraries' headers of every system, and kept in the cache. On Linux it wants a C library
of 2017 or later.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.base import cache, temporary
from headwater.base.version import VERSION
from headwater.errors import DeviceError, InternalError
from headwater.native import toolchain

if TYPE_CHECKING:
    import subprocess

FOLDER = Path(__file__).with_name("shim")
"""What all shims have in common."""
SHIPPED = Path(__file__).parents[1] / "data" / "shims"
"""Where a wheel has them: a folder for each, named by `Shim.key`."""
_FORMAT = "shim 4"
_FLAGS = ("-std=c11", "-O2", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror")
_SHARED = ("-fPIC", "-shared", "-s", "-D_FILE_OFFSET_BITS=64")
_SYSTEM_FLAGS = {
    "linux": (*_SHARED, "-Wl,-Bsymbolic", "-Wl,-z,defs", "-lpthread", "-ldl"),
    "darwin": _SHARED,
    "win32": ("-D_UCRT", "-D_WIN32_WINNT=0x0a00"),  # Windows 10
}
"""By `sys.platform`. Nothing may be undefined: Zig's run-time library is not linked. A loader has functions of the same
names; a program that is linked with it has them first, and without ``-Bsymbolic`` our table of functions would hold the
loader's, which call themselves for ever."""

TARGETS = {
    ("linux", "x86_64"): "x86_64-linux-gnu.2.27",
    ("linux", "aarch64"): "aarch64-linux-gnu.2.27",
    ("linux", "i386"): "x86-linux-gnu.2.27",
    ("darwin", "x86_64"): "x86_64-macos.11.0",
    ("darwin", "aarch64"): "aarch64-macos.11.0",
    ("win32", "x86_64"): "x86_64-windows-gnu",
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

    def key(self, system: str, machine: str) -> str:
        """Names the library for a system: it changes with whatever the library is made of. DeviceError where there is
        none."""
        return cache.key(_FORMAT, self._target(system, machine), VERSION, repr(self.sources()), *_flags(system))

    def build(self, system: str = sys.platform, machine: str = "") -> Path:
        """The library for a system, from the wheel, the cache or the compiler. InternalError if it does not compile."""
        key = self.key(system, machine)
        shipped = SHIPPED / key / self.name
        if shipped.is_file():
            return shipped
        found = cache.get(key)
        if found is None:
            found = cache.put(key, {self.name: self.compile(system, machine)})
        return found / self.name

    def compile(self, system: str, machine: str) -> bytes:
        """The library for a system, from the compiler. InternalError if it does not compile."""
        sources, target = self.sources(), self._target(system, machine)
        with temporary.folder() as folder:
            for name, text in sources.items():
                Path(folder, name).write_text(text, encoding="utf-8")
            files = [name for name in sources if name.endswith(".c")]
            words = ["-target", target, f'-DHEADWATER_VERSION="{VERSION}"', *_flags(system), *files]
            if system == "win32":
                self._build_for_windows(words, sources, folder)
            else:
                self._check(toolchain.cc(["-o", self.name, *words], folder))
            return Path(folder, self.name).read_bytes()

    def _build_for_windows(self, words: Sequence[str], sources: Iterable[str], folder: str) -> None:
        """With the import libraries of the ``.def`` files, and nothing of a C library but headers: Zig would build its
        own for more than a minute."""
        self._check(toolchain.run(["clang", "-c", *windows_headers(), *words], cwd=folder))
        definitions = [name for name in sources if name.endswith(".def")]
        for name in definitions:
            command = ["dlltool", "-m", "i386:x86-64", "-d", name, "-l", f"{name}.lib"]
            self._check(toolchain.run(command, cwd=folder))
        link = ["lld-link", "/dll", "/noentry", "/nodefaultlib", "/brepro", "/nologo", f"/out:{self.name}"]
        objects = [path.name for path in Path(folder).glob("*.o")]
        self._check(toolchain.run([*link, *sorted(objects), *(f"{name}.lib" for name in definitions)], cwd=folder))

    def _check(self, done: subprocess.CompletedProcess[bytes]) -> None:
        if done.returncode:
            said = (done.stderr or done.stdout).decode(errors="replace").strip()[-4000:]
            raise InternalError(f"compiling the library of the {self.what} failed: {said}")

    def _target(self, system: str, machine: str) -> str:
        name = (machine or platform.machine()).lower()
        machine = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}.get(name, name)
        target = TARGETS.get((system, machine))
        if target is None:
            known = ", ".join(f"{machine} on {system}" for system, machine in TARGETS)
            raise DeviceError(f"there is no {self.what} for {machine} on {system}", hint=f"there are for {known}")
        return target


def windows_headers() -> list[str]:
    """clang's options for the headers of Windows and its C library, which Zig brings."""
    root = toolchain.zig_path().parent / "lib"
    places = [root / "include", root / "libc" / "include" / "any-windows-any"]
    return ["-nostdinc", *(word for place in places for word in ("-isystem", str(place)))]


def _flags(system: str) -> tuple[str, ...]:
    return (*_FLAGS, *_SYSTEM_FLAGS[system])
