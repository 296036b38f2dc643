"""Input: a generator's name or ACML's number, and seeds. Output: its state and its recurrence, as data.

States are arrays of words that never change: `Base.after` gives a later one. Nothing here makes a number of a
sequence but for the Mersenne Twister's skip, which NumPy does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import gcd, lcm
from operator import index
from typing import Any

import numpy as np

from headwater.errors import UsageError

Array = np.ndarray[Any, np.dtype[Any]]
RUN = 32
"""Results in a row that a work-item of a linear generator makes."""


@dataclass(frozen=True)
class Linear:
    """Recurrences x = A x modulo a number, combined: one matrix (rows) and one modulus a component.

    ``define``: what `kernels.cl` calls how they are combined. ``state``: length of ACML's STATE.
    """

    name: str
    define: str
    matrices: tuple[tuple[tuple[int, ...], ...], ...]
    moduli: tuple[int, ...]
    state: int

    @property
    def order(self) -> int:
        """Words of a component's state."""
        return len(self.matrices[0])


_MRG = 4294967087, 4294944443
LINEAR = {
    # Multiplier 13**13, modulus 2**59: NAG G05CAF, which ACML calls the basic generator.
    "nag": Linear("nag", "-D NAG -D POWER_OF_2", (((13**13,),),), (2**59,), 16),
    # Applied Statistics 31 (1982), algorithm AS 183.
    "wichmann_hill": Linear("wichmann_hill", "-D WH", (((171,),), ((172,),), ((170,),)), (30269, 30307, 30323), 20),
    # Computational Statistics and Data Analysis 51 (2006).
    "wichmann_hill_2006": Linear(
        "wichmann_hill_2006",
        "-D WH",
        (((11600,),), ((47003,),), ((23000,),), ((33000,),)),
        (2147483579, 2147483543, 2147483423, 2147483123),
        20,
    ),
    # Operations Research 47 (1999).
    "mrg32k3a": Linear(
        "mrg32k3a",
        "-D MRG",
        (
            ((0, 1, 0), (0, 0, 1), (_MRG[0] - 810728, 1403580, 0)),
            ((0, 1, 0), (0, 0, 1), (_MRG[1] - 1370589, 0, 527612)),
        ),
        _MRG,
        61,
    ),
    # Communications of the ACM 31 (1988).
    "ecuyer": Linear("ecuyer", "-D ECUYER", (((40014,),), ((40692,),)), (2147483563, 2147483399), 20),
}
SHUB = "blum_blum_shub"
NAMES = (*LINEAR, "mt19937", SHUB, "philox")
ACML_IDS = {(1, 1): "nag", (2, 1): "wichmann_hill", (2, 2): "wichmann_hill_2006", (3, 1): "mt19937", (4, 1): "mrg32k3a",
            (5, 1): SHUB, (6, 1): "philox", (7, 1): "ecuyer"}  # fmt: skip
"""GENID and SUBID -> generator. 1 to 5 are ACML's; 6 and 7 are ours."""
SHUB_PRIMES = 2**521 - 1, 2**448 - 2**224 - 1
"""Blum-Blum-Shub's p and q where none are given: primes that are 3 modulo 4 (Mersenne's 13th; Hamburg 2015)."""
SHUB_BITS = 8
"""Bits of each of its squares that are used, where nothing is said: less than the logarithm of the modulus' bits."""


@dataclass(frozen=True)
class Base:
    """A generator with its state before the next result: ``words`` (of 64 bits; 32 for mt19937; p, q, s and the bits of
    a square for Blum-Blum-Shub), ``at`` (philox: place of the next result in the sequence; Blum-Blum-Shub: of the next
    24 bits), ``leap``: from one result to the next."""

    name: str
    words: tuple[int, ...]
    single: bool = False
    at: int = 0
    leap: int = 1

    def after(self, count: int) -> Base:
        """The state ``count`` results later."""
        steps = count * self.leap
        if self.name == "philox":
            return replace(self, at=self.at + steps)
        if self.name == SHUB:
            return replace(self, at=self.at + steps * (1 if self.single else 2))
        if self.name == "mt19937":
            return replace(self, words=_twisted(self.words, steps * (1 if self.single else 2)))
        return replace(self, words=_moved(LINEAR[self.name], self.words, steps))

    def frog(self, k: int, number: int) -> Base:
        """Results k, k + number, k + 2 number … (k from 0) of the sequence."""
        if self.name in LINEAR or self.name == "philox":
            # a linear generator makes a result after it has gone on, by leap steps: it starts so many before
            start = k + 1 - number if self.name in LINEAR else k
            return replace(self.after(start), leap=self.leap * number)
        return replace(self.after(k), leap=self.leap * number)


