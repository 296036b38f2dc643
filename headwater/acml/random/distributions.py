"""The table of distributions: a row says its arguments, what is allowed, and how uniform numbers become its own.

Every number comes from one uniform number by the inverse of the distribution function, so that streams that skip stay
in step. Rows with a kernel are computed on the device; the inverses of the others are SciPy's (``scipy.special``), on
the processor. Arguments are those of ACML.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from math import ceil, isfinite, log1p, sqrt
from typing import Any

import numpy as np

from headwater.errors import UsageError

INT_MAX = 2**31 - 1
"""Discrete results are ints of 32 bits, as ACML's."""
_WHOLE = {"m", "np", "ns", "a", "b"}
"""Arguments of discrete distributions that are whole numbers."""
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Distribution:
    """``arguments`` in order. ``allowed``: for each whether its value is, given all. ``kernel``: what `kernels.cl`
    calls it, with ``numbers``, its a, b and c; or ``inverse`` of uniform numbers and arguments. ``discrete``: results
    are ints, to which ``first`` of the arguments is added."""

    arguments: tuple[str, ...]
    allowed: tuple[Callable[..., bool], ...]
    kernel: str = ""
    numbers: Callable[..., tuple[float, ...]] = lambda *args: args
    inverse: Callable[..., Any] | None = None
    discrete: bool = False
    first: Callable[..., int] = lambda *args: 0


def _special() -> Any:
    return import_module("scipy.special")


def _any(*args: float) -> bool:
    return True


def _positive(at: int) -> Callable[..., bool]:
    return lambda *args: args[at] > 0


def _at_least_0(at: int) -> Callable[..., bool]:
    return lambda *args: args[at] >= 0


def _fraction(at: int) -> Callable[..., bool]:
    return lambda *args: 0 < args[at] <= 1


TABLE = 1 << 16
"""Values of a distribution function that are computed at once; in wider ones each result is searched by bisection."""


def _refuse_large(least: float) -> None:
    """UsageError where no result fits into 32 bits."""
    if least > INT_MAX:
        raise UsageError(f"results of about {least:.3g} do not fit into 32 bits")


def _inside(values: Array, distribution: Callable[[Array], Any], least: float, most: float) -> Any:
    """For each uniform number the least whole k whose distribution function is larger."""
    _refuse_large(least)
    first, last = max(0, int(least)), ceil(min(most, 2.0 * INT_MAX))  # larger results do not fit into 32 bits
    if last - first <= TABLE:
        k = np.arange(first, last + 1, dtype=np.float64)
        return np.searchsorted(distribution(k)[:-1], values, side="right") + first
    low, high = np.full(len(values), first), np.full(len(values), last)
    while (low < high).any():
        middle = (low + high) // 2
        larger = distribution(middle.astype(np.float64)) > values
        low, high = np.where(larger, low, middle + 1), np.where(larger, middle, high)
    return low


def _binomial(u: Array, m: int, p: float) -> Any:
    if p in (0, 1):
        return np.full(len(u), m * p)
    mean, spread = m * p, 12 * sqrt(m * p * (1 - p)) + 40
    beta = _special().betaincc  # `bdtr` has a wrong first digit where m is about 2**31

    def distribution(k: Array) -> Any:
        return np.where(k < m, beta(k + 1, np.maximum(m - k, 1), p), 1.0)

    return _inside(u, distribution, mean - spread, min(m, mean + spread))


def _poisson(u: Array, mean: float) -> Any:
    spread = 12 * sqrt(mean) + 40
    return _inside(u, lambda k: _special().pdtr(k, mean), mean - spread, mean + spread)


def _negative_binomial(u: Array, m: int, p: float) -> Any:
    most = m * (1 - p) / p + 40 * sqrt(m * (1 - p)) / p + 40 / p
    return _inside(u, lambda k: _special().betainc(m, k + 1, p), 0, most)


