"""Input: copies and kernels that a program gives to the queues of its boards. Output: when each of them ran.

    system = System(chips.find("vega64"))
    first, second = system.queue(), system.queue()
    for queue in (first, second, first, second):
        queue.write(4 << 20)
        queue.launch(report)
        queue.read(4 << 20)
    timeline = system.run()

The program gives its commands one after the other, each of which takes the host some time. A queue runs its commands in
order; commands of different queues run at the same time where they need different things: a board runs one kernel at a
time, has one or two DMA engines (`Link.copy_engines` of its chip), and its link moves data in both directions at once.
Commands can wait for those of other queues and boards (events), and the host for any command.

Launches go by way of the command queue: constants and kernels wait there, on the host's side, until a launch flushes it
(AMD, Technical Overview, ATI Stream Computing, 2.6.2); the command processor reads them over the link before the kernel
runs. What its buffer cannot hold the host has to hand over in several packages (3.3.7). Copies do not wait there.

Memory that is not pinned is copied twice, by one of the host's cores and by the DMA engine (AMD, ATI Stream Computing
User Guide, "Memory Architecture and Access").
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from headwater.base import writing
from headwater.errors import UsageError
from headwater.timing.host import (
    CALL_BYTES,
    LAUNCH_SECONDS,
    STAGING_BYTES_PER_SECOND,
    link_bytes_per_second as link_rate,
    packages,
    start_seconds,
)

if TYPE_CHECKING:
    from headwater.chips import Chip
    from headwater.timing.report import Report

SUBMIT_SECONDS: Final = 5e-6
"""An estimate: what the host needs to give a command, or a package of them, to a queue."""
_COMMANDS, _KERNELS, _COPIES, _HOST = "commands", "kernels", "copies", "copying on the host"


@dataclass(eq=False)
class Command:
    """Something for a queue, and an event at the same time: ``after`` of other commands takes it.

    ``steps``: names of the things that it needs one after the other, and for how many seconds. ``begin`` and ``end``:
    seconds from the program's start, once it has run. ``packages``: in how many the host hands it over.
    """

    name: str
    kind: str
    device: int
    queue: int
    number: int
    steps: tuple[tuple[str, float], ...]
    after: tuple[Command, ...]
    nbytes: int = 0
    flops: int = 0
    packages: int = 1
    begin: float = -1.0
    end: float = -1.0


@dataclass(frozen=True, slots=True)
class Step:
    """A time in which a command had something for itself: ``place`` names it, ``device`` is -1 for the host."""

    name: str
    kind: str
    device: int
    place: str
    begin: float
    end: float
    nbytes: int = 0


class Queue:
    """A queue of one board: what is given to it runs in order. Made by `System.queue`."""

    def __init__(self, system: System, device: int, number: int) -> None:
        self._system = system
        self._last: Command | None = None
        self._buffered = 0
        self.device = device
        self.number = number

    def write(self, nbytes: int, *, pinned: bool = True, after: Iterable[Command] = (), name: str = "") -> Command:
        """Copy ``nbytes`` to the board. UsageError for less than none."""
        dma = (self._system.engine(self.device, "in"), self._moved(nbytes))
        steps = (dma,) if pinned else ((_HOST, nbytes / STAGING_BYTES_PER_SECOND), dma)
        return self._given(name or "copy to the board", "write", steps, after, nbytes=nbytes)

    def read(self, nbytes: int, *, pinned: bool = True, after: Iterable[Command] = (), name: str = "") -> Command:
        """Copy ``nbytes`` back to the host. UsageError for less than none."""
        dma = (self._system.engine(self.device, "out"), self._moved(nbytes))
        steps = (dma,) if pinned else (dma, (_HOST, nbytes / STAGING_BYTES_PER_SECOND))
        return self._given(name or "copy to the host", "read", steps, after, nbytes=nbytes)

    def buffer(self, nbytes: int) -> None:
        """Put so many bytes of constants, state or kernels into the command queue, which the next launch flushes.
        UsageError for less than none."""
        if nbytes < 0:
            raise UsageError(f"{nbytes} bytes of commands cannot be given")
        self._buffered += nbytes

    def launch(
        self, kernel: Report | float, *, after: Iterable[Command] = (), name: str = "", flops: int = 0
    ) -> Command:
        """Run a kernel: a report of it on this board, or its seconds (then with ``name`` and ``flops``).

        UsageError for a report of another chip than the board's, and for less than no time.
        """
        if isinstance(kernel, (int, float)):
            seconds, commands = float(kernel), CALL_BYTES
        else:
            board = self._system.chips[self.device]
            if kernel.chip.name != board.name:
                raise UsageError(f"the report is of {kernel.chip.name}, and the queue's board is a {board.name}")
            seconds, flops, name = kernel.seconds, kernel.flops, name or kernel.kernel
            commands = kernel.host.command_bytes
        if not seconds >= 0:
            raise UsageError(f"a kernel cannot take {seconds:g} s")
        commands += self._buffered
        self._buffered = 0
        steps = ((_COMMANDS, self._moved(commands)), (_KERNELS, seconds))
        return self._given(name or "kernel", "kernel", steps, after, flops=flops, commands=commands)

    def _moved(self, nbytes: int) -> float:
        if nbytes < 0:
            raise UsageError(f"{nbytes} bytes cannot be copied")
        return nbytes / link_rate(self._system.chips[self.device])

    def _given(
        self,
        name: str,
        kind: str,
        steps: tuple[tuple[str, float], ...],
        after: Iterable[Command],
        *,
        nbytes: int = 0,
        flops: int = 0,
        commands: int = 0,
    ) -> Command:
        waits = tuple(after)
        known = self._system.commands
        for one in waits:
            if not (one.number < len(known) and known[one.number] is one):
                raise UsageError(f"{one.name!r} is a command of another system, which cannot be waited for here")
        before = (self._last,) if self._last is not None else ()
        made = Command(
            *(name, kind, self.device, self.number, len(known), steps, (*before, *waits), nbytes, flops),
            packages=packages(commands),
        )
        self._system._give(made)
        self._last = made
        return made


class System:
    """A host with boards, and the program that it runs: what is given to queues, and where the host waits.

    ``boards``: a chip, or several, each with a link of its own. `run` may be called once everything is given.
    """

    def __init__(self, boards: Chip | Sequence[Chip]) -> None:
        self.chips: tuple[Chip, ...] = tuple(boards) if isinstance(boards, Sequence) else (boards,)
        if not self.chips:
            raise UsageError("a system without a board runs nothing")
        self.commands: list[Command] = []
        self._program: list[tuple[str, Command]] = []
        self._queues = 0

    def queue(self, device: int = 0) -> Queue:
        """A new queue of the board with that number. UsageError if there is no such board."""
        if not 0 <= device < len(self.chips):
            raise UsageError(f"there is no board {device}", hint=f"they are 0 to {len(self.chips) - 1}")
        self._queues += 1
        return Queue(self, device, self._queues - 1)

    def wait(self, *commands: Command) -> None:
        """The host gives nothing more before these have ended; without any, before everything has."""
        for one in commands or tuple(self.commands):
            self._program.append(("wait", one))

    def engine(self, device: int, direction: str) -> str:
        """The DMA engine of a board that copies ``"in"`` or ``"out"``."""
        return f"{_COPIES} {direction}" if self.chips[device].link.copy_engines > 1 else _COPIES

    def _give(self, command: Command) -> None:
        self.commands.append(command)
        self._program.append(("give", command))

    def run(self) -> SystemTimeline:
        """When everything ran."""
        return _Run(self).finished()


class _Run:
    """Events in order of time. What is asked for first gets a thing first; it then knows when it will be done."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._free: dict[tuple[int, str], float] = {}
        self._waiting: list[tuple[float, int, int, Command]] = []
        self._missing: dict[int, int] = {}
        self._ready: dict[int, float] = {}
        self._followers: dict[int, list[Command]] = {}
        self._steps: list[Step] = []
        self._order = 0
        for command in system.commands:
            command.begin = command.end = -1.0

    def finished(self) -> SystemTimeline:
        now = 0.0
        for what, command in self._system._program:
            if what == "give":
                now += SUBMIT_SECONDS * command.packages
                self._given(command, now)
                continue
            while command.end < 0:
                self._next()
            now = max(now, command.end)
        while self._waiting:
            self._next()
        total = max([now, *(command.end for command in self._system.commands)])
        return SystemTimeline(self._system.chips, tuple(self._system.commands), tuple(self._steps), total)

    def _given(self, command: Command, now: float) -> None:
        # A launch reaches the board by way of the driver; copies begin at once (DMA is no part of the command queue).
        self._ready[command.number] = now - SUBMIT_SECONDS
        if command.kind == "kernel":
            self._ready[command.number] += LAUNCH_SECONDS[self._system.chips[command.device].family]
        open_ones = [one for one in dict.fromkeys(command.after) if one.end < 0]
        for one in command.after:
            if one.end >= 0:
                self._ready[command.number] = max(self._ready[command.number], one.end)
        self._missing[command.number] = len(open_ones)
        for one in open_ones:
            self._followers.setdefault(one.number, []).append(command)
        if not open_ones:
            self._push(self._ready[command.number], 0, command)

    def _push(self, time: float, step: int, command: Command) -> None:
        heapq.heappush(self._waiting, (time, self._order, step, command))
        self._order += 1

    def _next(self) -> None:
        time, _, number, command = heapq.heappop(self._waiting)
        place, seconds = command.steps[number]
        device = -1 if place == _HOST else command.device
        begin = max(time, self._free.get((device, place), 0.0))
        end = begin + seconds
        # Behind a kernel, the command processor needs some time before the next one runs.
        gap = start_seconds(self._system.chips[device]) if place == _KERNELS else 0.0
        self._free[device, place] = end + gap
        name = f"commands of {command.name}" if place == _COMMANDS else command.name
        self._steps.append(Step(name, command.kind, device, place, begin, end, command.nbytes))
        if number == 0:
            command.begin = begin
        if number + 1 < len(command.steps):
            self._push(end, number + 1, command)
            return
        command.end = end
        for follower in self._followers.pop(command.number, ()):
            self._ready[follower.number] = max(self._ready[follower.number], end)
            self._missing[follower.number] -= 1
            if self._missing[follower.number] == 0:
                self._push(self._ready[follower.number], 0, follower)


