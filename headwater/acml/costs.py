"""Input: a way to compute. Output: what it costs, measured once on this machine and kept.

Costs are seconds for starting, bytes a second over the link, and rates by the size of the work. They are kept in the
cache under the names of the way and of the machine, and measured again where the cache has none.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import exp, log
from typing import Any, Protocol

import numpy as np

from headwater.base import cache

_FORMAT = "acml costs 1"
SIZES = (32, 128, 512, 1024)
"""Square products that rates are measured with; a size is left out where the one before took longer than LONG."""
LONG = 0.3


class Measurable(Protocol):
    """What is measured of a way to compute (`headwater.acml.split.Way`)."""

    name: str
    moves: bool
    costs: dict[np.dtype[Any], Costs]

    @property
    def version(self) -> str: ...
    def keep(self, b: Any) -> Any: ...
    def product(self, a: Any, kept: Any) -> Any: ...
    def there_and_back(self, a: Any) -> None: ...


@dataclass(frozen=True)
class Costs:
    """``start``: seconds of the smallest call. ``bytes_per_second``: to the device and back, 0 where nothing is moved.
    ``rates``: (multiplications and additions of the work, how many a second), by size of the work."""

    start: float
    bytes_per_second: float
    rates: tuple[tuple[float, float], ...]

    def seconds(self, work: float, nbytes: float) -> float:
        """Predicted time of a product of so much work whose operands and result have ``nbytes``."""
        moving = nbytes / self.bytes_per_second if self.bytes_per_second else 0.0
        return self.start + moving + work / self.rate(work)

    def rate(self, work: float) -> float:
        """Operations a second for that much work, between the measured sizes by the logarithm."""
        if work <= self.rates[0][0]:
            return self.rates[0][1]
        for (less, slow), (more, fast) in zip(self.rates, self.rates[1:], strict=False):
            if work <= more:
                part = log(work / less) / log(more / less)
                return slow * exp(part * log(fast / slow))
        return self.rates[-1][1]


def work_of(m: int, n: int, k: int, dtype: np.dtype[Any]) -> float:
    """Multiplications and additions of a product."""
    return 2.0 * m * n * k * (4 if dtype.kind == "c" else 1)


def best(call: Callable[[], object], times: int = 5) -> float:
    """The shortest of some calls, in seconds, after one that compiles and warms up."""
    call()
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        call()
        found.append(time.perf_counter() - begin)
        if found[-1] > LONG:
            break
    return min(found)


def kept(names: tuple[str, ...], measured: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What was measured on this machine under these names: from the cache, or now."""
    key = cache.key(_FORMAT, *names, platform.node(), platform.processor(), str(os.cpu_count()))
    entry = cache.get(key)
    if entry is not None:
        found: dict[str, Any] = json.loads((entry / "costs.json").read_text(encoding="utf-8"))
        return found
    found = measured()
    cache.keep(key, {"costs.json": json.dumps(found).encode()})
    return found


def of(way: Measurable, dtype: np.dtype[Any]) -> Costs:
    """The costs of a way, from the cache or measured now; a call costs no look at the cache twice."""
    found = way.costs.get(dtype)
    if found is None:
        values = kept((way.name, way.version, dtype.name), lambda: asdict(measure(way, dtype)))
        found = Costs(values["start"], values["bytes_per_second"], tuple(map(tuple, values["rates"])))
        way.costs[dtype] = found
    return found


def measure(way: Measurable, dtype: np.dtype[Any]) -> Costs:
    """Time products of growing size, and arrays on their way."""
    one = np.ones((1, 1), dtype)
    start = best(lambda: way.product(one, way.keep(one)))
    bandwidth = 0.0
    if way.moves:
        block = np.ones((1024, 512), dtype)
        seconds = max(best(lambda: way.there_and_back(block)) - start, 1e-9)
        bandwidth = 2 * block.nbytes / seconds
    rates = []
    for n in SIZES:
        a = np.ones((n, n), dtype)
        kept = way.keep(a)
        seconds = best(lambda a=a, kept=kept: way.product(a, kept))  # type: ignore[misc]
        moving = 2 * a.nbytes / bandwidth if bandwidth else 0.0
        work = work_of(n, n, n, dtype)
        rates.append((work, work / max(seconds - start - moving, seconds * 0.05)))
        if seconds > LONG:
            break
    return Costs(start, bandwidth, tuple(rates))
