"""A plan and a figure pass in; for each chip the point of the plan with the least of that figure passes out.

Successive halving (K. Jamieson and A. Talwalkar, Non-stochastic best arm identification and hyperparameter
optimization, AISTATS 2016): all points are replayed for a ninth of their work-groups, the best third of them for a
third, and the best third of these whole. What a rung computed is stored like every other row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from headwater.errors import UsageError
from headwater.sweep import work
from headwater.sweep.plan import Job, Plan, Point
from headwater.sweep.run import Engine, Run, State
from headwater.sweep.store import Store

KEPT: Final = 3
"""One of so many points goes on to the next rung, which replays so many times more of the work-groups."""
PARTS: Final = (1 / KEPT**2, 1 / KEPT, 1.0)

Candidate = tuple[Job, Point]


def minimise(
    plan: Plan,
    column: str,
    each: Sequence[str],
    store: Store,
    engine: Engine,
    progress: Callable[[State], None] | None = None,
) -> tuple[list[dict[str, Any]], State]:
    """The best row for each combination of ``each``, the device and the figures that are set, as the
    store has it; and what was computed. UsageError if rows have no such figure, or the plan no such value."""
    names = ("device", *(axis.name for axis in plan.figures), *each)
    candidates = list(plan.points())
    _check(each, candidates)
    whole = State()
    left: dict[tuple[Any, ...], list[Candidate]] = {}
    for job, point in candidates:
        left.setdefault(tuple(point.values.get(name) for name in names), []).append((job, point))
    best: list[dict[str, Any]] = []
    for part in PARTS:
        rung = {key: [(job, replace(point, part=part)) for job, point in some] for key, some in left.items()}
        _add(whole, Run(_grouped(rung), store, engine, progress).run())
        best, left = [], {}
        for key, some in rung.items():
            ranked = sorted(_ranked(some, column, store), key=lambda one: one[0])
            if ranked:
                best.append(ranked[0][1])
                left[key] = [candidate for _, _, candidate in ranked[: -(-len(some) // KEPT)]]
    return best, whole


def _check(each: Sequence[str], candidates: Sequence[Candidate]) -> None:
    known = {name for _, point in candidates for name in point.values}
    for name in each:
        if name not in known:
            raise UsageError(f"the plan has no value {name!r}", hint=f"it has {', '.join(sorted(known))}")


def _grouped(rung: dict[tuple[Any, ...], list[Candidate]]) -> list[tuple[Job, list[Point]]]:
    found: dict[bytes, tuple[Job, list[Point]]] = {}
    for some in rung.values():
        for job, point in some:
            found.setdefault(job.slot, (job, []))[1].append(point)
    return list(found.values())


def _ranked(
    some: Sequence[Candidate], column: str, store: Store
) -> list[tuple[tuple[float, int], dict[str, Any], Candidate]]:
    """Figure and row of each candidate that has one; of equals the first in the plan is better."""
    found = []
    for number, (job, point) in enumerate(some):
        base = store.base(job.slot)
        row = None if base is None else store.row(work.key_of(base, point))
        if row is None or "error" in row["found"]:
            continue
        figure = row["found"].get(column)
        if isinstance(figure, bool) or not isinstance(figure, (int, float)):
            numbers = sorted(name for name, value in row["found"].items() if isinstance(value, (int, float)))
            raise UsageError(f"{column!r} cannot be minimised: rows have {', '.join(numbers)}")
        found.append(((float(figure), number), row, (job, point)))
    return found


def _add(whole: State, one: State) -> None:
    whole.points += one.points
    whole.found += one.found
    whole.done += one.done
    whole.failed += one.failed
    whole.notes += one.notes
