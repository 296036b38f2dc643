"""Input: a compiled launch as a `Task`. Worker threads run it until no work-group is left.

The compiled entry takes batches of groups from an atomic counter in the launch block, so any number of threads may join
at any time, and one that comes late finds nothing left and returns. ctypes releases the interpreter's lock meanwhile.

A thread that has worked waits for the next launch in native code (pool.c) for `SPIN_NS` or, behind longer launches, up
to `MOST_SPIN_NS`, where launches find it within a microsecond; after that it sleeps, and a ticket wakes it, on a
processor of its own.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple, TypeVar, cast

import numpy as np

from headwater.base.arrays import Array, address, aligned_bytes
from headwater.base.numbers import natural
from headwater.errors import HeadwaterError, UsageError
from headwater.native.launch_block import (
    ARGS,
    BLOCK,
    BLOCK_FIELDS,
    COUNT,
    JOINED,
    LED,
    NOTIFY,
    OPEN,
    PATIENCE,
    SCRATCH_BYTES,
    STATE,
    STOP,
)
from headwater.native.structure import Struct, c_declarations

T = TypeVar("T")

_MAX_THREADS = 4096
_MAX_CONCURRENT = 4  # launches that get a full set of threads each; beyond that they share
SPIN_NS: Final = 100_000
"""How long a thread without work, or one that waits for the others, keeps its processor: about what waking a sleeping
thread costs. Two cores of a Zen 3 lost 85 µs a launch to it, of 2.7 ms (3 x 3 median)."""
MOST_SPIN_NS: Final = 2_000_000
"""The same where launches take longer: a quarter of what the launch is expected to take, up to this. Its threads may
end that far apart, and one that slept till then is late for the next launch, by 0.1 ms or, where it wakes on the
processor that leads, by 2 to 5 ms (Zen 4, 2 cores, behind another process: 3 x 3 median 1.2 to 1.3 ms for 1.5 to
2.2)."""
PAUSE_SECONDS: Final = 0.02
"""How long a thread sleeps on any processor before it sleeps on its own. Launches that follow each other keep threads
where they are: moved between them, a thread met the one that launches (Emerald Rapids, 2 cores: prefix sum 1.2, n-body
1.1 times as long)."""
NOWHERE: Final = -1
_PLACED: Final = hasattr(os, "sched_setaffinity")
_PAIR_OF_LINES: Final = 128
"""Bytes: cache lines are fetched in pairs."""
_BOARD: Final = Struct(
    "board",
    ("i64", "boxes", 1),  # how many there are
    ("i64", "spinning", 1),  # helpers in `hw_serve`
    ("i64", "most", 1),  # how many may be, so that they do not take the processors of threads with work
    align=_PAIR_OF_LINES,
)
"""Of all threads of a pool; their boxes lie behind it."""
_BOX: Final = Struct(
    "box",
    ("i64", "word", 1),  # ASLEEP, IDLE, or the block that its helper shall run
    ("void *", "scratch", 1),
    ("i64", "scratch_bytes", 1),
    align=_PAIR_OF_LINES,
)
_BOXES, _MOST = _BOARD.word("boxes"), _BOARD.word("most")
_SCRATCH, _SCRATCH_ROOM = _BOX.word("scratch"), _BOX.word("scratch_bytes")


class Task:
    """One launch: its blocks in memory, what its code points at, and what to do when the last thread leaves.

    A task is reused for later launches of the same kernel and sizes. A ticket left over from an earlier launch then
    only means one more helper, as everything is set before the state in the block says that it is open.

    It owns all memory whose address native code gets for the launch: what the caller passed (``given``), and what was
    made for the launch, which is added by `keep` and taken away by `release` alone.
    """

    __slots__ = (
        "args",
        "args_address",
        "began",
        "block",
        "block_address",
        "copies",
        "error",
        "event",
        "finish",
        "given",
        "left",
        "lock",
        "memory",
        "owned",
        "processor",
        "views",
    )

    def __init__(self, block: Array, args_bytes: int) -> None:
        # Block and arguments each begin on a cache line of their own: the counter is written by all threads.
        self.memory = aligned_bytes(BLOCK_FIELDS * 8 + max(args_bytes, 8))
        self.memory[: BLOCK_FIELDS * 8].view(np.int64)[:] = block
        self.memory[BLOCK_FIELDS * 8 :] = 0
        whole = memoryview(cast(Any, self.memory))
        self.block = whole[: BLOCK_FIELDS * 8].cast("q")
        self.args = whole[BLOCK_FIELDS * 8 :]
        self.block_address = address(self.memory)
        self.args_address = self.block_address + BLOCK_FIELDS * 8
        self.block[ARGS] = self.args_address
        self.lock = threading.Lock()
        self.left = threading.Lock()
        self.left.acquire()  # released by the last to leave, where the thread that launched waits for that
        self.finish: Callable[[Task], None] | None = None
        self.event: Any = None
        self.error: BaseException | None = None
        self.processor = NOWHERE  # where the thread runs that launched, if it works on the launch
        self.began = 0  # when it began, on a clock of its launcher's
        self.given: Any = None  # the caller's arguments
        self.owned: list[Any] | None = None  # what `keep` was given
        self.copies: list[tuple[Array, Array]] | None = None  # (user's array, contiguous copy) to write back
        self.views: list[tuple[Any, Array]] | None = None  # (what the user passed, the array that it was taken for)

    def keep(self, thing: T) -> T:
        """Have a thing live as long as threads are inside, as native code gets its address; the thing itself."""
        if self.owned is None:
            self.owned = []
        self.owned.append(thing)
        return thing

    def keep_view(self, value: Any, array: Array) -> None:
        """Keep an array that the caller's argument was taken for. It holds the memory where it is: a bytearray cannot
        be resized then, and what came by DLPack is not given back."""
        self.keep(array)
        if self.views is None:
            self.views = []
        self.views.append((value, array))

    def keep_copy(self, array: Array, copy: Array) -> None:
        """Keep a copy of the caller's array, to be written back when the launch has ended."""
        self.keep(copy)
        if self.copies is None:
            self.copies = []
        self.copies.append((array, copy))

    def release(self) -> None:
        """No thread is inside any more: let go of everything that the launch was given and that was made for it."""
        self.given = self.owned = self.copies = self.views = None


