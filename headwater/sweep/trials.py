"""Input: a plan, a figure and a number of trials. Output: for each chip the best point that was tried.

The points that are tried are chosen by Optuna's tree-structured Parzen estimator (J. Bergstra and others, Algorithms
for hyper-parameter optimization, NIPS 2011), which learns from those tried before. It is for plans with many more
points than anybody wants to compute, and for values that are drawn from a range.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from headwater.errors import UsageError
from headwater.sweep import candidates
from headwater.sweep.candidates import Candidate, Result
from headwater.sweep.plan import Axis, KernelPlan, Plan, Value, grouped
from headwater.sweep.run import Engine, Run, State
from headwater.sweep.store import Store

BATCH: Final = 8
"""Trials of a search that are computed at the same time, however many workers there are: the same plan and seed try
the same points everywhere."""
ASKED: Final = 20
"""So many times the trials are suggestions asked for, of which those that were tried before or that constraints leave
out count as no trial."""
_BELOW_ONE: Final = math.nextafter(1.0, 0.0)


def minimise(
    plan: Plan,
    column: str,
    each: Sequence[str],
    trials: int,
    store: Store,
    engine: Engine,
    progress: Callable[[State], None] | None = None,
) -> tuple[list[dict[str, Any]], State]:
    """The best row among ``trials`` points for each combination of ``each``, the device and the figures that are set;
    and what was computed. UsageError if Optuna is not installed, rows have no such figure, or the plan no such value;
    for a value that makes a combination and is drawn, and for less than one trial."""
    if trials < 1:
        raise UsageError(f"trials are 1 or more, not {trials}")
    candidates.refuse_unknown(each, plan)
    whole = State()
    searches = _searches(plan, each)
    while running := [one for one in searches if one.tried < trials and one.asked < ASKED * trials]:
        batch = [one.ask(min(BATCH, trials - one.tried)) for one in running]
        groups = grouped(one for search, some in zip(running, batch, strict=True) for one in search.new(some))
        whole.add(Run(groups, store, engine, progress).run())
        for search, some in zip(running, batch, strict=True):
            search.learn(some, column, store)
    return [one.best.row for one in searches if one.best is not None], whole


@dataclass(frozen=True)
class _Asked:
    """A suggestion: its trial in Optuna, and the candidate; None where constraints leave it out."""

    trial: Any
    candidate: Candidate | None

    @property
    def place(self) -> tuple[Any, ...]:
        """The values of the candidate, which name it in its search."""
        return () if self.candidate is None else tuple(self.candidate[1].values.items())


@dataclass
class _Search:
    """One of the minima that are looked for: some of the plan's kernels on a device, where the values of ``fixed`` do
    not change. ``asked`` counts suggestions."""

    plan: Plan
    device: str
    kernels: list[KernelPlan]
    fixed: Mapping[str, Value]
    study: Any
    asked: int = 0
    best: Result | None = None
    _known: dict[tuple[Any, ...], float] = field(default_factory=dict)
    """The figure of each point that was tried; infinite if its row failed."""

    def ask(self, count: int) -> list[_Asked]:
        """As many suggestions."""
        self.asked += count
        return [self._suggested(self.study.ask()) for _ in range(count)]

    def new(self, some: Sequence[_Asked]) -> list[Candidate]:
        """The candidates among suggestions that were not tried before, each once."""
        found = {one.place: one.candidate for one in some if one.candidate and one.place not in self._known}
        return list(found.values())

    def learn(self, some: Sequence[_Asked], column: str, store: Store) -> None:
        """Have the next suggestions learn from the rows of these."""
        for one in some:
            if one.candidate is not None and one.place not in self._known:
                found = candidates.result(one.candidate, column, store)
                self._known[one.place] = math.inf if found is None else found.figure
                if found is not None and (self.best is None or found.figure < self.best.figure):
                    self.best = found
            self.study.tell(one.trial, self._known.get(one.place, math.inf))

    @property
    def tried(self) -> int:
        """Different points."""
        return len(self._known)

    def _suggested(self, trial: Any) -> _Asked:
        number = trial.suggest_categorical("kernel", range(len(self.kernels))) if len(self.kernels) > 1 else 0
        kernel = self.kernels[number]
        values = dict(self.fixed)
        for axis in kernel.axes:
            if axis.name not in values:
                values[axis.name] = _value(trial, axis, f"{number} {axis.name}")
        return _Asked(trial, self.plan.point(kernel, self.device, values))


def _value(trial: Any, axis: Axis, name: str) -> Value:
    """A suggested value of an axis: numbers by their order, texts as texts, what is drawn by where it is drawn."""
    if axis.draw is not None:
        return axis.draw(min(trial.suggest_float(name, 0.0, 1.0), _BELOW_ONE))
    if len(axis.choices) == 1:
        return axis.choices[0]
    numbers = [one for one in axis.choices if not isinstance(one, str)]
    if len(numbers) == len(axis.choices):
        place: int = trial.suggest_int(name, 0, len(numbers) - 1)
        return sorted(numbers)[place]
    chosen: int = trial.suggest_categorical(name, range(len(axis.choices)))
    return axis.choices[chosen]


def _searches(plan: Plan, each: Sequence[str]) -> list[_Search]:
    found: dict[tuple[Any, ...], _Search] = {}
    for kernel in plan.kernels:
        fixed = [axis for axis in (*plan.figures, *kernel.axes) if axis in plan.figures or axis.name in each]
        for axis in fixed:
            if axis.draw is not None:
                raise UsageError(
                    f"{axis.name} is drawn, and the least is looked for at each of its values",
                    hint=f"give {axis.name} a list or a count",
                )
        for device, _ in plan.chips:
            for choice in itertools.product(*(axis.choices for axis in fixed)):
                values = {axis.name: value for axis, value in zip(fixed, choice, strict=True)}
                key = device, kernel.label if "kernel" in each else "", *values.items()
                if key not in found:
                    found[key] = _Search(plan, device, [], values, _study(plan.seed + len(found)))
                found[key].kernels.append(kernel)
    return list(found.values())


def _study(seed: int) -> Any:
    try:
        import optuna
    except ImportError:
        raise UsageError(
            "--trials needs Optuna, which is not installed",
            hint="pip install headwater[optuna], or leave --trials out: all points are replayed in part",
        ) from None
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            # Values of a kernel depend on each other; trials that are being computed count as bad ones, so that
            # others are tried beside them.
            sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True, constant_liar=True)
        return optuna.create_study(sampler=sampler)
    finally:
        optuna.logging.set_verbosity(verbosity)
