"""Shared libraries for every system that has a linker here: made by cross linking, and looked into; none can run here."""

from __future__ import annotations

import ctypes
import struct
import sys
from pathlib import Path

import pytest

from headwater.errors import InternalError
from headwater.native import shared
from headwater.opencl import clang

# What kernels need of a system: a large stack frame, copies of unknown size, operations that may be calls.
SOURCE = """
float fmaf(float, float, float);
double fmod(double, double);
void *memcpy(void *, const void *, unsigned long long);
void helper(float *a, long long n) { for (long long i = 0; i < n; ++i) a[i] = fmaf(a[i], a[i], 2.0f); }
void hw_entry(void *launch, float *args, float *scratch) {
  volatile float t[16384];
  long long n = *(long long *)launch;
  memcpy(scratch, args, n * 4);
  for (long long i = 0; i < n; ++i) t[(i * 7) & 16383] = args[i];
  helper(args, n);
  for (long long i = 0; i < n; ++i) scratch[i] += (float)fmod(t[(i * 7) & 16383], args[i]);
}
"""
TARGETS = {
    ("win32", "AMD64"): "x86_64-windows-msvc",
    ("win32", "ARM64"): "aarch64-windows-msvc",
    ("darwin", "arm64"): "aarch64-macos.11.0",
    ("darwin", "x86_64"): "x86_64-macos.11.0",
    ("linux", "x86_64"): "x86_64-linux-gnu",
    ("linux", "aarch64"): "aarch64-linux-gnu",
}


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path / "cache"))


def object_for(target: str, tmp_path: Path) -> bytes:
    made = tmp_path / f"{target}.o"
    triple = {"aarch64-macos.11.0": "arm64-apple-macosx11.0", "x86_64-macos.11.0": "x86_64-apple-macosx11.0"}
    flags = ["-target", triple.get(target, target), "-O2", "-ffreestanding", "-nostdinc", "-w"]
    flags += [] if "windows" in target else ["-fPIC"]
    done = clang.run_clang([*flags, "-x", "c", "-c", "-o", str(made), "-"], SOURCE)
    assert done.returncode == 0, done.stderr
    return made.read_bytes()


def numbers(code: str, data: bytes, offset: int) -> tuple[int, ...]:
    return struct.unpack_from("<" + code, data, offset)


def text(data: bytes, offset: int) -> str:
    return data[offset : data.index(b"\0", offset)].decode()


def windows_library(data: bytes) -> tuple[int, set[str], dict[str, set[str]]]:
    """Machine, exported names, and imported names by library (Microsoft, PE Format)."""
    assert data[:2] == b"MZ"
    (at,) = numbers("I", data, 0x3C)
    assert data[at : at + 4] == b"PE\0\0"
    machine, sections, _, _, _, optional, flags = numbers("HHIIIHH", data, at + 4)
    assert flags & 0x2000  # IMAGE_FILE_DLL
    directories = at + 24 + 112
    table = [numbers("8sIIII", data, at + 24 + optional + 40 * i) for i in range(sections)]

    def place(address: int) -> int:
        return next(raw + address - rva for _, size, rva, _, raw in table if rva <= address < rva + max(size, 1))

    (export,) = numbers("I", data, directories)
    exports = place(export)
    count, names = numbers("I", data, exports + 24)[0], place(numbers("I", data, exports + 32)[0])
    exported = {text(data, place(numbers("I", data, names + 4 * i)[0])) for i in range(count)}
    imported: dict[str, set[str]] = {}
    entry = place(numbers("I", data, directories + 8)[0])
    while (fields := numbers("IIIII", data, entry))[0]:
        found = imported.setdefault(text(data, place(fields[3])), set())
        hint = place(fields[0])
        while (name := numbers("Q", data, hint)[0]) != 0:
            found.add(text(data, place(name) + 2))
            hint += 8
        entry += 20
    return machine, exported, imported


