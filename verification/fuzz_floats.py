"""Input: random expressions of floats. Output: those that a device computes otherwise than NumPy.

Run as ``python -m verification.fuzz_floats --count 100 --type float --device vega64``. Expressions of OpenCL C that
have one right result are computed for awkward numbers: zeros of both signs, infinities, NaN, numbers at the ends of the
range and below the normal one. Results must agree in every bit but those of a NaN. What OpenCL leaves open is passed
over where it arises: the sign of a NaN, and which of two zeros fmin and fmax choose. A program that a device computes
otherwise is named by its seed, with the expression and the numbers. Exit status 1 if there is any.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import headwater as hw
from verification.random_expressions import EXPRESSIONS, VARIABLES, parser, report, source

NUMBERS = {"half": np.float16, "float": np.float32, "double": np.float64}
_BITS = {"half": np.uint16, "float": np.uint32, "double": np.uint64}
_SUFFIX = {"half": "h", "float": "f", "double": ""}
LANES = 512
"""The triples of numbers that each expression is computed for."""
_PRAGMAS = "#pragma OPENCL FP_CONTRACT OFF\n"
_HALVES = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
_CONSTANTS = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 4.0)

Array = np.ndarray


@dataclass(frozen=True)
class Expression:
    """Its text in OpenCL C, and what gives its value and where that is left open, both of `LANES` numbers."""

    text: str
    value: Callable[[dict[str, Array]], tuple[Array, Array]]


def _of(
    text: str, compute: Callable[..., Array], *parts: Expression, left_open: Callable[..., Array] | None = None
) -> Expression:
    """An expression of others: ``text`` has a place for each."""

    def value(variables: dict[str, Array]) -> tuple[Array, Array]:
        found = [part.value(variables) for part in parts]
        numbers, doubts = [number for number, _ in found], [doubt for _, doubt in found]
        doubt = np.logical_or.reduce(doubts)
        return compute(*numbers), doubt | left_open(*numbers) if left_open else doubt

    return Expression(text.format(*(part.text for part in parts)), value)


def _leaf(rng: random.Random, kind: str) -> Expression:
    nothing = np.zeros(LANES, np.bool_)
    if rng.random() < 0.8:
        name = rng.choice(VARIABLES)
        return Expression(name, lambda variables: (variables[name], nothing))
    return _constant(rng.choice(_CONSTANTS), kind)


def _constant(number: float, kind: str) -> Expression:
    value = np.full(LANES, number, NUMBERS[kind]), np.zeros(LANES, np.bool_)
    return Expression(f"({number}{_SUFFIX[kind]})", lambda _: value)


def _fused(x: Array, y: Array, z: Array) -> Array:
    """x * y + z, rounded once. Of floats the product is exact as a double; the sum is rounded to odd there, so that
    rounding it to a float gives what rounding the exact sum would."""
    a = x.astype(np.float64) * y.astype(np.float64)
    b = z.astype(np.float64)
    total = a + b
    rest = total - a
    error = (a - (total - rest)) + (b - rest)
    inexact = np.isfinite(total) & (error != 0) & (total.view(np.int64) & 1 == 0)
    return np.where(inexact, np.nextafter(total, np.copysign(np.inf, error)), total).astype(x.dtype)


def _both_zero(x: Array, y: Array) -> Array:
    return (x == 0) & (y == 0)


_INFIX = {"+": np.add, "-": np.subtract, "*": np.multiply}
_COMPARED = {"<": np.less, ">": np.greater, "<=": np.less_equal, ">=": np.greater_equal, "==": np.equal}
_SIGNED = {"{}": np.positive, "(-{})": np.negative, "fabs({})": np.abs, "(-fabs({}))": lambda x: -np.abs(x)}
_ROUNDED = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint}
_TESTED = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}


def _compared(rng: random.Random, x: Expression, y: Expression) -> Expression:
    """One of two numbers, which are compared with each other; any of the three with another sign, maybe."""
    sign, compare = rng.choice([*_COMPARED.items()])
    (left, of_left), *signs = (rng.choice([*_SIGNED.items()]) for _ in range(3))
    (one, other), (of_one, of_other) = zip(*signs, strict=True)
    first, second = rng.choice(((0, 1), (1, 0), (0, 0), (1, 1)))
    place = ("{0}", "{1}")

    def select(*numbers: Array) -> Array:
        chosen = of_one(numbers[first]), of_other(numbers[second])
        return np.where(compare(of_left(numbers[0]), numbers[1]), *chosen)

    arms = f"{one.format(place[first])} : {other.format(place[second])}"
    return _of(f"({left.format(place[0])} {sign} {place[1]} ? {arms})", select, x, y)


def expression(rng: random.Random, kind: str, depth: int) -> Expression:
    """A random one, of parts inside each other ``depth`` times at most."""
    if depth == 0 or rng.random() < 0.12:
        return _leaf(rng, kind)

    def part() -> Expression:
        return expression(rng, kind, depth - 1)

    chosen = rng.randrange(19)
    if chosen < 7:
        sign, compute = rng.choice([*_INFIX.items()])
        return _of(f"({{}} {sign} {{}})", compute, part(), part())
    if chosen == 7:
        return _of("(- {})", np.negative, part())
    if chosen == 8:
        return _of("fabs({})", np.abs, part())
    if chosen in (9, 10):
        name, compute = ("fmin", np.fmin) if chosen == 9 else ("fmax", np.fmax)
        return _of(f"{name}({{}}, {{}})", compute, part(), part(), left_open=_both_zero)
    if chosen == 11:
        sign, compare = rng.choice([*_COMPARED.items()])

        def select(x: Array, y: Array, one: Array, other: Array) -> Array:
            return np.where(compare(x, y), one, other)

        return _of(f"({{}} {sign} {{}} ? {{}} : {{}})", select, part(), part(), part(), part())
    if chosen == 12:
        return _of("copysign({}, {})", np.copysign, part(), part(), left_open=lambda _, sign: np.isnan(sign))
    if chosen == 13:
        name, compute = rng.choice([*_ROUNDED.items()])
        return _of(f"{name}({{}})", compute, part())
    if chosen == 14 and kind != "double":
        return _of("fma({}, {}, {})", _fused, part(), part(), part())
    if chosen == 15:
        least = _of("fmin({}, {})", np.fmin, part(), _constant(1.0, kind))
        return _of("fmax({}, {})", np.fmax, least, _constant(0.0, kind), left_open=_both_zero)
    if chosen in (16, 17):
        y = part() if rng.random() < 0.4 else _constant(rng.choice(_CONSTANTS), kind)
        return _compared(rng, part(), y)
    name, test = rng.choice([*_TESTED.items()])
    return _of(
        f"({name}({{}}) ? {{}} : {{}})", lambda x, one, other: np.where(test(x), one, other), part(), part(), part()
    )


def numbers(kind: str, *, flushed: bool) -> Array:
    """The awkward ones; ``flushed``: none whose sums or products by 2^-2 are below the normal range."""
    limits = np.finfo(NUMBERS[kind])
    usual = [0.0, -0.0, 1, -1, 0.5, -0.5, 2, np.inf, -np.inf, np.nan, 3.75, -2.5, 1.5, -1.5, 2049, -0.9995]
    large = [limits.max, -limits.max, 1 / limits.eps + 1]
    tiny = [] if flushed else [limits.tiny, -limits.smallest_subnormal, limits.smallest_subnormal * 5, -limits.tiny / 3]
    return np.array([*usual, *large, *tiny], NUMBERS[kind])


def _flushes(device: str, kind: str) -> bool:
    """Whether the device makes numbers below the normal range 0."""
    tiny = np.full(1, np.finfo(NUMBERS[kind]).smallest_subnormal, NUMBERS[kind])
    text = f"kernel void k(global {kind} *a) {{ a[0] = a[0] + a[0]; }}\n"
    if kind == "half":
        text = _HALVES + text
    hw.compile(text, language="opencl", device=device).k[1](tiny)
    return bool(tiny[0] == 0)


def wrong(seed: int, kind: str, devices: tuple[str, ...]) -> list[str]:
    """What devices compute otherwise of the program of this seed."""
    found = []
    for device in devices:
        rng, chosen = random.Random(seed), np.random.default_rng(seed)
        made = [expression(rng, kind, rng.choice((2, 3, 3, 4))) for _ in range(EXPRESSIONS)]
        values = numbers(kind, flushed=_flushes(device, kind))
        variables = {name: chosen.choice(values, LANES) for name in VARIABLES}
        left = np.zeros((LANES, EXPRESSIONS), NUMBERS[kind])
        text = source((one.text for one in made), kind, _PRAGMAS + (_HALVES if kind == "half" else ""))
        program = hw.compile(text, language="opencl", device=device)
        program.k[LANES](left, *variables.values())
        with np.errstate(all="ignore"):
            for n, one in enumerate(made):
                value, left_open = one.value(variables)
                got = np.ascontiguousarray(left[:, n])
                same = got.view(_BITS[kind]) == np.ascontiguousarray(value).view(_BITS[kind])
                bad = ~(same | left_open | (np.isnan(got) & np.isnan(value)))
                if bad.any():
                    at = int(bad.argmax())
                    given = ", ".join(f"{name} = {array[at]}" for name, array in variables.items())
                    found.append(f"{device}: {one.text} with {given}: {value[at]} became {got[at]}, {bad.sum()} times")
    return found


def main() -> int:
    made = parser("fuzz_floats", __doc__.splitlines()[0])
    made.add_argument("--type", choices=[*NUMBERS], default="float", help="of the numbers (default float)")
    options = made.parse_args()
    return report(options, lambda seed, devices: wrong(seed, options.type, devices))


if __name__ == "__main__":
    sys.exit(main())
