"""Input: something that launches kernels. Output: its launches, recorded once and replayed on any chip."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headwater.base import temporary
from headwater.chips.recording import BANKS, recorded_figures
from headwater.emulate.watch.hooks import watching
from headwater.errors import LaunchError, UsageError
from headwater.timing.gains import gains as brought
from headwater.timing.host import host
from headwater.timing.layout import GCN, prepare
from headwater.timing.replay import Replayer
from headwater.timing.report import Replayed, Report, build
from headwater.timing.spin import refuse_spinning
from headwater.timing.vliw_layout import VLIW

if TYPE_CHECKING:
    from headwater.chips import Chip
    from headwater.emulate.watch.trace import Recording, Totals
    from headwater.runtime import Device
    from headwater.timing.machine import Machine, Steps

TIMELINE_EVENTS: Final = 400_000
"""The most waits and wavefronts that a timeline shows: 9.6 MB, and about 60 MB as a file's text."""
SMALLEST_SAMPLE_ROUNDS: Final = 4
"""A sample fills the chip at least so often."""


class _Folder:
    """A folder of its own, which goes when nobody holds this object any more."""

    def __init__(self) -> None:
        self.path = Path(temporary.make())
        weakref.finalize(self, temporary.remove, self.path)


@dataclass(frozen=True)
class Traced:
    """What a replay needs of a launch: its trace, what ran, the sums of what it did, its dimensions, the bytes that are
    copied to the board and back, and `recorded_figures` of the chip that it was recorded on."""

    path: Path
    machine: Machine
    totals: Totals
    work_dim: int
    copied: tuple[int, int]
    figures: Mapping[str, Any]


class Launch:
    """One recorded launch; `report` replays it on a chip. ``keep`` lives as long as the launch: its trace's folder."""

    def __init__(self, traced: Traced, keep: object = None) -> None:
        from headwater.emulate.watch.trace import read

        self._keep = keep
        self.traced = traced
        self.machine = traced.machine
        self.replayer = Replayer(read(traced.path), self.machine)
        self.kernel = self.replayer.trace.kernel
        self._totals = traced.totals
        self._work_dim = traced.work_dim
        self._bytes = traced.copied

    def report(
        self,
        chip: Chip,
        *,
        timeline: bool | range = False,
        sample: float | None = None,
        progress: Callable[[float], None] | None = None,
        gains: bool = False,
    ) -> Report:
        """How long the launch takes on ``chip``, and why.

        ``timeline``: keep what happened in the compute units, for `Report.save_timeline`: in those of a range, by
        their numbers, or in all; in fewer, from the first of them on, where there is no room for more than 400,000
        happenings (a second replay finds them), and of one alone the beginning. ``sample``: the part of the
        work-groups that is replayed, from the first on; the rest is taken to go on at the rate of the second half of
        these, and the report's ``error`` says how much that rate still changed. ``progress``: called with the part
        done. ``gains``: also replay it on the chip with each resource doubled, about ten times as much work: see
        `with_gains`.
        LaunchError if a work-group does not fit; UsageError for a chip that differs in `recorded_figures` from the one
        that it was recorded on; banks of local memory may if it uses none.
        """
        if sample is not None and (isinstance(sample, bool) or not isinstance(sample, (int, float, np.number))):
            raise UsageError(f"sample is a number, not {sample!r:.60}", hint="0.1 replays a tenth of the work-groups")
        if progress is not None and not callable(progress):
            raise UsageError(f"progress is a function that is called with the part done, not {progress!r:.60}")
        replayer = self.replayer
        table = replayer.table(chip)
        self._refuse_other_recording(chip)
        held = replayer.held(chip)
        units = _units(chip, timeline)
        groups, cycles, error = replayer.groups, None, 0.0
        if sample is not None:
            if not 0 < sample <= 1:
                raise UsageError(f"a sample is a part of the work-groups, above 0 and up to 1, not {sample:g}")
            least = SMALLEST_SAMPLE_ROUNDS * held.work_groups * chip.compute.compute_units
            groups = min(groups, max(least, round(sample * groups)))
        room = TIMELINE_EVENTS if units else 0
        counted = replayer.run(chip, table, groups=groups, timeline=room, units=units, progress=progress)
        if counted.happened.sum() > room and len(units) > 1 and counted.complete:
            units = units[: max(1, int(np.searchsorted(counted.happened.cumsum(), room, "right")))]
            counted = replayer.run(chip, table, groups=groups, timeline=room, units=units, progress=progress)
        if groups < replayer.groups and counted.complete:
            cycles, error = self._rest(chip, table, groups, counted.sums["cycles"])
        texts, lines = self.machine.described(table)
        launch = Replayed(
            chip=chip,
            held=held,
            table=table,
            kernel=self.kernel,
            global_size=replayer.global_size[: self._work_dim],
            local_size=replayer.local_size[: self._work_dim],
            texts=texts,
            lines=lines,
            flops=self.machine.flops(replayer.trace, self._totals, table) if counted.complete else 0,
            host=host(chip, *self._bytes, self.machine.command_bytes()),
        )
        found = build(launch, counted, cycles=cycles, error=error, timeline_units=units)
        return self.with_gains(found, sample=sample) if gains else found

    def _refuse_other_recording(self, chip: Chip) -> None:
        """UsageError if the launch, recorded on this chip, might be another one."""
        figures = recorded_figures(chip)
        for name, value in self.traced.figures.items():
            wanted = figures.get(name)
            if wanted == value or (name == BANKS and not self.machine.needs(self.replayer.trace).lds_bytes):
                continue
            raise UsageError(
                f"the launch was recorded with {name} {value}, and {chip.name} has {wanted}",
                hint="record it on that chip; one with a figure changed is a TOML file (docs/chips.md)",
            )

    def with_gains(self, found: Report, *, sample: float | None = None) -> Report:
        """A report of this launch with what more of each resource of its chip would bring: `headwater.timing.gains`."""
        if not found.complete:
            return found
        return found.with_gains(
            brought(found.chip, found.seconds, lambda other: self.report(other, sample=sample).seconds)
        )

    def _rest(self, chip: Chip, table: Steps, groups: int, whole: int) -> tuple[int, float]:
        """The cycles of all work-groups from those of the first ``groups``, and how far off that may be."""
        quarter, half = groups // 4, groups // 2
        first = self.replayer.run(chip, table, groups=quarter).sums["cycles"]
        second = self.replayer.run(chip, table, groups=half).sums["cycles"]
        early, late = (second - first) / (half - quarter), (whole - second) / (groups - half)
        rest = (self.replayer.groups - groups) * late
        total = whole + rest
        return round(total), abs(late - early) * (self.replayer.groups - groups) / total


