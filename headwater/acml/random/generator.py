"""Input: a generator, a size and a distribution. Output: an array, or a stream on a device; kernels make the
numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from headwater.acml.random.distributions import INT_MAX, illegal, table
from headwater.acml.random.generators import LINEAR, RUN, SHUB, Base, counted, jumps, seeded, shub_words
from headwater.errors import UsageError
from headwater.runtime import Device, Stream, compile, stream
from headwater.runtime.interface import resolve

Array = np.ndarray[Any, np.dtype[Any]]
_KERNELS = Path(__file__).with_name("kernels.cl")
_MOST = 1 << 30
"""Results of one launch, whose indices have 32 bits."""


class Generator:
    """A sequence of random numbers: ``Generator("philox", 7).gaussian(1000, 0.0, 1.0)``.

    ``name``: philox, mt19937, mrg32k3a, ecuyer, wichmann_hill, wichmann_hill_2006, nag or blum_blum_shub. ``seed``: a
    number, or the words of a state (see `headwater.acml.random.generators.seeded`). ``dtype``: float64, or float32,
    whose sequences are others. ``device``: where numbers are made and stay, as streams; None: they are arrays, made on
    the cpu device.

    Distributions are methods with ACML's names and arguments; the first argument is a size or a shape. UsageError for
    arguments that a distribution does not allow.
    """

    def __init__(
        self, name: str = "philox", seed: int | Sequence[int] = 0, *, dtype: Any = np.float64, device: Any = None
    ) -> None:
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        if self.dtype not in (np.float64, np.float32):
            raise UsageError(f"random numbers are float64 or float32, not {self.dtype}")
        self.base = seeded(name, seed, single=self.dtype == np.float32)
        self.device: Device | None = resolve(device) if device is not None else None

    def skip(self, count: int) -> Generator:
        """This generator ``count`` numbers later; it stays as it is itself. That takes no time, but
        for mt19937, which computes what it skips."""
        steps = counted(count, "a count of numbers to skip")
        if steps < 0:
            raise UsageError("a generator skips forward only")
        return self._with(self.base.after(steps))

    def leapfrog(self, k: int, number: int) -> Generator:
        """A generator of this one's numbers k, k + number, k + 2 number …, k from 0."""
        k, number = counted(k, "k"), counted(number, "number")
        if not 0 <= k < number:
            raise UsageError(f"the streams of {number} are 0 to {number - 1}, not {k}")
        return self._with(self.base.frog(k, number))

    def _with(self, base: Base) -> Generator:
        made = object.__new__(Generator)
        made.dtype, made.device, made.base = self.dtype, self.device, base
        return made

    def random(self, size: int | Sequence[int]) -> Any:
        """Uniform numbers of [0, 1): NumPy's own doubles for philox and mt19937."""
        return self.draw("uniform", size, 0.0, 1.0)

    def draw(self, distribution: str, size: int | Sequence[int], *args: Any) -> Any:
        """Numbers of a distribution of `headwater.acml.random.distributions.table`, as an array or a stream."""
        row = table().get(distribution)
        if row is None:
            raise UsageError(f"no distribution {distribution!r:.60}", hint=f"there are {', '.join(table())}")
        if len(args) != len(row.arguments):
            raise UsageError(f"{distribution} takes {', '.join(('size', *row.arguments))}")
        at = illegal(row, args)
        if at is not None:
            raise UsageError(f"{distribution}: {row.arguments[at]} is {args[at]!r:.60}, which is not allowed")
        if distribution == "discreteuniform" and self.dtype == np.float32 and args[1] - args[0] >= 2**24:
            raise UsageError(
                f"discreteuniform: {args[1] - args[0] + 1} values, and float32 numbers have 24 bits",
                hint="make the generator with dtype=np.float64",
            )
        extents: Any = size if isinstance(size, (Sequence, np.ndarray)) else (size,)
        shape = tuple(counted(extent, "a size") for extent in extents)
        if min(shape, default=0) < 0:
            raise UsageError(f"a size is at least 0, not {size!r:.60}")
        device = self.device if self.device is not None else resolve("cpu")
        count = prod(shape)
        found: Any = (
            stream(shape=shape, dtype=self.dtype, device=device) if self.device else np.empty(shape, self.dtype)
        )
        flat = found if self.device else found.reshape(-1)
        if count:
            after = fill(self.base, flat, count, device)
            if distribution != "uniform" or args != (0.0, 1.0):
                found = self._transform(row, args, found, device)
            self.base = after  # not if the distribution refused
        elif row.discrete:
            found = _whole(found, 0)
        return found

    def _transform(self, row: Any, args: tuple[Any, ...], found: Any, device: Device) -> Any:
        count = prod(found.shape)
        if row.kernel:
            program = _program(f"-D DISTRIBUTIONS -D {row.kernel}", self.dtype == np.float64, device)
            numbers = [float(value) for value in (*row.numbers(*args), 0.0, 0.0)][:3]
            flat = found if isinstance(found, Stream) else found.reshape(-1)
            program.distribute[_groups(count), None](flat, *numbers, count, device=device)
            return _whole(found, row.first(*args)) if row.discrete else found
        u = np.asarray(found, np.float64).reshape(-1)
        least = 2.0**-55 if self.dtype == np.float64 else 2.0**-26
        values = row.inverse(np.maximum(u, least), *args).reshape(found.shape)
        if row.discrete:
            return _whole(stream(values, device=device) if self.device else values, row.first(*args))
        values = values.astype(self.dtype)
        return stream(values, device=device) if self.device else values


