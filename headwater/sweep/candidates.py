"""What both searches ask of candidates. Input: points with their jobs. Output: what the store has of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from headwater.errors import UsageError
from headwater.sweep import work
from headwater.sweep.plan import Plan, Point, SweepJob
from headwater.sweep.store import Store

Candidate = tuple[SweepJob, Point]


@dataclass(frozen=True)
class Result:
    """A candidate's row, and the figure of it that is minimised."""

    figure: float
    row: dict[str, Any]


def result(candidate: Candidate, column: str, store: Store) -> Result | None:
    """What the store has of a candidate; None if its row failed or its figure is NaN. UsageError if rows have no such
    figure."""
    job, point = candidate
    base = store.base(job.slot)
    row = None if base is None else store.row(work.key_of(base, point))
    if row is None or "error" in row["found"]:
        return None
    figure = row["found"].get(column)
    if isinstance(figure, bool) or not isinstance(figure, (int, float)):
        numbers = sorted(name for name, value in row["found"].items() if isinstance(value, (int, float)))
        raise UsageError(f"{column!r} cannot be minimised: rows have {', '.join(numbers)}")
    return None if math.isnan(figure) else Result(float(figure), row)


def refuse_unknown(each: Iterable[str], plan: Plan) -> None:
    """UsageError for a name that is no value of any kernel of the plan."""
    axes = (axis.name for kernel in plan.kernels for axis in (*kernel.axes, *plan.figures))
    known = {"kernel", "device", *axes}
    for name in each:
        if name not in known:
            raise UsageError(f"the plan has no value {name!r}", hint=f"it has {', '.join(sorted(known))}")
