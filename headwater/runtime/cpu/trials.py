"""Input: the times of a kernel's large launches. Output: the kind of memory access that such launches should use.

Streaming stores save the reading of what is overwritten, which counts where all cores together use all of the memory's
bandwidth; a core alone may store less with them than without (a Xeon, Cascade Lake, with 2 cores: a copy takes 1.35
times as long). It depends on the kernel, too: a transpose, whose lines lie far apart, gains most (on an Xeon with
AVX-512, Emerald Rapids, it takes a third of the time). Prefetches are the same: with them a + b takes 0.90 of its time
on that Cascade Lake and 1.11 on a Zen 5, where a five-point stencil takes 0.77. No table tells, so the first large
launches of each kernel try every mode, and some later ones do so again: the cache keeps what was fastest twice.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from contextlib import suppress

from headwater.errors import HeadwaterError
from headwater.native.pool import pool

ROUNDS = 5
"""Launches that each mode gets, so that modes a tenth apart can be distinguished beside other work."""
FIRST_ROUNDS = 3
HOPELESS = 1.25
"""A mode that took that many times as long as another one in the first rounds gets no more."""
AGREED = 2
"""Trials that a mode must have won: other work on the machine made one choose a mode by which a + b took 1.3 times as
long, from then on."""
REST_SECONDS = 0.25
"""Between the trials of a kernel, so that what disturbed one is over; meanwhile the last winner is taken."""
FINE_SECONDS = 1e-5
"""The coarsest clock that tells large launches apart, which take milliseconds (on Windows processor time has 16 ms)."""
_FORMAT, _FILE = "modes 3", "flags"


def clock_for(resolution: float, threads: bool) -> Callable[[bool], int]:
    """Nanoseconds of processor time, which tell the same on a machine that has other work, if they are fine enough.

    ``threads``: each thread has a clock of its own. Linux brings the whole process's up to date for the thread that
    asks alone, and for the others at their next tick: launches of 3 ms on two threads then seem to take 1.6 or 3.9.
    """
    if resolution > FINE_SECONDS:
        return lambda leads: time.perf_counter_ns()
    return _of_threads if threads else lambda leads: time.process_time_ns()


def _of_threads(leads: bool) -> int:
    return pool().processor_time_ns() + (time.thread_time_ns() if leads else 0)


class Trial:
    """The launches of one kernel and size that try its ``modes``, flags of the launch block. ``clock``: what they are
    timed with, in nanoseconds; it takes whether the thread that asks works on the launch, beside the pool's."""

    clock = staticmethod(
        clock_for(time.get_clock_info("process_time").resolution, hasattr(time, "pthread_getcpuclockid"))
    )

    def __init__(self, code: str, modes: tuple[int, ...]) -> None:
        self.modes = modes
        self._code = code
        self._times: dict[int, list[int]] = {mode: [] for mode in modes}

    def mode(self) -> int:
        """Which mode is tried next."""
        return min(self._hopeful(), key=lambda mode: len(self._times[mode]))

    def _hopeful(self) -> list[int]:
        """The modes that may still be the fastest."""
        fastest = min((min(times) for times in self._times.values() if times), default=0)
        return [w for w, times in self._times.items() if len(times) < FIRST_ROUNDS or min(times) <= HOPELESS * fastest]

    def took(self, mode: int, nanoseconds: int) -> bool:
        """Note a launch; whether it was the last one wanted: the trial has a winner then.

        The fastest of each mode count: what the machine does beside, and pages that are touched first, only add time.
        """
        if mode not in self._times:  # of a launch that was prepared for another trial
            return False
        self._times[mode].append(nanoseconds)
        if min(len(self._times[mode]) for mode in self._hopeful()) < ROUNDS:
            return False
        _keep(self._code, self.modes, min(self.modes, key=lambda mode: min(self._times[mode])))
        return True


_winners: dict[str, list[int]] = {}
_rests_until: dict[str, float] = {}


def preferred(code: str, modes: tuple[int, ...]) -> tuple[int | None, bool]:
    """The mode that has won most trials of a kernel, and whether that is settled; None: the next launches shall try.

    ``code``: what names the kernel.
    """
    key = _key(code, modes)
    winners = _found(key)
    best = max(reversed(winners), key=winners.count, default=None)  # the later one of equals
    settled = best is not None and winners.count(best) >= AGREED
    if not settled and time.monotonic() >= _rests_until.get(key, 0.0):
        return None, False
    return best, settled


def _found(key: str) -> list[int]:
    """The winners of all trials, also of other processes."""
    winners = _winners.get(key)
    if winners is None:
        from headwater.base import cache

        winners = _winners[key] = []
        while (entry := cache.get(cache.key(key, str(len(winners))))) is not None:
            winners.append(int((entry / _FILE).read_bytes()))
    return winners


def _keep(code: str, modes: tuple[int, ...], best: int) -> None:
    from headwater.base import cache

    key = _key(code, modes)
    winners = _found(key)
    with suppress(OSError, HeadwaterError):  # without a cache the next process tries again
        cache.put(cache.key(key, str(len(winners))), {_FILE: b"%d" % best})
    winners.append(best)
    _rests_until[key] = time.monotonic() + REST_SECONDS


@functools.lru_cache(maxsize=256)
def _key(code: str, modes: tuple[int, ...]) -> str:
    """Of a kernel's code on this machine, with as many threads as there are."""
    from headwater.base import cache
    from headwater.base.freshness import native_state

    return cache.key(_FORMAT, native_state(__name__), str(pool().size), code, repr(modes))