def _whole(found: Any, first: int) -> Any:
    """Results, to which ``first`` is added, as ints of 32 bits. UsageError where one does not fit."""
    values = np.asarray(found, np.float64) + first
    if values.size and not (values.min() >= -INT_MAX - 1 and values.max() <= INT_MAX):
        raise UsageError("there are results that do not fit into 32 bits", hint="scale the arguments down")
    values = values.astype(np.int32)
    return stream(values, device=found.device) if isinstance(found, Stream) else values


def _method(name: str) -> Any:
    arguments = table()[name].arguments

    def method(self: Generator, size: int | Sequence[int], *args: Any) -> Any:
        return self.draw(name, size, *args)

    method.__name__ = name
    method.__qualname__ = f"Generator.{name}"
    method.__doc__ = f"``{name}({', '.join(('size', *arguments))})``: numbers of ACML's distribution of that name."
    return method


for _name in table():
    setattr(Generator, _name, _method(_name))


def _groups(count: int) -> int:
    """Work-items for so many results, in whole groups of 64."""
    return -(-count // 64) * 64


@cache
def _program(defines: str, double: bool, device: Device) -> Any:
    return compile(_KERNELS, options=f"{defines}{' -D IN_DOUBLE' if double else ''}", device=device)


def fill(base: Base, out: Any, count: int, device: Device) -> Base:
    """Write ``count`` uniform numbers to a flat array or a stream of float32 or float64; the state after them."""
    if count > _MOST:
        raise UsageError(f"{count} numbers at once", hint=f"make at most {_MOST} with one call")
    double = not base.single
    if base.name == "philox":
        program = _program("-D PHILOX", double, device)
        block = 4 if double else 8
        counter = sum(word << 64 * i for i, word in enumerate(base.words[:4])) + base.at // block
        words = [counter >> 64 * i & (2**64 - 1) for i in range(4)]
        state, at = np.array([*words, *base.words[4:]], np.uint64), base.at % block
        items = -(-(at + count) // block) if base.leap == 1 else count
        program.generate[_groups(items), None](_on(state, out), out, at, base.leap, count, device=device)
        return base.after(count)
    if base.name == "mt19937":
        return _mersenne(base, out, count, device)
    if base.name == SHUB:
        return _shub(base, out, count, device)
    what = LINEAR[base.name]
    moduli = ",".join(f"{modulus}UL" for modulus in what.moduli)
    options = f"-D LINEAR {what.define} -D COMPONENTS={len(what.moduli)} -D ORDER={what.order} -D RUN={RUN}"
    program = _program(f"{options} -D MODULI={moduli}", double, device)
    state, matrices = np.array(base.words, np.uint64), jumps(base.name, base.leap)
    items = -(-count // RUN)
    program.generate[_groups(items), None](_on(state, out), _on(matrices, out), out, count, device=device)
    return base.after(count)


def _on(array: Array, out: Any) -> Any:
    """An array where the results are."""
    return stream(array, device=out.device) if isinstance(out, Stream) else array


def _shub(base: Base, out: Any, count: int, device: Device) -> Base:
    """On the processor: each square follows from the one before, and has up to 1,200 bits."""
    each = 1 if base.single else 2
    step = each * base.leap
    if (count - 1) * step + each > _MOST // 16:
        raise UsageError(f"{SHUB} makes {24 * count * step} bits for {count} numbers", hint="make fewer at once")
    words = shub_words(base, (count - 1) * step + each)
    values = words[::step] * 2.0**-24
    if not base.single:
        values += words[1::step] * 2.0**-48
    if isinstance(out, Stream):
        device.write(out.buffer, values.astype(out.dtype))
    else:
        out[:] = values
    return base.after(count)


def _mersenne(base: Base, out: Any, count: int, device: Device) -> Base:
    double = not base.single
    alone = not device.has_local_memory  # nor barriers, on chips of that kind
    program = _program(f"-D MERSENNE{' -D NO_BARRIERS' if alone else ''}", double, device)
    steps = count * base.leap * (2 if double else 1)
    if steps > _MOST:
        raise UsageError(f"mt19937 makes {steps} words for {count} numbers", hint="make fewer at once")
    words = np.zeros(steps + 624, np.uint32)
    words[:624] = base.words
    raw = _on(words, out)
    items = 64 if alone else 256
    program.recur[(items,), (items,)](raw, steps, device=device)
    program.generate[_groups(count), None](raw, out, base.leap, count, device=device)
    last = np.empty(624, np.uint32)
    if isinstance(raw, Stream):
        device.download(raw.buffer, last, steps * 4)
    else:
        last[:] = words[steps:]
    return Base(base.name, tuple(map(int, last)), base.single, base.at, base.leap)