class _Scratch(threading.local):
    address = 0
    nbytes = -1
    memory: Array | None = None


_scratch = _Scratch()


def scratch_address(nbytes: int) -> int:
    """The calling thread's scratch memory of at least ``nbytes`` bytes, 128-byte aligned, kept for later launches."""
    if nbytes > _scratch.nbytes:
        _scratch.memory = None
        size = max(nbytes, 4096)
        _scratch.memory = aligned_bytes(size)
        _scratch.address = address(_scratch.memory)
        _scratch.nbytes = size
    return _scratch.address


def thread_count() -> int:
    """How many threads a launch uses: HEADWATER_THREADS (UsageError if it is bad), or the processors it may use."""
    text = os.environ.get("HEADWATER_THREADS", "").strip()
    if text:
        number = natural(text)
        if number is None or not 0 < number <= _MAX_THREADS:
            raise UsageError(f"HEADWATER_THREADS={text}: not a number from 1 to {_MAX_THREADS}")
        return number
    return _processors()


def _processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1


@functools.cache
def _where() -> Callable[[], int]:
    """The C library's ``sched_getcpu``, which keeps the interpreter's lock as it takes no time; `NOWHERE` without."""
    try:
        return ctypes.PyDLL(None).sched_getcpu
    except (AttributeError, OSError, TypeError):  # macOS, Windows
        return lambda: NOWHERE


class Native(NamedTuple):
    """The functions of pool.c, which says what they do."""

    fork: Any
    lead: Any
    release: Any
    enter: Any
    work: Any
    serve: Any
    spin: Any


_loaded: Native | None = None
_loading = threading.Lock()


def native() -> Native:
    """pool.c, compiled for this machine and loaded; from the disk cache. InternalError if it does not compile."""
    global _loaded
    with _loading:
        if _loaded is None:
            _loaded = _load()
        return _loaded


def prepare() -> None:
    """Have `native` ready soon, while the caller waits for other compilers."""
    if _loaded is None:
        threading.Thread(target=_prepare, name="headwater-prepare", daemon=True).start()


def _prepare() -> None:
    with suppress(OSError, HeadwaterError):  # the launch that needs it will tell
        native()


