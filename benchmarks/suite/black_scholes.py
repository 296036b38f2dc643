"""European call and put prices of 4 Mi options in single precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from .case import Case, Data, Launch, Version, array, filled, millions, same

RATE = np.float32(0.02)
VOLATILITY = np.float32(0.3)


def make(quick: bool) -> Data:
    n = 1 << (16 if quick else 22)
    rng = np.random.default_rng(3)
    return {
        "spot": filled(rng.uniform(5, 100, n).astype(np.float32)),
        "strike": filled(rng.uniform(5, 100, n).astype(np.float32)),
        "years": filled(rng.uniform(0.25, 10, n).astype(np.float32)),
        "call": array(n, np.float32),
        "put": array(n, np.float32),
    }


def launches(data: Data) -> Sequence[Launch]:
    args = ("spot", "strike", "years", RATE, VOLATILITY, "call", "put")
    return [Launch("black_scholes", (data["call"].size,), None, args)]


def numba_versions() -> Mapping[str, Version]:
    import math

    from numba import njit, prange

    f = np.float32

    @njit(inline="always")
    def cumulative_normal(x):
        k = f(1.0) / (f(1.0) + f(0.2316419) * abs(x))
        poly = k * (
            f(0.319381530) + k * (f(-0.356563782) + k * (f(1.781477937) + k * (f(-1.821255978) + k * f(1.330274429))))
        )
        tail = f(0.3989422804) * math.exp(f(-0.5) * x * x) * poly
        return f(1.0) - tail if x > f(0.0) else tail

    @njit(parallel=True)
    def black_scholes(spot, strike, years, rate, volatility, call, put):
        for i in prange(spot.size):
            s, x, t = spot[i], strike[i], years[i]
            deviation = volatility * math.sqrt(t)
            d1 = (math.log(s / x) + (rate + f(0.5) * volatility * volatility) * t) / deviation
            d2 = d1 - deviation
            discounted = x * math.exp(-rate * t)
            n1 = cumulative_normal(d1)
            n2 = cumulative_normal(d2)
            call[i] = s * n1 - discounted * n2
            put[i] = discounted * (f(1.0) - n2) - s * (f(1.0) - n1)

    @njit(inline="always")
    def natural_cumulative(x):
        k = 1.0 / (1.0 + 0.2316419 * abs(x))
        poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
        tail = 0.3989422804 * math.exp(-0.5 * x * x) * poly
        return 1.0 - tail if x > 0.0 else tail

    @njit(parallel=True)
    def natural(spot, strike, years, rate, volatility, call, put):
        for i in prange(spot.size):
            deviation = volatility * math.sqrt(years[i])
            d1 = (math.log(spot[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / deviation
            d2 = d1 - deviation
            discounted = strike[i] * math.exp(-rate * years[i])
            n1 = natural_cumulative(d1)
            n2 = natural_cumulative(d2)
            call[i] = spot[i] * n1 - discounted * n2
            put[i] = discounted * (1.0 - n2) - spot[i] * (1.0 - n1)

    def call_with(function) -> Version:
        return lambda d: function(d["spot"], d["strike"], d["years"], RATE, VOLATILITY, d["call"], d["put"])

    return {"prange": call_with(natural), "prange, float32 literals": call_with(black_scholes)}


def numpy_versions() -> Mapping[str, Version]:
    def cumulative_normal(x: np.ndarray) -> np.ndarray:
        k = 1.0 / (1.0 + np.float32(0.2316419) * np.abs(x))
        poly = np.float32(1.330274429)
        for factor in (-1.821255978, 1.781477937, -0.356563782, 0.319381530):
            poly = np.float32(factor) + k * poly
        tail = np.float32(0.3989422804) * np.exp(np.float32(-0.5) * x * x) * (k * poly)
        return np.where(x > 0, 1 - tail, tail)

    def price(d: Data, part: slice) -> None:
        spot, strike, years = d["spot"][part], d["strike"][part], d["years"][part]
        deviation = VOLATILITY * np.sqrt(years)
        drift = np.float32(RATE + 0.5 * VOLATILITY * VOLATILITY)
        d1 = (np.log(spot / strike) + drift * years) / deviation
        d2 = d1 - deviation
        discounted = strike * np.exp(-RATE * years)
        n1 = cumulative_normal(d1)
        n2 = cumulative_normal(d2)
        d["call"][part] = spot * n1 - discounted * n2
        d["put"][part] = discounted * (1 - n2) - spot * (1 - n1)

    def blocked(d: Data) -> None:
        for start in range(0, d["spot"].size, 1 << 14):
            price(d, slice(start, start + (1 << 14)))

    return {"arrays": lambda d: price(d, slice(None)), "in blocks": blocked}


CASE = Case(
    name="black_scholes",
    title="Black-Scholes, 4 Mi options",
    source=Path(__file__).with_suffix(".cl"),
    make=make,
    launches=launches,
    outputs=("call", "put"),
    numba=numba_versions,
    numpy=numpy_versions,
    work=millions(lambda d: d["call"].size, "options"),
    matches=same(1e-3, 2e-3),
)
