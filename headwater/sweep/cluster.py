"""Input: tasks. Output: what the workers of a Dask cluster made of them as events: see `headwater.sweep.local`.

A recording stays where it was made, as the result of a task of Dask's, and goes to the workers that replay it. Workers
need Headwater and the files that the plan's arguments name; only the caller's machine needs the store.
"""

from __future__ import annotations

import functools
import itertools
import os
import weakref
from collections import deque
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final

from headwater.base import temporary
from headwater.errors import UsageError
from headwater.sweep import work
from headwater.sweep.local import DEPTH, Event
from headwater.sweep.worker import Prepare, Replay, Task

_LOCAL: Final = "local"
_CONNECT_S: Final = 5.0
_WAIT_S: Final = 60.0
"""For the first worker of a cluster."""


class DaskEngine:
    """The workers of a cluster. ``where``: a scheduler's address, a ``distributed.Client``, or "local", which starts
    ``workers`` on this machine. UsageError where Dask is not installed or there is no such cluster."""

    exact = False

    def __init__(self, where: Any, workers: int | None = None) -> None:
        try:
            import distributed
        except ImportError:
            raise UsageError("Dask is not installed", hint="pip install headwater[dask]") from None
        self._cluster: Any = None
        self._own = isinstance(where, str)
        if where == _LOCAL:
            self._cluster = distributed.LocalCluster(
                n_workers=workers or os.cpu_count() or 1,
                threads_per_worker=1,
                env={"HEADWATER_THREADS": "1"},
                dashboard_address=None,
            )
            where = self._cluster
        elif workers is not None:
            raise UsageError("the workers of a running cluster are its own", hint="leave --workers out")
        try:
            self._client = distributed.Client(where, set_as_default=False, timeout=_CONNECT_S) if self._own else where
            self._client.wait_for_workers(1, timeout=_WAIT_S)
        except (OSError, TimeoutError, ValueError) as error:
            self.close()
            raise UsageError(f"there is no Dask cluster with workers at {where}: {error}") from None
        self._events: SimpleQueue[tuple[Task, Any]] = SimpleQueue()
        self._rows: deque[Event] = deque()
        self._futures: dict[int, Any] = {}
        self._recordings: dict[str, Any] = {}
        self._run = os.urandom(8).hex()
        self._serial = itertools.count()

    @property
    def count(self) -> int:
        """Workers that there are now."""
        return max(1, len(self._client.nthreads()))

    @property
    def wanted(self) -> int:
        """How many tasks more there should be."""
        return DEPTH * self.count - len(self._futures)

    def folder(self) -> str:
        """A name for a recording."""
        return f"{self._run}-{next(self._serial)}"

    def release(self, folder: str) -> None:
        """No task needs a recording any more."""
        self._recordings.pop(folder, None)

    def submit(self, task: Task) -> None:
        """Have a task done."""
        if isinstance(task, Prepare):
            recording = self._client.submit(_prepare, task, pure=False)
            self._recordings[task.folder] = recording
            future = self._client.submit(_summary, recording, pure=False)
        else:
            future = self._client.submit(_replay, self._recordings[task.folder], task, pure=False)
        self._futures[task.number] = future
        future.add_done_callback(functools.partial(_report, self._events, task))

    def next(self, timeout: float) -> Event | None:
        """The next event; None if there is none for so many seconds."""
        if self._rows:
            return self._rows.popleft()
        try:
            task, future = self._events.get(timeout=timeout) if timeout else self._events.get_nowait()
        except Empty:
            return None
        if self._futures.pop(task.number, None) is None:
            return None
        if future.status != "finished":
            return self._failed(task, future)
        found = future.result()
        if isinstance(task, Prepare):
            return Event("prepared", task, found)
        self._rows.extend(Event("row", task, made) for made in found)
        self._rows.append(Event("done", task))
        return self._rows.popleft()

    def _failed(self, task: Task, future: Any) -> Event:
        from distributed import KilledWorker

        error = future.exception() if future.status == "error" else None
        if error is None or isinstance(error, (KilledWorker, OSError)):
            return Event("died", task, f"the workers that were at it ended ({type(error).__name__})")
        return Event("defect", task, f"{type(error).__name__}: {error}")

    def close(self) -> None:
        """Leave the cluster; a local one ends."""
        for future in getattr(self, "_futures", {}).values():
            future.cancel()
        if self._own and hasattr(self, "_client"):
            self._client.close()
        if self._cluster is not None:
            self._cluster.close()


def _report(events: SimpleQueue[tuple[Task, Any]], task: Task, future: Any) -> None:
    events.put((task, future))


# ---- on a worker


_replays = work.Replays()


@functools.cache
def _scratch() -> str:
    os.environ["HEADWATER_THREADS"] = "1"
    return temporary.make()


def _prepare(task: Prepare) -> tuple[work.Prepared, bytes]:
    folder = Path(_scratch(), f"made {task.folder}")
    made = work.prepare(task.job, task.points, task.known, set(task.stored), folder)
    data = work.packed(made.traced)
    temporary.remove(folder)
    return work.bare(made), data


def _summary(recording: tuple[work.Prepared, bytes]) -> work.Prepared:
    return recording[0]


def _replay(recording: tuple[work.Prepared, bytes], task: Replay) -> list[work.Made]:
    folder = Path(_scratch(), task.folder)
    recorded = _replays.opened(task.folder.encode(), lambda: work.unpacked(recording[1], folder))
    weakref.finalize(recorded, temporary.remove, folder)
    return list(work.replay(recorded, task.prepared, task.points))
