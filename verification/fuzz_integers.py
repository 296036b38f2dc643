"""Input: random expressions of integers. Output: those that a device computes otherwise than Python.

Run as ``python -m verification.fuzz_integers --count 100 --device vega64``. Expressions of OpenCL C of one type, which
each program takes at random, are computed for awkward numbers: those next to 0, to powers of 2 and to the ends of the
range. Results must be those of Python's integers, which have as many bits as they need. A program that a device
computes otherwise is named by its seed, with the expression and the numbers. Exit status 1 if there is any.
"""

from __future__ import annotations

import operator
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

import headwater as hw
from verification.random_expressions import EXPRESSIONS, VARIABLES, parser, report, source

BITS = {"char": 8, "uchar": 8, "short": 16, "ushort": 16, "int": 32, "uint": 32, "long": 64, "ulong": 64}
_NUMPY = dict(zip(BITS, "i1 u1 i2 u2 i4 u4 i8 u8".split(), strict=True))
_SUFFIX = {"uint": "u", "long": "l", "ulong": "ul"}
LANES = 128
"""The triples of numbers that each expression is computed for."""

Compute = Callable[..., int]


@dataclass(frozen=True)
class Expression:
    """Its text in OpenCL C, and what gives its value of the variables'."""

    text: str
    value: Callable[[Mapping[str, int]], int]


@dataclass(frozen=True)
class Integer:
    """One of OpenCL C's types."""

    name: str

    @property
    def bits(self) -> int:
        return BITS[self.name]

    @property
    def unsigned(self) -> str:
        return f"u{self.name.removeprefix('u')}"

    @property
    def least(self) -> int:
        return 0 if self.name == self.unsigned else -(1 << self.bits - 1)

    @property
    def largest(self) -> int:
        return self.least + (1 << self.bits) - 1

    def wrapped(self, number: int) -> int:
        """The number of this type with the same low bits."""
        return (number - self.least) % (1 << self.bits) + self.least

    def saturated(self, number: int) -> int:
        return max(self.least, min(self.largest, number))

    def literal(self, number: int) -> str:
        suffix = _SUFFIX.get(self.name, "")
        if number < 0 and number == self.least:
            return f"(({self.name})({number + 1}{suffix} - 1))"
        return f"(({self.name})({number}{suffix}))"

    def of(self, text: str, compute: Compute, *parts: Expression) -> Expression:
        """An expression of others, as this type: ``text`` has a place for each."""
        whole = f"(({self.name})({text.format(*(part.text for part in parts))}))"
        return Expression(whole, lambda variables: self.wrapped(compute(*(part.value(variables) for part in parts))))


def quotient(x: int, y: int) -> int:
    """As in C: rounded to 0."""
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def remainder(x: int, y: int) -> int:
    return x - y * quotient(x, y)


_INFIX = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_, "^": operator.xor
}  # fmt: skip
_COMPARED = {
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne
}  # fmt: skip


def _functions(ty: Integer) -> dict[str, tuple[int, Compute]]:
    """OpenCL C's functions of integers: of how many, and what they give."""
    bits, mask = ty.bits, (1 << ty.bits) - 1
    return {
        "min": (2, min),
        "max": (2, max),
        "add_sat": (2, lambda x, y: ty.saturated(x + y)),
        "sub_sat": (2, lambda x, y: ty.saturated(x - y)),
        "hadd": (2, lambda x, y: (x + y) >> 1),
        "rhadd": (2, lambda x, y: (x + y + 1) >> 1),
        "mul_hi": (2, lambda x, y: x * y >> bits),
        "abs_diff": (2, lambda x, y: abs(x - y)),
        "abs": (1, abs),
        "clz": (1, lambda x: bits - (x & mask).bit_length()),
        "ctz": (1, lambda x: (x & -x).bit_length() - 1 if x else bits),
        "popcount": (1, lambda x: (x & mask).bit_count()),
        "rotate": (2, lambda x, n: (x & mask) << n % bits | (x & mask) >> bits - n % bits),
        "mad_hi": (3, lambda x, y, z: (x * y >> bits) + z),
        "mad_sat": (3, lambda x, y, z: ty.saturated(x * y + z)),
        "bitselect": (3, lambda x, y, z: x & ~z | y & z),
    }


