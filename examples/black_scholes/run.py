#!/usr/bin/env python3
"""Prices European options after Black and Scholes in Brook+ and in OpenCL C, and charts price against spot."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import headwater as hw

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support import options, save_chart, start, timed

HERE = Path(__file__).resolve().parent

Prices = tuple[np.ndarray, np.ndarray]


def brook(
    spot: np.ndarray,
    strike: np.ndarray,
    years: np.ndarray,
    rate: float,
    volatility: float,
    device: str | None = None,
) -> Prices:
    """Call and put prices by black_scholes.br; float32 arrays of one length in and out."""
    program = hw.compile(HERE / "black_scholes.br")
    call, put = program.black_scholes(spot, strike, years, rate, volatility, device=device)
    return call, put


def opencl(
    spot: np.ndarray,
    strike: np.ndarray,
    years: np.ndarray,
    rate: float,
    volatility: float,
    device: str | None = None,
) -> Prices:
    """The same by black_scholes.cl."""
    call, put = np.empty_like(spot), np.empty_like(spot)
    kernel = hw.compile(HERE / "black_scholes.cl").black_scholes
    kernel[(spot.size,), None](spot, strike, years, rate, volatility, call, put, spot.size, device=device).wait()
    return call, put


def main() -> None:
    parser = options(__doc__, "black_scholes.png")
    parser.add_argument("--count", type=int, default=1_000_000, help="options to price (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=0.03)
    parser.add_argument("--volatility", type=float, default=0.25)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    spot = rng.uniform(10, 200, arguments.count).astype(np.float32)
    strike = rng.uniform(10, 200, arguments.count).astype(np.float32)
    years = rng.uniform(0.1, 5, arguments.count).astype(np.float32)
    market = (arguments.rate, arguments.volatility)

    for name, version in (("Brook+", brook), ("OpenCL C", opencl)):
        (call, put), seconds = timed(lambda version=version: version(spot, strike, years, *market, arguments.device))
        rate = arguments.count / seconds / 1e6
        print(f"{name:10} {seconds * 1e3:8.2f} ms, {rate:.0f} million options a second")
    print(f"\n{'spot':>8} {'strike':>8} {'years':>6} {'call':>8} {'put':>8}")
    for i in range(min(8, arguments.count)):
        print(f"{spot[i]:8.2f} {strike[i]:8.2f} {years[i]:6.2f} {call[i]:8.3f} {put[i]:8.3f}")

    axis = np.linspace(50, 150, 201, dtype=np.float32)
    series = {}
    for t in (0.1, 1.0, 3.0):
        call, put = brook(axis, np.full_like(axis, 100), np.full_like(axis, t), *market, device=arguments.device)
        series |= {f"call, {t:g} years": call, f"put, {t:g} years": put}
    save_chart(arguments.output, "Price of an option with strike 100", axis, series, "spot")


if __name__ == "__main__":
    start(main)
