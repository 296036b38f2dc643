"""Input: a plan's text, or its tables. Output: its points, grouped by what has to be run once for them.

docs/sweep.md describes plans. A *point* is a kernel with its arguments on a chip; a *job* is what points share that
differ in the chip's figures only: one launch, which is recorded once.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Final

from headwater.base import cache
from headwater.chips.model import Chip
from headwater.chips.recording import recorded_figures
from headwater.chips.whatif import figures, unknown_figure
from headwater.errors import UsageError
from headwater.jobs.bind import Request
from headwater.sweep import expressions
from headwater.sweep.samples import sample

MOST_POINTS: Final = 1_000_000
RECORDS: Final = ("time", "bound", "occupancy", "counters", "checks")
"""What columns a table has beside a point's values: see `headwater.sweep.rows`."""
TIME_LIMIT_S: Final = 300.0
"""How long a launch may be emulated, unless the plan says otherwise."""
_TOP: Final = frozenset(
    ("name", "device", "kernel", "values", "set", "sample", "constraints", "record", "check", "tolerance", "time_limit")
)
_KERNEL: Final = frozenset(
    ("file", "source", "name", "language", "options", "arguments", "global", "local", "shape", "lds", "cast", "values")
)
_AXIS: Final = frozenset(("low", "high", "count", "log", "whole", "choices"))
_OWN: Final = ("kernel", "device", "part")
"""Values that each point has without an axis."""

Value = int | float | str


@dataclass(frozen=True)
class Axis:
    """A name and what it may be: ``choices``, all of which are taken, or what a sample draws: ``draw`` makes a value of
    a number from 0 to 1."""

    name: str
    choices: tuple[Value, ...] = ()
    draw: Callable[[float], Value] | None = None


@dataclass(frozen=True)
class KernelPlan:
    """A kernel as the plan has it; texts may hold ``{expressions}``. ``name``: "" where the file has one kernel."""

    source: str | bytes
    filename: str
    name: str
    language: str | None
    texts: Mapping[str, str]
    arguments: tuple[str, ...]
    cast: bool
    axes: tuple[Axis, ...]

    @property
    def label(self) -> str:
        """What a table calls the kernel."""
        return self.name or Path(self.filename).stem

    @functools.cached_property
    def used(self) -> frozenset[str]:
        """The values that its texts ask for."""
        texts = (*self.texts.values(), *self.arguments)
        return frozenset(name for text in texts for name in expressions.names_in_template(text))


@dataclass(frozen=True)
class SweepJob:
    """A launch that is recorded once: a kernel, what it is compiled with and launched on, and the chip that it is
    recorded on. ``slot`` names it in the store: the same place of a plan has the same, whatever the kernel's text."""

    slot: bytes
    source: str | bytes
    filename: str
    name: str
    language: str | None
    options: str
    request: Request
    chip: Chip
    check: str = ""
    tolerance: float | None = None
    time_limit: float = TIME_LIMIT_S

    @property
    def label(self) -> str:
        """For messages."""
        words = " ".join(self.request.words)
        return f"{self.name or Path(self.filename).name} {words} {self.options}".strip()


@dataclass(frozen=True)
class Point:
    """A place of the plan: the values that make it, the chip and the figures of it that are set, as
    `headwater.chips.whatif.changed` takes them. ``part``: of the work-groups that is replayed."""

    values: Mapping[str, Value]
    chip: Chip
    settings: tuple[str, ...]
    part: float = 1.0

    @property
    def label(self) -> str:
        """For messages."""
        return ", ".join(f"{name} {value}" for name, value in self.values.items())


