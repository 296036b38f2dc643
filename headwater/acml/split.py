"""Input: a product of arrays. Output: the result, computed by the processor, a device, or both, whatever is predicted
to be fastest here.

Costs of each way are measured once a machine (`headwater.acml.costs`). If several ways share a product, tiles of rows
come from one queue; how many rows a way takes next follows from how fast its last tile was. Simulated chips take part
only where they are named.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib import import_module
from math import inf, sqrt
from typing import Any

import numpy as np

from headwater.acml.costs import Costs, best, kept, of, work_of
from headwater.acml.native import extension
from headwater.acml.quick import product, slot
from headwater.errors import HeadwaterError, ResourceError, UsageError
from headwater.runtime import Device, stream
from headwater.runtime.interface import resolve

Array = np.ndarray[Any, np.dtype[Any]]
_GRANULE = 16
"""Rows of a tile, at least, and of which it has a multiple."""


class Way:
    """One way to compute a product: ``name``; ``version`` of what computes; ``moves``: arrays are copied to it;
    ``threads``: it computes on this machine's processor."""

    name = "processor"
    moves = False
    threads = True

    def __init__(self) -> None:
        self.costs: dict[np.dtype[Any], Costs] = {}

    @property
    def version(self) -> str:
        """Of the library that computes, so that costs are measured again with another one."""
        return np.__version__

    def keep(self, b: Array) -> Any:
        """The second factor, where the way needs it."""
        return b

    def product(self, a: Array, kept: Any, out: Array | None = None) -> Array:
        """The product as an array."""
        return np.matmul(a, kept, out=out)

    def transform(self, name: str, x: Array, *args: Any, **options: Any) -> Array:
        """The Fourier transform of that name in `scipy.fft`, as an array."""
        found: Array = getattr(import_module("scipy.fft"), name)(x, *args, **options)
        return found

    def there_and_back(self, a: Array) -> None:
        """Copy an array to the way's memory and back."""


class DeviceWay(Way):
    """By our kernels on a device."""

    moves = True

    def __init__(self, device: Device) -> None:
        super().__init__()
        self.device = device
        self.name = device.name
        self.threads = not device.is_gpu

    @property
    def version(self) -> str:
        return str(self.device.driver)

    def keep(self, b: Array) -> Any:
        return stream(np.ascontiguousarray(b), device=self.device)

    def product(self, a: Array, kept: Any, out: Array | None = None) -> Array:
        from headwater.acml.streams.products import matmul

        found: Array = matmul(stream(np.ascontiguousarray(a), device=self.device), kept).read(out)
        return found

    def transform(self, name: str, x: Array, *args: Any, **options: Any) -> Array:
        from headwater.acml.streams.dispatch import solver

        options.pop("overwrite_x", None)  # the array is copied to the device anyway
        found: Array = solver(name)(stream(np.ascontiguousarray(x), device=self.device), *args, **options).read()
        return found

    def there_and_back(self, a: Array) -> None:
        stream(a, device=self.device).read()


class CupyWay(Way):
    """By cuBLAS on an NVIDIA GPU, through CuPy."""

    moves = True
    threads = False
    name = "cupy"

    def __init__(self) -> None:
        super().__init__()
        self.library: Any = import_module("cupy")
        if not self.library.cuda.runtime.getDeviceCount():
            raise UsageError("CuPy finds no GPU")

    @property
    def version(self) -> str:
        return str(self.library.__version__)

    def keep(self, b: Array) -> Any:
        return self.library.asarray(b)

    def product(self, a: Array, kept: Any, out: Array | None = None) -> Array:
        found: Array = self.library.asnumpy(self.library.matmul(self.library.asarray(a), kept), out=out)
        return found

    def transform(self, name: str, x: Array, *args: Any, **options: Any) -> Array:
        made = getattr(import_module("cupyx.scipy.fft"), name)(self.library.asarray(x), *args, **options)
        found: Array = self.library.asnumpy(made)
        return found

    def there_and_back(self, a: Array) -> None:
        self.library.asnumpy(self.library.asarray(a))


@cache
def _processor() -> Way:
    return Way()


@cache
def _way(name: str) -> Way:
    if name in ("processor", "host"):
        return _processor()
    return CupyWay() if name == "cupy" else DeviceWay(resolve(name))