def counted(value: Any, what: str) -> int:
    """The value as an int; UsageError if it is no whole number."""
    try:
        return index(value)
    except TypeError:
        raise UsageError(f"{what} is a whole number, not {value!r:.60}") from None


def seeded(name: str, seed: int | Sequence[int], single: bool = False) -> Base:
    """The generator at its beginning. ``seed``: one number of at least 0, or the words of a whole state.

    Blum-Blum-Shub's are p, q, s and, if wanted, how many bits of each square are used (1 to 15).
    One seed gives mt19937 and philox NumPy's states (``RandomState(seed)``, and Philox with ``key=seed``), mrg32k3a
    and ecuyer that word in all places, Wichmann and Hill's the seed modulo each modulus,
    nag twice the seed and 1 modulo 2^59, and Blum-Blum-Shub `SHUB_PRIMES` and the seed and 2.
    """
    if name not in NAMES:
        raise UsageError(f"no generator {name!r}", hint=f"there are {', '.join(NAMES)}")
    several = isinstance(seed, (Sequence, np.ndarray)) and not isinstance(seed, (str, bytes))
    seeds: Any = seed if several else (seed,)
    words = [counted(word, "a seed") for word in seeds]
    if not words or min(words) < 0:
        raise UsageError(f"seeds are numbers of at least 0, not {seed!r:.60}")
    if name == "philox":
        if len(words) > 2 or (len(words) == 2 and max(words) >> 64) or words[0] >> 128:
            raise UsageError("philox has a key of 128 bits: one seed, or two words of 64 bits")
        key = words[0] if len(words) == 1 else words[0] | words[1] << 64
        return Base(name, (0, 0, 0, 0, key & (2**64 - 1), key >> 64), single)
    if name == "mt19937":
        if max(words) >> 32:
            raise UsageError(f"seeds of mt19937 have 32 bits, and {max(words)} has more")
        if len(words) == 624:
            return Base(name, tuple(words), single)
        legacy = np.random.RandomState(words[0] if len(words) == 1 else words)
        return Base(name, tuple(map(int, legacy.get_state(legacy=False)["state"]["key"])), single)
    if name == SHUB:
        return Base(name, _shub(words), single)
    what = LINEAR[name]
    length = len(what.moduli) * what.order
    if len(words) not in (1, length):
        raise UsageError(f"{name} takes one seed{f' or {length}' if length > 1 else ''}, not {len(words)}")
    if name == "nag":
        return Base(name, ((2 * words[0] + 1) % 2**59,), single)
    spread = words * length if len(words) == 1 else words
    state = [word % what.moduli[i // what.order] for i, word in enumerate(spread)]
    for c in range(len(what.moduli)):
        if not any(state[c * what.order : (c + 1) * what.order]):
            state[c * what.order] = 1  # a component of zeros stays so
    return Base(name, tuple(state), single)


_WITNESSES = 2, 3, 5, 7, 11, 13, 17, 19


def shub_fault(p: int, q: int, s: int) -> str:
    """Which of p, q and s makes no sequence of Blum-Blum-Shub's, or a short one; none: an empty text."""
    for label, prime in (("p", p), ("q", q)):
        # Miller and Rabin's test: prime - 1 is twice an odd number
        if (
            prime % 4 != 3
            or prime >> 600
            or any(pow(x, prime // 2, prime) not in (1, prime - 1) for x in _WITNESSES if x % prime)
        ):
            return label
    return "q" if p == q else "s" if gcd(s, p * q) != 1 or s % (p * q) < 2 else ""


def _shub(words: list[int]) -> tuple[int, ...]:
    """p, q, s and the bits of each square."""
    if len(words) not in (1, 3, 4):
        raise UsageError(f"{SHUB} takes one seed; p, q and s; or p, q, s and a count of bits, not {len(words)} numbers")
    p, q, s, bits = (*SHUB_PRIMES, words[0] + 2, SHUB_BITS) if len(words) == 1 else (*words, SHUB_BITS)[:4]
    if fault := shub_fault(p, q, s):
        value = {"p": p, "q": q, "s": s}[fault]
        rule = "p and q are two primes of at most 600 bits that are 3 modulo 4, and s, above 1, has neither as a factor"
        raise UsageError(f"{SHUB}: {fault} is {value}", hint=rule)
    if not 1 <= bits <= 15:
        raise UsageError(f"{SHUB}: {bits} bits of each square", hint="1 to 15 are used")
    return p, q, s, bits


def shub_words(base: Base, count: int) -> Array:
    """The next ``count`` times 24 bits of Blum-Blum-Shub, the first bit the least significant one (ACML 4.4 user guide,
    DRANDBLUMBLUMSHUB): of each square, from that of s on, the least significant bits (Blum, Blum, Shub 1986)."""
    p, q, s, bits = base.words
    modulus, first, rest = p * q, *divmod(24 * base.at, bits)
    x = pow(s, pow(2, first, lcm(p - 1, q - 1)), modulus)  # the square before the first that is used
    squares = np.empty(-(-(rest + 24 * count) // bits), np.uint16)
    for i in range(len(squares)):
        x = x * x % modulus
        squares[i] = x & 0x7FFF
    stream = (squares[:, None] >> np.arange(bits, dtype=np.uint16) & 1).reshape(-1)[rest : rest + 24 * count]
    return stream.reshape(count, 24).astype(np.uint32) @ (1 << np.arange(24, dtype=np.uint32))


def _twisted(words: tuple[int, ...], steps: int) -> tuple[int, ...]:
    """The 624 words before a result ``steps`` later. NumPy makes words by blocks of 624: the wanted ones are the end
    of one block and the beginning of the next."""
    blocks, rest = divmod(steps, 624)
    made: Any = np.random.MT19937(0)
    made.state = {**made.state, "state": {"key": np.array(words, np.uint32), "pos": 624}}
    made.random_raw(blocks * 624, output=False)
    before = made.state["state"]["key"]
    made.random_raw(rest, output=False)
    after = made.state["state"]["key"]
    return tuple(map(int, (*before[rest:], *after[:rest]) if rest else before))


def _product(a: Any, b: Any, modulus: int) -> list[list[int]]:
    columns = list(zip(*b, strict=True))
    return [[sum(x * y for x, y in zip(row, column, strict=True)) % modulus for column in columns] for row in a]


def _power(matrix: Any, exponent: int, modulus: int, period: int) -> list[list[int]]:
    """The matrix to the power, which may be negative: it is taken modulo a multiple of the recurrence's period."""
    exponent %= period
    result = [[int(i == j) for j in range(len(matrix))] for i in range(len(matrix))]
    base = [list(row) for row in matrix]
    while exponent:
        if exponent & 1:
            result = _product(result, base, modulus)
        base, exponent = _product(base, base, modulus), exponent >> 1
    return result


def _period(what: Linear, c: int) -> int:
    """A number of steps after which the component is where it was (m**r - 1; 2**57 of NAG's divides 2**59)."""
    return what.moduli[c] if what.name == "nag" else what.moduli[c] ** what.order - 1


def _moved(what: Linear, words: tuple[int, ...], steps: int) -> tuple[int, ...]:
    found: list[int] = []
    for c, (matrix, modulus) in enumerate(zip(what.matrices, what.moduli, strict=True)):
        power = _power(matrix, steps, modulus, _period(what, c))
        part = words[c * what.order : (c + 1) * what.order]
        found += [sum(x * y for x, y in zip(row, part, strict=True)) % modulus for row in power]
    return tuple(found)


@cache
def jumps(name: str, leap: int) -> Array:
    """The matrices that `kernels.cl` takes: of RUN << bit results for 32 bits, then of one; components' by rows."""
    what = LINEAR[name]
    found: list[int] = []
    for steps in (*(leap * RUN << bit for bit in range(32)), leap):
        for c, (matrix, modulus) in enumerate(zip(what.matrices, what.moduli, strict=True)):
            power = _power(matrix, steps, modulus, _period(what, c))
            found += [word for row in power for word in row]
    return np.array(found, np.uint64)
