"""Runs a kernel in plain Python for each work-item. Input: a function, sizes and arguments. Output: the arrays as it
left them.

The work-items of a group are threads of which one runs at a time: it goes on until it waits at a barrier or ends. A
debugger stops in them as in any function.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from math import prod
from typing import Any, cast

import numpy as np

from headwater.errors import KernelFault, UsageError


class Group:
    """What the work-items of a group share: local arrays in the order in which they ask for them, and whose turn it
    is."""

    def __init__(self, ids: tuple[int, ...], sizes: Sizes) -> None:
        self.ids, self.sizes = ids, sizes
        self.arrays: list[Any] = []
        self.slots: dict[Any, Any] = {}


class Sizes:
    """Of a launch, x first."""

    def __init__(self, whole: tuple[int, ...], group: tuple[int, ...]) -> None:
        self.whole, self.group = whole, group


class Item:
    """A work-item."""

    def __init__(self, group: Group, local: tuple[int, ...]) -> None:
        self.group, self.local = group, local
        self.asked = 0
        self.turn = threading.Semaphore(0)
        self.waits: Any = None
        self.ended = False
        self.error: BaseException | None = None
        self.stopped = False

    def shared(self, make: Callable[[], Any]) -> Any:
        """The next local array: all work-items of the group get the same one."""
        if self.asked == len(self.group.arrays):
            self.group.arrays.append(make())
        self.asked += 1
        return self.group.arrays[self.asked - 1]


class _Stop(BaseException):
    """Ends a work-item whose group has failed."""


_state = threading.local()


def current() -> Item:
    """The work-item that runs. UsageError outside of kernels."""
    item = getattr(_state, "item", None)
    if item is None:
        raise UsageError(
            "this is a function of kernels, and no kernel runs here", hint="kernel.python[size, group](…) runs one"
        )
    return cast("Item", item)


def work_item(name: str) -> Callable[[int], int]:
    """The plain meaning of a work-item function."""

    def function(dimension: int = 0) -> int:
        item = current()
        sizes = item.group.sizes
        if not 0 <= dimension < len(sizes.whole):
            return 0 if name.endswith("id") else 1
        d = dimension
        first = item.group.ids[d] * sizes.group[d]
        found = {
            "global_id": first + item.local[d],
            "local_id": item.local[d],
            "group_id": item.group.ids[d],
            "global_size": sizes.whole[d],
            "local_size": min(sizes.group[d], sizes.whole[d] - first),
            "num_groups": -(-sizes.whole[d] // sizes.group[d]),
        }
        return found[name]

    function.__doc__ = f"OpenCL C's get_{name}."
    return function


def barrier(global_memory: bool = False) -> None:
    """Wait for all work-items of the group; ``global_memory``: what they wrote to arrays is seen behind it, too."""
    wait("a barrier")


def wait(where: Any) -> None:
    """Let the others run until all have come here."""
    item = current()
    item.waits = where
    item.group.slots["control"].release()
    item.turn.acquire()
    if item.stopped:
        raise _Stop


def mem_fence(global_memory: bool = False) -> None:
    """Order memory accesses before it and behind it."""


def local_array(shape: Any, dtype: Any) -> Any:
    """An array that the work-items of a group share: ``hw.local_array((16, 16), hw.float32)``."""
    return current().shared(lambda: _array(shape, dtype))


def private_array(shape: Any, dtype: Any) -> Any:
    """An array of the work-item's own."""
    return _array(shape, dtype)


def _array(shape: Any, dtype: Any) -> Any:
    from headwater.python.types import Scalar, Vector, of_annotation

    kind = of_annotation(dtype)
    extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if isinstance(kind, Scalar):
        return np.zeros(extents, kind.dtype)
    made = np.empty(extents, object)
    for index in np.ndindex(*extents):
        made[index] = kind(0) if isinstance(kind, Vector) else None
    return made


def local_memory(count: int, element: Any) -> Any:
    """Local memory of which the launch says the size."""
    return _array(count, element)


_ATOMIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "exchange": lambda a, b: b,
    "inc": lambda a, b: 0 if a >= b else a + 1,
    "dec": lambda a, b: b if a == 0 or a > b else a - 1,
}


