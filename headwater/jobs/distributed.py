"""Input: an array and devices. Output: streams, a part of the array on each device, which stay there between
launches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.base.arrays import Array
from headwater.errors import UsageError
from headwater.runtime import stream
from headwater.runtime.interface import resolve

if TYPE_CHECKING:
    from headwater.runtime import Device, Stream


class DistributedArray:
    """An array of which each device has the rows from ``bounds[k]`` to ``bounds[k + 1]``, as ``streams[k]``.

    `headwater.map` launches a kernel on all of the devices with their own parts, and moves none of them.
    """

    def __init__(self, streams: Sequence[Stream]) -> None:
        self.streams = tuple(streams)
        first = self.streams[0]
        self.dtype = first.dtype
        ends = np.cumsum([0, *(one.shape[0] for one in self.streams)])
        self.bounds = tuple(int(end) for end in ends)
        self.shape = (self.bounds[-1], *first.shape[1:])
        self._held: list[Any] = []

    @property
    def devices(self) -> tuple[Device, ...]:
        """Where the parts are."""
        return tuple(one.device for one in self.streams)

    @property
    def size(self) -> int:
        """Number of elements."""
        return sum(one.size for one in self.streams)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def hold(self, used: Sequence[Any]) -> None:
        """Keep what a launch uses that makes this, until it has ended."""
        self._held = [*used]

    def wait(self) -> None:
        """Until all devices have computed what was launched on them."""
        for one in self.streams:
            one.device.finish()
        self._held = []

    def read(self) -> Array:
        """The whole array."""
        made = np.empty(self.shape, self.dtype)

        def one(number: int) -> None:
            self.streams[number].read(made[self.bounds[number] : self.bounds[number + 1]])

        on_each(len(self.streams), one)
        self._held = []
        return made

    def write(self, array: Any) -> None:
        """Replace the contents by an array's of the same shape."""
        source = np.asarray(array)
        if source.shape != self.shape:
            raise UsageError(f"the parts have the shape {self.shape} together, the array {source.shape}")
        on_each(len(self.streams), lambda k: self.streams[k].write(source[self.bounds[k] : self.bounds[k + 1]]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("the parts are on their devices: they cannot become an array without a copy")
        contents = self.read()
        return contents if dtype is None else contents.astype(dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        names = ", ".join(device.name for device in self.devices)
        return f"<DistributedArray of {self.dtype} {self.shape} on {names}>"


def spread(
    array: Any, devices: Sequence[Device | str], shares: Mapping[str, int] | Sequence[int] | None = None
) -> DistributedArray:
    """Cut an array along its first axis and put a part on each device: ``hw.spread(x, ["opencl:0:0", "opencl:0:1"])``.

    ``shares``: how many rows devices get, in proportion: numbers in their order, or what `headwater.map` filled in,
    which is by the speed that it measured. By default all get the same. UsageError for arrays with fewer rows than
    devices.
    """
    source = np.asarray(array)
    chosen = [resolve(device) for device in devices]
    if not chosen or not source.ndim or source.shape[0] < len(chosen):
        raise UsageError(f"an array of shape {source.shape} cannot be cut for {len(chosen)} devices")
    ends = _ends(source.shape[0], _weights(chosen, shares))
    bounds = list(zip([0, *ends[:-1]], ends, strict=True))
    made: list[Any] = [None] * len(chosen)

    def one(number: int) -> None:
        begin, end = bounds[number]
        made[number] = stream(np.ascontiguousarray(source[begin:end]), device=chosen[number])

    on_each(len(chosen), one)
    return DistributedArray(made)


def _weights(devices: Sequence[Device], shares: Any) -> list[float]:
    if shares is None:
        return [1.0] * len(devices)
    if isinstance(shares, Mapping):
        count: dict[str, int] = {}
        for device in devices:
            count[device.name] = count.get(device.name, 0) + 1
        missing = [device.name for device in devices if device.name not in shares]
        if missing:
            raise UsageError(f"shares says nothing of {missing[0]}")
        weights = [shares[device.name] / count[device.name] for device in devices]
    else:
        weights = [float(share) for share in shares]
    if len(weights) != len(devices) or min(weights) <= 0:
        raise UsageError(f"shares are {len(devices)} positive numbers, not {shares!r}")
    return weights


def _ends(total: int, weights: Sequence[float]) -> list[int]:
    """Where the parts end: in proportion, each of a row at least."""
    whole, count = sum(weights), len(weights)
    ends: list[int] = []
    so_far = 0.0
    for number, weight in enumerate(weights):
        so_far += weight
        least = (ends[-1] if ends else 0) + 1
        ends.append(min(max(round(total * so_far / whole), least), total - (count - number - 1)))
    return ends


def on_each(count: int, run: Callable[[int], Any]) -> list[Any]:
    """``run(0)``, ``run(1)``, … at the same time; what each gave. The first error is raised when all have ended."""
    made: list[Any] = [None] * count
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            made[number] = run(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(1, count)]
    for thread in threads:
        thread.start()
    work(0)
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return made
