"""Input: a block of work. A signal that its native code raises ends the process with a message that says what to do.

A kernel that has run wild may have overwritten anything of the interpreter's, so that the signals' handlers must be
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

from headwater.jobs import CHECK_HINT

_HINT = f"  hint: {CHECK_HINT}\n".encode()
_ACCESS = b"headwater: error: the kernel accessed memory that is not there, and was ended\n" + _HINT
_ENDED = b"headwater: error: the kernel ended itself by a trap, or damaged memory that is not its own\n" + _HINT
_EXIT_CODE = 2
_MESSAGES = {"SIGSEGV": _ACCESS, "SIGBUS": _ACCESS, "SIGILL": _ENDED, "SIGFPE": _ENDED, "SIGABRT": _ENDED}
"""What is said of each signal. SIGABRT is how the C library ends a process whose heap is damaged."""

_handlers: dict[int, int] = {}
"""Signal -> address of its handler, once made."""
_pages: list[mmap.mmap] = []


def _x86_64(message: bytes) -> bytes:
    """write(2, message, length) and exit_group(2) by Linux's system calls 1 and 231; then the message."""
    return (
        b"\xbf\x02\x00\x00\x00"  # mov edi, 2
        b"\x48\x8d\x35" + struct.pack("<i", 24) +  # lea rsi, [rip + 24]: the message, behind the code
        b"\xba" + struct.pack("<i", len(message)) +  # mov edx, length
        b"\xb8\x01\x00\x00\x00\x0f\x05"  # mov eax, 1; syscall
        b"\xbf" + struct.pack("<i", _EXIT_CODE) +  # mov edi, exit code
        b"\xb8\xe7\x00\x00\x00\x0f\x05"  # mov eax, 231; syscall
        + message
    )  # fmt: skip


def _made() -> dict[int, int]:
    """The handlers; none where there are none for this system, or it lets nobody write code."""
    if _handlers or sys.platform != "linux" or platform.machine() != "x86_64":
        return _handlers
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return _handlers
    _pages.append(page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    for name, message in _MESSAGES.items():
        _handlers[getattr(signal, name)] = start + page.tell()
        page.write(_x86_64(message))
    return _handlers


@contextmanager
def reported() -> Iterator[None]:
    """Inside, a kernel on this processor that crashes ends with one message and exit code 2, not with a bare signal.

    What it damaged may show only when the process ends, so that handlers stay unless others were there before. Only on
    Linux and x86-64; elsewhere nothing is changed.
    """
    handlers = _made()
    if not handlers:
        yield
        return
    library = ctypes.CDLL(None)
    library.signal.argtypes, library.signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    before = [(number, library.signal(number, handler)) for number, handler in handlers.items()]
    try:
        yield
    finally:
        for number, old in before:
            if old:
                library.signal(number, old)
