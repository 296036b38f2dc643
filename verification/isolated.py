"""Input: a function and items. Output: what it returns for each, computed in other processes that may crash or hang."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

BATCH = 50
"""Items per process; PoCL and LLVM keep memory for each kernel."""


@dataclass(frozen=True)
class Died:
    """What became of an item whose process did not live to return a result."""

    reason: str


def _serve(function: Callable[[Any], Any], items: Sequence[Any], folder: str, threads: int, pipe: Connection) -> None:
    os.environ["HEADWATER_CACHE_DIR"] = folder
    os.environ["POCL_KERNEL_CACHE"] = "0"
    os.environ["XDG_CACHE_HOME"] = folder
    if threads:
        os.environ["HEADWATER_THREADS"] = str(threads)
    for item in items:
        pipe.send(function(item))


@dataclass
class _Batch:
    """A process and the items that it works on; ``until``: when its next result must have come."""

    function: Callable[[Any], Any]
    items: Sequence[Any]
    threads: int
    limit_seconds: float
    done: int = 0
    until: float = field(init=False)

    def __post_init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        # What a killed process started may still write there.
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.pipe, theirs = context.Pipe()
        what = (self.function, self.items, self.folder.name, self.threads, theirs)
        self.process = context.Process(target=_serve, args=what)
        self.process.start()
        theirs.close()
        self.until = time.monotonic() + self.limit_seconds

    def next(self) -> Any:
        """The next item's result, if it has come, or how the process ended."""
        try:
            result = self.pipe.recv()
        except EOFError:
            self.process.join()
            result = Died(f"the process ended with status {self.process.exitcode}")
        self.done += 1
        self.until = time.monotonic() + self.limit_seconds
        return result

    def end(self) -> None:
        if self.done < len(self.items):
            self.process.kill()
        self.process.join()
        self.folder.cleanup()
        self.pipe.close()


def each(
    function: Callable[[Any], Any],
    items: Sequence[Any],
    limit_seconds: float,
    batch: int = BATCH,
    jobs: int = 1,
    threads: int = 0,
) -> Iterator[tuple[Any, Any]]:
    """Pairs of an item and its result; the result is `Died` where the process crashed or took too long.

    They come in order with one job, and as they are ready with several processes at a time. ``function`` is found by
    its name in a new process, so it is a module's function (or a `functools.partial` of one). Every process has caches
    of its own, empty at first. ``threads``: how many each of them may use for kernels; 0: as many as it likes.
    """
    waiting = deque(items[at : at + batch] for at in range(0, len(items), batch))
    running: dict[Any, _Batch] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                started = _Batch(function, waiting.popleft(), threads, limit_seconds)
                running[started.pipe] = started
            first = min(each.until for each in running.values())
            ready: list[Any] = wait(list(running), max(0.0, first - time.monotonic()))
            late = [pipe for pipe, each in running.items() if pipe not in ready and each.until <= time.monotonic()]
            for pipe in (*ready, *late):
                work = running[pipe]
                item = work.items[work.done]
                if pipe in ready:
                    result = work.next()
                else:
                    work.process.kill()
                    work.done += 1
                    result = Died(f"the process took longer than {limit_seconds:g} s")
                if isinstance(result, Died) or work.done == len(work.items):
                    del running[pipe]
                    if work.done < len(work.items):
                        waiting.appendleft(work.items[work.done :])
                    work.end()
                yield item, result
    finally:
        for work in running.values():
            work.end()