def c_header() -> str:
    """The declarations that pool.c begins with."""
    bits = {"OPEN": OPEN, "LED": LED, "NOTIFY": NOTIFY, "COUNT": COUNT}
    defined = "".join(f"#define {name} {value}LL\n" for name, value in bits.items())
    return c_declarations(*SHARED) + defined


SHARED: Final = (BLOCK, _BOARD, _BOX)
"""The structures that pool.c and Python share."""


def _load() -> Native:
    from headwater.base import cache
    from headwater.base.freshness import native_state
    from headwater.base.native_library import function
    from headwater.native.shared import library_name, link_shared

    source = c_header() + Path(__file__).with_name("pool.c").read_text(encoding="utf-8")
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    functions: dict[str, tuple[Any, Any]] = {
        "fork": (number, (pointer, pointer, number)),
        "lead": (number, (pointer, pointer)),
        "release": (number, (pointer,)),
        "enter": (number, (pointer,)),
        "work": (number, (pointer, pointer)),
        "serve": (pointer, (pointer, pointer, number)),
        "spin": (None, (number,)),
    }
    key = cache.key("pool 1", native_state(__name__), source)
    entry = cache.get(key)
    if entry is None:
        from headwater.native.compile_c import compile_c

        shared = link_shared(compile_c(source), exports=[f"hw_{name}" for name in functions])
        entry = cache.put(key, {library_name(): shared})
    library = entry / library_name()
    return Native(**{name: function(library, f"hw_{name}", *types) for name, types in functions.items()})


def _spins(spin: Callable[[int], None]) -> int:
    """How many turns of pool.c's waiting take `SPIN_NS`."""
    shortest, turns = SPIN_NS, 256
    for _ in range(4):  # the processor may be taken away meanwhile
        start = time.perf_counter_ns()
        spin(turns)
        shortest = min(shortest, time.perf_counter_ns() - start)
    return turns * SPIN_NS // max(shortest, 1)


