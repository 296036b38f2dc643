"""What the work-items of a group have in their registers: values as far as they are known before a program runs.

A `Form` is a number for each work-item of the group plus multiples of symbols, which stand for what only the run
tells. Operations of IL on forms give forms. Numbers are 32 bits, with a sign.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from math import gcd
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

WAVEFRONT = 64
"""Work-items of a wavefront on all chips that take IL whose work-items share memory."""
MOST_SYMBOLS = 64
"""A sum with more symbols is not followed any further. Addresses have a few; a chain of sums over what was loaded gains
one with each, and following 10,000 of them took most of the translation's time."""

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


class Symbol(NamedTuple):
    """What is not known. ``uniform``: it is the same for all work-items of a wavefront. ``scaled``: it is what is known
    of each work-item times a number that is not, such as its row times the width. Later ones have higher numbers."""

    number: int
    uniform: bool
    scaled: bool = False


@dataclass(frozen=True)
class Form:
    """``numbers`` of each work-item plus ``symbols``, each with its factor. ``half``: 0.5 is added, and the value is a
    float: the pixel's place."""

    numbers: Numbers
    symbols: tuple[tuple[Symbol, int], ...] = ()
    half: bool = False

    @property
    def known(self) -> bool:
        return not self.symbols and not self.half

    @property
    def uniform(self) -> bool:
        """Whether the work-items of each wavefront have the same."""
        first = self.numbers[_first_of_wavefronts(len(self.numbers))]
        return all(symbol.uniform for symbol, _ in self.symbols) and bool((self.numbers == first).all())

    @property
    def of_one_kind(self) -> bool:
        """Whether work-items differ in nothing but what is known of each."""
        return all(symbol.uniform for symbol, _ in self.symbols)

    @property
    def constant(self) -> int | None:
        """The number that all work-items have, if it is known."""
        return int(self.numbers[0]) if self.known and bool((self.numbers == self.numbers[0]).all()) else None

    def same(self, other: Form) -> bool:
        return self.symbols == other.symbols and self.half == other.half and bool((self.numbers == other.numbers).all())

    def plus(self, other: Form, factor: int = 1) -> Form:
        """The sum with a multiple of another."""
        terms = dict(self.symbols)
        for symbol, times in other.symbols:
            terms[symbol] = _wrapped_number(terms.get(symbol, 0) + factor * times)
        symbols = tuple(sorted((s, t) for s, t in terms.items() if t))
        return Form(_wrapped(self.numbers + factor * other.numbers), symbols, self.half or other.half)

    def moved(self, by: int) -> Form:
        """The sum with a number."""
        return Form(_wrapped(self.numbers + by), self.symbols, self.half) if by else self

    def times(self, factor: int) -> Form:
        """A multiple."""
        if factor == 1:
            return self
        symbols = tuple((s, t) for s, times in self.symbols if (t := _wrapped_number(times * factor)))
        return Form(_wrapped(self.numbers * factor), symbols)


@cache
def _first_of_wavefronts(items: int) -> Numbers:
    """For each work-item the first one of its wavefront."""
    return np.arange(items, dtype=np.int64) // WAVEFRONT * WAVEFRONT


class Fresh(Protocol):
    """Makes what is not known."""

    def __call__(self, uniform: bool, *, scaled: bool = False) -> Form: ...


def _wrapped(numbers: Any) -> Numbers:
    """The low 32 bits, with their sign."""
    result: Numbers = np.asarray(numbers, np.int64).astype(np.int32).astype(np.int64)
    return result


def _wrapped_number(number: int) -> int:
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def _unsigned(numbers: Numbers) -> Any:
    return numbers.astype(np.uint32)


def _floats(numbers: Numbers) -> Any:
    return numbers.astype(np.uint32).view(np.float32)


def _of_floats(values: Any) -> Numbers:
    return _wrapped(np.asarray(values, np.float32).view(np.uint32))


