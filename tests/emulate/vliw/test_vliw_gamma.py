"""Gamma functions on VLIW chips without double precision, within OpenCL's 16 ULP."""

import math

import numpy as np
import pytest

import headwater as hw

SOURCE = """
kernel void gammas(global const float *x, global float *t, global float *l, global int *sign) {
  int i = get_global_id(0), s;
  t[i] = tgamma(x[i]);
  l[i] = lgamma_r(x[i], &s);
  sign[i] = s;
}
"""
SMALLEST = 2.0**-126
"""Results below it are flushed to 0."""


def ulps(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        unit = 2.0 ** (np.floor(np.log2(np.abs(wanted))) - 23)
    return np.abs(got.astype(np.float64) - wanted) / unit


@pytest.mark.parametrize("chip", ["hd2600-xt", "hd5770"])
def test_gamma_functions_need_no_doubles(chip):
    rng = np.random.default_rng(7)
    poles = np.round(rng.uniform(-40, 0, 500)) + rng.choice([-1, 1], 500) * np.exp(rng.uniform(-12, -1, 500))
    parts = [
        rng.uniform(-41, 0, 500),
        rng.uniform(0, 35, 500),
        rng.uniform(-2, 3, 500),
        np.exp(rng.uniform(-80, 3, 500)),
    ]
    x = np.concatenate([*parts, poles]).astype(np.float32)
    x = x[(x > 0) | (x != np.floor(x))]
    t, log_t, sign = np.zeros_like(x), np.zeros_like(x), np.zeros(len(x), np.int32)
    hw.compile(SOURCE).gammas[(len(x),), None](x, t, log_t, sign, device=chip)
    gamma = np.array([math.gamma(v) for v in x])
    log_gamma = np.array([math.lgamma(v) for v in x])
    normal = np.abs(gamma) >= SMALLEST
    assert ulps(t, gamma)[normal].max() < 6
    assert (np.abs(t[~normal]) <= SMALLEST).all()
    assert (sign == np.sign(gamma))[normal].all()
    # Near the zeros on the negative axis only the absolute error is small.
    assert np.minimum(ulps(log_t, log_gamma), np.abs(log_t - log_gamma) / 2.0**-23).max() < 8
    assert ulps(log_t, log_gamma)[x > 0].max() < 8


def test_gamma_functions_of_special_values():
    x = np.array([0.0, -0.0, -1.0, -50.0, np.inf, -np.inf, np.nan, 36.0, 1.0, 2.0, -100.5, 1e36], np.float32)
    t, log_t, sign = np.zeros_like(x), np.zeros_like(x), np.zeros(len(x), np.int32)
    hw.compile(SOURCE).gammas[(len(x),), None](x, t, log_t, sign, device="hd5770")
    inf, nan = np.inf, np.nan
    np.testing.assert_allclose(t, [inf, -inf, nan, nan, inf, nan, nan, inf, 1, 1, 0, inf], rtol=4e-7)
    finite = [math.lgamma(v) for v in (-100.5, 1e36)]
    np.testing.assert_allclose(log_t, [inf, inf, inf, inf, inf, inf, nan, math.lgamma(36), 0, 0, *finite], rtol=1e-6)
