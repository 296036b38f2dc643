"""How long a kernel's large launches took passes in; whether such launches shall store around the caches passes out.

Streaming stores save the reading of what is overwritten, which counts where all cores together use all of the memory's
bandwidth; a core alone may store less with them than without (a Xeon, Cascade Lake, with 2 cores: a copy takes 1.35
times as long). It depends on the kernel, too: a transpose, whose lines lie far apart, gains most (on an Xeon with
AVX-512, Emerald Rapids, it takes a third of the time). No table tells, so the first large launches of each kernel try
both ways, and the cache keeps what was faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from headwater.errors import HeadwaterError

ROUNDS = 3
"""Launches that each way gets."""
FINE_SECONDS = 1e-5
"""The coarsest clock that tells large launches apart, which take milliseconds (on Windows processor time has 16 ms)."""
_FORMAT, _FILE = "stores 2", "streaming"


def clock_for(resolution: float) -> Callable[[], int]:
    """This process's processor time, which tells the same on a machine that has other work, if it is fine enough."""
    return time.process_time_ns if resolution <= FINE_SECONDS else time.perf_counter_ns


class Trial:
    """The launches of one kernel and size that try both ways. ``clock``: what they are timed with, in nanoseconds."""

    clock = staticmethod(clock_for(time.get_clock_info("process_time").resolution))

    def __init__(self, code: str) -> None:
        self._code = code
        self._times: dict[bool, list[int]] = {True: [], False: []}

    def streaming(self) -> bool:
        """Which way is tried next."""
        return len(self._times[True]) <= len(self._times[False])

    def took(self, streaming: bool, nanoseconds: int) -> bool:
        """Note a launch; whether it was the last one wanted. What is better for the kernel is known then.

        The fastest of each way count: what the machine does beside, and pages that are touched first, only add time.
        """
        self._times[streaming].append(nanoseconds)
        if min(len(times) for times in self._times.values()) < ROUNDS:
            return False
        _keep(self._code, min(self._times[True]) <= min(self._times[False]))
        return True


_known: dict[str, bool] = {}


def preferred(code: str) -> bool | None:
    """Whether this kernel stores faster around the caches; None if that has not been tried. ``code``: what names it."""
    key = _key(code)
    if key not in _known:
        from headwater import cache

        entry = cache.get(key)
        if entry is not None:
            _known[key] = (entry / _FILE).read_bytes() == b"1"
    return _known.get(key)


def _keep(code: str, streaming: bool) -> None:
    from headwater import cache

    key = _key(code)
    _known[key] = streaming
    with suppress(OSError, HeadwaterError):  # without a cache the next process tries again
        cache.put(key, {_FILE: b"1" if streaming else b"0"})


def _key(code: str) -> str:
    """Of a kernel's code on this machine, with as many threads as now."""
    from headwater import cache
    from headwater.opencl.freshness import identity
    from headwater.runtime.pool import pool

    return cache.key(_FORMAT, identity(), str(pool().size), code)