def atomic(name: str) -> Callable[[Any, Any, Any], Any]:
    """The plain meaning of an atomic operation on ``array[index]``; it gives what was there before."""
    combine = _ATOMIC[name]

    def function(array: Any, index: Any, value: Any) -> Any:
        old = array[index]
        with np.errstate(over="ignore"):
            array[index] = combine(old, old.dtype.type(value))
        return old

    function.__doc__ = f"Atomically combine array[index] with a value ({name}) and return what was there before."
    return function


def compare_exchange(array: Any, index: Any, expected: Any, value: Any) -> Any:
    """Atomically replace array[index] if it is as expected and return what was there before."""
    old = array[index]
    if old == expected:
        array[index] = value
    return old


def sub_group(name: str) -> Callable[..., Any]:
    """Sub-groups have no plain meaning: how many work-items they have is the device's."""

    def function(*args: Any) -> Any:
        raise UsageError(f"{name} has no meaning in plain Python: the device says how large sub-groups are")

    function.__doc__ = f"OpenCL C's {name}: the work-items of a sub-group (a wavefront) together."
    return function


def instance() -> Any:
    """The position of the element that a stream kernel computes, an int4: ``.x`` counts along the last axis, ``.y``
    along the one before."""
    place = getattr(_state, "place", None)
    if place is None:
        raise UsageError(
            "instance() is a function of stream kernels, and none runs here", hint="kernel.python(…) runs one"
        )
    return place


@contextmanager
def at_element(place: Any) -> Iterator[None]:
    """Have `instance` give ``place`` meanwhile."""
    outer = getattr(_state, "place", None)
    _state.place = place
    try:
        yield
    finally:
        _state.place = outer


# -- running -----------------------------------------------------------------------------------------------------------


def run(function: Callable[..., Any], whole: tuple[int, ...], group: tuple[int, ...] | None, make: Any) -> None:
    """Run ``function(*make(group))`` for each work-item of ``whole`` in groups of ``group``."""
    chosen = group or (1,) * len(whole)
    sizes = Sizes(whole, chosen)
    counts = [-(-n // g) for n, g in zip(whole, chosen, strict=True)]
    for ids in _indices(counts):
        shared = Group(ids, sizes)
        args = make(shared)
        extents = [min(g, n - i * g) for i, g, n in zip(ids, chosen, whole, strict=True)]
        items = [Item(shared, local) for local in _indices(extents)]
        if prod(extents) == 1:
            _alone(function, items[0], args)
        else:
            _run_in_threads(function, items, args, shared)


def _indices(extents: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for reverse in product(*(range(n) for n in reversed(extents))):
        yield tuple(reversed(reverse))


def _alone(function: Callable[..., Any], item: Item, args: Sequence[Any]) -> None:
    item.group.slots["control"] = threading.Semaphore(0)
    item.turn = cast("Any", _Open())
    outer = getattr(_state, "item", None)
    _state.item = item
    try:
        function(*args)
    finally:
        _state.item = outer


class _Open:
    """A semaphore of a work-item that is alone: it never waits."""

    def acquire(self) -> None:
        """Go on."""


def _run_in_threads(function: Callable[..., Any], items: list[Item], args: Sequence[Any], group: Group) -> None:
    control = group.slots["control"] = threading.Semaphore(0)

    def body(item: Item) -> None:
        item.turn.acquire()
        _state.item = item
        try:
            if not item.stopped:
                function(*args)
        except _Stop:
            pass
        except BaseException as error:
            item.error = error
        item.ended = True
        control.release()

    threads = [threading.Thread(target=body, args=(item,), daemon=True) for item in items]
    for thread in threads:
        thread.start()
    failed: BaseException | None = None
    running = list(items)
    while running and failed is None:
        for item in running:
            item.waits = None
            item.turn.release()
            control.acquire()
            if item.error is not None:
                failed = item.error
                break
        waiting = [item for item in running if not item.ended]
        if failed is None and waiting and len(waiting) < len(items):
            gone = next(item for item in items if item.ended)
            failed = KernelFault(
                f"work-item {waiting[0].local} of group {group.ids} waits at {waiting[0].waits}, "
                f"work-item {gone.local} has ended",
                hint="all work-items of a group come to the same barriers",
            )
        running = waiting
    for item in running:
        if not item.ended:
            item.stopped = True
            item.turn.release()
            control.acquire()
    for thread in threads:
        thread.join()
    if failed is not None:
        raise failed
