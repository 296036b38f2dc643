"""Input: a kernel's arguments. Output: the Python function that launches it, written for them.

A launch takes a few microseconds of a driver's time and PyOpenCL 0.7 µs of Python's. What is done for each argument is
therefore spelt out: a loop over arguments, or a tuple of them passed on, would cost as much again.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.runtime import signature
from headwater.runtime.events import Event
from headwater.runtime.interface import Queue
from headwater.runtime.streams import Stream

if TYPE_CHECKING:
    from headwater.opencl.kernels import ArgInfo

UNKNOWN = object()
"""Stands for an argument that cannot be known again; no argument is this object."""
UNCHANGING = frozenset({int, float, bool, bytes, *(np.dtype(code).type for code, _ in signature.SCALARS.values())})
"""Types of values that stay what they are; arrays, records and tuples of them can change behind one id."""

_TEMPLATE = """
def caller(launch, own, arguments, device, own_queue, enqueue, whole, group, offset, refused, ClEvent):
    take, give, another, unknown = arguments.idle.pop, arguments.idle.append, arguments.another, arguments.unknown
    {constants}
    def call({parameters}, /, *more, queue=None, **options):
        if queue is None:
            backend = own_queue
        elif type(queue) is Queue and queue.device is device:
            backend = queue._backend
        else:
            backend = None
        if backend is None or more or options or {last} is missing:
            return launch(*[x for x in ({names},) if x is not missing], *more, queue=queue, **options)
        try:
            setting = take()
        except IndexError:
            setting = another()
        try:
            {body}
            event = enqueue(backend, setting.kernel, whole, group, offset)
            give(setting)
        except refusals:
            setting.bound = unknown
            give(setting)
            return launch({names}, queue=queue)
        except refused as error:
            raise own._failure(error) from None
        made = ClEvent()
        made._event = event
        made._queue = backend
        made._launch = own
        return made
    return call
"""
"""A launch of streams and values; what is anything else is left to ``launch``. ``setting.bound`` says what the PyOpenCL
kernel has been reported. A setting whose launch was interrupted or refused is not given back."""


class _Unfit(Exception):
    """An argument has to be looked at."""


def caller(
    args: Sequence[ArgInfo], plain: Sequence[np.dtype[Any] | None]
) -> Callable[..., Callable[..., Event]] | None:
    """From what a launch needs to the function that launches; None for kernels without streams, and with images.
    ``plain``: see `headwater.runtime.opencl.arguments.Arguments`."""
    kinds = tuple(map(_kind, args, plain))
    return None if "image" in kinds or not {"stream", "pointer"} & {*kinds} else _caller(kinds)


def _kind(arg: ArgInfo, plain: np.dtype[Any] | None) -> str:
    """What is done with an argument; a number's `struct` code stands for itself."""
    if arg.kind in ("buffer", "constant"):
        return "stream" if plain is not None else "pointer"
    if arg.kind == "value":
        return signature.number_code(arg) or "bytes"
    return "image" if arg.kind == "image" else "other"


@functools.cache
def _caller(kinds: tuple[str, ...]) -> Callable[..., Callable[..., Event]]:
    """`_TEMPLATE` for arguments of these kinds."""
    names = [f"a{i}" for i in range(len(kinds))]
    pointers = [i for i, kind in enumerate(kinds) if kind in ("stream", "pointer")]
    others = [i for i, kind in enumerate(kinds) if kind == "other"]
    numbers = [i for i, kind in enumerate(kinds) if len(kind) == 1]
    values = [i for i, kind in enumerate(kinds) if i in numbers or kind == "bytes"]
    # What is bound while the values are not set yet, and at the end.
    before = [f"t{i}" if i in pointers else f"b{i}" for i in range(len(kinds))]
    after = [f"a{i} if type(a{i}) in UNCHANGING else UNKNOWN" if i in numbers else x for i, x in enumerate(before)]
    fits = {"stream": "(t{0} is b{0} or a{0}.dtype is d{0} and a{0}.device is device)", "pointer": "t{0} is b{0}"}
    body = [
        f"{', '.join(f'b{i}' for i in range(len(kinds)))}, = setting.bound",
        *(f"t{i} = a{i}.token" for i in pointers),
        *(f"if a{i} is not b{i}: raise Unfit" for i in others),
        f"if {' or '.join(f't{i} is not b{i}' for i in pointers)}:",
        f"    if not ({' and '.join(fits[kinds[i]].format(i) for i in pointers)}): raise Unfit",
        f"    setting.set_memory(({', '.join(f'{i}, a{i}.buffer.memory' for i in pointers)}))",
        f"    setting.bound = {', '.join(before)},",
    ]
    if values:
        body += [
            f"if {' or '.join(f'a{i} is not b{i}' for i in numbers) if numbers == values else 'True'}:",
            f"    setting.set_bytes(({', '.join(f'{i}, p{i}(a{i})' for i in values)}))",
            f"    setting.bound = {', '.join(after)},",
        ]
    constants = [f"d{i} = arguments.plain[{i}]" for i in pointers]
    constants += [
        f"p{i} = Struct('<{kinds[i]}').pack" if i in numbers else f"p{i} = arguments.packers[{i}]" for i in values
    ]
    text = _TEMPLATE.format(
        constants="\n    ".join(constants),
        parameters=", ".join(f"{name}=missing" for name in names),
        last=names[-1],
        names=", ".join(names),
        body="\n            ".join(body),
    )
    found: dict[str, Any] = {
        "missing": object(),
        "Unfit": _Unfit,
        "refusals": (_Unfit, AttributeError, TypeError, ValueError, OverflowError, struct.error),
        "Struct": struct.Struct,
        "Queue": Queue,
        "Stream": Stream,
        "UNCHANGING": UNCHANGING,
        "UNKNOWN": UNKNOWN,
    }
    exec(compile(text, f"<launch of {kinds}>", "exec"), found)
    made: Callable[..., Callable[..., Event]] = found["caller"]
    return made
