"""Input: a plan. Output: how many points and jobs it has, and about how long they will take: a few are tried."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from headwater.base import temporary
from headwater.sweep import work
from headwater.sweep.plan import Plan, Point, SweepJob
from headwater.sweep.store import Store

_TRIED: Final = 8
"""Jobs that are tried, at most."""
_START_S: Final = 1.0
"""About what workers take to start."""


@dataclass(frozen=True)
class Estimate:
    """``points`` of ``jobs``, which are recorded once each; ``stored``: current rows that the store has of these jobs.
    ``seconds`` on so many ``workers``, from ``tried`` jobs; ``errors``: what those said that failed."""

    points: int
    jobs: int
    stored: int
    workers: int
    seconds: float
    tried: int
    errors: tuple[str, ...]


def estimate(plan: Plan, workers: int, store: Store | None = None) -> Estimate:
    """Try some jobs of each kernel, the first and the last among them. UsageError for a plan that is wrong."""
    groups = plan.grouped()
    chosen = _spread(groups)
    recording: list[float] = []
    replaying: list[float] = []
    errors: list[str] = []
    with temporary.folder() as folder:
        for number, (job, points) in enumerate(chosen):
            began = time.perf_counter()
            tried = [points[0], points[-1]]
            prepared = work.prepare(job, tried, {}, set(), Path(folder, str(number)))
            recording.append(time.perf_counter() - began)
            if prepared.error:
                errors.append(f"{job.label}: {prepared.error}")
                continue
            opened = work.Replays().opened(b"", lambda prepared=prepared: prepared.traced)  # type: ignore[misc]
            rows = list(work.replay(opened, replace(prepared, traced=()), list(enumerate(tried))))
            replaying.append(sum(row.seconds for row in rows) / len(rows))
    points_in_all = sum(len(points) for _, points in groups)
    each = sum(replaying) / len(replaying) if replaying else 0.0
    whole = len(groups) * sum(recording) / max(1, len(recording)) + points_in_all * each
    stored = 0 if store is None else store.current({job.slot for job, _ in groups})
    left = 1 - min(1.0, stored / points_in_all) if points_in_all else 0.0
    seconds = _START_S + left * whole / min(workers, max(1, points_in_all))
    return Estimate(points_in_all, len(groups), stored, workers, seconds, len(chosen), tuple(errors))


def _spread(groups: Sequence[tuple[SweepJob, list[Point]]]) -> list[tuple[SweepJob, list[Point]]]:
    count = min(_TRIED, len(groups))
    if count < 2:
        return list(groups[:count])
    return [groups[n * (len(groups) - 1) // (count - 1)] for n in range(count)]