def _named(devices: Sequence[str]) -> tuple[Way, ...]:
    """The ways of those names, each once."""
    if isinstance(devices, str) or not devices:
        raise UsageError(f"devices is a list of names, not {devices!r}", hint='devices=["processor", "gpu"]')
    return tuple(dict.fromkeys(_way(name) for name in devices))


@cache
def present() -> tuple[Way, ...]:
    """The processor, and this machine's GPUs: by CuPy where it is installed, else by OpenCL. No simulated chip."""
    ways: list[Way] = [_processor()]
    try:
        return (*ways, _way("cupy"))
    except Exception:  # CuPy is not installed, or its driver is not: it raises errors of its own
        pass
    try:
        device = resolve("gpu")
    except HeadwaterError:
        return tuple(ways)
    return (*ways, _way("gpu")) if device.is_gpu else tuple(ways)


SURELY = 0.85
"""Ways share a product where that is predicted to take at most so much of the fastest one's time: they also share the
machine's memory, which the predictions do not know."""


@cache
def sharing(ways: tuple[Way, ...]) -> float:
    """Seconds that sharing costs beside the work: threads, and the limit on BLAS'; measured once and kept."""

    def measured() -> dict[str, Any]:
        a = np.ones((2 * _GRANULE * len(ways), 1), np.float32)
        made = Plan(dict.fromkeys((way.name for way in ways), 1.0), None, ways, {})
        return {"seconds": best(lambda: split_product(a, np.ones((1, 1), np.float32), made))}

    seconds: float = kept(("sharing", *(f"{way.name} {way.version}" for way in ways)), measured)["seconds"]
    return seconds


def able(dtype: np.dtype[Any]) -> tuple[Way, ...]:
    """Those of the present ways that can compute with the type: a GPU may have no doubles, or lack a library."""
    processor, *others = present()
    found = [processor]
    for way in others:
        try:
            of(way, dtype)
        except Exception:  # ours, or CuPy's own
            continue
        found.append(way)
    return tuple(found)


@cache
def small(kind: str) -> float:
    """Products of fewer elementary ones (m n k) are the processor's: it is done before another way has begun."""
    dtype = np.dtype(kind)
    processor, *others = (of(way, dtype) for way in able(dtype))
    if not others:
        return inf
    least = 0.9 * min(cost.start for cost in others)
    count = 1.0
    while count < 1e12 and processor.seconds(work_of(1, 1, 2 * int(count), dtype), 0) < least:
        count *= 2
    return count


@dataclass
class Plan:
    """The predictions for one product: seconds of each way alone, of all together, and the ways that are chosen."""

    alone: dict[str, float]
    combined: float | None
    chosen: tuple[Way, ...]
    costs: dict[str, Costs]
    measured: dict[str, float] = field(default_factory=dict)
    shares: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{'way':24}{'predicted':>12}{'measured':>12}"]
        rows = {**self.alone, **({"together": self.combined} if self.combined is not None else {})}
        for name, seconds in rows.items():
            found = self.measured.get(name)
            lines.append(f"{name:24}{_time(seconds):>12}{_time(found) if found is not None else '–':>12}")
        lines.append(f"chosen: {' and '.join(way.name for way in self.chosen)}")
        if self.shares:
            lines.append("rows together: " + ", ".join(f"{name} {rows}" for name, rows in self.shares.items()))
        return "\n".join(lines)


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    scale, unit = (1, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "µs")
    return f"{seconds * scale:.3g} {unit}"


def plan(
    m: int, n: int, k: int, dtype: np.dtype[Any], ways: Sequence[Way], seen: Mapping[str, float] | None = None
) -> Plan:
    """What each way is predicted to take, and which is to be taken. ``seen``: name of a way -> by what factor its
    prediction has to be corrected."""
    work, size = work_of(m, n, k, dtype), dtype.itemsize
    nbytes = size * (m * k + k * n + m * n)
    costs = {way.name: of(way, dtype) for way in ways}
    factors = seen or {}
    alone = {name: cost.seconds(work, nbytes) * factors.get(name, 1.0) for name, cost in costs.items()}
    fastest = min(ways, key=lambda way: alone[way.name])
    combined = None
    if len(ways) > 1 and m >= 2 * _GRANULE * len(ways):
        # each way's fixed part, then its tiles: all end at about the same time, but for a part of the last tiles
        fixed = max(
            cost.start + (size * k * n / cost.bytes_per_second if cost.bytes_per_second else 0)
            for cost in costs.values()
        )
        combined = sharing(tuple(ways)) + fixed + 1 / sum(1 / seconds for seconds in alone.values())
    pays = combined is not None and combined < SURELY * alone[fastest.name]
    chosen = tuple(ways) if pays else (fastest,)
    return Plan(alone, combined, chosen, costs)


