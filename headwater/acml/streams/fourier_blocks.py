"""Input: a length and a GPU's limits. Output: passes of large radices for its transforms, and their launches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np

from headwater.acml.streams.programs import floats, program
from headwater.runtime import Device, Stream, stream

_ELEMENTS = 2048
"""Numbers in local memory, if the radix is less."""
_HELD = 16
"""Numbers of an item, where stages of several radices share them."""
RUNS = (128, 64, 32)
"""Bytes of neighbours in memory that a pass of several reads at least; fewer bytes allow larger radices."""


@dataclass(frozen=True)
class Block:
    """A pass of a large ``radix`` over transforms of length ``n``, ``done`` being the product of the radices before:
    its ``stages``, and how many ``columns`` a group of ``items`` transforms. ``near``: elements of a sequence are
    neighbours in memory. ``split``: parts of complex numbers go through local memory one after the other."""

    n: int
    done: int
    radix: int
    stages: tuple[int, ...]
    columns: int
    items: int
    near: bool
    split: bool

    @property
    def held(self) -> int:
        """Numbers of an item."""
        return _held(self.radix * self.columns, self.stages, self.items)

    @property
    def fine(self) -> int:
        """Length of the table of small angles: a power of two near the square root of ``done * radix``."""
        return 1 << (self.done * self.radix).bit_length() // 2

    def befores(self) -> Iterator[tuple[int, int, int]]:
        """Each stage, the product of those before, and where its roots begin in the tables."""
        before = 1
        for radix in self.stages:
            yield radix, before, before - 1
            before *= radix

    @property
    def options(self) -> str:
        """What `fourier_blocks.cl` is compiled with."""
        whole = self.near and self.radix == self.n
        last = len(self.stages) - 1
        along = [int(whole)] * (last + 1)  # whether neighbouring items have neighbours of a column
        if last and self.near and self.done == 1:
            along[last] = 1  # results of a column are neighbours in memory
        text = f"LOAD({self.stages[0]},{along[0]})"
        for at, (radix, before, offset) in enumerate(self.befores()):
            text += f"TRANSFORM({radix},{before},{offset},{along[at]})"
            if at < last:
                text += f"EXCHANGE({radix},{before},{along[at]},{self.stages[at + 1]},{along[at + 1]})"
        text += f"STORE({self.stages[-1]},{along[-1]})"
        numbers = {
            "N": self.n, "DONE": self.done, "RADIX": self.radix, "COLUMNS": self.columns, "ITEMS": self.items,
            "HELD": self.held, "FINE": self.fine, "COARSE": self.radix - 1 + self.fine, "WHOLE": int(whole),
            "NEAR": int(self.near), "SPLIT": int(self.split),
        }  # fmt: skip
        return " ".join(f"-D {name}={value}" for name, value in numbers.items()) + f" '-DSTAGES={text}'"


def _held(elements: int, stages: tuple[int, ...], items: int) -> int:
    return max(-(-elements // radix // items) * radix for radix in stages)


def _places(radix: int, columns: int, whole: bool) -> int:
    """Numbers of `data` in `fourier_blocks.cl`."""
    return columns * (radix + radix // 16) if whole else radix * (columns + 1)


def factors(n: int) -> list[int] | None:
    """Prime factors, largest first; None if there are some above 13."""
    found = []
    for prime in (13, 11, 7, 5, 3, 2):
        while n % prime == 0:
            found.append(prime)
            n //= prime
    return found if n == 1 else None


def _stages(primes: list[int], most: int) -> tuple[int, ...]:
    """Radices of a pass' stages: as few as possible of up to 2 to the power of ``most``, about equal powers of two."""
    twos, found = primes.count(2), []
    for left in range(-(-twos // most), 0, -1):
        part = -(-twos // left)
        found.append(1 << part)
        twos -= part
    return (*found, *(prime for prime in primes if prime > 2))


def blocks(
    n: int, dtype: np.dtype[Any], local_bytes: int, items: int, near: bool, split: bool, run: int = RUNS[0]
) -> tuple[Block, ...] | None:
    """The passes of a length on a GPU whose groups have so much local memory and so many items; None if it has prime
    factors above 13, is 1, or does not fit. ``near``: see `Block`; ``split`` is of a pass that reads whole sequences
    of neighbours, others are split; ``run``: see `RUNS`."""
    primes = factors(n)
    if not primes:
        return None
    whole = near and _places(n, 1, True) * dtype.itemsize // (2 if split else 1) <= local_bytes
    split = split or not whole
    most, least = local_bytes // dtype.itemsize * (2 if split else 1), 1 if whole else max(run // dtype.itemsize, 1)
    parts = [primes]
    while not whole and max(_places(prod(part), least, False) for part in parts) > most:
        if len(parts) == len(primes):
            return None
        parts = [[] for _ in range(len(parts) + 1)]
        for prime in primes:
            min(parts, key=prod).append(prime)
    found, done = [], 1
    for part in sorted(parts, key=prod, reverse=True):
        radix = prod(part)
        stages = _stages(part, 2 if whole and radix <= 16 else 4)  # short sequences have several items for reading
        columns = max(1 << max(1, min(_ELEMENTS // radix, 64)).bit_length() - 1, least)
        while columns > least and _places(radix, columns, whole) > most:
            columns //= 2
        held = max(*stages, _HELD) if any(stage % 2 for stage in stages) else max(stages)
        counts = range(32, max(min(items, 1024), 32) + 1, 32)
        count = next((count for count in counts if _held(radix * columns, stages, count) <= held), counts[-1])
        found.append(Block(n, done, radix, stages, columns, min(count, items), near, split))
        done *= radix
    return tuple(found)


def _unit(exponents: np.ndarray[Any, Any], n: int) -> np.ndarray[Any, Any]:
    """exp(-2 pi i t / n), each correct to the last digit or so: angles are reduced to an eighth of a turn."""
    t = exponents % n
    quarter = np.minimum((4 * t + n // 2) // n, 4)
    angle = (2 * np.pi / n) * (t - quarter * n / 4)
    found: np.ndarray[Any, Any] = np.exp(-1j * angle) * np.array([1, -1j, -1, 1j, 1])[quarter]
    return found


def roots(n: int, dtype: np.dtype[Any], device: Device) -> Stream:
    """All roots of a length."""
    return stream(_unit(np.arange(n, dtype=np.int64), n).astype(dtype), device=device)


def _tables(block: Block) -> np.ndarray[Any, Any]:
    """What a pass multiplies with: roots of its stages in the order in which items read them, and those between passes
    of small and of large angles."""
    found = [np.zeros(0, complex)]
    for radix, before, _ in block.befores():
        found += [_unit(r * np.arange(before, dtype=np.int64), radix * before) for r in range(1, radix)]
    whole = block.done * block.radix
    fine = np.arange(block.fine, dtype=np.int64)
    found += [_unit(fine, whole), _unit(block.fine * np.arange(whole // block.fine + 1, dtype=np.int64), whole)]
    return np.concatenate(found)


Pass = tuple[Block, Any, Stream]
"""A pass with its kernel and its tables as floats."""


@cache
def _passes(steps: tuple[Block, ...], dtype: np.dtype[Any], device: Device) -> tuple[Pass, ...]:
    types = "-D T=float2 -D R=float" if dtype == np.complex64 else "-D T=double2 -D R=double"
    made = []
    for block in steps:
        kernel = program("fourier_blocks.cl", f"{types} {block.options}", device)["pass"]
        made.append((block, kernel, floats(stream(_tables(block).astype(dtype), device=device))))
    return tuple(made)


def transform(value: Stream, inner: int, direction: int, scale: float, steps: tuple[Block, ...]) -> Stream:
    """Transforms whose elements are ``inner`` apart; direction: 1 forward, -1 backward."""
    device, size, dtype, sequences = value.device, value.size, value.dtype, value.size // steps[0].n
    real = np.dtype(np.float32 if dtype == np.complex64 else np.float64)
    shape, nbytes = (2 * size,), value.nbytes
    source = Stream(device, shape, real, value.buffer)
    pair = [Stream(device, shape, real, device.allocate(nbytes)) for _ in steps[:2]]
    last = len(steps) - 1
    for at, (block, kernel, tables) in enumerate(_passes(steps, dtype, device)):
        out = pair[at % 2]
        count = -(-(block.n // block.radix) * sequences // block.columns)
        factor = scale if at == last else 1.0
        kernel[(count * block.items,), (block.items,)](source, out, tables, inner, sequences, direction, factor)
        source = out
    return Stream(device, value.shape, dtype, source.buffer)


def chosen(
    n: int, dtype: np.dtype[Any], limits: tuple[int, int], near: bool, split: bool, costs: Mapping[int, float]
) -> tuple[Block, ...] | None:
    """The passes of a length: one if possible (``split`` if that is faster, or needed), else those that take least if
    one of each run costs so much. ``limits``: bytes of local memory and items of a group."""
    for way in (split, True) if near else ():
        steps = blocks(n, dtype, *limits, near, way)
        if steps is not None and len(steps) == 1:
            return steps
    found = [(blocks(n, dtype, *limits, near, True, run), cost) for run, cost in costs.items()]
    able = [(len(steps) * cost, steps) for steps, cost in found if steps is not None]
    return min(able, key=lambda plan: plan[0])[1] if able else None