def mach_o_library(data: bytes) -> tuple[int, set[str], dict[int, bytes]]:
    """Processor, symbols that others see, and load commands by kind (Apple, mach-o/loader.h)."""
    magic, processor, _, kind, count, _, _, _ = numbers("8I", data, 0)
    assert (magic, kind) == (0xFEEDFACF, 6)  # MH_MAGIC_64, MH_DYLIB
    commands: dict[int, bytes] = {}
    at = 32
    for _ in range(count):
        command, size = numbers("II", data, at)
        commands[command] = data[at : at + size]
        at += size
    symbols, number, strings = numbers("III", commands[2], 8)
    visible = set()
    for i in range(number):
        name, type_ = numbers("IB", data, symbols + 16 * i)
        if type_ & 0x0F == 0x0F:  # N_SECT, N_EXT
            visible.add(text(data, strings + name))
    return processor, visible, commands


@pytest.mark.parametrize(("system", "machine"), TARGETS)
def test_libraries_of_other_systems_are_what_these_load(own_cache, tmp_path, system, machine):
    code = object_for(TARGETS[system, machine], tmp_path)
    made = shared.link_shared(code, system=system, machine=machine)
    if system == "win32":
        processor, exported, imported = windows_library(made)
        assert processor == {"AMD64": 0x8664, "ARM64": 0xAA64}[machine]
        assert exported == {"hw_entry"}
        assert set(imported) == {"ntdll.dll", "ucrtbase.dll"}
        assert {"__chkstk", "memcpy"} <= imported["ntdll.dll"]
        assert "fmod" in imported["ucrtbase.dll"]
        assert shared.link_shared(code, system=system, machine=machine) == made  # with what the cache holds now
    elif system == "darwin":
        processor, visible, commands = mach_o_library(made)
        assert processor == {"arm64": 0x0100000C, "x86_64": 0x01000007}[machine]
        assert {"_hw_entry", "_helper"} <= visible
        platform, least = numbers("II", commands[0x32], 8)  # LC_BUILD_VERSION
        assert (platform, least) == (1, 11 << 16)
        assert b"/usr/lib/libSystem.B.dylib" in commands[0x0C]  # LC_LOAD_DYLIB
        assert (0x1D in commands) or machine != "arm64"  # Apple silicon runs signed code only
    else:
        kind, processor = numbers("HH", made, 16)
        assert (made[:4], kind) == (b"\x7fELF", 3)
        assert processor == {"x86_64": 62, "aarch64": 183}[machine]
        assert b"\0hw_entry\0" in made


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="runs an ELF library")
def test_the_library_of_this_system_runs(tmp_path):
    code = object_for("x86_64-linux-gnu" if shared._architecture("") == "x86_64" else "aarch64-linux-gnu", tmp_path)
    path = tmp_path / shared.library_name()
    path.write_bytes(shared.link_shared(code))
    library = ctypes.CDLL(str(path))
    count, values, out = ctypes.c_longlong(4), (ctypes.c_float * 4)(3, 4, 5, 6), (ctypes.c_float * 4)()
    library.hw_entry(ctypes.byref(count), values, out)
    assert list(values) == [11, 18, 27, 38]
    assert list(out) == [6, 8, 10, 12]


@pytest.mark.parametrize("system", ["win32", "darwin", "linux"])
def test_what_cannot_be_linked_is_an_error(own_cache, system):
    with pytest.raises(InternalError, match=r"linking the kernel failed: .+"):
        shared.link_shared(b"no object file", system=system, machine="x86_64")


def test_undefined_functions_are_found_where_the_linker_can(own_cache, tmp_path, monkeypatch):
    code = object_for("x86_64-windows-msvc", tmp_path)
    monkeypatch.setitem(shared._WINDOWS_IMPORTS, "ucrtbase.dll", ("floor",))
    with pytest.raises(InternalError, match="undefined symbol: fmod"):
        shared.link_shared(code, system="win32", machine="AMD64")


def test_names_of_libraries():
    assert [shared.library_name(s) for s in ("win32", "darwin", "linux")] == [
        *("kernel.dll", "kernel.dylib", "kernel.so")
    ]
    names = [shared._architecture(m) for m in ("AMD64", "x86_64", "ARM64", "arm64", "aarch64")]
    assert names == ["x86_64", "x86_64", "aarch64", "aarch64", "aarch64"]
