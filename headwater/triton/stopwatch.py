"""Input: a function that launches Triton kernels. Output: the time that the cycle model gives its launches."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from headwater.timing.spin import Spinning

_MOST_GROUPS = 4096
"""Work-groups up to which all are replayed; of larger launches a sample is, and the rest goes on at its rate."""


class Stopwatch:
    """Adds up launches' times. ``milliseconds``: NaN if a launch's is not known."""

    def __init__(self) -> None:
        self.milliseconds = 0.0
        self.launches = 0

    def take(self, launcher: Any, arguments: Sequence[Any], groups: int, options: Mapping[str, Any]) -> None:
        """Run a launch of ``groups`` work-groups, and add the time that its chip would take."""
        self.launches += 1
        sample = {"sample": _MOST_GROUPS / groups} if groups > _MOST_GROUPS else {}
        try:
            report = launcher.simulate(*arguments, **options, **sample)
        except Spinning as error:  # it has run
            warnings.warn(f"no time is known: {error.message}", RuntimeWarning, stacklevel=3)
            self.milliseconds = math.nan
        else:
            self.milliseconds += report.microseconds / 1e3


_running: ContextVar[Stopwatch | None] = ContextVar("stopwatch", default=None)


def running() -> Stopwatch | None:
    """The stopwatch that takes launches' times now."""
    return _running.get()


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Take the time of launches made meanwhile in this thread."""
    watch = Stopwatch()
    token = _running.set(watch)
    try:
        yield watch
    finally:
        _running.reset(token)


def milliseconds(function: Callable[[], Any]) -> float:
    """The simulated time of what ``function`` launches; NaN, with a warning, if it launches nothing that has one."""
    with stopwatch() as watch:
        function()
    if not watch.launches:
        warnings.warn(
            "no Triton kernel was launched: what runs on this machine has no time on a simulated chip",
            RuntimeWarning,
            stacklevel=3,
        )
        return math.nan
    return watch.milliseconds


def do_bench(
    fn: Callable[[], Any],
    warmup: int = 25,
    rep: int = 100,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """What ``triton.testing.do_bench`` is on a simulated chip: ``fn`` runs once, from cold caches, and its time is the
    same for each quantile and mode, as a replay has no noise; milliseconds. ``warmup``, ``rep``: not used."""
    for tensor in grad_to_none or ():
        tensor.grad = None
    time = milliseconds(fn)
    if quantiles is not None:
        return time if len(quantiles) == 1 else [time] * len(quantiles)
    return [time] if return_mode == "all" else time
