"""A worker process: tasks come in on standard input, rows go out, one after the other, until the input ends."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from headwater.base import temporary
from headwater.base.messages import receive, send
from headwater.sweep import work
from headwater.sweep.plan import Point, SweepJob

LAUNCHES: Final = "launches"
"""The file of a recording's folder that says what its traces are of."""


@dataclass(frozen=True)
class Prepare:
    """Record a job: see `headwater.sweep.work.prepare`."""

    number: int
    job: SweepJob
    points: tuple[Point, ...]
    known: dict[str, bytes]
    stored: frozenset[bytes]
    folder: str


@dataclass(frozen=True)
class Replay:
    """Replay points of a recording, which ``folder`` holds."""

    number: int
    prepared: work.Prepared
    points: tuple[tuple[int, Point], ...]
    folder: str


Task = Prepare | Replay


def serve() -> None:
    """The process: messages out are ``("row", Made)``, ``("prepared", Prepared)``, ``("done", None)`` and, for a defect
    of Headwater's, ``("defect", text)``."""
    source, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what kernels print may not get between the answers
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    replays = work.Replays()
    try:
        while True:
            _answer(receive(source), replays, answers)
    except (EOFError, BrokenPipeError):
        return


def _answer(task: Task, replays: work.Replays, answers: IO[bytes]) -> None:
    try:
        if isinstance(task, Prepare):
            made = work.prepare(task.job, task.points, task.known, set(task.stored), Path(task.folder))
            if made.traced:
                Path(task.folder, LAUNCHES).write_bytes(pickle.dumps(made.traced))
            send(answers, ("prepared", made))
            return

        def load() -> Any:
            return pickle.loads(Path(task.folder, LAUNCHES).read_bytes())

        recorded = replays.opened(task.folder.encode(), load)
        for row in work.replay(recorded, task.prepared, task.points):
            send(answers, ("row", row))
        send(answers, ("done", None))
    except (EOFError, BrokenPipeError):
        raise
    except Exception as error:
        import traceback

        send(answers, ("defect", f"{type(error).__name__}: {error}\n{traceback.format_exc()}"))


def _leave_with(parent: int) -> None:
    """End this process when its caller was killed, and remove what the caller cannot remove any more."""
    while os.getppid() == parent:
        time.sleep(0.5)
    temporary.remove_abandoned()
    os._exit(1)
