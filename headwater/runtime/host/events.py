"""Input: launches over host memory. Output: their `HostEvent`s, and the `HostQueue` that runs them in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from headwater.errors import HeadwaterError, KernelFault
from headwater.native.launch_block import NEXT, STOP, TOTAL
from headwater.native.pool import Task
from headwater.runtime.events import Event, Gate

_LEAVE_SECONDS = 10.0  # how long Ctrl-C waits for threads to leave a kernel; one that polls leaves within microseconds


class HostEvent(Event):
    """A launch over host memory; its clock is `time.perf_counter`."""

    __slots__ = ("_ended", "_error", "_gate", "_local_size", "_queued", "_started", "_task", "queue")

    def __init__(self, queued: int, started: int, ended: int, local_size: tuple[int, ...]) -> None:
        self._queued = queued
        self._started = started
        self._ended = ended
        self._local_size = local_size
        self._error: BaseException | None = None
        self._gate: Gate | None = None  # None: ended before anybody could ask
        self._task: Task | None = None
        self.queue: HostQueue | None = None

    @property
    def done(self) -> bool:
        return self._gate is None or self._gate.open

    def wait(self, timeout: float | None = None) -> HostEvent:
        gate = self._gate
        if gate is not None and not gate.open:
            try:
                finished = gate.wait(timeout)
            except BaseException:  # Ctrl-C: arrays are in use until the threads have left
                self.stop(KernelFault("the launch was interrupted"))
                gate.wait(_LEAVE_SECONDS)
                raise
            if not finished:
                raise TimeoutError(f"the launch is still running after {timeout} s")
        if self._error is not None:
            raise self._error
        return self

    def stop(self, error: BaseException | None = None) -> None:
        """End the launch early, and drop those put behind it in its queue; ``wait`` then raises ``error``."""
        queue = self.queue
        if queue is not None:
            queue.cancel_after(self)
        task = self._task
        if task is None:
            return
        with task.lock:
            if self._task is task:  # otherwise it has just ended, and the task may serve another launch
                self._error = error or KernelFault("the launch was stopped")
                task.block[STOP] = 1

    @property
    def local_size(self) -> tuple[int, ...]:
        return self._local_size

    @property
    def progress(self) -> float:
        task = self._task
        if task is None:
            return 1.0
        begun: int = task.block[NEXT]
        total: int = task.block[TOTAL]
        return min(begun / total, 1.0) if total and self._started else 0.0

    @property
    def queued(self) -> float:
        return self._queued * 1e-9

    @property
    def started(self) -> float:
        self.wait()
        return self._started * 1e-9

    @property
    def ended(self) -> float:
        self.wait()
        return self._ended * 1e-9


class HostQueue:
    """Launches that run one after the other; the thread that ends one starts the next."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: HostEvent | None = None
        self._waiting: deque[tuple[HostEvent, Callable[[], None], Callable[[], None]]] = deque()
        self._last: HostEvent | None = None
        self._error: BaseException | None = None

    def put(self, event: HostEvent, start: Callable[[], None], drop: Callable[[], None]) -> None:
        """Call ``start`` when everything put in before has ended, or ``drop`` if the launch is cancelled."""
        event.queue = self
        with self._lock:
            self._last = event
            if self._running is not None:
                self._waiting.append((event, start, drop))
                return
            self._running = event
        start()

    def ended(self, event: HostEvent) -> None:
        """The running launch has ended: start the next."""
        with self._lock:
            if event._error is not None and self._error is None:
                self._error = event._error
            if not self._waiting:
                self._running = None
                return
            self._running, start, _ = self._waiting.popleft()
        start()

    def cancel_after(self, event: HostEvent) -> None:
        """Drop what was put in after ``event``, which is being stopped, and ``event`` itself if it has not begun."""
        dropped = []
        with self._lock:
            if event is not self._running and all(event is not other for other, _, _ in self._waiting):
                return
            while self._waiting and self._waiting[-1][0] is not event:
                dropped.append(self._waiting.pop())
            if self._waiting:
                dropped.append(self._waiting.pop())
        for other, _, drop in reversed(dropped):
            other._error = KernelFault("the launch was cancelled: one before it in its queue was stopped")
            drop()

    def finish(self) -> None:
        """Wait for all; raise the first error since the last time."""
        while (event := self._running or self._last) is not None:
            with suppress(HeadwaterError):  # the queue has noted it
                event.wait()
            if event is self._last:
                self._last = None
        with self._lock:
            error, self._error = self._error, None
        if error is not None:
            raise error
