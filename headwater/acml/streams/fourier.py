"""Input: streams. Output: their discrete Fourier transforms on the device, as `scipy.fft` defines and names them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import inf, prod, sqrt
from operator import index
from typing import Any

import numpy as np

from headwater.acml.costs import best, kept
from headwater.acml.streams import fourier_blocks
from headwater.acml.streams.fourier_blocks import RUNS, Block, blocks
from headwater.acml.streams.programs import empty, floats, groups, on_device, operand, program
from headwater.errors import HeadwaterError, UsageError
from headwater.runtime import Device, Stream, stream

_RADICES = (4, 2, 3, 5, 7, 11, 13)
"""Lengths that have other prime factors are transformed by a convolution (Bluestein)."""


@cache
def radices(n: int) -> tuple[int, ...] | None:
    """The radices of the passes of a length; None if it has other factors."""
    found = []
    for radix in _RADICES:
        while n % radix == 0:
            found.append(radix)
            n //= radix
    return tuple(found) if n == 1 else None


_roots = cache(fourier_blocks.roots)


@cache
def _chirp(n: int, dtype: np.dtype[Any], device: Device) -> tuple[int, Stream, Stream]:
    """Bluestein's: the length of the convolution, exp(-pi i t^2 / n), and the transform of its reciprocals."""
    m = 1 << (2 * n - 2).bit_length()
    t = np.arange(n, dtype=np.int64)
    w = np.exp(-1j * np.pi * (t * t % (2 * n)) / n)
    kernel = np.zeros(m, np.complex128)
    kernel[:n] = w.conj()
    kernel[m - n + 1 :] = w.conj()[1:][::-1]
    # the host's transform has the accuracy that the table needs
    return m, stream(w.astype(dtype), device=device), stream(np.fft.fft(kernel).astype(dtype), device=device)


def _options(dtype: np.dtype[Any]) -> str:
    return "-D T=float2 -D R=float" if dtype == np.complex64 else "-D T=double2 -D R=double"


def _launch(kernel: Any, items: tuple[int, int], *args: Any, device: Device) -> None:
    kernel[(groups(items[0], 64), items[1]), None](*args, device=device)


@cache
def passes(n: int, near: bool, dtype: np.dtype[Any], device: Device) -> tuple[Block, ...] | None:
    """The passes through local memory of a length on a real GPU; None for other devices. ``near``: see `Block`."""
    if device.kind != "opencl" or not device.is_gpu or n < 16:
        return None
    found = measured(device, dtype)
    if not found["pays"]:
        return None
    costs = {int(run): float(seconds) for run, seconds in found["costs"].items()}
    steps = fourier_blocks.chosen(n, dtype, _limits(device), near, bool(found["split"]), costs)
    return steps if steps is not None and is_right(device, dtype, (1, n), steps) else None


def _limits(device: Device) -> tuple[int, int]:
    return device.local_memory_bytes, device.max_group_size


@cache
def is_right(device: Device, dtype: np.dtype[Any], shape: tuple[int, int], steps: tuple[Block, ...]) -> bool:
    """Whether the driver's code for passes through local memory gives, for random sequences, what small ones give,
    forward and backward."""
    rng, inner = np.random.default_rng(0), 1 if steps[0].near else 2
    for direction in (1, -1):
        real, imaginary = rng.standard_normal((2, *shape, inner))
        try:
            on = stream((real + 1j * imaginary).astype(dtype), device=device)
            first, second = (by_passes(on, shape[1], inner, direction, 1.0, way).read() for way in (None, steps))
        except HeadwaterError:
            return False
        error = np.abs(first - second).max()
        if not error <= 100 * np.finfo(dtype).eps * np.abs(first).max():  # NaN is not right either
            return False
    return True


_MEASURED = ((256, 4096), (16, 1 << 18))
"""Sequences and lengths of the transforms that are measured: of one pass, and of two for each of `RUNS`."""


