"""What a worker does. Input: a job, which is recorded, and points of it, which are replayed. Output: rows."""

from __future__ import annotations

import functools
import json
import os
import pickle
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headwater.base import cache
from headwater.base.version import VERSION
from headwater.chips.whatif import changed
from headwater.errors import HeadwaterError, ResourceError, UsageError
from headwater.sweep import rows
from headwater.sweep.store import FAILED, PASSING, ROW, hashed, model_version

if TYPE_CHECKING:
    from headwater.jobs.job import Job
    from headwater.sweep.plan import Point, SweepJob
    from headwater.timing.simulate import Recorded, Traced

_KEPT: Final = 4
"""Recordings that a worker holds open."""


@dataclass(frozen=True)
class Prepared:
    """What is known of a job before its points are replayed: ``name``, of all that it was made from, for the next time;
    ``base``, what ran; ``missing``, the numbers of the points that have no row yet. ``traced``: the recorded launches,
    empty where nothing is missing; ``extra``: columns of all its rows. ``error``: why it cannot be recorded, and
    ``passing``, whether that may be different the next time."""

    name: str
    base: bytes
    missing: tuple[int, ...]
    traced: tuple[Traced, ...] = ()
    extra: tuple[tuple[str, Any], ...] = ()
    error: str = ""
    passing: bool = False


@dataclass(frozen=True)
class Made:
    """A row: the number of its point, its kind as `headwater.sweep.store` has it, its key, and its JSON; the
    ``seconds`` that it took."""

    number: int
    kind: int
    key: bytes
    payload: bytes
    seconds: float = 0.0


# -------------------------------------------------------------------------------------------------------------- keys


def key_of(base: bytes, point: Point) -> bytes:
    """The key of a point's row: what ran, every figure of the chip, the part that is replayed, the model's version; and
    the point's own values, as places of a plan may come to the same."""
    part = f"{point.part} {list(point.values.items())}"
    return hashed(base, point.chip.digest, *_changes(point), part, model_version())


def _changes(point: Point) -> list[str]:
    """The settings that change something, whatever their order."""
    found = []
    for setting in point.settings:
        place, _, text = setting.partition("=")
        table, _, name = place.partition(".")
        value = float(text)
        if value != getattr(getattr(point.chip, table), name):
            found.append(f"{place}={value!r}")
    return sorted(found)


def _values_digest(values: dict[str, Any]) -> str:
    parts: list[str | bytes] = []
    for name, value in values.items():
        parts.append(name)
        if isinstance(value, np.ndarray):
            parts += [f"{value.dtype.str} {value.shape}", np.ascontiguousarray(value).tobytes()]
        else:
            parts.append(f"{type(value).__name__} {value!r}")
    return cache.key(*parts)


# ---------------------------------------------------------------------------------------------------------- recording


def prepare(
    job: SweepJob, points: Sequence[Point], known: dict[str, bytes], stored: set[bytes], folder: Path
) -> Prepared:
    """Compile and bind a job, and record it unless all its points are ``stored``. ``known``: bases by `Prepared.name`;
    ``folder``: where its traces go, which the caller removes."""
    from headwater.opencl import includes

    name = base = b""
    try:
        bound, device = _bound(job)
        included = isinstance(job.source, str) and includes.present(job.source)
        # What a header holds is the compiler's to find out: what ran is seen when it has been recorded.
        unknown = os.urandom(16).hex() if included else ""
        checked = f"{job.check} {job.tolerance}" if job.check else ""
        made_of = job.source, VERSION, _compilers(), unknown, job.name, job.options, checked
        name = hashed(*made_of, _values_digest(bound.binding.values), _sizes(bound), job.chip.digest)
        if name.hex() in known:
            base = known[name.hex()]
            if not (missing := _missing(base, points, stored)):
                return Prepared(name.hex(), base, ())
        recorded, extra = _recorded(job, bound, device)
        contents = [launch.machine.content for launch in recorded.launches]
        base = hashed(*contents, bound.kernel.name, _values_digest(bound.binding.values), _sizes(bound), checked)
        missing = _missing(base, points, stored)
        traced = _moved(recorded, folder) if missing else ()
        return Prepared(name.hex(), base, missing, traced, extra)
    except (HeadwaterError, OSError, MemoryError) as error:
        message = str(error) or type(error).__name__
        passing = isinstance(error, (ResourceError, OSError, MemoryError))
        base = hashed("failed", name or hashed(job.source, job.options, repr(job.request)), message)
        return Prepared(name.hex() if name else "", base, _missing(base, points, stored), (), (), message, passing)


def bare(prepared: Prepared) -> Prepared:
    """What is known of a job, without its recorded launches."""
    return replace(prepared, traced=())


def unprepared(job: SweepJob, points: Sequence[Point], message: str) -> Prepared:
    """A job that no worker lives long enough to record."""
    base = hashed("failed", job.source, job.options, repr(job.request), message)
    return Prepared("", base, tuple(range(len(points))), (), (), message, passing=True)


def _missing(base: bytes, points: Sequence[Point], stored: set[bytes]) -> tuple[int, ...]:
    return tuple(number for number, point in enumerate(points) if key_of(base, point) not in stored)


