"""Input: a kernel, its arguments and devices. Output: the results of one launch that all of the devices share.

The domain is cut along its slowest dimension. Each device takes one piece after the other; how large its next one is
follows from how fast its last one was, so that all end at about the same time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headwater.errors import UsageError
from headwater.jobs.distributed import DistributedArray, on_each
from headwater.runtime import stream
from headwater.runtime.interface import resolve

if TYPE_CHECKING:
    from headwater.runtime import Device

GRANULE: Final = 64
"""Rows of a piece are a multiple of this, where there are so many."""
_FIRST: Final = 32
"""The first pieces together are one of so many parts of the domain: they are what speed is first measured on."""
_LEAST: Final = 256
"""No later piece is smaller than one of so many parts."""

Piece = tuple[int, int]


def map(
    kernel: Any,
    *args: Any,
    devices: Sequence[Device | str] | None = None,
    size: int | Sequence[int] | None = None,
    local: Sequence[int] | None = None,
    split: Sequence[str] = (),
    shares: dict[str, int] | None = None,
    out: Any = None,
) -> Any:
    """Run a kernel on several devices at once, each on a part of the domain.

    A Brook+ kernel's streams are cut along their first axis; its results are returned as by a call, those of ``reduce``
    kernels from the results of the pieces, in their order. Gather arrays go to each device whole.

    For an OpenCL C kernel ``size`` is the global size (x first), whose last dimension is cut, and ``local`` the
    group's. Arrays of the parameters that ``split`` names are cut along their first axis in proportion; others go
    whole, and must not be written. Within a piece ``get_global_id`` counts from 0. An argument may be a function of
    where a piece begins and ends in the cut dimension, such as ``lambda begin, end: end - begin`` for a count. Arrays
    are written in place.

    Arguments that are `headwater.spread` over devices stay there: each device runs the kernel once on its own parts,
    ``devices`` is not given, and a Brook+ kernel's results are parts, too, or written to those of ``out``. They are
    ready when `DistributedArray.wait` returns or they are read.

    ``shares``, if given, is filled: device's name -> rows that it computed. UsageError for what cannot be cut.
    """
    if any(isinstance(value, DistributedArray) for value in args):
        return _in_parts(kernel, args, devices, size, local, shares, out)
    if devices is None:
        raise UsageError("map wants devices, or arguments that are spread over them", hint='devices=["cpu", "gpu"]')
    if out is not None:
        raise UsageError("out= is for arguments that are spread over devices", hint="hw.spread(array, devices)")
    chosen = [resolve(device) for device in devices]
    if not chosen:
        raise UsageError("map wants at least one device", hint='devices=["cpu", "gpu"]')
    kernel, args = _brook_kernel(kernel, args)
    if kernel.program.language == "brook":
        if size is not None or local is not None or split:
            raise UsageError("size, local and split are for OpenCL C; a Brook+ kernel's size is its streams'")
        return _brook(kernel, args, chosen, shares)
    return _opencl(kernel, args, chosen, size, local, split, shares)


class _Domain:
    """What is left of ``total`` rows, and how fast devices were."""

    def __init__(self, total: int, count: int, granule: int) -> None:
        self._lock = threading.Lock()
        self._next = 0
        self._total = total
        self._granule = min(granule, max(total, 1))
        self._count = count
        self._rates: dict[int, float] = {}
        self.failed = False

    def take(self, device: int) -> Piece | None:
        """The next piece of a device; None if there is none."""
        with self._lock:
            left = self._total - self._next
            if not left or self.failed:
                return None
            rate = self._rates.get(device)
            if rate is None:
                wanted = self._total // (_FIRST * self._count)
            else:
                known = list(self._rates.values())
                everybody = sum(known) * self._count / len(known)
                wanted = max(round(left * rate / everybody / 2), self._total // _LEAST)
            rows = min(left, max(1, -(-wanted // self._granule)) * self._granule)
            begin, self._next = self._next, self._next + rows
            return begin, begin + rows

    def done(self, device: int, rows: int, seconds: float) -> None:
        """A device has computed a piece."""
        with self._lock:
            self._rates[device] = rows / max(seconds, 1e-9)


def _spread(
    total: int, granule: int, devices: Sequence[Device], run: Callable[[Device, int, int], Any], shares: Any
) -> list[tuple[int, Any]]:
    """Have the devices run pieces until none is left; what each piece gave, by where it begins. The first error of a
    device ends the others after their pieces, and is raised."""
    domain = _Domain(total, len(devices), granule)
    found: list[tuple[int, Any]] = []
    rows = [0] * len(devices)

    def work(number: int) -> None:
        try:
            while (piece := domain.take(number)) is not None:
                begin, end = piece
                began = time.perf_counter()
                found.append((begin, run(devices[number], begin, end)))
                domain.done(number, end - begin, time.perf_counter() - began)
                rows[number] += end - begin
        except BaseException:
            domain.failed = True
            raise

    on_each(len(devices), work)
    if shares is not None:
        for device, count in zip(devices, rows, strict=True):
            shares[device.name] = shares.get(device.name, 0) + count
    return sorted(found, key=lambda one: one[0])


def _brook_kernel(kernel: Any, args: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    """The Brook+ kernel that a stream kernel in Python is for such arguments, and what is passed to it."""
    compiled = getattr(kernel, "compiled", None)
    if compiled is None:
        return kernel, tuple(args)
    made, passed = compiled(*args)
    return made, tuple(passed)


def _in_parts(
    kernel: Any,
    args: Sequence[Any],
    devices: Any,
    size: int | Sequence[int] | None,
    local: Sequence[int] | None,
    shares: Any,
    out: Any,
) -> Any:
    """A launch on each of the devices on which arguments have parts."""
    parts = [value for value in args if isinstance(value, DistributedArray)]
    outs = [] if out is None else list(out) if isinstance(out, (list, tuple)) else [out]
    first = parts[0]
    for other in [*parts, *outs]:
        if not isinstance(other, DistributedArray) or other.devices != first.devices or other.bounds != first.bounds:
            raise UsageError(
                f"{other!r:.80} is divided among devices differently from {first!r:.80}",
                hint="give hw.spread the same devices and shares for both",
            )
    if devices is not None and [resolve(device) for device in devices] != list(first.devices):
        raise UsageError("the devices are those of the parts", hint="leave devices= out")
    several = [[value.streams[k] if isinstance(value, DistributedArray) else value for value in args]
               for k in range(len(first.streams))]  # fmt: skip
    chosen = [_brook_kernel(kernel, some) for some in several]
    brook = chosen[0][0].program.language == "brook"
    if brook and (size is not None or local is not None):
        raise UsageError("size and local are for OpenCL C; a Brook+ kernel's size is its streams'")
    if not brook and (size is None or outs):
        raise UsageError(f"{kernel.name} is an OpenCL C kernel and needs a global size, and no out=", hint="size=(n,)")
    held: list[Any] = []
    if brook:
        _refuse_positions(chosen[0][0])
        chosen = on_each(len(chosen), lambda k: (chosen[k][0], _uploaded(*chosen[k], first.devices[k], held)))

    def run(number: int) -> Any:
        one, some = chosen[number]
        if brook:
            given = tuple(part.streams[number] for part in outs)
            made = one(*some, out=given or None, device=first.devices[number])
            # NVIDIA's driver begins nothing before it is flushed or waited for, and waits for one device at a time:
            # two H200 without it took as long as one.
            first.devices[number].flush()
            return made
        begin, end = first.bounds[number : number + 2]
        whole = (size,) if isinstance(size, int) else tuple(size or ())
        rows = (end - begin) * whole[-1] // first.shape[0]
        own = [value(begin, end) if callable(value) else value for value in some]
        return one[(*whole[:-1], rows), local](*own, device=first.devices[number])

    launched_at_once = brook and not chosen[0][0].info.is_reduction and all(d.kind == "opencl" for d in first.devices)
    made = [run(number) for number in range(len(chosen))] if launched_at_once else on_each(len(chosen), run)
    if shares is not None:
        for number, device in enumerate(first.devices):
            rows = first.bounds[number + 1] - first.bounds[number]
            shares[device.name] = shares.get(device.name, 0) + rows
    if not brook:
        for event in made:
            event.wait()
        return None
    if chosen[0][0].info.is_reduction:
        return _reduced(chosen[0][0], made, first.dtype, first.devices[0])
    results = outs or [
        DistributedArray(some) for some in zip(*(m if isinstance(m, tuple) else (m,) for m in made), strict=True)
    ]
    for result in results:
        result.hold(held)
    return out if outs else results[0] if len(results) == 1 else tuple(results)


def _uploaded(kernel: Any, args: Sequence[Any], device: Device, held: list[Any]) -> tuple[Any, ...]:
    """The arguments with gather arrays on the device. ``held`` gets them: NVIDIA's driver waits for a launch when
    memory that it uses is released, and the next device would not begin before that."""
    kinds = [one.kind for one in kernel.info.parameters if one.kind not in ("output", "scatter", "reduce")]
    made = []
    for kind, value in zip(kinds, args, strict=False):
        if kind in ("gather", "constant") and isinstance(value, np.ndarray):
            value = stream(value, device=device)
            held.append(value)
        made.append(value)
    return (*made, *args[len(kinds) :])


def _refuse_positions(kernel: Any) -> None:
    if any(parameter.kind == "scatter" for parameter in kernel.info.parameters) or kernel.info.uses_position:
        raise UsageError(
            f"{kernel.name} knows positions in the whole domain (indexof, instance, scatter): it cannot be cut",
            hint="run it on one device",
        )


def _reduced(kernel: Any, parts: Sequence[Any], dtype: Any, device: Device) -> Any:
    if any(np.ndim(part) and np.size(part) > 1 for part in parts):
        raise UsageError(f"{kernel.name} reduces to a stream: it cannot be cut")
    return kernel(np.array([np.reshape(part, ()) for part in parts], dtype), device=device)


def _brook(kernel: Any, args: Sequence[Any], devices: Sequence[Device], shares: Any) -> Any:
    signature = kernel.info
    passed = [one for one in signature.parameters if one.kind not in ("output", "scatter", "reduce")]
    _refuse_positions(kernel)
    if len(args) != len(passed):
        names = ", ".join(one.name for one in passed)
        raise UsageError(f"{kernel.name} takes {len(passed)} arguments ({names}), {len(args)} given")
    streams = {n: np.asarray(args[n]) for n, one in enumerate(passed) if one.kind == "input"}
    lengths = {array.shape[0] if array.ndim else 0 for array in streams.values()}
    if len(lengths) != 1 or 0 in lengths:
        raise UsageError(f"{kernel.name} cannot be cut: its input streams have {sorted(lengths)} rows")
    (total,) = lengths

    def run(device: Device, begin: int, end: int) -> Any:
        some = [streams[n][begin:end] if n in streams else value for n, value in enumerate(args)]
        return kernel(*some, device=device)

    granule = max(1, GRANULE // max(1, next(iter(streams.values()))[0].size))
    parts = [part for _, part in _spread(total, granule, devices, run, shares)]
    if signature.is_reduction:
        return _reduced(kernel, parts, next(iter(streams.values())).dtype, devices[0])
    if isinstance(parts[0], tuple):
        return tuple(np.concatenate(some) for some in zip(*parts, strict=True))
    return np.concatenate(parts)


def _opencl(
    kernel: Any,
    args: Sequence[Any],
    devices: Sequence[Device],
    size: int | Sequence[int] | None,
    local: Sequence[int] | None,
    split: Sequence[str],
    shares: Any,
) -> None:
    infos = kernel.info.args
    names = [one.name for one in infos]
    if len(args) != len(names):
        raise UsageError(f"{kernel.name} takes {len(names)} arguments ({', '.join(names)}), {len(args)} given")
    if size is None:
        raise UsageError(f"{kernel.name} is an OpenCL C kernel and needs a global size", hint="size=(width, height)")
    whole = (size,) if isinstance(size, int) else tuple(size)
    total = whole[-1]
    for name in split:
        if name not in names:
            raise UsageError(f"{kernel.name} has no parameter {name!r} to split", hint=f"it has {', '.join(names)}")
    for one, value in zip(infos, args, strict=True):
        if one.name in split:
            if not isinstance(value, np.ndarray) or not value.ndim or value.shape[0] % total:
                shape = getattr(value, "shape", "none")
                raise UsageError(
                    f"{one.name} cannot be cut in {total} parts: its shape is {shape}",
                    hint="the first axis of a split array is a multiple of the last dimension of the size",
                )
        elif one.kind == "buffer" and one.access != "read":
            raise UsageError(
                f"{one.name} is written and not split: pieces would overwrite it", hint=f"split=[{one.name!r}]"
            )

    def run(device: Device, begin: int, end: int) -> None:
        some = []
        for name, value in zip(names, args, strict=True):
            if name in split:
                rows = value.shape[0] // total
                some.append(value[begin * rows : end * rows])
            else:
                some.append(value(begin, end) if callable(value) else value)
        kernel[(*whole[:-1], end - begin), local](*some, device=device)

    granule = local[len(whole) - 1] if local is not None and len(local) >= len(whole) else 1
    if len(whole) == 1:
        granule *= -(-GRANULE // granule)
    _spread(total, granule, devices, run, shares)
