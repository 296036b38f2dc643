"""Limits the memory of a compiler process, so that a hostile source cannot exhaust the machine."""

from __future__ import annotations

import functools
import os
import signal
import sys
from typing import TYPE_CHECKING

from headwater.errors import ResourceError

if TYPE_CHECKING:
    import subprocess

_LEAST, _MOST = 4 << 30, 16 << 30


@functools.cache
def memory_limit() -> int:
    """Bytes of address space that a compiler may take: half of this machine's memory, between 4 and 16 GiB. The largest
    kernels of the test suites take under 1."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        memory = 0
    return min(max(memory // 2, _LEAST), _MOST)


def killed(status: int) -> ResourceError | None:
    """What to raise for a compiler with this exit status if it was killed, as Linux does where memory is short."""
    if status != -getattr(signal, "SIGKILL", 9):
        return None
    return ResourceError(
        "the compiler process was killed: out of memory, most likely", hint="compile a smaller kernel, or free memory"
    )


def limit(process: subprocess.Popen[bytes]) -> None:
    """Limit a process that has just begun, and those that it will start; only Linux lets others than itself do so."""
    if sys.platform == "linux":
        import resource

        try:
            _, hard = resource.prlimit(process.pid, resource.RLIMIT_AS)
            wanted = memory_limit() if hard == resource.RLIM_INFINITY else min(memory_limit(), hard)
            resource.prlimit(process.pid, resource.RLIMIT_AS, (wanted, hard))
        except (OSError, ValueError):  # it has ended already, or a sandbox forbids it
            pass
