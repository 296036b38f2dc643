"""Input: a kernel's arguments. Output: the Python function that packs them for a launch, written for them.

A short launch is mostly Python. What is done for each argument is therefore spelt out: loops over arguments, and a call
for each of them, took a third of a launch's time.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, Protocol, TypeVar

import numpy as np

from headwater.errors import LaunchError
from headwater.native.launch_block import FLAGS, LOCAL_BYTES, NEXT, SCRATCH_BYTES, STOP
from headwater.native.pool import Task
from headwater.runtime import signature
from headwater.runtime.host.arguments import Kind, Packing, local_bytes_of
from headwater.runtime.host.memory import HostBuffer, bytes_of, refuse_shared_copies
from headwater.runtime.streams import Stream
from headwater.runtime.values import Local

if TYPE_CHECKING:
    from headwater.opencl.kernels import ArgInfo, BoundsTest, KernelInfo
    from headwater.runtime.interface import Device

T = TypeVar("T", bound=Task)

MOST_KEYS = 256
"""Sets of sizes and values that are known to be inside of arrays, of one kernel and launch size."""


class Placement:
    """A work-group's memory in that of the thread that runs it: of each dynamic local argument the bytes and the
    offset; the bytes of all local memory; those with what lies behind it."""

    __slots__ = ("group_bytes", "offsets", "scratch_bytes", "sizes")

    def __init__(self, sizes: tuple[int, ...], offsets: tuple[int, ...], group_bytes: int, scratch_bytes: int) -> None:
        self.sizes = sizes
        self.offsets = offsets
        self.group_bytes = group_bytes
        self.scratch_bytes = scratch_bytes


class LocalMemory:
    """The dynamic local arguments of a kernel. ``place`` says where those of some sizes lie, or raises ResourceError;
    ``placed`` is where the latest launch had them; ``static_bytes`` the local memory that the kernel declares."""

    __slots__ = ("_args", "_place", "indices", "placed", "static_bytes")

    def __init__(self, args: Sequence[ArgInfo], place: Callable[[tuple[int, ...]], Placement]) -> None:
        self._args = args
        self._place = place
        self.indices = [i for i, arg in enumerate(args) if arg.kind == "local"]
        self.placed = place(())
        self.static_bytes = self.placed.group_bytes

    def at(self, sizes: tuple[int, ...]) -> Placement:
        """Where arguments of these sizes lie."""
        placed = self.placed
        if sizes != placed.sizes:
            placed = self.placed = self._place(sizes)
        return placed

    def sizes(self, args: Sequence[Any]) -> tuple[int, ...]:
        """The bytes of each dynamic local argument; LaunchError for what is none."""
        return tuple(local_bytes_of(self._args[i], i + 1, args[i]) for i in self.indices)


class Bounds(Protocol):
    """The question whether a launch surely leaves an array, see `headwater.runtime.cpu.bounds.ArrayBounds`."""

    test: BoundsTest
    outside: Callable[..., int]
    pack_sizes: Callable[..., bytes]

    def refusal(self, args: Sequence[Any], task: Task, sizes: Sequence[int]) -> LaunchError: ...


class ModeChooser(Protocol):
    """Chooses how a launch goes through memory, by the bytes of its arrays: see
    `headwater.runtime.cpu.access_modes.AccessModes`."""

    arrays: tuple[int, ...]
    """The positions of the arguments whose bytes are added up."""
    least_bytes: int
    """Above which `choose` is asked; else the launch block has no flags."""

    def choose(self, nbytes: int, args: Sequence[Any]) -> int:
        """The flags of the launch block."""
        ...


class Pattern(NamedTuple):
    """What the function depends on besides the launch.

    ``sized``, ``values``: positions of the arguments whose bytes and whose values decide whether the launch is inside
    of its arrays. ``weighed``: positions of those whose bytes decide how it goes through memory. ``located``: a
    function says where arguments lie in the threads' memory.
    """

    kinds: tuple[Kind, ...]
    sized: tuple[int, ...]
    values: tuple[int, ...]
    weighed: tuple[int, ...]
    located: bool


class ArgumentPacker(Generic[T]):
    """Makes the function; ``format``: of `struct`, of the argument block. What a device adds to the packing:
    ``bounds``, ``access_modes``, and ``locate``, which puts into the values where what lies in the threads' memory is,
    if more than local memory does."""

    def __init__(
        self,
        device: Device,
        info: KernelInfo,
        packings: Sequence[Packing],
        format: str,
        memory: LocalMemory,
        bounds: Bounds | None = None,
        access_modes: ModeChooser | None = None,
        locate: Callable[[Sequence[Any], list[Any]], Placement] | None = None,
    ) -> None:
        self.device = device
        self.info = info
        self.packings = packings
        self.format = format
        self.memory = memory
        self.bounds = bounds
        self.access_modes = access_modes
        self.locate = locate

    def function(self, free: list[T], new_task: Callable[[], T]) -> Callable[[Sequence[Any]], T]:
        """From arguments to a task, one of those that are free or a new one, with them packed, ready to run.

        The function raises LaunchError for arguments that do not fit the kernel's, and for a launch that surely
        leaves an array.
        """
        test = self.bounds.test if self.bounds is not None else None
        pattern = Pattern(
            tuple(one.kind for one in self.packings),
            test.sized if test is not None else (),
            test.values if test is not None else (),
            self.access_modes.arrays if self.access_modes is not None else (),
            self.locate is not None,
        )
        pack = struct.Struct(self.format).pack_into
        slots = [one.slot for one in self.packings]
        dtypes = [signature.element_dtype(arg) for arg in self.info.args]

        def count_error(args: Sequence[Any]) -> LaunchError:
            return signature.count_error(self.info, len(args))

        def coerced(args: Sequence[Any], task: T, values: list[Any]) -> None:
            """Pack numbers as C converts them, or say what is wrong with them."""
            for i, (packing, arg) in enumerate(zip(self.packings, self.info.args, strict=True)):
                if packing.kind == "number":
                    values[i] = signature.coerce_value(arg, i + 1, args[i])
            pack(task.args, 0, *values)

        def refuse(args: Sequence[Any], task: T, sizes: Sequence[int]) -> NoReturn:
            """Do not run what surely accesses memory outside of an array: LaunchError."""
            assert self.bounds is not None
            refusal = self.bounds.refusal(args, task, sizes)
            task.release()
            free.append(task)
            raise refusal

        def copied(args: Sequence[Any], task: T) -> None:
            """Do not run what would see a copy of memory that it also has itself: LaunchError."""
            try:
                refuse_shared_copies(self.info, args, task)
            except LaunchError:
                task.release()
                free.append(task)
                raise

        made: Callable[[Sequence[Any]], T] = _written(pattern)(
            free.pop, new_task, pack, slots, dtypes, self.device, self.memory, self.bounds, self.access_modes,
            self.locate, count_error, coerced, refuse, copied,
        )  # fmt: skip
        return made


_TEMPLATE = """
def packer(
    take, another, pack, slots, dtypes, device, memory, bounds, access_modes, locate, count_error, coerced, refuse,
    copied,
):
    inside = set()
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
elif type(a{0}) is HostBuffer:
    p{0} = a{0}.address
    {array_size}
