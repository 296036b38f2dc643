"""Restricts what a process that has just begun can access, to bound what a hostile kernel could do.

Landlock (Linux 5.13; kernel documentation, "Landlock: unprivileged access control") takes away all files but those
named, TCP, and signals to other processes; resource limits bound memory, the size of files and their number. Other
systems have the limits alone, and none on Windows.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Final

MEMORY_BYTES: Final = 4 << 30
"""Address space of each process of a worker: that of the 512 MiB stacks of compiler processes included."""
FILE_BYTES: Final = 256 << 20
OPEN_FILES: Final = 256

# linux/landlock.h; the system calls have these numbers on all architectures.
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_PATH_BENEATH: Final = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_READING: Final = _EXECUTE | _READ_FILE | _READ_DIR
_OF_FILES: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | 1 << 14 | 1 << 15
_FILE_RIGHTS: Final = ((1, 13), (2, 14), (3, 15), (5, 16))
"""From which version on how many rights to files are known."""
_TCP: Final = 3  # to bind and to connect, from version 4
_SCOPES: Final = 3  # abstract sockets and signals, from version 6
_NO_NEW_PRIVILEGES: Final = 38  # prctl(2)
_SUBREAPER: Final = 36

_SYSTEM: Final = (
    *("/usr/lib", "/usr/lib64", "/usr/libexec", "/lib", "/lib64", "/bin", "/usr/bin", "/etc/ld.so.cache"),
    *("/proc/self", "/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/sys/devices/system", "/sys/fs/cgroup"),
    *("/dev/urandom", "/dev/random"),
)


def limit() -> None:
    """Bound this process's memory and files, and those of the processes that it starts."""
    if os.name != "posix":
        return
    import resource

    for what, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(what, (wanted, wanted))
        except (OSError, ValueError):  # macOS has no limit of the address space
            continue


def version() -> int:
    """The version of Landlock that this system has; 0 for none."""
    if sys.platform != "linux":
        return 0
    found: int = ctypes.CDLL(None, use_errno=True).syscall(_CREATE, None, 0, 1)
    return max(0, found)


def readable() -> list[str]:
    """What Python, Headwater, clang and the system's libraries are read from."""
    paths = sysconfig.get_paths()
    found = [sys.prefix, sys.base_prefix, paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"]]
    package = Path(__file__).resolve().parents[1]
    found += [str(package), str(package.parent / "examples"), str(Path(sys.executable).resolve().parent)]
    return [*dict.fromkeys(found), *_SYSTEM]


def confine(writable: Iterable[str], also_read: Iterable[str] = ()) -> bool:
    """Take from this thread, and all that it starts, every file but those of `readable`, of the folders
    ``also_read`` and ``writable``, TCP, and signals to other processes; whether the system could. Called before other
    threads begin."""
    known = version()
    if not known:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    bits = next(count for least, count in reversed(_FILE_RIGHTS) if known >= least)
    handled = (1 << bits) - 1
    rules = struct.pack("<QQQ", handled, _TCP if known >= 4 else 0, _SCOPES if known >= 6 else 0)
    made = rules[: 8 if known < 4 else 16 if known < 6 else 24]
    ruleset = libc.syscall(_CREATE, made, len(made), 0)
    if ruleset < 0:
        return False
    around = str(Path(__file__).resolve().parents[2])  # which Python lists to find the package in it
    reading = [(around, _READ_DIR), *((path, _READING) for path in [*readable(), *also_read])]
    for path, rights in [*reading, *((path, handled) for path in [*writable, os.devnull])]:
        _allow(libc, ruleset, path, rights & handled)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    libc.prctl(_SUBREAPER, 1, 0, 0, 0)  # what processes leave behind stays below this one, and ends with it
    done = libc.syscall(_RESTRICT, ruleset, 0)
    os.close(ruleset)
    return bool(done == 0)


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no right
    try:
        if not os.path.isdir(path):
            rights &= _OF_FILES
        libc.syscall(_ADD, ruleset, _PATH_BENEATH, struct.pack("<Qi", rights, place), 0)
    finally:
        os.close(place)