@dataclass(frozen=True)
class Plan:
    """What a sweep tries: see docs/sweep.md."""

    name: str
    kernels: tuple[KernelPlan, ...]
    chips: tuple[tuple[str, Chip], ...]
    values: tuple[Axis, ...]
    figures: tuple[Axis, ...]
    sampled: int = 0
    method: str = "sobol"
    seed: int = 0
    constraints: tuple[str, ...] = ()
    record: tuple[str, ...] = RECORDS[:3]
    check: str = ""
    tolerance: float | None = None
    time_limit: float = TIME_LIMIT_S
    _jobs: dict[Any, SweepJob] = field(default_factory=dict, repr=False, compare=False)

    def grouped(self) -> list[tuple[SweepJob, list[Point]]]:
        """The points of each job, in the plan's order. UsageError if an expression cannot be computed."""
        return grouped(self.points())

    def points(self) -> Iterator[tuple[SweepJob, Point]]:
        """Every point with its job. UsageError for more than `MOST_POINTS`, before constraints."""
        total = sum(self._count(kernel) for kernel in self.kernels) * len(self.chips)
        if total > MOST_POINTS:
            raise UsageError(
                f"the plan has {total:,} points, more than {MOST_POINTS:,}", hint="sample it: see docs/sweep.md"
            )
        for kernel in self.kernels:
            axes = (*kernel.axes, *self.figures)
            drawn = [axis for axis in axes if axis.draw is not None]
            grid = [axis for axis in axes if axis.draw is None]
            for device, _ in self.chips:
                for place in self._places(drawn):
                    for choice in itertools.product(*(axis.choices for axis in grid)):
                        chosen = {axis.name: value for axis, value in zip(grid, choice, strict=True)} | place
                        found = self.point(kernel, device, chosen)
                        if found is not None:
                            yield found

    def point(self, kernel: KernelPlan, device: str, chosen: Mapping[str, Value]) -> tuple[SweepJob, Point] | None:
        """The point of a kernel on a device where each axis has the value that was ``chosen``, with its job; None if
        the plan's constraints leave it out."""
        values = {axis.name: chosen[axis.name] for axis in (*kernel.axes, *self.figures)}
        at = {"kernel": kernel.label, "device": device, **values}
        place = self._devices[device]
        names = _Names(place.figures, at)
        if not all(expressions.holds(one, names) for one in self.constraints):
            return None
        settings = tuple(f"{one.name}={values[one.name]!r}" for one in self.figures)
        return self._job(kernel, place.recorder, names), Point(at, place.chip, settings)

    @functools.cached_property
    def _devices(self) -> dict[str, _Device]:
        recorders = _recorders(self.chips)
        return {name: _Device(chip, recorders[name], _figures_of(chip)) for name, chip in self.chips}

    def _count(self, kernel: KernelPlan) -> int:
        axes = (*kernel.axes, *self.figures)
        drawn = any(axis.draw is not None for axis in axes)
        return math.prod(len(axis.choices) for axis in axes if axis.draw is None) * (self.sampled if drawn else 1)

    def _places(self, drawn: Sequence[Axis]) -> Iterator[dict[str, Value]]:
        if not drawn:
            yield {}
            return
        for numbers in sample(self.method, self.sampled, len(drawn), self.seed):
            yield {axis.name: axis.draw(x) for axis, x in zip(drawn, numbers, strict=True) if axis.draw is not None}

    def _job(self, kernel: KernelPlan, chip: Chip, names: Mapping[str, Any]) -> SweepJob:
        key = id(kernel), chip.name, *(names[name] for name in sorted(kernel.used))
        found = self._jobs.get(key)
        if found is None:
            found = self._jobs[key] = self._made(kernel, chip, names)
        return found

    def _made(self, kernel: KernelPlan, chip: Chip, names: Mapping[str, Any]) -> SweepJob:
        texts = {name: expressions.filled(text, names).strip() for name, text in kernel.texts.items()}
        words = tuple(expressions.filled(word, names) for word in kernel.arguments)
        request = Request(
            words,
            (),
            _sizes(texts.get("global", ""), "global"),
            _sizes(texts.get("local", ""), "local") or None,
            _sizes(texts.get("shape", ""), "shape") or None,
            kernel.cast,
            (_sizes(texts.get("lds", ""), "lds") or (0,))[0],
        )
        options = texts.get("options", "")
        figures = repr(recorded_figures(chip))
        slot = cache.key(Path(kernel.filename).name, kernel.name, options, repr(request), figures, self.check)
        return SweepJob(
            bytes.fromhex(slot)[:16],
            kernel.source,
            kernel.filename,
            kernel.name,
            kernel.language,
            options,
            request,
            chip,
            self.check,
            self.tolerance,
            self.time_limit,
        )