@functools.cache
def _compilers() -> str:
    from headwater.base.freshness import content_state

    everything = ("base", "brook", "hip", "il", "isa", "jobs", "llvm", "native", "opencl", "runtime", "vectorise")
    return content_state("headwater.sweep.work", everything, ("chips/", ".toml"))


def _sizes(bound: Job) -> str:
    binding = bound.binding
    return f"{binding.global_size} {binding.local_size} {binding.lds_bytes} {binding.shape}"


def _bound(job: SweepJob) -> tuple[Job, Any]:
    from headwater.jobs.job import Job, bound, choose_kernel
    from headwater.runtime.devices import of_chip
    from headwater.runtime.loading import program_of

    device = of_chip(job.chip)
    program = program_of(job.source, job.filename, job.language, job.options, device)
    name = choose_kernel(program, job.name or None, Path(job.filename))
    return Job(program, name, *bound(program, name, job.request), time_limit=job.time_limit), device


def _recorded(job: SweepJob, bound: Job, device: Any) -> tuple[Recorded, tuple[tuple[str, Any], ...]]:
    """The launches of a job, and what its outputs were found to be."""
    from headwater.timing.simulate import Recorded

    outputs: dict[str, Any] = {}
    recorded = Recorded(lambda: outputs.update(bound.run(device)[0]))
    if not recorded.launches:
        raise UsageError("no kernel was launched, so there is nothing to simulate")
    extra: list[tuple[str, Any]] = [("outputs", _values_digest(outputs)[:16])]
    if job.check:
        extra.append(("check", _checked(job, bound, outputs)))
    return recorded, tuple(extra)


def _checked(job: SweepJob, bound: Job, outputs: dict[str, Any]) -> str:
    """``same``, or what differs between a job's outputs and those of the device that it is checked against."""
    from headwater.jobs.compare import compare
    from headwater.runtime.devices import device

    reference, _ = bound.run(device(job.check))
    found = [compare(name, outputs[name], reference[name], job.tolerance) for name in outputs]
    wrong = [f"{one.name}: {one.wrong} of {one.elements} differ" for one in found if not one.ok]
    return "; ".join(wrong) or "same"


def _moved(recorded: Recorded, folder: Path) -> tuple[Traced, ...]:
    """The traces, in a folder that outlives the recording."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for number, launch in enumerate(recorded.launches):
        path = folder / f"{number}.trace"
        try:
            os.link(launch.traced.path, path)
        except OSError:  # another file system
            shutil.copyfile(launch.traced.path, path)
        found.append(replace(launch.traced, path=path))
    return tuple(found)


# ---------------------------------------------------------------------------------------------------------- replaying


class Replays:
    """Recordings that are open, the last ones used."""

    def __init__(self) -> None:
        self._open: dict[bytes, Recorded] = {}

    def opened(self, name: bytes, load: Callable[[], Sequence[Traced]]) -> Recorded:
        """A recording by its name; ``load`` gives its launches where it is not open."""
        from headwater.timing.simulate import Recorded

        found = self._open.pop(name, None)
        if found is None:
            found = Recorded.of(load())
            while len(self._open) >= _KEPT:
                del self._open[next(iter(self._open))]
        self._open[name] = found
        return found


def replay(recorded: Recorded, prepared: Prepared, points: Sequence[tuple[int, Point]]) -> Iterator[Made]:
    """The rows of points, one after the other."""
    for number, point in points:
        began = time.perf_counter()
        found: dict[str, Any] = {}
        kind = ROW
        try:
            chip = changed(point.chip, point.settings)[0] if point.settings else point.chip
            part = point.part if point.part < 1 else None
            found = rows.figures(recorded.reports(chip, sample=part)) | dict(prepared.extra)
        except (HeadwaterError, MemoryError) as error:
            kind = PASSING if isinstance(error, (ResourceError, MemoryError)) else FAILED
            found = {rows.ERROR: str(error) or "out of memory"}
        made = key_of(prepared.base, point), payload(point, found)
        yield Made(number, kind, *made, time.perf_counter() - began)


def failed(prepared: Prepared, points: Sequence[Point]) -> Iterator[Made]:
    """The rows of a job that cannot be recorded."""
    for number in prepared.missing:
        point = points[number]
        kind = PASSING if prepared.passing else FAILED
        yield Made(number, kind, key_of(prepared.base, point), payload(point, {rows.ERROR: prepared.error}))


def payload(point: Point, found: dict[str, Any]) -> bytes:
    """A row's JSON."""
    at = dict(point.values) | ({"part": point.part} if point.part < 1 else {})
    return json.dumps({"at": at, "found": found}, separators=(",", ":"), ensure_ascii=False, default=_plain).encode()


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


def packed(traced: Sequence[Traced]) -> bytes:
    """Launches with the bytes of their traces, for a worker on another machine."""
    return pickle.dumps([(one, one.path.read_bytes()) for one in traced])


def unpacked(data: bytes, folder: Path) -> tuple[Traced, ...]:
    """What was `packed`, its traces in a folder of this machine."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for number, (one, content) in enumerate(pickle.loads(data)):
        path = folder / f"{number}.trace"
        path.write_bytes(content)
        found.append(replace(one, path=path))
    return tuple(found)
