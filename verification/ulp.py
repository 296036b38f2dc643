"""Input: the device library's maths functions. Output: their largest errors in ULP, against mpmath.

python verification/ulp.py                      print the table
python verification/ulp.py --update             write it into docs/opencl.md
python verification/ulp.py --only exp pow       some functions only
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mpmath as mp
import numpy as np
from library_host import DTYPES, compile_function

PAGE = Path(__file__).resolve().parents[1] / "docs" / "opencl.md"
BITS = {"Dh": np.uint16, "f": np.uint32, "d": np.uint64}
MANTISSA = {"Dh": 11, "f": 24, "d": 53}
SMALLEST = {"Dh": -24, "f": -149, "d": -1074}  # exponent of the smallest positive number
TOP = {"Dh": 16, "f": 128, "d": 1024}  # 2^TOP is the first power beyond the range
NAMES = {"Dh": "half", "f": "float", "d": "double"}

Reference = Callable[..., mp.mpf]


@dataclass(frozen=True)
class Function:
    """A function, its limits in ULP for (half, float, double), its reference, where to look besides everywhere.

    Limits: OpenCL C 1.2 specification table 7.4 and, for half, OpenCL extension specification 9.5.12; None: no limit.
    ``shapes``: one of "x", "xx", "xi"; ``near``: intervals of the arguments, each for all of them.
    """

    name: str
    limits: tuple[float | None, float | None, float | None]
    reference: Reference
    near: tuple[tuple[float, float], ...] = ((-1, 1), (-10, 10))
    shape: str = "x"

    def limit(self, code: str) -> float | None:
        """ULP allowed for the type with this mangling code."""
        return self.limits[("Dh", "f", "d").index(code)]


def _within(f: Reference, low: float, high: float) -> Reference:
    return lambda x: f(x) if low <= x <= high else mp.nan


def _finite(f: Reference) -> Reference:
    return lambda x: mp.nan if mp.isinf(x) else f(x)


def _log(f: Reference) -> Reference:
    return lambda x: mp.ninf if x == 0 else mp.nan if x < 0 else mp.inf if mp.isinf(x) else f(x)


def _log1p(x: mp.mpf) -> mp.mpf:
    return mp.ninf if x == -1 else mp.nan if x < -1 else x if mp.isinf(x) else mp.log1p(x)


def _cbrt(x: mp.mpf) -> mp.mpf:
    return x if mp.isinf(x) or x == 0 else mp.sign(x) * mp.cbrt(abs(x))


def _erfc(x: mp.mpf) -> mp.mpf:
    return mp.mpf(0) if x > 1000 else mp.erfc(x)  # mpmath overflows


def _gamma(x: mp.mpf) -> mp.mpf:
    if x == mp.ninf or (x < 0 and x == mp.floor(x)):
        return mp.nan
    return mp.inf if x > 1000 else mp.mpf(0) if x < -1000 else mp.gamma(x)


def _lgamma(x: mp.mpf) -> mp.mpf:
    if mp.isinf(x) or (x <= 0 and x == mp.floor(x)):
        return mp.inf
    if x < -1000:
        return mp.log(mp.pi / abs(x * mp.sinpi(x))) - mp.loggamma(-x)
    return mp.loggamma(x) if x > 0 else mp.log(abs(mp.gamma(x)))


def _rootn(x: mp.mpf, n: mp.mpf) -> mp.mpf:
    if n == 0 or mp.isinf(x):
        return mp.nan
    return mp.power(x, 1 / n) if x > 0 else -mp.power(-x, 1 / n) if int(n) % 2 else mp.nan


def _atanh(x: mp.mpf) -> mp.mpf:
    return mp.sign(x) * mp.inf if abs(x) == 1 else mp.atanh(x) if abs(x) < 1 else mp.nan


def _acosh(x: mp.mpf) -> mp.mpf:
    return mp.inf if x == mp.inf else mp.acosh(x) if x >= 1 else mp.nan


def _tanpi(x: mp.mpf) -> mp.mpf:
    return mp.sinpi(x) / mp.cospi(x)


UNIT = ((-1.0, 1.0), (-0.1, 0.1), (0.5, 0.51), (0.99, 1.0))
POSITIVE = ((0.0, 2.0), (0.9, 1.1), (0.0, 1e-5), (1.0, 1e4))
ANGLE = ((-1.0, 1.0), (-10.0, 10.0), (-1e5, 1e5), (3e7, 1e9))

FUNCTIONS: tuple[Function, ...] = (
    Function("acos", (2, 4, 4), _within(mp.acos, -1, 1), UNIT),
    Function("acosh", (2, 4, 4), _acosh, ((1.0, 1.1), (1.0, 3.0), (1.0, 1e4))),
    Function("acospi", (2, 5, 5), _within(lambda x: mp.acos(x) / mp.pi, -1, 1), UNIT),
    Function("asin", (2, 4, 4), _within(mp.asin, -1, 1), UNIT),
    Function("asinh", (2, 4, 4), mp.asinh, ((-1.0, 1.0), (-10.0, 10.0), (-1e-2, 1e-2))),
    Function("asinpi", (2, 5, 5), _within(lambda x: mp.asin(x) / mp.pi, -1, 1), UNIT),
    Function("atan", (2, 5, 5), mp.atan, ((-1.0, 1.0), (-5.0, 5.0), (-1e3, 1e3))),
    Function("atan2", (2, 6, 6), mp.atan2, ((-2.0, 2.0), (-1e3, 1e3)), "xx"),
    Function("atan2pi", (2, 6, 6), lambda y, x: mp.atan2(y, x) / mp.pi, ((-2.0, 2.0), (-1e3, 1e3)), "xx"),
    Function("atanh", (2, 5, 5), _atanh, UNIT),
    Function("atanpi", (2, 5, 5), lambda x: mp.atan(x) / mp.pi, ((-1.0, 1.0), (-5.0, 5.0))),
    Function("cbrt", (2, 2, 2), _cbrt, ((-10.0, 10.0), (0.0, 1e-30))),
    Function("cos", (2, 4, 4), _finite(mp.cos), ANGLE),
    Function("cosh", (2, 4, 4), mp.cosh, ((-1.0, 1.0), (-90.0, 90.0), (-711.0, 711.0))),
    Function("cospi", (2, 4, 4), _finite(mp.cospi), ((-4.0, 4.0), (-1e4, 1e4))),
    Function("erf", (4, 16, 16), mp.erf, ((-1.0, 1.0), (-6.0, 6.0))),
    Function("erfc", (4, 16, 16), _erfc, ((-1.0, 1.0), (-4.0, 10.0), (8.0, 27.0))),
    Function("exp", (2, 3, 3), mp.exp, ((-1.0, 1.0), (-104.0, 89.0), (-746.0, 710.0))),
    Function("exp10", (2, 3, 3), lambda x: mp.power(10, x), ((-1.0, 1.0), (-46.0, 38.6), (-324.0, 308.3))),
    Function("exp2", (2, 3, 3), lambda x: mp.power(2, x), ((-1.0, 1.0), (-150.0, 128.0), (-1076.0, 1024.0))),
    Function("expm1", (2, 3, 3), mp.expm1, ((-1.0, 1.0), (-40.0, 89.0), (-1e-3, 1e-3), (0.0, 710.0))),
    Function("hypot", (2, 4, 4), lambda x, y: mp.sqrt(x * x + y * y), ((-1.0, 1.0), (-1e4, 1e4)), "xx"),
    Function("lgamma", (None, None, None), _lgamma, ((0.0, 3.0), (0.0, 20.0), (-10.0, 0.0))),
    Function("log", (2, 3, 3), _log(mp.log), POSITIVE),
    Function("log10", (2, 3, 3), _log(mp.log10), POSITIVE),
    Function("log1p", (2, 2, 2), _log1p, ((-1.0, 2.0), (-0.1, 0.1), (0.0, 1e6))),
    Function("log2", (2, 3, 3), _log(lambda x: mp.log(x) / mp.log(2)), POSITIVE),
    Function("pow", (4, 16, 16), mp.power, ((0.0, 10.0), (0.5, 60.0), (0.9, 1.1)), "xx"),
    Function("pown", (4, 16, 16), mp.power, ((-10.0, 10.0), (0.9, 1.1), (-2.0, 2.0)), "xi"),
    Function("powr", (4, 16, 16), mp.power, ((0.0, 10.0), (0.5, 60.0), (0.9, 1.1)), "xx"),
    Function("rootn", (4, 16, 16), _rootn, ((0.0, 10.0), (-1e4, 1e4)), "xi"),
    Function("rsqrt", (1, 2, 2), _within(lambda x: 1 / mp.sqrt(x), 0, math.inf), POSITIVE),
    Function("sin", (2, 4, 4), _finite(mp.sin), ANGLE),
    Function("sinh", (2, 4, 4), mp.sinh, ((-1.0, 1.0), (-2.0, 2.0), (-90.0, 90.0), (-711.0, 711.0))),
    Function("sinpi", (2, 4, 4), _finite(mp.sinpi), ((-4.0, 4.0), (-1e4, 1e4))),
    Function("sqrt", (0.5, 3, 0.5), _within(mp.sqrt, 0, math.inf), POSITIVE),
    Function("tan", (2, 5, 5), _finite(mp.tan), ANGLE),
    Function("tanh", (2, 5, 5), mp.tanh, ((-1.0, 1.0), (-10.0, 10.0))),
    Function("tanpi", (2, 6, 6), _finite(_tanpi), ((-0.49, 0.49), (-4.0, 4.0))),
    Function("tgamma", (4, 16, 16), _gamma, ((0.0, 3.0), (-20.0, 34.0), (-183.0, 171.6))),
)
BY_NAME = {function.name: function for function in FUNCTIONS}


def ulp_errors(code: str, got: np.ndarray, want: list[mp.mpf]) -> np.ndarray:
    """|got - want| in units in the last place of ``want`` (7.4); infinite where a NaN or an infinity is wrong.

    Infinity is right where the true value rounds to it, or would with the last place beyond the range.
    """
    limit = mp.mpf(2) ** TOP[code]
    errors = np.zeros(len(got))
    for i, (value, true) in enumerate(zip(got.tolist(), want, strict=True)):
        if mp.isnan(true) or math.isnan(value):
            errors[i] = 0.0 if mp.isnan(true) and math.isnan(value) else math.inf
            continue
        if mp.isinf(true):
            errors[i] = 0.0 if value == float(true) else math.inf
            continue
        exponent = max(mp.frexp(true)[1] - MANTISSA[code], SMALLEST[code]) if true != 0 else SMALLEST[code]
        unit = mp.mpf(2) ** min(exponent, TOP[code] - MANTISSA[code])
        target = min(max(true, -limit), limit)
        near = min(max(mp.mpf(value), -limit), limit) if math.isfinite(value) else limit * int(math.copysign(1, value))
        errors[i] = float(abs(near - target) / unit)
    return errors


def arguments(function: Function, code: str, samples: int, seed: int = 1) -> list[np.ndarray]:
    """Arguments to test: ``samples`` in each interval, as many over all bit patterns, and the edges of the type."""
    rng = np.random.default_rng(seed)
    dtype, word = DTYPES[code], BITS[code]
    info = np.finfo(dtype)
    edges = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, float(info.max), -float(info.max), float(info.tiny)]
    edges += [float(info.smallest_subnormal), -float(info.smallest_subnormal), math.inf, -math.inf, math.nan]

    def draw(low: float, high: float) -> np.ndarray:
        limit = float(info.max)
        return rng.uniform(min(max(low, -limit), limit), min(high, limit), samples).astype(dtype)

    def anything() -> np.ndarray:
        return rng.integers(0, np.iinfo(word).max, samples, dtype=word, endpoint=True).view(dtype)

    if function.shape == "x":
        angles = np.arange(1, 400) * (math.pi / 2) if function.near is ANGLE else np.zeros(0)
        with np.errstate(over="ignore", invalid="ignore"):
            return [np.concatenate([*(draw(*r) for r in function.near), anything(), angles, edges]).astype(dtype)]
    first = np.concatenate([draw(*r) for r in function.near])
    if function.shape == "xx":
        spans = [(-12.0, 12.0)] * len(function.near) if "pow" in function.name else function.near
        return [first, np.concatenate([draw(*r) for r in spans])]
    counts = np.concatenate([rng.integers(-30, 31, samples) for _ in function.near])
    return [first, counts.astype(np.int32)]


Compiler = Callable[[str, str, str], Callable[..., tuple[np.ndarray, ...]]]


def measure(
    function: Function, code: str, samples: int, seed: int = 1, compiler: Compiler = compile_function
) -> tuple[float, tuple[float, ...]]:
    """The largest error in ULP and the arguments where it is; ``compiler`` says where the function runs."""
    types = {"x": code, "xx": f"{code} {code}", "xi": f"{code} i"}[function.shape]
    given = arguments(function, code, samples, seed)
    (got,) = compiler(function.name, types, code)(*given)
    want = []
    with mp.workprec(140):
        for row in zip(*(a.tolist() for a in given), strict=True):
            value = mp.nan
            if not any(isinstance(v, float) and math.isnan(v) for v in row):
                try:
                    value = function.reference(*(mp.mpf(v) for v in row))
                except (ZeroDivisionError, ValueError):
                    value = None
            want.append(mp.nan if isinstance(value, mp.mpc) else value)
        # Where mpmath knows no value (poles, powers of zero), other tests state what the specification asks for.
        known = np.array([w is not None for w in want])
        errors = np.zeros(len(got))
        errors[known] = ulp_errors(code, got[known], [w for w in want if w is not None])
    worst = int(np.argmax(errors))
    return float(errors[worst]), tuple(float(a[worst]) for a in given)


def table(samples: int, names: list[str] | None = None) -> str:
    """The Markdown table of largest errors."""
    lines = ["| function | half | float | double | limits (half, float, double) |", "|---|---:|---:|---:|---|"]
    for function in FUNCTIONS:
        if names and function.name not in names:
            continue
        cells = [f"{measure(function, code, samples)[0]:.2f}" for code in ("Dh", "f", "d")]
        limits = ", ".join("none" if limit is None else f"{limit:g}" for limit in function.limits)
        lines.append(f"| `{function.name}` | {' | '.join(cells)} | {limits} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=20_000, help="arguments per interval (default %(default)s)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these functions only")
    parser.add_argument("--update", action="store_true", help=f"write the table into {PAGE.name}")
    options = parser.parse_args()
    text = table(options.samples, options.only)
    if options.update:
        page = PAGE.read_text()
        before, _, rest = page.partition("<!-- ulp -->")
        _, _, after = rest.partition("<!-- /ulp -->")
        PAGE.write_text(f"{before}<!-- ulp -->\n{text}\n<!-- /ulp -->{after}")


if __name__ == "__main__":
    main()