def grouped(points: Iterable[tuple[SweepJob, Point]]) -> list[tuple[SweepJob, list[Point]]]:
    """The points of each job, in their order."""
    found: dict[bytes, tuple[SweepJob, list[Point]]] = {}
    for job, point in points:
        found.setdefault(job.slot, (job, []))[1].append(point)
    return list(found.values())


@dataclass(frozen=True)
class _Device:
    """A chip of the plan, the chip that records for it, and its figures by their full names."""

    chip: Chip
    recorder: Chip
    figures: dict[str, Any]


class _Names(dict[str, Any]):
    """A point's values, and behind them the figures of its chip."""

    def __init__(self, chip: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self._chip = chip

    def __missing__(self, name: str) -> Any:
        return self._chip[name]


def _figures_of(chip: Chip) -> dict[str, Any]:
    """Every figure of a chip by its full name."""
    tables = ((one.name, getattr(chip, one.name)) for one in fields(chip))
    return {
        f"{name}.{figure.name}": getattr(table, figure.name)
        for name, table in tables
        if is_dataclass(table)
        for figure in fields(table)
    }


def _recorders(chips: Sequence[tuple[str, Chip]]) -> dict[str, Chip]:
    """For each device, the first chip of the plan that records for it."""
    first: dict[Any, Chip] = {}
    return {name: first.setdefault(repr(recorded_figures(chip)), chip) for name, chip in chips}


# ------------------------------------------------------------------------------------------------------------- reading


def read(source: Plan | Mapping[str, Any] | Path | str) -> Plan:
    """The plan of a TOML file, or of the tables that such a file has. UsageError, with the name of what is wrong."""
    if isinstance(source, Plan):
        return source
    if isinstance(source, Mapping):
        return _plan(source, Path())
    import tomllib

    from headwater.base import reading

    path = Path(source)
    try:
        table = tomllib.loads(reading.text(path))
    except OSError as error:
        raise UsageError(f"cannot read the plan {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # TOML's own kind, Python's of texts, names and numbers
        raise UsageError(f"{path} is no TOML file: {error}", hint="docs/sweep.md describes plans") from None
    return _plan(table, path.parent)


def _plan(table: Mapping[str, Any], folder: Path) -> Plan:
    _refuse_unknown(table, _TOP, "a plan")
    sampled = table.get("sample", {})
    _refuse_unknown(sampled, {"points", "method", "seed"}, "[sample]")
    values = [_axis(name, one) for name, one in _table(table, "values").items()]
    made = tuple(_kernel(one, folder, values) for one in _list(table.get("kernel", [])))
    if not made:
        raise UsageError("the plan has no kernel", hint='[kernel] with file = "…"')
    chips = tuple(_chip(one, folder) for one in _list(table.get("device", [])))
    if not chips:
        raise UsageError("the plan names no chip", hint='device = ["vega64"], say')
    if len({name for name, _ in chips}) < len(chips):
        raise UsageError("the plan names a chip twice")
    labels = [one.label for one in made]
    if len(set(labels)) < len(labels):
        raise UsageError(f"two kernels of the plan are called {next(x for x in labels if labels.count(x) > 1)}")
    plan = Plan(
        str(table.get("name", "")),
        made,
        chips,
        tuple(values),
        tuple(_figure_axis(name, one, chips) for name, one in _flat(_table(table, "set")).items()),
        _whole(sampled.get("points", 0), "sample.points"),
        str(sampled.get("method", "sobol")),
        _whole(sampled.get("seed", 0), "sample.seed"),
        tuple(map(str, _list(table.get("constraints", [])))),
        _records(table.get("record", RECORDS[:3]), checked="check" in table),
        str(table.get("check", "")),
        _number(table["tolerance"], "tolerance") if "tolerance" in table else None,
        _number(table.get("time_limit", TIME_LIMIT_S), "time_limit"),
    )
    if plan.tolerance is not None and plan.tolerance < 0:
        raise UsageError(f"tolerance is 0 or more, not {plan.tolerance:g}")
    if plan.time_limit <= 0:
        raise UsageError(f"time_limit is a number of seconds above 0, not {plan.time_limit:g}")
    _check_names(plan)
    return plan


def _check_names(plan: Plan) -> None:
    drawn = [one.name for kernel in plan.kernels for one in (*kernel.axes, *plan.figures) if one.draw is not None]
    if drawn and not plan.sampled:
        raise UsageError(
            f"{drawn[0]} is drawn, and the plan does not say how often",
            hint="[sample] with points = 100, or give it a count",
        )
    if plan.sampled and not drawn:
        raise UsageError("[sample] has nothing to draw", hint="give a value or figure as {low = 1, high = 9}")
    next(sample(plan.method, 1, len(set(drawn)), plan.seed), None)
    for kernel in plan.kernels:
        names = set(_OWN)
        for axis in (*kernel.axes, *plan.figures):
            if axis.name in names:
                raise UsageError(
                    f"the plan gives {axis.name!r} twice"
                    if axis.name not in _OWN
                    else f"{axis.name!r} is a plan's own",
                    hint="give one of the values another name",
                )
            names.add(axis.name)
        asked = {*kernel.used, *(name for one in plan.constraints for name in expressions.names_in(one))}
        for name in sorted(asked - names):
            if not all(name in _figures_of(chip) for _, chip in plan.chips):
                raise UsageError(
                    f"{kernel.label} asks for {name!r}, which is no value of the plan",
                    hint=f"there are {sorted(names)}",
                )


def _kernel(table: Mapping[str, Any], folder: Path, values: Sequence[Axis]) -> KernelPlan:
    from headwater import sources

    _refuse_unknown(table, _KERNEL, "[kernel]")
    if ("file" in table) == ("source" in table):
        raise UsageError("a kernel of a plan has a file or a source", hint='file = "saxpy.cl"')
    if "file" in table:
        source, _ = sources.read(folder / str(table["file"]))
        filename = os.path.abspath(folder / str(table["file"]))
    else:
        source, filename = str(table["source"]), "<source>"
    texts: dict[str, str] = {}
    axes = [*values, *(_axis(name, one) for name, one in _table(table, "values").items())]
    for name in ("options", "global", "local", "shape", "lds"):
        choices = _texts(table[name], name) if name in table else []
        if len(choices) == 1:
            texts[name] = choices[0]
        elif choices:
            # Each choice may hold expressions, too, which are filled in where it is chosen.
            texts[name] = _chosen(name, choices)
            axes.append(Axis(name, tuple(choices)))
    arguments = tuple(map(str, _list(table.get("arguments", []))))
    language = table.get("language")
    name = str(table.get("name", ""))
    return KernelPlan(
        source, filename, name, language, texts, _placed(arguments, folder), bool(table.get("cast")), tuple(axes)
    )


def _chosen(name: str, choices: Sequence[str]) -> str:
    if any("{" in choice for choice in choices):
        raise UsageError(f"{name} has several texts with {{expressions}}", hint="make what differs a value of the plan")
    return f"{{{name}}}"


def _placed(words: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Arguments that name files beside the plan, by paths that lead there."""
    found = []
    for word in words:
        head, equals, rest = word.partition("=") if "=" in word.split("{")[0] else ("", "", word)
        name = rest.split(":")[0]
        beside = folder / name
        if name and not Path(name).is_absolute() and folder != Path() and os.path.isfile(beside):
            rest = f"{beside}{rest[len(name) :]}"
        found.append(f"{head}{equals}{rest}")
    return tuple(found)


def _texts(given: Any, name: str) -> list[str]:
    """A text, or several to choose from; a size may be a number or a list of numbers."""
    if isinstance(given, (list, tuple)):
        if name != "options" and given and all(isinstance(one, int) for one in given) and name != "lds":
            return [",".join(map(str, given))]
        return [text for one in given for text in _texts(one, name)]
    return [str(given)]


def _axis(name: str, given: Any) -> Axis:
    """``[1, 2]``, ``"1:9:5"``, ``{low, high, count}``, ``{low, high}`` or ``{choices}`` (drawn), or one value."""
    if not name.replace(".", "_").isidentifier():
        raise UsageError(f"{name!r} is no name for a value", hint="letters, digits and underscores")
    if isinstance(given, Mapping):
        return _range(name, given)
    if isinstance(given, str) and given.count(":") == 2:
        parts = given.split(":")
        try:
            low, high, count = float(parts[0]), float(parts[1]), int(parts[2])
        except ValueError:
            return Axis(name, (given,))
        _refuse_span(name, low, high, log=False)
        return Axis(name, _steps(name, low, high, count, log=False, whole=False))
    choices = _choices(name, given)
    if len(set(choices)) < len(choices):
        raise UsageError(f"{name} has a value twice: {given!r:.60}")
    return Axis(name, choices)


def _choices(name: str, given: Any) -> tuple[Value, ...]:
    choices = tuple(_list(given))
    if not choices or not all(isinstance(one, str) or _is_number(one) for one in choices):
        raise UsageError(f"{name} takes numbers or texts, not {given!r:.60}", hint='[1, 2], "1:9:5" or {low, high}')
    return choices


def _range(name: str, given: Mapping[str, Any]) -> Axis:
    _refuse_unknown(given, _AXIS, name)
    if "choices" in given:
        return Axis(name, draw=_Choice(_choices(name, given["choices"])))
    if not {"low", "high"} <= given.keys():
        raise UsageError(f"{name} takes low and high, or choices")
    low, high = _number(given["low"], f"{name}.low"), _number(given["high"], f"{name}.high")
    log, whole = bool(given.get("log")), bool(given.get("whole"))
    if not low < high or (log and low <= 0):
        raise UsageError(f"{name} ranges from {low:g} to {high:g}", hint="low is below high; with log it is above 0")
    _refuse_span(name, low, high, log=log)
    if whole and not (low.is_integer() and high.is_integer()):
        raise UsageError(f"{name} ranges from {low:g} to {high:g}", hint="with whole, low and high are whole numbers")
    if "count" in given:
        return Axis(name, _steps(name, low, high, _whole(given["count"], f"{name}.count"), log=log, whole=whole))
    return Axis(name, draw=_Between(low, high, log, whole))


def _refuse_span(name: str, low: float, high: float, *, log: bool) -> None:
    if not _is_number(high / low if log else high - low):
        raise UsageError(f"{name} ranges from {low:g} to {high:g}", hint="both are finite, and so is what lies between")


@dataclass(frozen=True)
class _Choice:
    choices: tuple[Value, ...]

    def __call__(self, x: float) -> Value:
        return self.choices[int(x * len(self.choices))]


@dataclass(frozen=True)
class _Between:
    low: float
    high: float
    log: bool
    whole: bool

    def __call__(self, x: float) -> Value:
        low, high = (self.low, self.high + 1) if self.whole else (self.low, self.high)
        found = low * (high / low) ** x if self.log else low + (high - low) * x
        return min(math.floor(found), int(self.high)) if self.whole else float(f"{found:.9g}")


def _steps(name: str, low: float, high: float, count: int, *, log: bool, whole: bool) -> tuple[Value, ...]:
    if not 2 <= count <= MOST_POINTS:
        raise UsageError(f"{name} takes 2 to {MOST_POINTS:,} values, not {count}")
    parts = (n / (count - 1) for n in range(count))
    found = [low * (high / low) ** x if log else low + (high - low) * x for x in parts]
    return tuple(dict.fromkeys(round(x) if whole else _plain(float(f"{x:.12g}")) for x in found))


def _plain(number: float) -> Value:
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _figure_axis(name: str, given: Any, chips: Sequence[tuple[str, Chip]]) -> Axis:
    """An axis of a figure, by its full name. UsageError if a chip has none of that name."""
    plain = name.strip().lower().replace("-", "_")
    for _, chip in chips:
        if plain not in figures(chip):
            raise unknown_figure(name, chip)
    full = ".".join(figures(chips[0][1])[plain])
    axis = _axis(full, given)
    drawn = axis.draw.choices if isinstance(axis.draw, _Choice) else ()
    if any(isinstance(one, str) for one in (*axis.choices, *drawn)):
        raise UsageError(f"{name} takes numbers, not {given!r:.60}")
    return axis


def _chip(given: Any, folder: Path) -> tuple[str, Chip]:
    from headwater import chips

    if isinstance(given, Chip):
        return given.name, given
    name = str(given)
    beside = folder / name
    return name, chips.find(str(beside) if name.endswith(".toml") and beside.is_file() else name)


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Figures by full name: TOML reads ``compute.clock_mhz = …`` as a table in a table."""
    found: dict[str, Any] = {}
    for name, given in table.items():
        if isinstance(given, Mapping) and not given.keys() & _AXIS:
            found |= _flat(given, f"{prefix}{name}.")
        else:
            found[prefix + name] = given
    return found


def _records(given: Any, *, checked: bool) -> tuple[str, ...]:
    names = tuple(map(str, _list(given)))
    if checked and "checks" not in names:
        names = (*names, "checks")
    for name in names:
        if name not in RECORDS:
            raise UsageError(f"a plan cannot record {name!r}", hint=f"it records {', '.join(RECORDS)}")
    return names


def _sizes(text: str, what: str) -> tuple[int, ...]:
    from headwater.files import shape_of

    if not text:
        return ()
    try:
        found = shape_of(text)
    except UsageError as error:
        raise UsageError(f"{what} = {text!r}: {error.message}", hint="1024 or 640,480") from None
    if what in ("global", "local") and len(found) > 3:
        raise UsageError(f"{what} takes one to three sizes, {len(found)} given")
    if what == "lds" and len(found) > 1:
        raise UsageError(f"lds takes one size, {len(found)} given")
    return tuple(found)


def _table(table: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = table.get(name, {})
    if not isinstance(found, Mapping):
        raise UsageError(f"{name} of a plan is a table, not {found!r:.60}")
    return found


def _list(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _number(given: Any, name: str) -> float:
    if not _is_number(given):
        raise UsageError(f"{name} takes a number, not {given!r:.60}")
    return float(given)


def _is_number(given: Any) -> bool:
    """Whether it is a number, and none that is infinite or beyond a float's range."""
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        return False
    return abs(given) <= sys.float_info.max


def _whole(given: Any, name: str) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise UsageError(f"{name} takes a whole number from 0, not {given!r:.60}")
    return given


def _refuse_unknown(table: Mapping[str, Any], known: frozenset[str] | set[str], what: str) -> None:
    import difflib

    if not isinstance(table, Mapping):
        raise UsageError(f"{what} is a table, not {table!r:.60}")
    for name in table:
        if name not in known:
            close = difflib.get_close_matches(str(name), known, 1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(sorted(known))}"
            raise UsageError(f"{what} has no entry {name!r}", hint=hint)