else:
    p{0} = s{0}(a{0}, task)
    {other_size}
"""

_LOCAL = """
if type(a{0}) is not Local:
    memory.sizes(args)  # refuses what is none
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
            sizes = {"array_size": f"a{i}.nbytes", "stream_size": f"b{i}.nbytes", "other_size": f"bytes_of(a{i})"}
            asked = {name: f"n{i} = {text}" if i in needed else "" for name, text in sizes.items()}
            body += _lines(_ARRAY.format(i, **asked))
        else:
            body.append(f"p{i} = s{i}(a{i}, task)")
            if i in needed:
                body.append(f"n{i} = bytes_of(a{i})")
    for i in locals_:
        body += _lines(_LOCAL.format(i))
    values = f"[{', '.join(packed)}]"
    if pattern.located:
        body += [f"p{i} = 0" for i in locals_]
        body += [f"values = {values}", "placed = locate(args, values)"]
        packed, values = ["*values"], "values"
    elif locals_:
        body += [
            "placed = memory.placed",
            f"sizes = ({', '.join(f'n{i}' for i in locals_)},)",
            "if sizes != placed.sizes:",
            "    placed = memory.at(sizes)",
            f"{', '.join(f'p{i}' for i in locals_)}, = placed.offsets",
        ]
    body += [
        "try:",
        f"    pack({', '.join(['task.args', '0', *packed])})",
        "except refused:",
        f"    coerced(args, task, {values})",
        "if task.copies is not None:",
        "    copied(args, task)",
        "block = task.block",
        f"block[{NEXT}] = 0",
        f"block[{STOP}] = 0",
    ]
    if locals_ or pattern.located:
        body += [f"block[{LOCAL_BYTES}] = placed.group_bytes", f"block[{SCRATCH_BYTES}] = placed.scratch_bytes"]
    if pattern.weighed:
        body += [
            f"total = {' + '.join(f'n{i}' for i in pattern.weighed)}",
            f"block[{FLAGS}] = access_modes.choose(total, args) if total > access_modes.least_bytes else 0",
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
        "HostBuffer": HostBuffer,
        "bytes_of": bytes_of,
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