@dataclass(frozen=True)
class SystemTimeline:
    """When the commands of a program ran. ``seconds``: from its first command to the end of its last one; ``steps``:
    what each part of the boards and the host's copying core did."""

    chips: tuple[Chip, ...]
    commands: tuple[Command, ...] = field(repr=False)
    steps: tuple[Step, ...] = field(repr=False)
    seconds: float

    @property
    def kernel_seconds(self) -> float:
        """In which kernels ran, on all boards together."""
        return sum(step.end - step.begin for step in self.steps if step.place == _KERNELS)

    @property
    def flops(self) -> int:
        """Floating-point operations of all kernels."""
        return sum(command.flops for command in self.commands)

    @property
    def kernel_gflops(self) -> float:
        """Operations over the time in which kernels ran, in 10⁹ a second."""
        return self.flops / self.kernel_seconds / 1e9 if self.kernel_seconds else 0.0

    @property
    def system_gflops(self) -> float:
        """Operations over the whole time, copies and launches included."""
        return self.flops / self.seconds / 1e9 if self.seconds else 0.0

    def busy(self) -> dict[str, float]:
        """For what part of the time each thing worked: "kernels of board 0", "copies in of board 0", and their like."""
        found: dict[str, float] = {}
        for step in self.steps:
            name = _place(step, len(self.chips))
            found[name] = found.get(name, 0.0) + (step.end - step.begin) / (self.seconds or 1.0)
        return found

    def as_json(self) -> dict[str, Any]:
        """Numbers and texts only."""
        return {
            "seconds": self.seconds,
            "kernel_seconds": self.kernel_seconds,
            "flops": self.flops,
            "kernel_gflops": self.kernel_gflops,
            "system_gflops": self.system_gflops,
            "busy": self.busy(),
            "commands": [
                {
                    **{name: getattr(one, name) for name in ("name", "kind", "device", "queue", "nbytes")},
                    **{"begin": one.begin, "end": one.end},
                }
                for one in self.commands
            ],
        }

    def save_timeline(self, path: Path | str) -> None:
        """Write it for ui.perfetto.dev. UsageError if that is not possible."""

        events = {"traceEvents": self._events(), "displayTimeUnit": "ns"}
        writing.write({Path(path): json.dumps(events, separators=(",", ":"))})

    def _events(self) -> list[dict[str, Any]]:
        """In the trace event format: a process for each board and the host, a track for each of their parts."""
        found: list[dict[str, Any]] = []
        tracks: dict[tuple[int, str], int] = {}
        for step in self.steps:
            process = step.device + 1
            if process not in {device for device, _ in tracks}:
                name = "host" if step.device < 0 else f"board {step.device}: {self.chips[step.device].name}"
                found.append({"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": name}})
            if (process, step.place) not in tracks:
                track = tracks[process, step.place] = len(tracks)
                name = _TRACKS.get(step.place, step.place)
                found.append({"ph": "M", "name": "thread_name", "pid": process, "tid": track, "args": {"name": name}})
            arguments = {"bytes": step.nbytes} if step.nbytes else {}
            found.append(
                {
                    **{"ph": "X", "name": step.name, "pid": process, "tid": tracks[process, step.place]},
                    **{"ts": step.begin * 1e6, "dur": (step.end - step.begin) * 1e6, "args": arguments},
                }
            )
        return found


