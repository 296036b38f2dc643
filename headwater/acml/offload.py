"""Input: a Fourier transform of an array. Output: its result, by the processor or by this machine's GPU, whichever was
faster for transforms of that kind and size.

Nothing is predicted: the first calls of a kind and size try each way in turn, and later ones take the fastest. Short
arrays never come here, so that whoever transforms nothing large waits for no GPU's library. A back end that
`scipy.fft.set_backend` has put in force stands for the processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from math import inf
from typing import Any

from headwater.acml import split
from headwater.acml.split import TRIES, Way

LEAST = 1 << 13
"""Elements from which on a GPU is tried: CuPy takes 60 to 110 µs for the shortest transform of an array, copies to an
NVIDIA H200 and back included (``benchmarks/acml.py --transforms``), in which SciPy transforms about 4,000 numbers; the
rest is for whoever transforms nothing large, and need not wait for a GPU's library."""
_OPTIONS = {"n", "s", "axis", "axes", "norm", "overwrite_x"}
"""What the transforms of a GPU take beside the array; a call with others is SciPy's."""


class Choice:
    """How transforms of one kind and size are computed. SciPy makes the first: what it refuses no GPU gets, since CuPy
    takes the real part of complex numbers for `rfft`, and an axis twice."""

    def __init__(self, ways: tuple[Way, ...]) -> None:
        self.processor = self.chosen = ways[0]
        self.left = ([*ways] * TRIES)[1:]
        self.seconds = dict.fromkeys(ways, inf)
        self.form: tuple[Any, ...] | None = None  # of SciPy's result

    def __call__(self, name: str, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """The transform of ``args[0]``; ``function`` is SciPy's of that name."""
        way, trial = self._next()
        if way is self.processor and not trial:
            return function(*args, **options)
        begin = time.perf_counter()
        if way is self.processor:
            found = function(*args, **options)
            self.form = _form(found)
        else:
            try:
                found = way.transform(name, *args, **options)
            except Exception:  # the GPU's memory does not suffice, or its library lacks something
                found = None
            if _form(found) != self.form:  # CuPy cuts where s is -1; SciPy returns a real array if there is no axis
                self.left, self.chosen = [], self.processor
                return function(*args, **options)
        self.seconds[way] = min(self.seconds[way], time.perf_counter() - begin)
        if trial and not self.left:
            self.chosen = min(self.seconds, key=lambda way: self.seconds[way])
        return found

    def _next(self) -> tuple[Way, bool]:
        """The way of the next call, and whether it is a trial."""
        if self.form is None:
            return self.processor, True
        try:
            return self.left.pop(0), True
        except IndexError:  # also where another thread has taken the last one
            return self.chosen, False


def _form(found: Any) -> tuple[Any, ...]:
    """What has to be the same of all results of a kind and size."""
    return type(found), getattr(found, "dtype", None), getattr(found, "shape", None)


@lru_cache(maxsize=4096)
def _choice(ways: tuple[Way, ...], name: str, shape: tuple[int, ...], kind: str, rest: str) -> Choice:
    return Choice(ways)


def transform(name: str, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """``function(*args, **options)``, SciPy's transform of that name of the array ``args[0]``, by the fastest way."""
    ways, x = split.present(), args[0]
    if len(ways) == 1 or x.dtype.char not in "fdFD" or not x.dtype.isnative or not options.keys() <= _OPTIONS:
        return function(*args, **options)
    rest = repr((args[1:], sorted(options.items())))
    return _choice(ways, name, x.shape, x.dtype.char, rest)(name, function, args, options)
