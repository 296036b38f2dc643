"""Performance counters (cal_ext_counter.h), over the cycle model of simulated chips.

A counter counts the launches that a context is given between its begin and its end. These are traced and replayed, so
that the numbers are the chip's, not this machine's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headwater.cal.enums import CALcountertype, CALresult
from headwater.cal.errors import failed
from headwater.cal.memory import owner
from headwater.cal.state import Context, guarded, member, session

if TYPE_CHECKING:
    from headwater.timing import Report

TEXTURE_CACHE = "texture L1"


@dataclass(eq=False)
class Counter:
    """A counter of a context. ``state``: created, begun or ended. ``reports``: of the launches it has seen."""

    handle: int
    context: Context
    kind: CALcountertype
    state: str = "created"
    reports: list[Report] = field(default_factory=list)

    @property
    def value(self) -> float:
        """0 to 1."""
        if self.kind is CALcountertype.IDLE:
            # Each launch flushes the queue, and the chip waits while the driver and the command processor see to it.
            idle = sum(report.host.launch_seconds for report in self.reports)
            whole = idle + sum(report.seconds for report in self.reports)
            return idle / whole if whole else 1.0
        used = [use for report in self.reports for use in report.caches if use.name == TEXTURE_CACHE]
        lookups = sum(use.lookups for use in used)
        return sum(use.hit_rate * use.lookups for use in used) / lookups if lookups else 0.0


def calCtxCreateCounter(ctx: int, type: CALcountertype) -> int:
    """A counter. CAL_RESULT_NOT_SUPPORTED on a device that is there: only simulated chips have counters."""
    context = owner(ctx)
    kind = member(CALcountertype, type, "counter's type")
    board = context.device.board
    if not board.has_counters:
        raise failed(
            CALresult.NOT_SUPPORTED, f"{board.name} has no counters", hint="simulated chips do, such as hd4870"
        )
    return session().add(lambda handle: Counter(handle, context, kind)).handle


@guarded
def calCtxDestroyCounter(ctx: int, counter: int) -> None:
    """Forget a counter."""
    found = _counter(ctx, counter)
    found.context.counting.discard(found)
    session().drop(counter)


@guarded
def calCtxBeginCounter(ctx: int, counter: int) -> None:
    """Count what the context is given from now on, anew. CAL_RESULT_ERROR if it counts already."""
    found = _counter(ctx, counter)
    if found.state == "begun":
        raise failed(CALresult.ERROR, "the counter has begun already", hint="calCtxEndCounter comes first")
    found.state, found.reports = "begun", []
    found.context.counting.add(found)


@guarded
def calCtxEndCounter(ctx: int, counter: int) -> None:
    """Count no further. CAL_RESULT_ERROR if it has not begun."""
    found = _counter(ctx, counter)
    if found.state != "begun":
        raise failed(CALresult.ERROR, "the counter has not begun", hint="calCtxBeginCounter comes first")
    found.state = "ended"
    found.context.counting.discard(found)


def calCtxGetCounter(ctx: int, counter: int) -> float:
    """What was counted, 0 to 1: the part of the time that the chip was idle, or of cache lines that its texture caches
    had.

    Waits for the context's work. CAL_RESULT_ERROR if the counter has not ended.
    """
    found = _counter(ctx, counter)
    if found.state != "ended":
        raise failed(
            CALresult.ERROR, "the counter has not ended", hint="calCtxBeginCounter, launches, calCtxEndCounter"
        )
    found.context.finish()
    return found.value


def _counter(ctx: int, counter: int) -> Counter:
    context = owner(ctx)
    found = session().get(counter, Counter, "counter")
    if found.context is not context:
        raise failed(CALresult.BAD_HANDLE, "the counter is another context's")
    return found


def counted(context: Context, run: Callable[[], None]) -> Callable[[], None]:
    """The job of a launch: ``run``, seen by the counters that count now."""
    seeing: Sequence[Counter] = tuple(c for c in context.counting if isinstance(c, Counter))
    if not seeing:
        return run
    board = context.device.board

    def job() -> None:
        reports = board.replayed(run)
        for counter in seeing:
            counter.reports += reports

    return job
