"""Input: tasks. Output: what processes of this machine made of them as events, in the order in which it was made.

Each process has one thread for launches and works on one task after the other. It may die: that is an event, which says
what it was at.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final, Literal

from headwater.base import cache, temporary
from headwater.base.messages import receive, send
from headwater.sweep.worker import Prepare, Replay, Task

DEPTH: Final = 2
"""Tasks that a worker has: the one that it is at, and the next, so that it never waits."""


@dataclass(frozen=True)
class Event:
    """What became of a task: a ``row`` of it (`headwater.sweep.work.Made`), that it is ``prepared`` or ``done``, that
    its worker ``died`` at a point of it (``value``: how), or met a ``defect`` of Headwater's (``value``: the text)."""

    kind: Literal["row", "prepared", "done", "died", "defect"]
    task: Task
    value: Any = None


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    tasks: deque[Task] = field(default_factory=deque)
    """The one that it is at, and those behind it."""
    outbox: SimpleQueue[Task | None] = field(default_factory=SimpleQueue)


class LocalEngine:
    """``count`` worker processes of this machine. ``exact``: rows come one by one, so that it is known at which point a
    worker died."""

    exact = True

    def __init__(self, count: int) -> None:
        self.count = count
        self._events: SimpleQueue[tuple[_Worker, str, Any]] = SimpleQueue()
        self._waiting: deque[Task] = deque()
        self._folder = temporary.make()
        self._serial = 0
        self._workers = [self._start() for _ in range(count)]

    def folder(self) -> str:
        """A place for a recording, which `release` removes."""
        self._serial += 1
        return str(Path(self._folder, str(self._serial)))

    def release(self, folder: str) -> None:
        """No task needs a recording any more."""
        temporary.remove(folder)

    @property
    def wanted(self) -> int:
        """How many tasks more there should be, so that no worker waits."""
        return DEPTH * self.count - len(self._waiting) - sum(len(worker.tasks) for worker in self._workers)

    def submit(self, task: Task) -> None:
        """Have a task done by the worker that has least to do."""
        self._waiting.append(task)
        self._hand_out()

    def next(self, timeout: float) -> Event | None:
        """The next event; None if there is none for so many seconds."""
        try:
            worker, kind, value = self._events.get(timeout=timeout)
        except Empty:
            return None
        if kind == "end":
            return self._ended(worker)
        task = worker.tasks[0]
        if kind != "row":
            worker.tasks.popleft()
            self._hand_out()
        return Event(kind, task, value)  # type: ignore[arg-type]

    def close(self) -> None:
        """End the workers at once, and remove the recordings."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.wait()
        self._workers = []
        temporary.remove(self._folder)

    def _ended(self, worker: _Worker) -> Event | None:
        """A worker's output has ended: another one takes its place and what it had not begun."""
        if worker not in self._workers:
            return None
        code = worker.process.wait()
        self._workers[self._workers.index(worker)] = self._start()
        at = worker.tasks.popleft() if worker.tasks else None
        self._waiting.extendleft(reversed(worker.tasks))
        self._hand_out()
        return None if at is None else Event("died", at, _how(code))

    def _hand_out(self) -> None:
        while self._waiting:
            worker = min(self._workers, key=lambda one: len(one.tasks))
            if len(worker.tasks) >= DEPTH:
                return
            task = self._waiting.popleft()
            worker.tasks.append(task)
            worker.outbox.put(task)

    def _start(self) -> _Worker:
        root = str(Path(__file__).resolve().parents[2])
        code = f"import sys; sys.path.insert(0, {root!r}); from headwater.sweep.worker import serve; serve()"
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **cache.environment(), "HEADWATER_THREADS": "1", "PYTHONSAFEPATH": "1"},
            start_new_session=os.name == "posix",  # Ctrl-C in the terminal is for the caller alone
        )
        worker = _Worker(process)
        Thread(target=self._listen, args=(worker,), daemon=True).start()
        Thread(target=_talk, args=(worker,), daemon=True).start()
        return worker

    def _listen(self, worker: _Worker) -> None:
        assert worker.process.stdout is not None
        try:
            while True:
                self._events.put((worker, *receive(worker.process.stdout)))
        except (EOFError, OSError, ValueError):
            worker.outbox.put(None)
            self._events.put((worker, "end", None))


def _talk(worker: _Worker) -> None:
    """Tasks may be more than a pipe holds, and the worker read them only when it has done another."""
    assert worker.process.stdin is not None
    try:
        while (task := worker.outbox.get()) is not None:
            send(worker.process.stdin, task)
    except (OSError, ValueError):
        pass  # it has died, which is told where its output ends


def _how(code: int) -> str:
    import signal

    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        memory = ": was there enough memory?" if name == "SIGKILL" else ""
        return f"its worker process was ended by {name}{memory}"
    return f"its worker process ended with exit status {code}"


__all__ = ["Event", "LocalEngine", "Prepare", "Replay"]
