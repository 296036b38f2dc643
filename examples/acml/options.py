"""Price a European call by Monte Carlo, and compare with Black and Scholes: `python examples/acml/options.py`."""

import argparse
from math import erf, exp, log, sqrt

import numpy as np

from headwater.acml.random import Generator


def simulated(paths, spot, strike, rate, volatility, years, device):
    """The mean payoff, discounted, and its standard error; the numbers are made on the device."""
    generator = Generator("philox", 2009, device=device)
    drift, spread = (rate - volatility**2 / 2) * years, volatility**2 * years
    growth = np.asarray(generator.lognormal(paths, drift, spread))
    payoff = exp(-rate * years) * np.maximum(spot * growth - strike, 0)
    return payoff.mean(), payoff.std() / sqrt(paths)


def exact(spot, strike, rate, volatility, years):
    """Black and Scholes' formula."""

    def normal(x):
        return (1 + erf(x / sqrt(2))) / 2

    d = (log(spot / strike) + (rate + volatility**2 / 2) * years) / (volatility * sqrt(years))
    return spot * normal(d) - strike * exp(-rate * years) * normal(d - volatility * sqrt(years))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default=None, help="where: gpu, vega64, …; by default the cpu device")
    parser.add_argument("--paths", type=int, default=1_000_000)
    args = parser.parse_args()
    option = {"spot": 100.0, "strike": 105.0, "rate": 0.03, "volatility": 0.2, "years": 1.0}
    price, error = simulated(args.paths, **option, device=args.device)
    print(f"{args.paths} paths: {price:.4f} ± {error:.4f}; Black and Scholes: {exact(**option):.4f}")


if __name__ == "__main__":
    main()
