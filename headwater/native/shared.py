"""Input: object files. Output: the shared library that they make on this system, or on another one.

The linkers are those of the package ``ziglang``: lld for ELF and for Windows, Zig's own for Mach-O. No compiler, SDK or
C library of the machine is needed. On Linux what a library does not define (``memcpy``, ``fma``, …) is looked for in
the process that loads it; the other systems want to know beforehand where it will be.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from headwater.base import cache, temporary
from headwater.errors import InternalError

ENTRY = "hw_entry"
"""The symbol that the run-time calls."""

FITS_SUFFIX = "_fits"
"""Behind an entry's symbol: that of the function which tells whether the entry is for a launch of such numbers."""

BOUNDS_SUFFIX = "_bounds"
"""The same for the function which tells whether a launch accesses memory outside of its arrays."""

# What LLVM may call for one instruction, by the Windows system library that has it.
_WINDOWS_IMPORTS = {
    "ntdll.dll": ("__chkstk", "memcmp", "memcpy", "memmove", "memset"),
    "ucrtbase.dll": tuple(
        f"{name}{suffix}"
        for name in (
            *("ceil", "cos", "exp", "exp2", "floor", "fma", "fmax", "fmin", "fmod", "ldexp", "log", "log10", "log2"),
            *("nearbyint", "pow", "rint", "round", "sin", "sqrt", "tan", "trunc"),
        )
        for suffix in ("", "f")
    ),
}
# Objects for Windows that compute with floating-point numbers name this symbol of Microsoft's C run-time.
_WINDOWS_SUPPORT = "int _fltused = 0x9875;\n"
_MACOS = "macos.11.0"  # the first for Apple silicon


def library_name(system: str = sys.platform) -> str:
    """The file name of a kernel's library."""
    return {"win32": "kernel.dll", "darwin": "kernel.dylib"}.get(system, "kernel.so")


def link_shared(
    *objects: bytes, exports: Sequence[str] = (ENTRY,), system: str = sys.platform, machine: str = ""
) -> bytes:
    """A shared library from object files. Raises InternalError if they do not link.

    ``exports``: the symbols that Windows shall let others see (elsewhere all are seen that are not internal).
    ``system`` as in `sys.platform`, ``machine`` as in `platform.machine`, by default this one.
    """
    arch = _architecture(machine)
    with temporary.folder() as folder:
        sources = [os.path.join(folder, f"{number}.o") for number in range(len(objects))]
        for source, code in zip(sources, objects, strict=True):
            Path(source).write_bytes(code)
        target = os.path.join(folder, library_name(system))
        if system == "win32":
            support = _windows_support(arch)
            command = ["lld-link", "/dll", "/noentry", "/nodefaultlib", "/brepro", "/nologo", f"/out:{target}"]
            command += [f"/export:{name}" for name in exports]
            command += [*sources, *(str(support / name) for name in os.listdir(support) if name != "manifest")]
        elif system == "darwin":
            # Zig would build its own run-time library first, which takes minutes; nothing of it is used.
            command = ["build-lib", "-dynamic", "-target", f"{arch}-{_MACOS}", "-lc", "-fno-compiler-rt"]
            command += ["-fno-ubsan-rt", "--name", "kernel", f"-femit-bin={target}"]
            command += ["--cache-dir", folder, "--global-cache-dir", folder, *sources]
        else:
            command = ["ld.lld", "-shared", "-o", target, *sources]
        _run(command, folder)
        return Path(target).read_bytes()


def _architecture(machine: str) -> str:
    """``x86_64`` or ``aarch64``, from what systems call them."""
    import platform

    name = (machine or platform.machine()).lower()
    return {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}.get(name, name)


def _run(command: Sequence[str], folder: str) -> None:
    from headwater.native import toolchain

    done = toolchain.run(command, cwd=folder)
    if done.returncode:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()[-500:]
        raise InternalError(f"linking the kernel failed: {said}")


def _windows_support(arch: str) -> Path:
    """A folder of the cache with import libraries of `_WINDOWS_IMPORTS` and the object of `_WINDOWS_SUPPORT`."""
    described = repr(sorted(_WINDOWS_IMPORTS.items()))
    key = cache.key("windows support 1", arch, described, _WINDOWS_SUPPORT)

    def make(folder: Path) -> None:
        for dll, names in _WINDOWS_IMPORTS.items():
            stem = dll.removesuffix(".dll")
            definition = folder / f"{stem}.def"
            definition.write_text("\n".join([f"LIBRARY {dll}", "EXPORTS", *names, ""]), encoding="ascii")
            machine = {"x86_64": "i386:x86-64", "aarch64": "arm64"}[arch]
            _run(["dlltool", "-m", machine, "-d", definition.name, "-l", f"{stem}.lib"], str(folder))
            definition.unlink()
        source = folder / "support.c"
        source.write_text(_WINDOWS_SUPPORT, encoding="ascii")
        _run(["clang", "-target", f"{arch}-windows-msvc", "-c", "-o", "support.obj", source.name], str(folder))
        source.unlink()

    return cache.get(key) or cache.put(key, make)
