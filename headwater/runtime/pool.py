"""A compiled launch passes in as a `Task`; worker threads run it until no work-group is left.

The compiled entry takes batches of groups from an atomic counter in the launch block, so any number of threads may join
at any time, and one that comes late finds nothing left and returns. ctypes releases the interpreter's lock meanwhile.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, cast

import numpy as np

from headwater.errors import UsageError
from headwater.runtime.arrays import Array, address, aligned_bytes

# Fields of the launch block, int64[32], that compiled code reads.
NEXT, TOTAL, BATCH, STOP = 0, 1, 2, 3
GLOBAL, LOCAL, GROUPS, OFFSET = 4, 7, 10, 13
WORK_DIM, FLAGS, PRINTF, ERROR, BOUNDS, BOUNDS_COUNT, FRAMES = 16, 17, 18, 19, 20, 21, 22
BLOCK_FIELDS = 32
FLAG_STREAMING = 1
FLAG_LARGE = 2

_MAX_THREADS = 4096
_MAX_CONCURRENT = 4  # launches that get a full set of threads each; beyond that they share


class Task:
    """One launch: its blocks in memory, who is working on it, and what to do when the last one leaves.

    A task is reused for later launches of the same kernel and sizes. A ticket left over from an earlier launch then
    only means one more helper, as threads enter under the lock and everything is set before ``open``.
    """

    __slots__ = (
        "args",
        "args_address",
        "block",
        "block_address",
        "copies",
        "entry",
        "error",
        "event",
        "finish",
        "inside",
        "keep",
        "lock",
        "memory",
        "open",
        "own_scratch",
        "scratch_bytes",
        "waiter",
    )

    def __init__(self, entry: Callable[[int, int, int], None], block: Array, args_bytes: int) -> None:
        self.entry = entry
        # Block and arguments each begin on a cache line of their own: the counter is written by all threads.
        self.memory = aligned_bytes(BLOCK_FIELDS * 8 + max(args_bytes, 8))
        self.memory[: BLOCK_FIELDS * 8].view(np.int64)[:] = block
        self.memory[BLOCK_FIELDS * 8 :] = 0
        whole = memoryview(cast(Any, self.memory))
        self.block = whole[: BLOCK_FIELDS * 8].cast("q")
        self.args = whole[BLOCK_FIELDS * 8 :]
        self.block_address = address(self.memory)
        self.args_address = self.block_address + BLOCK_FIELDS * 8
        self.scratch_bytes = 0
        self.own_scratch = 0  # address of scratch memory that replaces the thread's own; only for one thread
        self.lock = threading.Lock()
        self.open = False
        self.inside = 0
        self.waiter: Any = None
        self.finish: Callable[[Task], None] | None = None
        self.event: Any = None
        self.error: BaseException | None = None
        self.keep: Any = None  # what must live as long as threads are inside
        self.copies: list[tuple[Array, Array]] | None = None  # (user's array, contiguous copy) to write back

    def enter_and_run(self) -> None:
        """Work on the task if it is still open; whoever leaves last closes the launch."""
        with self.lock:
            if not self.open:
                return
            self.inside += 1
        try:
            self.entry(self.block_address, self.args_address, self.own_scratch or scratch_address(self.scratch_bytes))
        except BaseException as error:  # out of memory for scratch, say: the launch must end all the same
            self.error = error
        with self.lock:
            self.open = False  # the entry returns when no group is left to take
            self.inside -= 1
            last = self.inside == 0
            waiter = self.waiter
        if last:
            if waiter is not None:
                waiter.release()
            elif self.finish is not None:
                self.finish(self)


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
        if not text.isdecimal() or not 0 < int(text) <= _MAX_THREADS:
            raise UsageError(f"HEADWATER_THREADS={text}: not a number from 1 to {_MAX_THREADS}")
        return int(text)
    if hasattr(os, "sched_getaffinity"):
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1


class Pool:
    """Worker threads, started when first needed; ``size`` of them serve one launch."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._tickets: SimpleQueue[Task] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._busy = 0

    def submit(self, task: Task, tickets: int) -> None:
        """Ask for ``tickets`` threads to work on an open task."""
        with self._lock:  # counted here, not when a thread takes it: the next launch must see it at once
            self._busy += tickets
        if self._threads < self.size * _MAX_CONCURRENT and self._threads < self._busy:
            self._grow()
        for _ in range(tickets):
            self._tickets.put(task)

    def _grow(self) -> None:
        with self._lock:
            wanted = min(self._busy, self.size * _MAX_CONCURRENT)
            while self._threads < wanted:
                self._threads += 1
                name = f"headwater-{self._threads}"
                threading.Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        take = self._tickets.get
        while True:
            task = take()
            task.enter_and_run()
            del task  # it holds the caller's arrays
            with self._lock:
                self._busy -= 1


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
    global _pool, _pool_lock
    _pool = None
    _pool_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
