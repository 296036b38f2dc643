"""Input: a plan and a figure. Output: for each chip the point of the plan with the least of that figure.

Successive halving (K. Jamieson and A. Talwalkar, Non-stochastic best arm identification and hyperparameter
optimization, AISTATS 2016): all points are replayed for a ninth of their work-groups, the best third of them for a
third, and the best third of these whole. What a rung computed is stored like every other row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from headwater.sweep import candidates
from headwater.sweep.candidates import Candidate, Result
from headwater.sweep.plan import Plan, grouped
from headwater.sweep.run import Engine, Run, State
from headwater.sweep.store import Store

KEPT: Final = 3
"""One of so many points goes on to the next rung, which replays so many times more of the work-groups."""
PARTS: Final = (1 / KEPT**2, 1 / KEPT, 1.0)


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
    candidates.refuse_unknown(each, plan)
    whole = State()
    left: dict[tuple[Any, ...], list[Candidate]] = {}
    for job, point in plan.points():
        left.setdefault(tuple(point.values.get(name) for name in names), []).append((job, point))
    best: list[dict[str, Any]] = []
    for part in PARTS:
        rung = {key: [(job, replace(point, part=part)) for job, point in some] for key, some in left.items()}
        groups = grouped(one for some in rung.values() for one in some)
        whole.add(Run(groups, store, engine, progress).run())
        best, left = [], {}
        for key, some in rung.items():
            ranked = _ranked(some, column, store)
            if ranked:
                best.append(ranked[0][0].row)
                left[key] = [candidate for _, candidate in ranked[: -(-len(some) // KEPT)]]
    return best, whole


def _ranked(some: Sequence[Candidate], column: str, store: Store) -> list[tuple[Result, Candidate]]:
    """The candidates that have a figure, the least first; of equals, the first in the plan."""
    results = ((candidates.result(one, column, store), one) for one in some)
    return sorted(((found, one) for found, one in results if found is not None), key=lambda pair: pair[0].figure)