def _units(chip: Chip, timeline: bool | range) -> range:
    """The compute units that a timeline is to show."""
    there = range(chip.compute.compute_units)
    if isinstance(timeline, bool):
        return there if timeline else there[:0]
    known = isinstance(timeline, range) and timeline.step == 1
    if not known or not 0 <= timeline.start < timeline.stop <= len(there):
        raise UsageError(
            f"{timeline!r:.60} are no compute units of {chip.name}",
            hint=f"timeline=True shows all, range(4, 8) four; there are {len(there)}, counted from 0",
        )
    return timeline


def machine_of(launch: Any) -> Machine:
    """What a launch ran. UsageError if its time cannot be determined from a trace."""
    from headwater.runtime.vliw.launch import ShaderLaunch

    if isinstance(launch, ShaderLaunch):
        from headwater.timing.vliw_machine import VliwMachine
        from headwater.timing.vliw_spin import refuse_spinning_shader

        refuse_spinning_shader(launch)
        return VliwMachine(launch)
    from headwater.timing.machine import GcnMachine

    refuse_spinning(launch.code, launch.machine_kernel.name)
    return GcnMachine(launch.code)


class Recorded:
    """The launches that something made, their traces in files for as long as one of them is in use."""

    def __init__(self, run: Callable[[], object]) -> None:
        from headwater.emulate.watch.trace import Recording  # the engine is begun before this is imported

        folder = _Folder()
        recordings: list[Recording] = []

        def record() -> Recording:
            recordings.append(Recording(folder.path / f"{len(recordings)}.trace"))
            return recordings[-1]

        with watching(record):
            run()
        done = [recording for recording in recordings if recording.totals is not None]
        self.launches = [Launch(_traced(recording), folder) for recording in done]

    @classmethod
    def of(cls, traced: Sequence[Traced]) -> Recorded:
        """The launches of traces that were recorded in another process; their files are the caller's."""
        made = cls.__new__(cls)
        made.launches = [Launch(one) for one in traced]
        return made

    def reports(self, chip: Chip, **options: Any) -> list[Report]:
        """A report for each launch; ``options`` as `Launch.report`."""
        return [launch.report(chip, **options) for launch in self.launches]


def simulated(device: Device | str | None) -> Device:
    """The simulated chip of that name (None: the current or default device), whose engine is made ready meanwhile.
    UsageError if it is a device that exists."""
    from headwater.runtime.interface import resolve

    found = resolve(device)
    if found.kind != "simulated":
        raise UsageError(
            f"{found.name} is not a simulated chip: its time is measured, not simulated",
            hint="choose a chip with device= (--device on the command line), such as vega64 or hd5870; "
            "headwater devices --chips lists them",
        )
    chip: Chip = found.chip  # type: ignore[attr-defined]
    prepare(VLIW if chip.is_vliw else GCN)
    return found


def simulate_launch(launcher: Callable[..., Any], args: tuple[Any, ...], device: Any, **options: Any) -> Report:
    """Run ``launcher(*args, device=…)`` on a simulated chip and say how long the chip would take.

    ``options``: those of `Launch.report`; all others go to the launcher. The arrays have the kernel's results.
    LaunchError if it launched no kernel.
    """
    chosen = simulated(device)
    own = {name: options.pop(name) for name in ("timeline", "sample", "progress", "gains") if name in options}
    recorded = Recorded(lambda: launcher(*args, device=chosen, **options))
    if not recorded.launches:
        raise LaunchError("no kernel was launched, so there is nothing to simulate")
    chip: Chip = chosen.chip  # type: ignore[attr-defined]
    return recorded.launches[0].report(chip, **own)


def _traced(recording: Recording) -> Traced:
    assert recording.path is not None
    assert recording.launch is not None
    assert recording.totals is not None
    launch = recording.launch
    figures = recorded_figures(launch.chip)
    return Traced(recording.path, machine_of(launch), recording.totals, launch.work_dim, _copied(recording), figures)


def _copied(recording: Recording) -> tuple[int, int]:
    """Bytes that a launch needs on the board, and bytes of results: each of its buffers once."""
    from headwater.emulate.watch.trace import read

    launch = recording.launch
    assert launch is not None
    access = {arg.name: arg.access for arg in launch.info.args}
    sizes = {a["name"]: a["nbytes"] for a in read(recording.path or "").header["allocations"]}
    there = back = 0
    for arg in launch.info.args:
        size = next((n for name, n in sizes.items() if name.endswith((f" {arg.name}`", f"*{arg.name}`"))), 0)
        there += size if access[arg.name] != "write" else 0
        back += size if arg.kind == "buffer" and access[arg.name] != "read" else 0
    return there, back
