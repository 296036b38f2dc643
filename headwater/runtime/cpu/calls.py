"""A kernel's arguments pass in; the Python function that packs them for a launch, written for them, passes out.

A short launch is mostly Python. What is done for each argument is therefore spelt out: loops over arguments, and a call
for each of them, took a third of a launch's time.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from headwater.native.launch_block import FLAGS, LOCAL_BYTES, NEXT, SCRATCH_BYTES, STOP
from headwater.native.pool import Task
from headwater.runtime.streams import Stream
from headwater.runtime.values import Local

if TYPE_CHECKING:
    from headwater.runtime.cpu.launch import CpuLaunch

Kind = Literal["array", "pointer", "local", "number", "other"]
"""How an argument is packed: an "array" of numbers of one type; any other "pointer"; "local" memory; a "number", which
goes in as it is; what a function makes of any "other" value."""

MOST_KEYS = 256
"""Sets of sizes and values that are known to be inside of arrays, of one kernel and launch size."""


class Pattern(NamedTuple):
    """What the function depends on besides the launch.

    ``sized``, ``values``: positions of the arguments whose bytes and whose values decide whether the launch is inside
    of its arrays. ``weighed``: positions of those whose bytes decide how it goes through memory. ``places``: arguments
    lie in the threads' memory where the launch's method says.
    """

    kinds: tuple[Kind, ...]
    sized: tuple[int, ...]
    values: tuple[int, ...]
    weighed: tuple[int, ...]
    places: bool


_TEMPLATE = """
def packer(launch, slots, dtypes, device, pack, nbytes, CpuBuffer):
    take, another, count_error, coerced, choose_way = (
        launch.free.pop, launch._new_task, launch._count_error, launch._coerced, launch._choose_way)
    local_bytes, place_locals, pack_locals = launch.local_bytes, launch.place_locals, launch._pack_locals
    own_caches = launch._own_caches
    bounds, inside, refuse = launch._bounds, set(), launch._refuse
    outside, pack_sizes = (bounds.outside, bounds.pack_sizes) if bounds is not None else (None, None)
    {constants}
    def packed(args):
        try:
            {names} = args
        except ValueError:
            raise count_error(args) from None
        try:
            task = take()
        except IndexError:
            task = another()
        {body}
        return task
    return packed
"""

_ARRAY = """
if type(a{0}) is ndarray and a{0}.dtype is d{0}:
    try:
        p{0} = addressof(from_buffer(a{0}))  # refuses arrays that are read-only, empty or not contiguous
    except unfit:
        p{0} = s{0}(a{0}, task)
    {array_size}
elif type(a{0}) is Stream and a{0}.dtype is d{0} and a{0}.device is device:
    b{0} = a{0}.buffer
    p{0} = b{0}.address
    {stream_size}
elif type(a{0}) is CpuBuffer:
    p{0} = a{0}.address
    {array_size}
else:
    p{0} = s{0}(a{0}, task)
    {other_size}
"""

_LOCAL = """
if type(a{0}) is not Local:
    local_bytes(args)  # refuses what is none
n{0} = a{0}.nbytes
"""

_INSIDE = """
key = ({key})
try:
    known = key in inside
except TypeError:  # an array of one number, say, which may change
    known = False
if not known:
    if outside(task.block_address, task.args_address, pack_sizes(0, {sizes})):
        refuse(args, task, [{sizes}])
    if {unchanging}:
        if len(inside) >= MOST_KEYS:
            inside.clear()
        inside.add(key)
