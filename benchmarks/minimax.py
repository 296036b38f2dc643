"""Input: functions on intervals. Output: the polynomials of the device library's maths, with their errors.

    python benchmarks/minimax.py              all of them (two minutes)
    python benchmarks/minimax.py exp sin      those whose names begin so

Each is a minimax fit by the exchange algorithm of Remez; coefficients are rounded to the type one after another, lowest
first, the rest being fitted anew to what the rounding left.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import mpmath as mp
import numpy as np

Real = Callable[[mp.mpf], mp.mpf]
mp.mp.dps = 110  # the differences below lose most of these digits


@dataclass(frozen=True)
class Fit:
    """``function`` on [low, high] by a polynomial of ``degree``; errors are relative to ``weight``."""

    name: str
    code: str  # f or d
    function: Real
    weight: Real
    low: mp.mpf
    high: mp.mpf
    degree: int


def rounded(value: mp.mpf, code: str) -> mp.mpf:
    return mp.mpf(float(np.float32(float(value))) if code == "f" else float(value))


def evaluate(coefficients: list[mp.mpf], x: mp.mpf) -> mp.mpf:
    value = mp.mpf(0)
    for c in reversed(coefficients):
        value = value * x + c
    return value


def remez(function: Real, weight: Real, low: mp.mpf, high: mp.mpf, degree: int) -> list[mp.mpf]:
    """The polynomial whose largest weighted error on a fine grid is (all but) least."""
    count = max(12 * (degree + 2), 200)
    grid = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (i + mp.mpf("0.5")) / count) for i in range(count)]
    grid = [x for x in grid if abs(x) > (high - low) * mp.mpf("1e-9")]  # weights may be infinite at 0
    values, weights = [function(x) for x in grid], [weight(x) for x in grid]
    top = len(grid) - 1
    points = [round(top * (0.5 - 0.5 * float(mp.cos(mp.pi * i / (degree + 1))))) for i in range(degree + 2)]
    best: tuple[mp.mpf, list[mp.mpf]] | None = None
    for _ in range(30):
        system, right = mp.matrix(degree + 2, degree + 2), mp.matrix(degree + 2, 1)
        for row, k in enumerate(points):
            for column in range(degree + 1):
                system[row, column] = grid[k] ** column
            system[row, degree + 1] = (-1) ** row * weights[k]
            right[row] = values[k]
        solution = mp.lu_solve(system, right)
        coefficients, level = [solution[j] for j in range(degree + 1)], abs(solution[degree + 1])
        errors = [(evaluate(coefficients, x) - v) / w for x, v, w in zip(grid, values, weights, strict=True)]
        worst = max(abs(e) for e in errors)
        if best is None or worst < best[0]:
            best = (worst, coefficients)
        peaks = list(_peaks(errors))
        while len(peaks) > degree + 2:
            peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
        if worst < level * mp.mpf("1.02") or len(peaks) < degree + 2:
            break
        points = peaks
    assert best is not None
    return best[1]


def _peaks(errors: list[mp.mpf]) -> Iterator[int]:
    """Where the error is largest between two changes of its sign."""
    start = 0
    for k in range(1, len(errors) + 1):
        if k == len(errors) or (errors[k] > 0) != (errors[start] > 0):
            yield max(range(start, k), key=lambda i: abs(errors[i]))
            start = k


def solve(fit: Fit) -> tuple[list[mp.mpf], mp.mpf]:
    """Coefficients, lowest first, rounded to the type; the largest weighted error that they leave."""
    coefficients: list[mp.mpf] = []
    rest: list[mp.mpf] = []
    for k in range(fit.degree + 1):
        if fit.code == "f" or k < 2:  # in double only the first two are felt

            def left(x: mp.mpf, known: tuple[mp.mpf, ...] = tuple(coefficients)) -> mp.mpf:
                return (fit.function(x) - evaluate(list(known), x)) / x ** len(known)

            def scale(x: mp.mpf, k: int = k) -> mp.mpf:
                return fit.weight(x) / abs(x) ** k

            rest = remez(left, scale, fit.low, fit.high, fit.degree - k)
        coefficients.append(rounded(rest.pop(0), fit.code))
    places = [fit.low + (fit.high - fit.low) * i / 1999 for i in range(2000)]
    error = max(abs((evaluate(coefficients, x) - fit.function(x)) / fit.weight(x)) for x in places if abs(x) > 1e-12)
    return coefficients, error


def literal(value: mp.mpf, code: str) -> str:
    match = re.fullmatch(r"(-?)0x1\.([0-9a-f]+)p([+-]\d+)", float(value).hex())
    assert match
    return f"{match[1]}0x1.{match[2].rstrip('0') or '0'}p{match[3]}{'f' if code == 'f' else ''}"


def _ratio(f: Real, subtract: int = 1) -> tuple[Real, Real]:
    """(f(s)/s - 1)/z as a function of z = s^2 for an odd f, and the weight that makes its error relative to f."""

    def function(z: mp.mpf) -> mp.mpf:
        s = mp.sqrt(z)
        return (f(s) / s - subtract) / z if subtract else f(s) / s

    def weight(z: mp.mpf) -> mp.mpf:
        s = mp.sqrt(z)
        return f(s) / s / z if subtract else f(s) / s

    return function, weight


def _odd(name: str, code: str, f: Real, most: str, degree: int, subtract: int = 1) -> Fit:
    function, weight = _ratio(f, subtract)
    return Fit(name, code, function, weight, mp.mpf("1e-20"), mp.mpf(most) ** 2, degree)


def _scaled_erfc(k: int) -> Real:
    def function(t: mp.mpf) -> mp.mpf:
        x = k * (1 + t) / (1 - t)
        return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)

    return function


def _inverse_gamma(u: mp.mpf) -> mp.mpf:
    return mp.rgamma(u + mp.mpf("1.5"))


def _lgamma(u: mp.mpf) -> mp.mpf:
    x = u + mp.mpf("1.7500003")  # off the zeros at 1 and 2
    return mp.loggamma(x) / ((x - 1) * (x - 2))


def fits() -> Iterator[Fit]:
    """Every polynomial of library/*.cl, by the name of the function that holds it."""
    half_ln2, half, quarter_pi = mp.log(2) / 2 * mp.mpf("1.0001"), mp.mpf("0.50001"), mp.pi / 4 * mp.mpf("1.001")
    third = mp.mpf(1) / 3
    for code, exp, exp2, sin, cos, asin, atan, sinh, tanh, erf in (
        ("f", 4, 5, 2, 2, 4, 8, 3, 4, 5),
        ("d", 9, 11, 5, 5, 11, 19, 7, 11, 11),
    ):
        yield Fit(
            "exp_tail", code, lambda r: (mp.exp(r) - 1 - r) / r**2, lambda r: mp.exp(r) / r**2, -half_ln2, half_ln2, exp
        )
        yield Fit(
            "exp2_tail",
            code,
            lambda r: (mp.power(2, r) - 1) / r,
            lambda r: mp.power(2, r) / abs(r),
            -half,
            half,
            exp2,
        )
        yield _odd("sin_kernel", code, mp.sin, str(quarter_pi), sin)
        yield Fit(
            "cos_kernel",
            code,
            lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2,
            lambda z: mp.cos(mp.sqrt(z)) / z**2,
            mp.mpf("1e-20"),
            quarter_pi**2,
            cos,
        )
        yield _odd("asin_tail", code, mp.asin, "0.50005", asin)
        yield _odd("atan_kernel", code, mp.atan, "1", atan)
        yield _odd("sinh_tail", code, mp.sinh, "1", sinh)
        yield _odd("tanh_tail", code, mp.tanh, "0.6", tanh)
        yield _odd("erf_ratio", code, mp.erf, "0.9", erf, 0)
    yield Fit(
        "log_tail",
        "f",
        lambda f: (mp.log1p(f) - f + f * f / 2) / f**3,
        lambda f: abs(mp.log1p(f) / f**3),
        -third - mp.mpf("1e-6"),
        third + mp.mpf("1e-6"),
        7,
    )
    yield _odd("log2_sum", "f", mp.atanh, "0.1716", 3)
    yield _odd("atanh", "f", mp.atanh, "0.5", 5)
    yield _odd("asinh", "f", mp.asinh, "0.5", 4)
    function, weight = _ratio(mp.atanh)
    top = mp.mpf("0.1716") ** 2
    yield Fit("log_tail", "d", lambda z: 2 * function(z), lambda z: 10 * weight(z), mp.mpf("1e-20"), top, 6)
    yield Fit("log2_sum", "d", lambda z: (function(z) - third) / z, lambda z: weight(z) / z, mp.mpf("1e-20"), top, 7)
    yield Fit("cbrt", "f", lambda x: mp.power(x, -third), lambda x: mp.power(x, -third), mp.mpf(1), mp.mpf(2), 3)
    yield Fit("cbrt", "d", lambda x: mp.power(x, -third), lambda x: mp.power(x, -third), mp.mpf(1), mp.mpf(2), 4)
    for code, k, last, degree in (("f", 2, "10.2", 8), ("d", 4, "27.3", 20)):
        ends = [(mp.mpf(x) - k) / (mp.mpf(x) + k) for x in ("0.8", last)]
        yield Fit("erfc_fraction", code, _scaled_erfc(k), _scaled_erfc(k), ends[0], ends[1], degree)
    yield Fit("lgamma_fraction", "d", _lgamma, _lgamma, mp.mpf("-0.75"), mp.mpf("0.75"), 23)
    yield Fit("lgamma_fraction", "f", _lgamma, _lgamma, mp.mpf("-0.75"), mp.mpf("0.75"), 11)
    yield Fit("inverse_gamma", "f", _inverse_gamma, _inverse_gamma, mp.mpf("-0.5"), mp.mpf("0.5"), 8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="beginnings of names")
    names = tuple(parser.parse_args().names)
    for fit in fits():
        if not names or fit.name.startswith(names):
            coefficients, error = solve(fit)
            kind = {"f": "float", "d": "double"}[fit.code]
            print(f"{fit.name}, {kind}: error 2^{float(mp.log(error, 2)):.1f}")
            print("  " + ", ".join(literal(c, fit.code) for c in coefficients), flush=True)


if __name__ == "__main__":
    main()