def _quotient(a: Numbers, b: Numbers, *, rest: bool) -> Any:
    x, y = _unsigned(a), _unsigned(b)
    safe = np.maximum(y, 1)
    return np.where(y == 0, 0xFFFFFFFF, x % safe if rest else x // safe)


def _truncated(a: Numbers, low: int, high: int) -> Any:
    values = np.nan_to_num(_floats(a).astype(np.float64), nan=0.0, posinf=float(high), neginf=float(low))
    return np.clip(np.trunc(values), low, high).astype(np.int64)


def _reversed(a: Numbers) -> Any:
    return np.array([int(f"{int(x):032b}"[::-1], 2) for x in _unsigned(a)], np.int64)


_Known = Callable[..., Any]
_KNOWN: dict[str, _Known] = {
    "mov": lambda a: a,
    "invariant_move": lambda a: a,
    "cmov_logical": lambda a, b, c: np.where(a != 0, b, c),
    "iadd": lambda a, b: a + b,
    "isub": lambda a, b: a - b,
    "imul": lambda a, b: a * b,
    "umul": lambda a, b: a * b,
    "imad": lambda a, b, c: a * b + c,
    "umad": lambda a, b, c: a * b + c,
    "umul24": lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF),
    "umad24": lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c,
    "inegate": lambda a: -a,
    "iand": lambda a, b: a & b,
    "and": lambda a, b: a & b,
    "ior": lambda a, b: a | b,
    "ixor": lambda a, b: a ^ b,
    "inot": lambda a: ~a,
    "ishl": lambda a, b: _unsigned(a).astype(np.int64) << (b & 31),
    "ishr": lambda a, b: a >> (b & 31),
    "ushr": lambda a, b: _unsigned(a).astype(np.int64) >> (b & 31),
    "imin": np.minimum,
    "imax": np.maximum,
    "umin": lambda a, b: np.minimum(_unsigned(a), _unsigned(b)),
    "umax": lambda a, b: np.maximum(_unsigned(a), _unsigned(b)),
    "ieq": lambda a, b: -(a == b).astype(np.int64),
    "ine": lambda a, b: -(a != b).astype(np.int64),
    "ilt": lambda a, b: -(a < b).astype(np.int64),
    "ige": lambda a, b: -(a >= b).astype(np.int64),
    "ult": lambda a, b: -(_unsigned(a) < _unsigned(b)).astype(np.int64),
    "uge": lambda a, b: -(_unsigned(a) >= _unsigned(b)).astype(np.int64),
    "udiv": lambda a, b: _quotient(a, b, rest=False),
    "umod": lambda a, b: _quotient(a, b, rest=True),
    "ubit_reverse": _reversed,
    "itof": lambda a: _of_floats(a),
    "utof": lambda a: _of_floats(_unsigned(a)),
    "ftoi": lambda a: _truncated(a, -(1 << 31), (1 << 31) - 1),
    "ftou": lambda a: _truncated(a, 0, (1 << 32) - 1),
    "add": lambda a, b: _of_floats(_floats(a) + _floats(b)),
    "sub": lambda a, b: _of_floats(_floats(a) - _floats(b)),
    "mul": lambda a, b: _of_floats(_floats(a) * _floats(b)),
    "mul_ieee": lambda a, b: _of_floats(_floats(a) * _floats(b)),
    "mad": lambda a, b, c: _of_floats(_floats(a) * _floats(b) + _floats(c)),
    "mad_ieee": lambda a, b, c: _of_floats(_floats(a) * _floats(b) + _floats(c)),
    "flr": lambda a: _of_floats(np.floor(_floats(a))),
    "round_neginf": lambda a: _of_floats(np.floor(_floats(a))),
    "round_z": lambda a: _of_floats(np.trunc(_floats(a))),
    "trc": lambda a: _of_floats(np.trunc(_floats(a))),
}
"""Operations of IL on numbers that are known, lane by lane (``operations.txt`` has what they mean)."""
_BITWISE = ("iand", "and", "ior", "ixor")


def computed(name: str, sources: list[Form], fresh: Fresh) -> Form | None:
    """An operation's result; None where nothing of it is known. ``fresh`` gives what is not known."""
    if any(source.half for source in sources):
        one = sources[0]
        # Half a pixel is cut off. Where the rest begins, a multiple of a tile, is not below zero.
        return Form(one.numbers, one.symbols) if name in ("ftoi", "ftou") and len(sources) == 1 else None
    if name in _KNOWN and all(source.known for source in sources):
        with np.errstate(all="ignore"):
            return Form(_wrapped(_KNOWN[name](*(source.numbers for source in sources))))
    if name in ("mov", "invariant_move"):
        return sources[0]
    if name in ("iadd", "isub"):
        return _followed(sources[0].plus(sources[1], 1 if name == "iadd" else -1))
    if name == "inegate":
        return sources[0].times(-1)
    if name in ("imul", "umul", "imad", "umad"):
        product = _product(sources[0], sources[1])
        if product is None and all(source.of_one_kind for source in sources[:2]):
            uniform = sources[0].uniform, sources[1].uniform
            product = fresh(all(uniform), scaled=any(uniform) and not all(uniform)) if any(uniform) else None
        return _followed(product.plus(sources[2])) if product is not None and len(sources) > 2 else product
    if name == "ishl" and (by := sources[1].constant) is not None:
        return sources[0].times(1 << (by & 31))
    if name in _BITWISE:
        return _bits(name, *sources)
    if name == "cmov_logical":
        condition, a, b = sources
        if a.same(b):
            return a
        if condition.known and a.symbols == b.symbols:
            return Form(np.where(condition.numbers != 0, a.numbers, b.numbers), a.symbols)
    return None


def _followed(sum_: Form) -> Form | None:
    return sum_ if len(sum_.symbols) <= MOST_SYMBOLS else None


def _product(a: Form, b: Form) -> Form | None:
    for one, other in ((a, b), (b, a)):
        if (factor := one.constant) is not None:
            return other.times(factor)
    return None


def _bits(name: str, a: Form, b: Form) -> Form | None:
    """A bitwise operation of a known number and one that is known below a multiple of a power of two."""
    if a.known:
        a, b = b, a
    if not b.known:
        return None
    unit = 0
    for _, times in a.symbols:
        unit = gcd(unit, times)
    unit &= -unit  # what the symbols add is a multiple of it
    low, high = int(a.numbers.min()), int(max(a.numbers.max(), b.numbers.max()))
    if low < 0 or int(b.numbers.min()) < 0 or high >= unit:
        return None
    with np.errstate(all="ignore"):
        numbers = _wrapped(_KNOWN[name](a.numbers, b.numbers))
    return Form(numbers, () if name in ("iand", "and") else a.symbols)


def merged(forms: Iterable[Form], fresh: Fresh, *, uniform: bool) -> Form:
    """What a register has where ways meet. ``uniform``: all work-items of a wavefront come the same way; ``fresh``
    gives what is not known."""
    first, *others = forms
    if all(first.same(other) for other in others):
        return first
    return fresh(uniform and all(form.uniform for form in (first, *others)))
