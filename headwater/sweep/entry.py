"""``headwater.sweep(plan)``. Input: a plan. Output: a table with a row for each of its points."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from headwater.errors import UsageError
from headwater.sweep import plan as plans
from headwater.sweep.local import LocalEngine
from headwater.sweep.plan import Plan
from headwater.sweep.run import Engine, Run, State, shard
from headwater.sweep.store import Store
from headwater.sweep.table import Table, table


def sweep(
    plan: Plan | Mapping[str, Any] | Path | str,
    results: Path | str,
    *,
    workers: int | None = None,
    dask: Any = None,
    part: tuple[int, int] | None = None,
    retry: bool = False,
    progress: Callable[[State], None] | None = None,
) -> Table:
    """Compute the points of a plan that the directory ``results`` lacks; the table of all that it has is returned.

    ``plan``: a TOML file's path, or what such a file has as tables (docs/sweep.md). ``workers``: processes of this
    machine, by default one for each processor. ``dask``: the address of a Dask scheduler, "local", or a
    ``distributed.Client``; ``part``: only this one of so many parts, from 1 on, as ``(3, 8)``; ``retry``: compute
    points again that failed. ``progress`` is called a few times a second.

    UsageError for a plan or a part that is wrong. A point that fails is a row with its message.
    """
    made = plans.read(plan)
    run(made, Store(results, create=True), workers=workers, dask=dask, part=part, retry=retry, progress=progress)
    return table(Store(results), made.record)


def run(
    plan: Plan,
    store: Store,
    *,
    workers: int | None = None,
    dask: Any = None,
    part: tuple[int, int] | None = None,
    retry: bool = False,
    progress: Callable[[State], None] | None = None,
) -> State:
    """Compute what a store lacks; how far it came is returned."""
    groups = plan.grouped()
    if part is not None:
        groups = [(job, list(points)) for job, points in shard(groups, *part)]
    with closing(engine(workers, dask)) as made:
        running = Run(groups, store, made, progress, retry=retry)
        running.state.notes += [f"{one}; it is computed again" for one in store.damaged]
        state = running.run()
    store.compact()
    return state


def minimise(
    plan: Plan | Mapping[str, Any] | Path | str,
    results: Path | str,
    column: str = "seconds",
    *,
    each: Sequence[str] = (),
    trials: int | None = None,
    workers: int | None = None,
    dask: Any = None,
    progress: Callable[[State], None] | None = None,
) -> tuple[list[dict[str, Any]], State]:
    """The points of a plan with the least of a figure: one for each device, each combination of figures that are set,
    and of the values named by ``each``. Everything else competes. Returns their rows, and what was computed.

    ``trials``: so many points, chosen by Optuna, are tried for each of these; by default all points compete, by
    successive halving. UsageError if the plan or its rows lack what is asked for, or Optuna is not installed."""
    from headwater.sweep import halving, trials as tried

    made = plans.read(plan)
    store = Store(results, create=True)
    with closing(engine(workers, dask)) as works:
        if trials is None:
            found = halving.minimise(made, column, each, store, works, progress)
        else:
            found = tried.minimise(made, column, each, trials, store, works, progress)
    store.compact()
    return found


def engine(workers: int | None, dask: Any) -> Engine:
    """What computes: processes of this machine, or a Dask cluster."""
    if dask is not None:
        from headwater.sweep.cluster import DaskEngine

        return DaskEngine(dask, workers)
    count = processors() if workers is None else workers
    if count < 1:
        raise UsageError(f"workers are 1 or more, not {count}")
    return LocalEngine(count)


def processors() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