def _hypergeometric(u: Array, population: int, sample: int, special: int) -> Any:
    others = population - special
    mean = sample * (special / population) if population else 0.0
    spread = 12 * sqrt(mean * (others / max(population, 1))) + 40
    _refuse_large(mean - spread)
    least, most = max(0, sample - others, int(mean - spread)), min(sample, special, ceil(mean + spread))
    k = np.arange(least, most, dtype=np.float64)
    # from the quotients of neighbours: logarithms of factorials have few digits in common where the population is large
    ratios = (special - k) / (k + 1) * ((sample - k) / (others - sample + k + 1))
    logs = np.concatenate(([0.0], np.cumsum(np.log(ratios))))
    weights = np.exp(logs - logs.max())
    sums = np.cumsum(weights)
    return np.searchsorted(sums[:-1] / sums[-1], u, side="right") + least


def _geometric(u: Array, p: float) -> Any:
    return np.zeros(len(u)) if p == 1 else np.floor(np.log1p(-u) / log1p(-p))


@cache
def table() -> dict[str, Distribution]:
    """Name in ACML -> distribution."""
    two = (_any, lambda a, b: b >= a and isfinite(b - a))
    whole = (lambda a, b: a >= -INT_MAX - 1, lambda a, b: a <= b <= INT_MAX)
    return {
        "uniform": Distribution(("a", "b"), two, "UNIFORM"),
        "gaussian": Distribution(("xmu", "var"), (_any, _at_least_0(1)), "GAUSSIAN", lambda m, v: (m, sqrt(v))),
        "lognormal": Distribution(("xmu", "var"), (_any, _at_least_0(1)), "LOGNORMAL", lambda m, v: (m, sqrt(v))),
        "exponential": Distribution(("a",), (_at_least_0(0),), "EXPONENTIAL"),
        "logistic": Distribution(("a", "b"), (_any, _at_least_0(1)), "LOGISTIC"),
        "cauchy": Distribution(("a", "b"), (_any, _at_least_0(1)), "CAUCHY"),
        "weibull": Distribution(("a", "b"), (_positive(0), _positive(1)), "WEIBULL"),
        "triangular": Distribution(
            ("xmin", "xmed", "xmax"),
            (_any, lambda a, b, c: a <= b, lambda a, b, c: b <= c and a < c and isfinite(c - a)),
            "TRIANGULAR",
        ),
        "gamma": Distribution(
            ("a", "b"), (_positive(0), _positive(1)), inverse=lambda u, a, b: b * _special().gammaincinv(a, u)
        ),
        "beta": Distribution(
            ("a", "b"), (_positive(0), _positive(1)), inverse=lambda u, a, b: _special().betaincinv(a, b, u)
        ),
        "chisquared": Distribution(
            ("df",), (_positive(0),), inverse=lambda u, df: 2 * _special().gammaincinv(df / 2, u)
        ),
        "f": Distribution(
            ("df1", "df2"), (_positive(0), _positive(1)), inverse=lambda u, a, b: _special().fdtri(a, b, u)
        ),
        "studentst": Distribution(("df",), (_positive(0),), inverse=lambda u, df: _special().stdtrit(df, u)),
        "discreteuniform": Distribution(
            ("a", "b"), whole, "DISCRETE", lambda a, b: (0, b - a), discrete=True, first=lambda a, b: int(a)
        ),
        "binomial": Distribution(
            ("m", "p"), (_at_least_0(0), lambda m, p: 0 <= p <= 1), inverse=_binomial, discrete=True
        ),
        "geometric": Distribution(("p",), (_fraction(0),), inverse=_geometric, discrete=True),
        "hypergeometric": Distribution(
            ("np", "ns", "m"),
            (_at_least_0(0), lambda n, s, m: 0 <= s <= n, lambda n, s, m: 0 <= m <= n),
            inverse=_hypergeometric,
            discrete=True,
        ),
        "negativebinomial": Distribution(
            ("m", "p"), (_positive(0), _fraction(1)), inverse=_negative_binomial, discrete=True
        ),
        "poisson": Distribution(("lambda",), (_at_least_0(0),), inverse=_poisson, discrete=True),
    }


def illegal(row: Distribution, args: tuple[Any, ...]) -> int | None:
    """Which argument (from 0) has a value that the distribution does not allow; None if all are well."""
    for at, value in enumerate(args):
        try:
            well = isfinite(value)
        except (TypeError, ValueError, OverflowError):  # no number, or one beyond all doubles
            well = False
        if not well or (row.discrete and row.arguments[at] in _WHOLE and value != int(value)):
            return at
    return next((at for at, test in enumerate(row.allowed) if not test(*args)), None)
