"""What lies behind CAL's handles: devices, resources, contexts, modules; and the one session of a process.

Handles are whole numbers, never used twice, 0 is none. A handle of the wrong kind, or of something that is gone, is
CAL_RESULT_BAD_HANDLE.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from headwater.cal.enums import CALformat, CALresallocflags, CALresult
from headwater.cal.errors import CalError, failed
from headwater.cal.formats import Format, describe

if TYPE_CHECKING:
    from headwater.cal.boards import Board, Loaded, Storage
    from headwater.cal.compiler import CALimage, Encoding

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
MEGABYTE = 1 << 20


@dataclass(eq=False)
class Device:
    """An open device: its number, the board, and how many bytes of each memory are taken."""

    handle: int
    ordinal: int
    board: Board
    local_bytes: int = 0
    remote_bytes: int = 0
    cached_bytes: int = 0
    contexts: set[int] = field(default_factory=set)


@dataclass(eq=False)
class Resource:
    """Memory of ``height`` rows of ``pitch`` elements, of which ``width`` are used; one row if ``dimensions`` is 1.

    ``devices``: those whose contexts may use it, of which one only remote memory has several.
    """

    handle: int
    devices: tuple[Device, ...]
    width: int
    height: int
    dimensions: int
    format: CALformat
    flags: CALresallocflags
    pitch: int
    remote: bool
    storage: Storage
    mapped: bool = False
    mems: set[int] = field(default_factory=set)

    @property
    def layout(self) -> Format:
        """What its elements are."""
        return describe(self.format)

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return self.height * self.pitch * self.layout.nbytes

    def elements(self, memory: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Bytes of its storage as (height, pitch, components)."""
        shape = (self.height, self.pitch, self.layout.nbytes // self.layout.dtype.itemsize)
        return memory[: self.nbytes].view(self.layout.dtype).reshape(shape)


@dataclass(eq=False)
class Mem:
    """A resource as a context sees it."""

    handle: int
    context: Context
    resource: Resource


@dataclass(eq=False)
class Module:
    """An image loaded onto a context's device."""

    handle: int
    context: Context
    encoding: Encoding
    loaded: Loaded
    names: dict[str, int] = field(default_factory=dict)
    function: int = 0
    interpolating: tuple[Loaded, int, tuple[int, ...]] | None = None
    """The program for launches with domain parameters, once there was one: see `headwater.cal.interpolated`."""


@dataclass(eq=False)
class Function:
    """The entry of a module."""

    handle: int
    module: Module


@dataclass(eq=False)
class Name:
    """A register of a module that memory, or a sampler's state, is bound to."""

    handle: int
    module: Module
    text: str
    mem: Mem | None = None
    sampler: dict[int, Any] = field(default_factory=dict)


lock = threading.RLock()
"""Guards the session's objects and what they know of each other. Nobody waits for a device while holding it."""


def guarded(function: F) -> F:
    """The function, which then runs by itself among those of all threads."""

    @functools.wraps(function)
    def run(*args: Any, **more: Any) -> Any:
        with lock:
            return function(*args, **more)

    return run  # type: ignore[return-value]


_DONE: Future[Any] = Future()
_DONE.set_result(None)


@dataclass(eq=False)
class Context:
    """A queue of a device: what was asked for waits in ``pending`` until a flush, and is then done in that order.

    ``events``: of all that was ever asked for. Those that ended well share one future: programs launch by the million.
    """

    handle: int
    device: Device
    mems: set[int] = field(default_factory=set)
    modules: set[int] = field(default_factory=set)
    events: dict[int, Future[Any]] = field(default_factory=dict)
    pending: list[tuple[int, Callable[[], Any]]] = field(default_factory=list)
    last: Future[Any] = _DONE
    worker: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="headwater-cal-context")
    )
    lock: threading.Lock = field(default_factory=threading.Lock)
    counting: set[Any] = field(default_factory=set)
    """Counters that have begun: see `headwater.cal.counters`."""

    def enqueue(self, job: Callable[[], Any]) -> int:
        """Put a job behind the others; its event."""
        with self.lock:
            event = session().new_handle()
            self.pending.append((event, job))
            self.last = self.events[event] = Future()
        return event

    def flush(self) -> None:
        """Hand everything that waits to the device."""
        with self.lock:
            for event, job in self.pending:
                self.worker.submit(self._do, event, job)
            self.pending.clear()

    def finish(self) -> None:
        """Flush, and wait until everything is done; failures stay with their events."""
        self.flush()
        self.last.exception()

    def _do(self, event: int, job: Callable[[], Any]) -> None:
        future = self.events[event]
        future.set_running_or_notify_cancel()
        try:
            job()
        except BaseException as error:  # whatever happened belongs to the event
            future.set_exception(error)
        else:
            self.events[event] = _DONE
            future.set_result(None)


