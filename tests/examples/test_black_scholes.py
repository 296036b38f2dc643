"""The Black-Scholes example prices options as the closed formula does in double precision."""

import math

import numpy as np
import pytest


def normal(x):
    return 0.5 * (1 + np.array([math.erf(v / math.sqrt(2)) for v in x]))


def closed_form(spot, strike, years, rate, volatility):
    s, x, t = (a.astype(float) for a in (spot, strike, years))
    d1 = (np.log(s / x) + (rate + volatility**2 / 2) * t) / (volatility * np.sqrt(t))
    d2 = d1 - volatility * np.sqrt(t)
    call = s * normal(d1) - x * np.exp(-rate * t) * normal(d2)
    return call, call - s + x * np.exp(-rate * t)


@pytest.mark.parametrize("version", ["brook", "opencl"])
@pytest.mark.parametrize("count", [1, 63, 1001])
def test_prices_match_the_closed_form(example, version, count):
    rng = np.random.default_rng(count)
    spot, strike = rng.uniform(10, 200, (2, count)).astype(np.float32)
    years = rng.uniform(0.1, 5, count).astype(np.float32)
    call, put = getattr(example, version)(spot, strike, years, 0.03, 0.25)
    expected_call, expected_put = closed_form(spot, strike, years, 0.03, 0.25)
    assert np.allclose(call, expected_call, atol=2e-3)
    assert np.allclose(put, expected_put, atol=2e-3)


def test_script_prints_prices_and_writes_a_chart(run_main):
    text, picture = run_main("--count", "1000")
    assert "million options a second" in text
    assert picture.stat().st_size > 1000