"""


def packer(
    launch: CpuLaunch,
    pattern: Pattern,
    slots: Sequence[Callable[[Any, Task], Any] | None],
    pack: Callable[..., None],
    *values: Any,
) -> Callable[[Sequence[Any]], Task]:
    """The function from arguments to a task with them packed, ready to run.

    ``slots``: from what is passed to what is packed, but for numbers. ``values``: the last names of `_TEMPLATE`.
    """
    from headwater.runtime import signature

    dtypes = [signature.element_dtype(arg) for arg in launch.kernel.info.args]
    made: Callable[[Sequence[Any]], Task] = _written(pattern)(
        launch, slots, dtypes, launch.kernel.device, pack, *values
    )
    return made


@functools.cache
def _written(pattern: Pattern) -> Callable[..., Any]:
    """`_TEMPLATE` for such arguments."""
    kinds = pattern.kinds
    locals_ = [i for i, kind in enumerate(kinds) if kind == "local"]
    needed = {*pattern.sized, *pattern.weighed}
    body: list[str] = []
    packed: list[str] = []
    constants: list[str] = []
    for i, kind in enumerate(kinds):
        packed.append(f"a{i}" if kind == "number" else f"p{i}")
        if kind in ("number", "local"):
            continue
        constants.append(f"s{i} = slots[{i}]")
        if kind == "array":
            constants.append(f"d{i} = dtypes[{i}]")
            sizes = {"array_size": f"a{i}.nbytes", "stream_size": f"b{i}.nbytes", "other_size": f"nbytes(a{i})"}
            asked = {name: f"n{i} = {text}" if i in needed else "" for name, text in sizes.items()}
            body += _lines(_ARRAY.format(i, **asked))
        else:
            body.append(f"p{i} = s{i}(a{i}, task)")
            if i in needed:
                body.append(f"n{i} = nbytes(a{i})")
    for i in locals_:
        body += _lines(_LOCAL.format(i))
    values = f"[{', '.join(packed)}]"
    if pattern.places:
        body += [f"p{i} = 0" for i in locals_]
        body += [f"values = {values}", "pack_locals(args, values)"]
        packed, values = ["*values"], "values"
    elif locals_:
        body += [
            f"sizes = ({', '.join(f'n{i}' for i in locals_)},)",
            "if sizes != launch.local_sizes:",
            "    place_locals(sizes)",
            f"{', '.join(f'p{i}' for i in locals_)}, = launch.local_offsets",
        ]
    body += [
        "try:",
        f"    pack({', '.join(['task.args', '0', *packed])})",
        "except refused:",
        f"    coerced(args, task, {values})",
        "block = task.block",
        f"block[{NEXT}] = 0",
        f"block[{STOP}] = 0",
    ]
    if locals_ or pattern.places:
        body += [f"block[{LOCAL_BYTES}] = launch.group_bytes", f"block[{SCRATCH_BYTES}] = launch.scratch_bytes"]
    if pattern.weighed:
        body += [
            f"total = {' + '.join(f'n{i}' for i in pattern.weighed)}",
            f"block[{FLAGS}] = choose_way(total, args) if total > own_caches or launch._large else 0",
        ]
    if pattern.sized:
        sizes_text = [f"n{i}" for i in pattern.sized]
        unchanging = [f"type(a{i}) in UNCHANGING" for i in pattern.values] or ["True"]
        body += _lines(
            _INSIDE.format(
                key=", ".join([*sizes_text, *(f"a{i}" for i in pattern.values), ""]),
                sizes=", ".join(sizes_text),
                unchanging=" and ".join(unchanging),
            )
        )
    text = _TEMPLATE.format(
        constants="\n    ".join(constants or ["pass"]),
        names=f"({', '.join(f'a{i}' for i in range(len(kinds)))}{',' if kinds else ''})",
        body="\n        ".join(body),
    )
    found: dict[str, Any] = {
        "ndarray": np.ndarray,
        "Stream": Stream,
        "Local": Local,
        "MOST_KEYS": MOST_KEYS,
        "UNCHANGING": frozenset((int, bool, float, *[np.dtype(code).type for code in "bBhHiIqQfd"])),
        "addressof": ctypes.addressof,
        "from_buffer": ctypes.c_char.from_buffer,
        "unfit": (TypeError, ValueError, BufferError),
        "refused": (struct.error, TypeError, ValueError, OverflowError),
    }
    exec(compile(text, f"<arguments {', '.join(kinds)}>", "exec"), found)
    made: Callable[..., Any] = found["packer"]
    return made


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]
