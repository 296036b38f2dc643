"""Input: a plan and a store. Output: the points that the store lacks, computed by an engine and written to the store.

One process decides what is done next and alone writes rows; workers record and replay. What has been written is never
computed again, whoever is killed when: the next run asks the store.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from headwater.errors import InternalError, UsageError
from headwater.sweep import work
from headwater.sweep.local import Event
from headwater.sweep.plan import Point, SweepJob
from headwater.sweep.store import JOB, PASSING, ROW, Record, Store, model_version
from headwater.sweep.worker import Prepare, Replay, Task

WRITE_S: Final = 0.1
"""Rows wait so long for others, to be written with them in one file."""
CHUNK_S: Final = 0.5
"""A worker is given points for about so long at a time."""
MOST_POINTS_A_TASK: Final = 1000
DEATHS: Final = 3
"""A point at which so many workers died is not tried again in this run."""
AHEAD: Final = 2
"""Jobs that are recorded ahead of their replays, for each worker: recordings take room on the disk."""


class Engine(Protocol):
    """What does tasks: see `headwater.sweep.local.LocalEngine`."""

    exact: bool

    @property
    def count(self) -> int: ...
    @property
    def wanted(self) -> int: ...
    def folder(self) -> str: ...
    def release(self, folder: str) -> None: ...
    def submit(self, task: Task) -> None: ...
    def next(self, timeout: float) -> Event | None: ...
    def close(self) -> None: ...


@dataclass
class State:
    """How far a sweep is. ``points`` in all, of which ``found`` were stored before; ``done`` in this run, ``failed`` of
    these. ``notes``: what happened that somebody should know. ``rate``: points a second."""

    points: int = 0
    found: int = 0
    done: int = 0
    failed: int = 0
    notes: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    first: float = 0.0

    @property
    def left(self) -> int:
        """Points that have no row yet."""
        return self.points - self.found - self.done

    @property
    def rate(self) -> float:
        """Points a second, from the first one on."""
        spent = time.monotonic() - self.first
        return self.done / spent if self.first and spent > 0 else 0.0

    @property
    def remaining_s(self) -> float | None:
        """Seconds that the rest will take; None while nobody can tell."""
        return self.left / self.rate if self.rate and self.done > 1 else None

    def add(self, other: State) -> None:
        """Count what another run of the same search did."""
        self.points += other.points
        self.found += other.found
        self.done += other.done
        self.failed += other.failed
        self.notes += other.notes


@dataclass(eq=False)
class _Open:
    """A job that is being worked on."""

    job: SweepJob
    points: tuple[Point, ...]
    folder: str
    prepared: work.Prepared | None = None
    todo: deque[int] = field(default_factory=deque)
    out: int = 0
    """Points that workers have."""
    seconds: float = 0.0
    """That a point takes; 0 while it is not known."""
    alone: bool = False
    """A worker died at one of several points: each is a task of its own from now on."""
    deaths: dict[int, int] = field(default_factory=dict)


class Run:
    """One run of a sweep."""

    def __init__(
        self,
        groups: Sequence[tuple[SweepJob, Sequence[Point]]],
        store: Store,
        engine: Engine,
        progress: Callable[[State], None] | None = None,
        *,
        retry: bool = False,
    ) -> None:
        self.state = State(sum(len(points) for _, points in groups))
        self._store = store
        self._engine = engine
        self._progress = progress
        self._waiting = deque(groups)
        self._stored = store.keys_by_slot(failed=not retry)
        self._open: list[_Open] = []
        self._tasks: dict[int, tuple[_Open, list[int]]] = {}
        self._serial = 0
        self._rows: list[Record] = []
        self._written = time.monotonic()

    def run(self) -> State:
        """Compute what is missing. However it ends, the rows that were made are written."""
        try:
            while self._waiting or self._open or self._tasks:
                self._submit()
                event = self._engine.next(WRITE_S)
                while event is not None:
                    self._take(event)
                    event = self._engine.next(0) if not self._due() else None
                if self._due():
                    self._write()
                if self._progress is not None:
                    self._progress(self.state)
        finally:
            self._write()
        return self.state

    # -- tasks ---------------------------------------------------------------------------------------------------------

    def _submit(self) -> None:
        while self._engine.wanted > 0:
            replayed = [one for one in self._open if one.todo]
            ready = sum(min(len(one.todo), 2 * self._engine.count) for one in replayed)
            room = len(self._open) < AHEAD * self._engine.count
            if self._waiting and room and (ready < 2 * self._engine.count):
                self._prepare(*self._waiting.popleft())
            elif replayed:
                self._replay(replayed[0])
            else:
                return

    def _number(self, one: _Open, points: list[int]) -> int:
        self._serial += 1
        self._tasks[self._serial] = one, points
        return self._serial

    def _prepare(self, job: SweepJob, points: Sequence[Point]) -> None:
        one = _Open(job, tuple(points), self._engine.folder())
        self._open.append(one)
        self._send_prepare(one)

    def _send_prepare(self, one: _Open) -> None:
        stored = frozenset(self._stored.get(one.job.slot, ()))
        known = dict(self._store.known(one.job.slot))
        self._engine.submit(Prepare(self._number(one, []), one.job, one.points, known, stored, one.folder))

    def _replay(self, one: _Open) -> None:
        assert one.prepared is not None
        fair = max(1, len(one.todo) // (2 * self._engine.count))
        if one.alone:
            fair = 1
        count = min(fair, MOST_POINTS_A_TASK, max(1, int(CHUNK_S / one.seconds))) if one.seconds else 1
        chosen = [one.todo.popleft() for _ in range(min(count, len(one.todo)))]
        one.out += len(chosen)
        points = tuple((number, one.points[number]) for number in chosen)
        self._engine.submit(Replay(self._number(one, chosen), work.bare(one.prepared), points, one.folder))

    # -- events --------------------------------------------------------------------------------------------------------

    def _take(self, event: Event) -> None:
        one, points = self._tasks[event.task.number]
        match event.kind:
            case "row":
                made: work.Made = event.value
                points.remove(made.number)
                one.out -= 1
                spent = max(1e-4, made.seconds)
                one.seconds = 0.8 * one.seconds + 0.2 * spent if one.seconds else spent
                self._keep(one, made)
            case "prepared":
                del self._tasks[event.task.number]
                self._prepared(one, event.value)
            case "done":
                del self._tasks[event.task.number]
                self._requeue(one, points)
            case "died":
                del self._tasks[event.task.number]
                self._died(one, event.task, points, event.value)
            case "defect":
                raise InternalError(f"a worker of the sweep failed at {one.job.label}: {event.value}")
        if one.prepared is not None and not one.todo and not one.out and one in self._open:
            self._open.remove(one)
            self._engine.release(one.folder)

    def _requeue(self, one: _Open, points: Sequence[int]) -> None:
        """Points that a worker had and did not make."""
        one.out -= len(points)
        one.todo.extendleft(reversed(points))

    def _prepared(self, one: _Open, found: work.Prepared) -> None:
        one.prepared = found
        self.state.found += len(one.points) - len(found.missing)
        known = self._store.known(one.job.slot)
        if self._store.base(one.job.slot) != found.base or (found.name and known.get(found.name) != found.base):
            content = json.dumps({"of": found.name, "job": one.job.label}).encode()
            slot = one.job.slot
            self._rows.append(Record(JOB, slot, slot, found.base, model_version(), content))
        if found.error:
            for made in work.failed(found, one.points):
                self._keep(one, made)
        else:
            one.todo.extend(found.missing)

    def _died(self, one: _Open, task: Task, points: list[int], how: str) -> None:
        if isinstance(task, Prepare):
            deaths = one.deaths[-1] = one.deaths.get(-1, 0) + 1
            self.state.notes.append(f"{one.job.label}: {how}, while it was recorded")
            if deaths < DEATHS:
                self._send_prepare(one)
            else:
                self._prepared(one, work.unprepared(one.job, one.points, f"{deaths} times {how}"))
            return
        self._requeue(one, points)
        if not points:
            return  # between a row and the word that the task was done
        if len(points) > 1 and not self._engine.exact:
            one.alone = True  # who dies again is to blame
            return
        at = points[0]
        deaths = one.deaths[at] = one.deaths.get(at, 0) + 1
        self.state.notes.append(f"{one.points[at].label}: {how}")
        if deaths >= DEATHS:
            one.todo.remove(at)
            assert one.prepared is not None
            point = one.points[at]
            key = work.key_of(one.prepared.base, point)
            message = work.payload(point, {"error": f"{deaths} times {how}"})
            self._keep(one, work.Made(at, PASSING, key, message))

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _keep(self, one: _Open, made: work.Made) -> None:
        assert one.prepared is not None
        record = Record(made.kind, made.key, one.job.slot, one.prepared.base, model_version(), made.payload)
        self._rows.append(record)
        self.state.first = self.state.first or time.monotonic()
        self.state.done += 1
        self.state.failed += made.kind != ROW

    def _due(self) -> bool:
        return bool(self._rows) and time.monotonic() - self._written >= WRITE_S

    def _write(self) -> None:
        rows, self._rows = self._rows, []
        self._store.write(rows)
        self._written = time.monotonic()


def shard(
    groups: Sequence[tuple[SweepJob, Sequence[Point]]], number: int, count: int
) -> list[tuple[SweepJob, Sequence[Point]]]:
    """The part ``number``, from 1 on, of ``count``: points that follow each other, so that few jobs are recorded
    twice. UsageError if there is no such part."""
    if not 1 <= number <= count:
        raise UsageError(f"there is no part {number} of {count}", hint="parts are counted from 1 on")
    total = sum(len(points) for _, points in groups)
    low, high = total * (number - 1) // count, total * number // count
    found: list[tuple[SweepJob, Sequence[Point]]] = []
    at = 0
    for job, points in groups:
        chosen = points[max(0, low - at) : max(0, high - at)]
        if chosen:
            found.append((job, chosen))
        at += len(points)
    return found