@cache
def measured(device: Device, dtype: np.dtype[Any]) -> dict[str, Any]:
    """What is known of a device's passes through local memory: whether one ``pays``, that is, is right and faster than
    those of small radices; whether it is to be ``split``; what a pass of several ``costs`` by its run, in seconds.
    Measured once and kept."""

    def found() -> dict[str, Any]:
        (count, n), large = _MEASURED
        while n >= 32 and len(blocks(n, dtype, *_limits(device), True, False) or ()) > 1:
            count, n = 2 * count, n // 2  # whole and split numbers are compared in one pass of each
        try:
            on = stream(np.ones((count, n), dtype), device=device)
            small = best(lambda: _timed(on, n, None), 3)
            seconds = {split: _seconds(on, n, split, RUNS[0])[0] for split in (False, True)}
            on = stream(np.ones(large, dtype), device=device)
            costs = {run: total / number for run in RUNS for total, number in [_seconds(on, large[1], True, run)]}
        except HeadwaterError:  # the device has not the memory
            return {"pays": False}
        return {"pays": min(seconds.values()) < small, "split": seconds[True] < seconds[False], "costs": costs}

    return kept(("passes 5", device.name, device.description, device.driver, dtype.name), found)


def _seconds(on: Stream, n: int, split: bool, run: int) -> tuple[float, int]:
    """What transforms by such passes take, infinite where they are wrong, and how many passes those are."""
    steps = blocks(n, on.dtype, *_limits(on.device), True, split, run)
    if steps is None or not is_right(on.device, on.dtype, (1, n), steps):
        return inf, 1
    return best(lambda: _timed(on, n, steps), 5), len(steps)


def _timed(value: Stream, n: int, way: tuple[Block, ...] | None) -> None:
    for _ in range(4):
        by_passes(value, n, 1, 1, 1.0, way)
    value.device.finish()


def _passes(value: Stream, n: int, inner: int, direction: int, scale: float) -> Stream:
    return by_passes(value, n, inner, direction, scale, passes(n, inner == 1, value.dtype, value.device))