class Pool:
    """Worker threads, started when first needed; ``size`` of them serve one launch."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._tickets: SimpleQueue[Task] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._busy = 0
        self._running: dict[int, Task] = {}
        self._most = size * _MAX_CONCURRENT
        self._memory = aligned_bytes(_BOARD.size_bytes + self._most * _BOX.size_bytes)
        self._memory[:] = 0
        self._board = address(self._memory)
        self._words = memoryview(cast(Any, self._memory)).cast("q")
        self._clocks: list[int] = []

    def processor_time_ns(self) -> int:
        """The processor time that its threads have taken so far; they go on meanwhile."""
        return sum([time.clock_gettime_ns(clock) for clock in self._clocks])

    @functools.cached_property
    def _native(self) -> tuple[Native, int]:
        """The native functions, and how long threads keep their processors: not at all where they have to share."""
        found = native()
        shares = self.size > _processors()
        self._words[_MOST] = 0 if shares else self.size - 1
        return found, 0 if shares else _spins(found.spin)

    def _fork(self, functions: Native, task: Task, helpers: int, *, leads: bool) -> None:
        self._running[task.block_address] = task
        if helpers > 0:
            helpers -= functions.fork(self._board, task.block_address, helpers)
        if helpers <= 0:
            return
        task.processor = _where()() if leads else NOWHERE
        with self._lock:  # counted here, not when a thread takes it: the next launch must see it at once
            self._busy += helpers
        if self._threads < self._most and self._threads < self._busy:
            self._grow()
        for _ in range(helpers):
            self._tickets.put(task)

    def submit(self, task: Task, helpers: int) -> None:
        """Have ``helpers`` threads work on a task; the last to leave, perhaps this one, calls its ``finish``."""
        functions, spins = self._native
        task.block[JOINED] = 0
        task.block[PATIENCE] = spins
        task.block[STATE] = OPEN | NOTIFY | LED
        try:
            self._fork(functions, task, helpers, leads=False)
        finally:
            if functions.release(task.block_address):
                self._ended(task)

    def lead(self, task: Task, helpers: int, expected_ns: int = 0) -> None:
        """Work on a task, with ``helpers`` more threads if there is enough to do; all have left on return.

        ``expected_ns``: how long that may take. If an exception ends it (Ctrl-C), the task must not be used again.
        """
        functions, spins = self._native
        scratch = scratch_address(task.block[SCRATCH_BYTES])
        task.finish = None
        task.block[JOINED] = 0
        task.block[PATIENCE] = spins * max(SPIN_NS, min(expected_ns // 4, MOST_SPIN_NS)) // SPIN_NS
        task.block[STATE] = OPEN | LED
        try:
            self._fork(functions, task, helpers, leads=True)
            if functions.lead(task.block_address, scratch):
                task.left.acquire()
        except BaseException:  # the others must have left before the arrays may go
            task.block[STOP] = 1
            task.block[PATIENCE] = 0
            functions.lead(task.block_address, 0)
            while task.block[STATE] & COUNT:
                time.sleep(1e-4)
            raise
        finally:
            self._running.pop(task.block_address, None)

    def _ended(self, task: Task) -> None:
        """The last thread has left."""
        if task.finish is None:
            task.left.release()
        else:
            del self._running[task.block_address]
            task.finish(task)

    def _grow(self) -> None:
        with self._lock:
            wanted = min(self._busy, self._most)
            while self._threads < wanted:
                box = self._threads = self._threads + 1
                name = f"headwater-{box}"
                threading.Thread(target=self._work, args=(box,), name=name, daemon=True).start()
                self._words[_BOXES] = self._threads

    def _work(self, box: int) -> None:
        functions, _ = self._native
        take, serve = self._tickets.get, functions.serve
        behind = _BOARD.size_bytes + (box - 1) * _BOX.size_bytes
        place = self._board + behind
        words = self._words[behind // 8 :]
        if hasattr(time, "pthread_getcpuclockid"):
            self._clocks.append(time.pthread_getcpuclockid(threading.get_ident()))
        words[_SCRATCH_ROOM] = -1  # no scratch memory yet, not even for launches without: the ticket may come too late
        while True:
            patience = self._join(self._taken(box), words)
            while True:
                with suppress(Empty):  # tickets come first: those who put them had nobody in a box to send
                    while True:
                        patience = self._join(take(block=False), words)
                        with self._lock:
                            self._busy -= 1
                ended = serve(self._board, place, patience)
                if not ended:
                    break
                self._ended(self._running[ended])
            with self._lock:
                self._busy -= 1

    def _taken(self, box: int) -> Task:
        """A ticket; in a pause, waited for where no other thread waits.

        A KVM guest's scheduler takes a processor that has halted for one whose host runs another guest, and wakes
        threads where the waking one runs: a second one waited there for 2 to 5 ms until Linux balanced its load.
        """
        if not _PLACED or not self._words[_MOST]:
            return self._tickets.get()
        with suppress(Empty):
            return self._tickets.get(timeout=PAUSE_SECONDS)
        allowed = own = os.sched_getaffinity(0)
        with suppress(OSError):  # what the process may use has just been changed
            own = {sorted(allowed)[box % len(allowed)]}
            os.sched_setaffinity(0, own)
        task = self._tickets.get()
        with suppress(OSError):
            if os.sched_getaffinity(0) == own != allowed:  # else somebody has said since then where it may run
                if own == {task.processor}:
                    os.sched_setaffinity(0, allowed - own)
                os.sched_setaffinity(0, allowed)
        return task

    def _join(self, task: Task, words: memoryview) -> int:
        """Work on a task that there was a ticket for, if it is still open; how many turns to wait for the next one.

        ``words``: this thread's box.
        """
        functions, _ = self._native
        patience = task.block[PATIENCE]
        if not functions.enter(task.block_address):
            return patience
        try:
            words[_SCRATCH] = scratch_address(task.block[SCRATCH_BYTES])
            words[_SCRATCH_ROOM] = _scratch.nbytes
        except BaseException as error:  # out of memory: the launch must end all the same
            task.error = error
            words[_SCRATCH], words[_SCRATCH_ROOM] = 0, -1
        if functions.work(task.block_address, words[_SCRATCH]):
            self._ended(task)
        return patience


_pool: Pool | None = None
_pool_lock = threading.Lock()


def pool() -> Pool:
    """The process's pool."""
    global _pool
    if _pool is None:
        with _pool_lock:
            if _pool is None:
                _pool = Pool(thread_count())
    return _pool


def _forget() -> None:
    """In a forked child there are no worker threads any more, and locks may be held for ever."""
    global _pool, _pool_lock, _loading
    _pool = None
    _pool_lock = threading.Lock()
    _loading = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