CONTEST = 3.0
"""The first products of a size try each way that is predicted to take at most so many times the fastest one's time."""
TRIES = 2
"""How often each of them is tried; the best time counts."""
_seen: dict[tuple[int, int, int, str], dict[str, float]] = {}
"""Sizes by powers of two, and type -> name of a way -> measured by predicted time."""


class Choice:
    """How products of one size are computed: at first by each way that may be the fastest, in turn, then by that which
    was. What was measured corrects the predictions for sizes near this one."""

    def __init__(self, m: int, n: int, k: int, kind: str) -> None:
        ways = able(np.dtype(kind))
        self.size = m, n, k, "fdFD".index(kind)
        self.factors = _seen.setdefault((m.bit_length(), n.bit_length(), k.bit_length(), kind), {})
        self.made = made = plan(m, n, k, np.dtype(kind), ways, self.factors)
        times: dict[tuple[Way, ...], float] = {(way,): made.alone[way.name] for way in ways}
        if made.combined is not None and (made.chosen == ways or made.combined < min(times.values())):
            times[ways] = made.combined
        least = CONTEST * min(times.values())
        contest = sorted((names for names in times if times[names] <= least), key=lambda names: times[names])
        self.chosen = contest[0]
        self.left = contest * TRIES
        self.settled = len(contest) == 1
        if self.settled:
            self._remember()
        self.best: dict[tuple[Way, ...], float] = {}

    def __call__(self, a: Array, b: Array) -> Array:
        """The product of two matrices of this size."""
        if self.settled:
            return self._product(self.chosen, a, b)
        try:
            ways = self.left.pop(0)
        except IndexError:  # also where another thread has taken the last one
            ways = self.chosen
        begin = time.perf_counter()
        found = self._product(ways, a, b)
        self.best[ways] = min(time.perf_counter() - begin, self.best.get(ways, inf))
        if not self.left and not self.settled:
            self.settled = True
            self.chosen = min(self.best, key=lambda ways: self.best[ways])
            for (way,), seconds in ((names, value) for names, value in self.best.items() if len(names) == 1):
                before = self.factors.get(way.name, 1.0)
                self.factors[way.name] = before * sqrt(seconds / self.made.alone[way.name])
            self._remember()
        return found

    def _remember(self) -> None:
        """Where the processor is the way, later products of this size do not come here: `call.c` calls NumPy."""
        if self.chosen == (_processor(),):
            _settled[slot(*self.size)] = self.size

    def _product(self, ways: tuple[Way, ...], a: Array, b: Array) -> Array:
        try:
            if len(ways) > 1:
                return split_product(a, b, replace(self.made, chosen=ways))
            return ways[0].product(a, ways[0].keep(b))
        except (MemoryError, ResourceError):  # CuPy's for a GPU's memory, and ours; the processor has its own
            self.settled, self.chosen = True, present()[:1]
            self._remember()
            return _processor().product(a, b)


decided = lru_cache(maxsize=4096)(Choice)
"""The choice for a size (m, n, k and the type's letter), the same one each time."""


