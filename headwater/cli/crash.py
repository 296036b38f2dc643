"""A block of work passes in; a memory fault of native code in it ends the process with a message that says what to do.

A kernel that has run wild may have overwritten anything of the interpreter's, so that the signal's handler must be
native code that needs nothing: a few instructions, in a page of their own with the message.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import signal
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_MESSAGE = b"""\
headwater: error: the kernel accessed memory that is not there, and was ended
  hint: run it with --check, or on a simulated chip: there the line is told
"""
_EXIT_CODE = 2
_SIGNALS = (signal.SIGSEGV, getattr(signal, "SIGBUS", signal.SIGSEGV))


def _x86_64() -> bytes:
    """write(2, message, length) and exit_group(2) by Linux's system calls 1 and 231."""
    return (
        b"\xbf\x02\x00\x00\x00"  # mov edi, 2
        b"\x48\x8d\x35" + struct.pack("<i", 24) +  # lea rsi, [rip + 24]: the message, behind the code
        b"\xba" + struct.pack("<i", len(_MESSAGE)) +  # mov edx, length
        b"\xb8\x01\x00\x00\x00\x0f\x05"  # mov eax, 1; syscall
        b"\xbf" + struct.pack("<i", _EXIT_CODE) +  # mov edi, exit code
        b"\xb8\xe7\x00\x00\x00\x0f\x05"  # mov eax, 231; syscall
    )  # fmt: skip


@contextmanager
def told() -> Iterator[None]:
    """Inside, a kernel of this processor that runs wild ends in one message and exit code 2, not in a bare signal.

    Only on Linux and x86-64; elsewhere nothing is changed.
    """
    if sys.platform != "linux" or platform.machine() != "x86_64":
        yield
        return
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:  # a system that lets nobody write code
        yield
        return
    page.write(_x86_64() + _MESSAGE)
    handler = ctypes.addressof(ctypes.c_char.from_buffer(page))
    library = ctypes.CDLL(None)
    library.signal.argtypes, library.signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    before = [(number, library.signal(number, handler)) for number in dict.fromkeys(_SIGNALS)]
    try:
        yield
    finally:
        for number, old in before:
            library.signal(number, old)