class Session:
    """Everything between calInit and calShutdown."""

    def __init__(self, boards: Iterable[Board]) -> None:
        self.boards = tuple(boards)
        self.objects: dict[int, Any] = {}
        self.opened: dict[int, Device] = {}
        self.images: set[CALimage] = set()
        self._numbers = itertools.count(1)

    def new_handle(self) -> int:
        """A handle that was never given out."""
        return next(self._numbers)

    def add(self, make: Callable[[int], T]) -> T:
        """Keep what ``make`` makes of a new handle."""
        with lock:
            handle = self.new_handle()
            made = make(handle)
            self.objects[handle] = made
        return made

    def get(self, handle: int, kind: type[T], what: str) -> T:
        """The object of that kind behind a handle; CAL_RESULT_BAD_HANDLE if there is none."""
        found = self.objects.get(handle) if isinstance(handle, int) else None
        if not isinstance(found, kind):
            raise failed(CALresult.BAD_HANDLE, f"{handle!r:.40} is not the handle of a {what}")
        return found

    def drop(self, handle: int) -> None:
        """Forget a handle."""
        self.objects.pop(handle, None)


_current: list[Session] = []


def session() -> Session:
    """The session; CAL_RESULT_NOT_INITIALIZED outside of calInit and calShutdown."""
    if not _current:
        raise failed(CALresult.NOT_INITIALIZED, "CAL is not initialised", hint="call calInit first")
    return _current[0]


@guarded
def begin(boards: Iterable[Board]) -> None:
    """Start the session; CAL_RESULT_ALREADY if there is one."""
    if _current:
        raise failed(CALresult.ALREADY, "CAL is initialised already")
    _current.append(Session(boards))


def end() -> None:
    """End the session: wait for the devices' work, forget everything."""
    for found in list(session().objects.values()):
        if isinstance(found, Context):
            found.finish()
            found.worker.shutdown()
    _current.clear()


def whole(value: Any, what: str, low: int = 0, high: int = 0xFFFFFFFF) -> int:
    """A CALuint; CAL_RESULT_INVALID_PARAMETER if it is none, or beyond the bounds."""
    try:
        number = value.__index__()
    except (AttributeError, TypeError):
        raise failed(CALresult.INVALID_PARAMETER, f"{what} is a whole number, not a {type(value).__name__}") from None
    if not low <= number <= high:
        raise failed(CALresult.INVALID_PARAMETER, f"{what} is {number}; it must lie in {low} … {high}")
    return int(number)


def member(kind: type[T], value: Any, what: str) -> T:
    """A member of an enumeration, from it or its number; CAL_RESULT_INVALID_PARAMETER if there is none."""
    try:
        return kind(value)  # type: ignore[call-arg]
    except ValueError:
        raise failed(CALresult.INVALID_PARAMETER, f"{value!r:.40} is no {what}") from None


def outcome(future: Future[Any]) -> CALresult:
    """How far an event is: OK, PENDING; raises CAL_RESULT_ERROR with what went wrong."""
    if not future.done():
        return CALresult.PENDING
    error = future.exception()
    if isinstance(error, CalError):
        raise error
    if error is not None:
        raise failed(CALresult.ERROR, str(error)) from error
    return CALresult.OK