def matmul(a: Any, b: Any, *, devices: Sequence[str] | None = None) -> Any:
    """``a @ b`` for arrays, by the fastest way here: the processor, a GPU, or both.

    ``devices``: the ways to choose from, instead of those that the machine has: "processor", "cupy", or names of
    devices, simulated ones too. Products of other shapes than two matrices are `numpy.matmul`'s.
    """
    if devices is None:
        ways = present()
        _limits[2] = len(ways) == 1
        if len(ways) == 1 or type(a) is not np.ndarray or type(b) is not np.ndarray or a.ndim != 2 or b.ndim != 2:
            return np.matmul(a, b)
        kind = a.dtype.char
        if kind in "fdFD":
            _limits[7 + "fdFD".index(kind)] = min(small(kind), 2**62)
        if kind not in "fdFD" or a.size * b.shape[1] < small(kind) or not _is_plain(a, b):
            return np.matmul(a, b)
        return decided(a.shape[0], b.shape[1], a.shape[1], kind)(a, b)
    ways = _named(devices)
    if not _is_plain(a, b):
        return np.matmul(a, b)
    made = plan(a.shape[0], b.shape[1], a.shape[1], a.dtype, ways)
    if len(made.chosen) == 1:
        return made.chosen[0].product(a, made.chosen[0].keep(b))
    return split_product(a, b, made)


def _is_plain(a: Any, b: Any) -> bool:
    return (
        isinstance(a, np.ndarray)
        and isinstance(b, np.ndarray)
        and a.ndim == b.ndim == 2
        and a.dtype == b.dtype
        and a.dtype.char in "fdFD"
        and a.shape[1] == b.shape[0]
        and a.size > 0
        and b.size > 0
    )


@contextmanager
def _threads(others: int) -> Iterator[None]:
    """BLAS' threads leave a processor for each other way that computes here."""
    limit = import_module("threadpoolctl").threadpool_limits
    with limit(limits=max(1, (os.cpu_count() or 1) - others), user_api="blas"):
        yield


def split_product(a: Array, b: Array, made: Plan) -> Array:
    """The product by all chosen ways at once; ``made.shares`` says afterwards who computed how many rows."""
    extension()
    m = a.shape[0]
    out = np.empty((m, b.shape[1]), a.dtype)
    lock = threading.Lock()
    errors: list[BaseException] = []
    at = 0
    # rows a second, at first as predicted
    speed = {way.name: m / made.alone[way.name] for way in made.chosen}
    made.shares = dict.fromkeys(speed, 0)

    def take(name: str) -> slice | None:
        nonlocal at
        with lock:
            rest = m - at
            if not rest or errors:
                return None
            part = rest * speed[name] / sum(speed.values()) / 2
            rows = min(rest, max(_GRANULE, int(part) // _GRANULE * _GRANULE))
            at += rows
            made.shares[name] += rows
            return slice(at - rows, at)

    def work(way: Way) -> None:
        try:
            kept = way.keep(b)
            while (rows := take(way.name)) is not None:
                begin = time.perf_counter()
                way.product(a[rows], kept, out[rows])
                speed[way.name] = (rows.stop - rows.start) / max(time.perf_counter() - begin, 1e-9)
        except BaseException as error:
            errors.append(error)

    first, *others = made.chosen
    with _threads(sum(way.threads for way in others)):
        threads = [threading.Thread(target=work, args=(way,), daemon=True) for way in others]
        for thread in threads:
            thread.start()
        work(first)
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
    return out


def explain(function: Any, a: Any, b: Any = None, *, devices: Sequence[str] | None = None) -> Plan:
    """What a product costs by each way: ``print(acml.explain(acml.matmul, a, b))``.

    Each way, and all together, is run and timed beside its prediction. UsageError for anything but a product of two
    matrices of one type: of transforms nothing is predicted.
    """
    if getattr(function, "__name__", "") not in ("matmul", "dot") or not _is_plain(a, b):
        raise UsageError("explain takes matmul or dot and two matrices of one type: acml.explain(acml.matmul, a, b)")
    ways = able(a.dtype) if devices is None else _named(devices)
    made = plan(a.shape[0], b.shape[1], a.shape[1], a.dtype, ways)
    for way in ways:
        made.measured[way.name] = best(lambda way=way: way.product(a, way.keep(b)), 3)  # type: ignore[misc]
    if made.combined is not None:
        every = Plan(made.alone, made.combined, tuple(ways), made.costs)
        made.measured["together"] = best(lambda: split_product(a, b, every), 3)
        made.shares = every.shares
    return made


def function(name: str) -> Any:
    """The function of `headwater.acml` of that name: matmul or explain."""
    return {"matmul": _quick, "explain": explain}[name]


_quick, _limits, _settled = product(matmul)