def by_passes(
    value: Stream, n: int, inner: int, direction: int, scale: float, large: tuple[Block, ...] | None
) -> Stream:
    """Transforms of length n, elements ``inner`` apart, by passes through local memory or, without ``large``, small."""
    if large is not None:
        return fourier_blocks.transform(value, inner, direction, scale, large)
    device, table, done = value.device, _roots(n, value.dtype, value.device), 1
    sequences = value.size // n
    steps = radices(n)
    assert steps is not None
    pair = [empty(value, value.shape), empty(value, value.shape) if len(steps) > 1 else value]
    for at, radix in enumerate(steps):
        kernel = program("fourier.cl", f"{_options(value.dtype)} -D RADIX={radix}", device)["pass"]
        out, last = pair[at % 2], at == len(steps) - 1
        args = floats(value), floats(out), floats(table), n, inner, sequences, done, direction
        _launch(kernel, (n // radix, sequences), *args, scale if last else 1.0, device=device)
        value, done = out, done * radix
    return value


def _transform(value: Stream, axis: int, n: int, direction: int, scale: float) -> Stream:
    """One axis of a complex stream, cut or padded to n."""
    device, dtype = value.device, value.dtype
    inner = prod(value.shape[axis + 1 :])
    shape = (*value.shape[:axis], n, *value.shape[axis + 1 :])
    sequences = prod(shape) // n
    if not sequences:
        return empty(value, shape)
    if value.shape[axis] == n != 1 and radices(n) is not None:
        return _passes(value, n, inner, direction, scale)
    weigh = program("fourier.cl", _options(dtype), device).weigh
    one = _roots(1, dtype, device)
    if value.shape[axis] != n or n == 1:
        cut = empty(value, shape)
        sizes = (min(n, value.shape[axis]), value.shape[axis], n, inner, inner, sequences)
        factor = scale if n == 1 else 1.0
        _launch(weigh, (n, sequences), floats(value), floats(cut), floats(one), *sizes, 4, factor, device=device)
        value = cut
    if n == 1:
        return value
    if radices(n) is not None:
        return _passes(value, n, inner, direction, scale)
    m, chirp, kernel = _chirp(n, dtype, device)
    # backward transforms are conjugates of forward ones of conjugates
    options = 1 if direction < 0 else 0
    rows = empty(value, (sequences, m))
    _launch(
        weigh, (m, sequences), floats(value), floats(rows), floats(chirp),
        *(n, n, m, inner, 1, sequences, options | 2 * options, 1.0), device=device,
    )  # fmt: skip
    rows = _passes(rows, m, 1, 1, 1.0)
    made = empty(value, (sequences, m))
    sizes = (m, m, m, 1, 1, sequences)
    _launch(weigh, (m, sequences), floats(rows), floats(made), floats(kernel), *sizes, 0, 1.0, device=device)
    rows = _passes(made, m, 1, -1, 1.0 / m)
    cut = empty(value, (sequences, n))
    sizes = (n, m, n, 1, 1, sequences)
    _launch(weigh, (n, sequences), floats(rows), floats(cut), floats(chirp), *sizes, 2 * options, scale, device=device)
    if inner == 1:
        return Stream(device, shape, dtype, cut.buffer)
    moved = empty(value, shape)
    # rows to the axis' own place: sequence s of both
    sizes = (n, n, n, 1, inner, sequences)
    _launch(weigh, (n, sequences), floats(cut), floats(moved), floats(one), *sizes, 4, 1.0, device=device)
    return moved


def _scale(n: int, norm: str | None, forward: bool) -> float:
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f"Invalid norm value {norm!r}; should be 'backward', 'ortho' or 'forward'")
    if norm == "ortho":
        return 1.0 / sqrt(n)
    return 1.0 / n if (norm == "forward") == forward else 1.0


def is_long(dtype: np.dtype[Any]) -> bool:
    """Whether it is more precise than what kernels compute with."""
    return dtype.itemsize > {"f": 8, "c": 16}.get(dtype.kind, dtype.itemsize)


def _complex(value: Any, device: Device) -> Stream:
    value = operand(value)
    if is_long(value.dtype):
        raise UsageError(f"streams of {value.dtype} are not transformed", hint="read it: NumPy transforms the array")
    single = value.dtype.newbyteorder("=") in (np.float16, np.float32, np.complex64)  # ints are transformed as doubles
    return on_device(value, device, np.dtype(np.complex64 if single else np.complex128))


def _axes(value: Any, s: Sequence[int] | None, axes: Any, may_repeat: bool) -> list[tuple[int, int]]:
    """Each axis with its length after cutting or padding; ``may_repeat``: an axis may be there twice."""
    if axes is None:
        axes = range(value.ndim) if s is None else range(value.ndim - len(s), value.ndim)
    axes = [axes] if hasattr(axes, "__index__") else list(axes)
    lengths = [None] * len(axes) if s is None else list(s)
    if len(lengths) != len(axes):
        raise ValueError("when given, axes and shape arguments have to be of the same length")
    found = []
    for axis, length in zip(axes, lengths, strict=True):
        if not -value.ndim <= axis < value.ndim:
            raise ValueError("axes exceeds dimensionality of input")
        axis %= value.ndim
        n = value.shape[axis] if length is None or length == -1 else index(length)
        if n < 1:
            raise ValueError(f"invalid number of data points ({n}) specified")
        found.append((axis, n))
    if not may_repeat and len({axis for axis, _ in found}) != len(found):
        raise ValueError("all axes must be unique")
    return found


def complex_transform(
    value: Any, device: Device, s: Any, axes: Any, norm: str | None, forward: bool, may_repeat: bool
) -> Stream:
    """fftn and ifftn, and with one axis fft and ifft."""
    found = _complex(value, device)
    wanted = _axes(found, s, axes, may_repeat)
    for axis, n in reversed(wanted):
        found = _transform(found, axis, n, 1 if forward else -1, _scale(n, norm, forward))
    return found.copy() if not wanted else found


def real_transform(
    value: Any, device: Device, s: Any, axes: Any, norm: str | None, forward: bool, may_repeat: bool
) -> Stream:
    """rfftn (or, backward, ihfft's kind): the last axis is kept to its first half."""
    if operand(value).dtype.kind == "c":
        raise TypeError("x must be a real sequence")
    found = _complex(value, device)
    wanted = _axes(found, s, axes, may_repeat)
    if not wanted:
        raise ValueError("at least 1 axis must be transformed")
    axis, n = wanted[-1]
    direction = 1 if forward else -1
    found = _transform(found, axis, n, direction, _scale(n, norm, forward))
    found = _kept(found, axis, n // 2 + 1)
    for axis, n in reversed(wanted[:-1]):
        found = _transform(found, axis, n, direction, _scale(n, norm, forward))
    return found


def _kept(value: Stream, axis: int, length: int) -> Stream:
    """The first elements of an axis."""
    inner = prod(value.shape[axis + 1 :])
    shape = (*value.shape[:axis], length, *value.shape[axis + 1 :])
    made, sequences = empty(value, shape), prod(shape) // length
    weigh = program("fourier.cl", _options(value.dtype), value.device).weigh
    one = _roots(1, value.dtype, value.device)
    if sequences:
        sizes = (length, value.shape[axis], length, inner, inner, sequences)
        _launch(
            weigh, (length, sequences), floats(value), floats(made), floats(one), *sizes, 4, 1.0, device=value.device
        )
    return made


def real_result(
    value: Any, device: Device, s: Any, axes: Any, norm: str | None, forward: bool, may_repeat: bool
) -> Stream:
    """irfftn (or, forward, hfft's kind): of a first half, real numbers."""
    found = _complex(value, device)
    if s is None and axes is None:
        axes = range(found.ndim)
    wanted = _axes(found, s, axes, may_repeat)
    if not wanted:
        raise ValueError("at least 1 axis must be transformed")
    axis, n = wanted[-1]
    if s is None or s[-1] is None:
        n = 2 * (found.shape[axis] - 1)
    if n < 1:
        raise ValueError(f"Invalid number of data points ({n}) specified.")
    direction = 1 if forward else -1
    for other, length in wanted[:-1]:
        found = _transform(found, other, length, direction, _scale(length, norm, forward))
    inner = prod(found.shape[axis + 1 :])
    shape = (*found.shape[:axis], n, *found.shape[axis + 1 :])
    sequences = prod(shape) // n
    whole = empty(found, shape)
    kernels = program("fourier.cl", _options(found.dtype), device)
    if sequences:
        sizes = (found.shape[axis], n, inner, sequences)
        _launch(kernels.mirror, (n, sequences), floats(found), floats(whole), *sizes, device=device)
    whole = _transform(whole, axis, n, direction, _scale(n, norm, forward))
    real = empty(found, shape, np.float32 if found.dtype == np.complex64 else np.float64)
    if whole.size:
        kernels.real_parts[groups(whole.size, 64), None](floats(whole), real, whole.size, device=device)
    return real


def call(
    name: str,
    value: Any,
    device: Device,
    n: Any = None,
    axis: Any = None,
    norm: str | None = None,
    may_repeat: bool = False,
) -> Stream:
    """The transform that `scipy.fft` calls ``name``; ``n`` and ``axis`` are s and axes for more dimensions.

    ``may_repeat``: an axis may be there twice, which NumPy allows and SciPy does not.
    """
    if name not in NAMES:
        raise UsageError(f"no transform {name!r}")
    many = name.endswith(("2", "n"))
    if many:
        s, axes = n, (-2, -1) if axis is None and name.endswith("2") else axis
    else:
        if n is not None and index(n) < 1:  # -1 leaves a length as it is in s only
            raise ValueError(f"invalid number of data points ({n}) specified")
        s, axes = None if n is None else [n], [-1 if axis is None else axis]
    forward = not name.startswith("i")
    base = name.removeprefix("i")
    if base.startswith("rfft"):
        return (real_transform if forward else real_result)(value, device, s, axes, norm, forward, may_repeat)
    if base.startswith("hfft"):
        return (real_result if forward else real_transform)(value, device, s, axes, norm, forward, may_repeat)
    return complex_transform(value, device, s, axes, norm, forward, may_repeat)


NAMES = tuple(f"{inverse}{kind}fft{end}" for kind in ("", "r", "h") for end in ("", "2", "n") for inverse in ("", "i"))
"""The transforms that `call` knows."""