_TRACKS: Final = {
    _COMMANDS: "command processor",
    _KERNELS: "kernels",
    _COPIES: "DMA engine",
    f"{_COPIES} in": "DMA engine to the board",
    f"{_COPIES} out": "DMA engine to the host",
    _HOST: "copying to and from pinned memory",
}


def _place(step: Step, boards: int) -> str:
    return step.place if step.device < 0 or boards == 1 else f"{step.place} of board {step.device}"


def repeated(chip: Chip, reports: Sequence[Report], times: int, queues: int, *, pinned: bool = True) -> SystemTimeline:
    """A program that runs launches ``times`` times, each with its copies there and back, in ``queues`` queues in turn.

    With two, data for one launch is copied while another one computes: double buffering. UsageError for less than one.
    """
    if times < 1 or queues < 1:
        raise UsageError("a program runs at least once, in at least one queue")
    system = System(chip)
    all_queues = [system.queue() for _ in range(min(queues, times))]
    for turn in range(times):
        queue = all_queues[turn % len(all_queues)]
        for report in reports:
            if report.host.bytes_in:
                queue.write(report.host.bytes_in, pinned=pinned)
            queue.launch(report)
            if report.host.bytes_out:
                queue.read(report.host.bytes_out, pinned=pinned)
    return system.run()
