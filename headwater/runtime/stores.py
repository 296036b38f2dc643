"""How long large launches took passes in; whether such launches shall store around the caches passes out.

Streaming stores save the reading of what is overwritten, which counts where all cores together use all of the memory's
bandwidth; a core alone may store less with them than without (a Xeon, Cascade Lake, with 2 cores: a copy takes 1.35
times as long). No table of processors tells, so the first large launches try both ways, and the cache keeps what was
faster.
"""

from __future__ import annotations

import functools
import statistics
from contextlib import suppress

from headwater.errors import HeadwaterError

ROUNDS = 3
"""Launches that each way gets."""
_FORMAT, _FILE = "stores 1", "streaming"


class Trial:
    """The launches of one kernel and size that try both ways."""

    def __init__(self) -> None:
        self._times: dict[bool, list[int]] = {True: [], False: []}

    def streaming(self) -> bool:
        """Which way is tried next."""
        return len(self._times[True]) <= len(self._times[False])

    def took(self, streaming: bool, nanoseconds: int) -> bool:
        """Note a launch; whether it was the last one wanted. The machine's preference is known then."""
        self._times[streaming].append(nanoseconds)
        if min(len(times) for times in self._times.values()) < ROUNDS:
            return False
        with_them, without = (statistics.median(self._times[way]) for way in (True, False))
        _keep(with_them <= without)
        return True


_known: dict[str, bool] = {}


def preferred() -> bool | None:
    """Whether this machine stores faster around its caches; None if that has not been tried."""
    key = _key()
    if key not in _known:
        from headwater import cache

        entry = cache.get(key)
        if entry is not None:
            _known[key] = (entry / _FILE).read_bytes() == b"1"
    return _known.get(key)


def _keep(streaming: bool) -> None:
    from headwater import cache

    _known[_key()] = streaming
    with suppress(OSError, HeadwaterError):  # without a cache the next process tries again
        cache.put(_key(), {_FILE: b"1" if streaming else b"0"})


@functools.cache
def _key() -> str:
    """Of this machine, with as many threads as now."""
    from headwater import cache
    from headwater.opencl.freshness import identity
    from headwater.runtime.pool import pool

    return cache.key(_FORMAT, identity(), str(pool().size))