def _constant(rng: random.Random, ty: Integer) -> int:
    awkward = [0, 1, 2, 3, 5, 7, 10, 31, 32, 63, 64, 100, 127, -1, -2, -3, -16, ty.largest - 1, ty.least + 1]
    awkward += [ty.largest, ty.least, ty.largest // 2, ty.largest // 3, (1 << rng.randrange(1, ty.bits)) - 1]
    awkward += [1 << rng.randrange(ty.bits - 1), rng.randint(ty.least, ty.largest)]
    return ty.saturated(rng.choice(awkward))


def expression(rng: random.Random, ty: Integer, depth: int) -> Expression:
    """A random one, of parts inside each other ``depth`` times at most."""
    if depth == 0 or rng.random() < 0.1:
        if rng.random() < 0.55:
            name = rng.choice(VARIABLES)
            return Expression(name, lambda variables: variables[name])
        number = _constant(rng, ty)
        return Expression(ty.literal(number), lambda _: number)

    def part() -> Expression:
        return expression(rng, ty, depth - 1)

    kind, x = rng.randrange(24), part()
    unsigned = ty.unsigned if ty.bits != 16 else "uint"  # products of ushort are ints, which must not overflow
    if kind < 7:
        sign, compute = rng.choice([*_INFIX.items()])
        return ty.of(f"({unsigned}){{}} {sign} ({unsigned}){{}}", compute, x, part())
    if kind in (7, 8, 9):
        by, last = rng.randrange(ty.bits), ty.bits - 1
        left = kind == 7
        shift = operator.lshift if left else operator.rshift
        first = f"({unsigned}){{}} <<" if left else "{} >>"
        if rng.random() < 0.4:
            return ty.of(f"{first} (({unsigned}){{}} & {last})", lambda v, n: shift(v, n & last), x, part())
        return ty.of(f"{first} {by}", lambda v: shift(v, by), x)
    if kind in (10, 11):
        sign, divide = rng.choice([("/", quotient), ("%", remainder)])
        if rng.random() < 0.5:  # of half the range, as the quotient of the least number by -1 is none
            half = ty.of("{} >> 1", lambda v: v >> 1, x)
            return ty.of(f"{{}} {sign} ({ty.name})({{}} | 1)", lambda v, n: divide(v, ty.wrapped(n | 1)), half, part())
        by = rng.choice(
            [3, 5, 7, 10, 12, 25, 31, 60, 100, 127, 2, 16, 64, ty.largest, ty.largest - 1, ty.least // 2 - 1]
        )
        by = by if by >= ty.least and by not in (0, -1) else 3
        return ty.of(f"{{}} {sign} {ty.literal(by)}", lambda v: divide(v, by), x)
    if kind in (12, 13, 14, 15):
        name, (count, compute) = rng.choice([*_functions(ty).items()])
        return ty.of(f"{name}({', '.join(['{}'] * count)})", compute, x, *(part() for _ in range(count - 1)))
    if kind in (16, 17, 18):
        sign, compare = rng.choice([*_COMPARED.items()])
        y = part()
        one, other = rng.choice(((x, y), (y, x), (x, part()), (part(), y), (part(), part())))
        return ty.of(
            f"{{}} {sign} {{}} ? {{}} : {{}}", lambda *v: v[2] if compare(v[0], v[1]) else v[3], x, y, one, other
        )
    if kind in (19, 20):
        through = Integer(rng.choice([name for name in BITS if name != ty.name]))
        if rng.random() < 0.4:
            text = f"convert_{ty.name}_sat(convert_{through.name}_sat({{}}))"
            return ty.of(text, lambda v: ty.saturated(through.saturated(v)), x)
        return ty.of(f"({through.name}){{}}", through.wrapped, x)
    if kind == 21:
        return ty.of("~{}", operator.invert, x)
    if kind == 22:
        return ty.of(f"0 - ({unsigned}){{}}", operator.neg, x)
    sign, decide = rng.choice([("&&", all), ("||", any)])
    return ty.of(f"{{}} {sign} {{}}", lambda *v: int(decide(v)), x, part())


def numbers(rng: random.Random, ty: Integer) -> list[int]:
    """Awkward ones, for one variable."""
    near = [0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100, 127, 128, 255, 256, -1, -2, -7, -128]
    near += [ty.largest, ty.largest - 1, ty.least, ty.least + 1]
    return [
        ty.wrapped(rng.choice(near) if rng.random() < 0.6 else rng.getrandbits(64) >> rng.randrange(64))
        for _ in range(LANES)
    ]


def wrong(seed: int, devices: tuple[str, ...]) -> list[str]:
    """What devices compute otherwise of the program of this seed."""
    rng = random.Random(seed)
    ty = Integer(rng.choice([*BITS]))
    made = [expression(rng, ty, rng.choice((2, 3, 3, 4))) for _ in range(EXPRESSIONS)]
    given = {name: numbers(rng, ty) for name in VARIABLES}
    triples = [dict(zip(VARIABLES, triple, strict=True)) for triple in zip(*given.values(), strict=True)]
    expected = [[one.value(triple) for one in made] for triple in triples]
    arrays = [np.array(values, _NUMPY[ty.name]) for values in given.values()]
    text, found = source((one.text for one in made), ty.name), []
    for device in devices:
        left = np.zeros((LANES, EXPRESSIONS), _NUMPY[ty.name])
        program = hw.compile(text, language="opencl", device=device, options="-cl-std=CL3.0")
        program.k[LANES](left, *arrays)
        got = left.tolist()
        for n, one in enumerate(made):
            bad = [at for at in range(LANES) if got[at][n] != expected[at][n]]
            if bad:
                at = bad[0]
                variables = ", ".join(f"{name} = {value}" for name, value in triples[at].items())
                became = f"{expected[at][n]} became {got[at][n]}, {len(bad)} times"
                found.append(f"{device}, {ty.name}: {one.text} with {variables}: {became}")
    return found


def main() -> int:
    return report(parser("fuzz_integers", __doc__.splitlines()[0]).parse_args(), wrong)


if __name__ == "__main__":
    sys.exit(main())
