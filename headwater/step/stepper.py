"""Runs a launch forwards and backwards, as far as is asked for. Output: its state as plain values.

Backwards is forwards from a snapshot: every 64 instructions registers are copied and the memory's journal gets a mark;
of those that lie further back fewer are kept, so that memory stays bounded and any instruction can be gone back to.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import numpy as np

from headwater.base.numbers import whole
from headwater.emulate.wave.layout import LANES
from headwater.errors import KernelFault, UsageError
from headwater.step.interrupts import Interrupts
from headwater.step.machine import AT_BARRIER, ENDED, RUNNING, Machine, Place, Size
from headwater.step.stops import Breakpoint, Stop, Watchpoint, breakpoint_at, watchpoint_on

INTERVAL: Final = 64
"""Instructions from one snapshot to the next."""
SPREAD: Final = 4
"""A snapshot is dropped if those beside it are less than a SPREAD-th of their age apart."""
LIMIT: Final = 10_000_000
"""Instructions that one call runs by default."""

_DWORDS: np.dtype[Any] = np.dtype(np.uint32)
_BYTES: np.dtype[Any] = np.dtype(np.uint8)
_MASKS: Final = ("exec", "vcc")
"""Scalars of 64 bits: hexadecimal in `state`, as many readers of JSON have no whole numbers beyond 2^53."""
Done = Callable[[int], Stop | None]


class Stepper:
    """One launch, to be run instruction by instruction.

    ``position``: instructions that have been run so far, of all wavefronts together; ``wave``: the wavefront that steps
    are of; ``stop``: why the last run stopped; ``fault``: what the kernel did wrong, if it did.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.position = 0
        self.wave = 0
        self.stop = Stop("start")
        self.fault: KernelFault | None = None
        self.breakpoints: dict[int, Breakpoint] = {}
        self.watchpoints: dict[int, Watchpoint] = {}
        self._numbers = 0
        self._order: list[int] = []
        self._begun = 0
        self._turns: list[tuple[int, int]] = []
        self._planned = 0
        self._last = -1
        self._lines: dict[int, Place] = {}
        self._snapshots: list[tuple[int, Any]] = []
        self._interrupts = Interrupts()
        self._ready()
        self._snapshots.append((0, self._saved()))

    # ---- who runs

    @property
    def ended(self) -> bool:
        """Whether all wavefronts of all work-groups have ended."""
        return not self._living() and self._begun == self.machine.total

    def _living(self) -> list[int]:
        return [n for n, wave in enumerate(self.machine.waves) if wave.state != ENDED]

    def _ready(self) -> int | None:
        """The wavefront whose turn it is, None if all have ended. A work-group begins if none is running, and
        wavefronts that all wait at a barrier go on."""
        if self._snapshots and self.position - self._snapshots[-1][0] >= INTERVAL:
            self.machine.journal.mark()
            self._snapshots.append((self.position, self._saved()))
            self._thin()
        living = self._living()
        if not living:
            if self._begun >= self.machine.total:
                return None
            self._begin()
            living = self._living()
        if all(self.machine.waves[n].state == AT_BARRIER for n in living):
            self.machine.release()
            self._last = -1
        planned = self._planned_wave()
        if planned is not None:
            return planned
        running = [n for n in living if self.machine.waves[n].state == RUNNING]
        if self.wave in running:
            return self.wave
        return min(running, key=lambda n: (n < self._last, n))

    def _planned_wave(self) -> int | None:
        """Who ran the next instruction when it was run before."""
        if self.position >= self._planned:
            return None
        return self._turns[bisect_right(self._turns, self.position, key=lambda turn: turn[0]) - 1][1]

    def _begin(self) -> None:
        """The next work-group begins."""
        machine = self.machine
        machine.executed += sum(wave.executed for wave in machine.waves)
        if self._begun == len(self._order):
            begun = set(self._order)
            following = self._order[-1] + 1 if self._order else 0
            after = (n for n in range(following, machine.total) if n not in begun)
            self._order.append(next(after, -1))
            if self._order[-1] < 0:
                self._order[-1] = next(n for n in range(machine.total) if n not in begun)
        machine.begin(self._order[self._begun])
        self._begun += 1
        self._lines.clear()
        self._last = -1
        self.wave = 0

    def _advance(self, number: int) -> bool:
        """Run one instruction of a wavefront; False if it is at fault."""
        machine = self.machine
        wave = machine.waves[number]
        place = machine.place(wave)
        try:
            machine.step(wave)
        except KernelFault as fault:
            self.fault = fault
            return False
        if place.line:
            self._lines[number] = place
        if self.position >= self._planned:
            if not self._turns or self._turns[-1][1] != number:
                self._turns.append((self.position, number))
            self._planned = self.position + 1
        self._last = number
        self.position += 1
        return True

    def _saved(self) -> Any:
        return self.machine.saved(), self._begun, self._last, dict(self._lines)

    def _thin(self) -> None:
        """Drop snapshots that lie close together for their age."""
        kept = self._snapshots
        at = len(kept) - 2
        while at > 0:
            if kept[at + 1][0] - kept[at - 1][0] <= (self.position - kept[at + 1][0]) // SPREAD:
                self.machine.journal.forget(at)
                del kept[at]
            at -= 1

    def _forget_plan(self) -> None:
        """What was run behind this position does not count any more."""
        if self._planned > self.position:
            self._turns = [turn for turn in self._turns if turn[0] < self.position]
            self._planned = self.position
            del self._order[self._begun :]

    # ---- anywhere

    def go_to(self, position: int) -> Stop:
        """The state after so many instructions, before or behind the present one; what runs behind it follows the same
        order of wavefronts as before. UsageError if the launch has fewer."""
        if position < 0:
            raise UsageError(f"{position} instructions: they count from 0")
        with self._whole():
            if position < self.position or self.fault is not None:
                self._restore(bisect_right(self._snapshots, position, key=lambda one: one[0]) - 1)
            while self.position < position:
                self._interrupts.check()
                number = self._ready()
                if number is None:
                    raise UsageError(f"the launch has {self.position} instructions", hint="go to one of them")
                if not self._advance(number):
                    return self._stopped(Stop("fault", str(self.fault)))
        self._settle()
        return self._stopped(Stop("step" if position else "start"))

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Whoever interrupts what runs inside sees no instruction half run: signals wait for its end; where something
        else raises KeyboardInterrupt, its beginning is gone back to."""
        with self._interrupts.held():
            try:
                yield
            except KeyboardInterrupt:
                position = self.position
                self._restore(len(self._snapshots) - 1)
                while self.position < position and (number := self._ready()) is not None and self._advance(number):
                    pass
                self._settle()
                raise

    def _settle(self) -> None:
        """Show the wavefront whose turn it is, if it is known; a work-group that has ended stays in view."""
        planned = self._planned_wave()
        if planned is not None and self._living():
            self.wave = planned

    def _restore(self, at: int) -> None:
        position, (saved, begun, last, lines) = self._snapshots[at]
        self.machine.journal.back(at)
        del self._snapshots[at + 1 :]
        self.machine.restore(saved)
        self._begun, self._last, self._lines = begun, last, dict(lines)
        self.position = position
        self.fault = None
        self.wave = min(self.wave, max(len(self.machine.waves) - 1, 0))

    def _stopped(self, stop: Stop) -> Stop:
        self.stop = stop
        return stop

    # ---- forwards

    def _run(self, done: Done, *, limit: int = LIMIT, stops: bool = True) -> Stop:
        """Run until ``done``, which is asked after each instruction with the wavefront that ran it, gives a stop, or
        something else does."""
        try:
            with self._whole():
                return self._stopped(self._go(done, limit, stops))
        except KeyboardInterrupt:
            return self._stopped(Stop("interrupt", f"interrupted after {self.position:,} instructions"))

    def _go(self, done: Done, limit: int, stops: bool) -> Stop:
        begin = self.position
        while self.position - begin < limit:
            self._interrupts.check()
            number = self._ready()
            if number is None:
                return Stop("end", "all work-groups have ended")
            if stops and self.position > begin and (hit := self._breakpoint(number)) is not None:
                self.wave = number
                return hit
            watched = {n: point.value(self.machine) for n, point in self.watchpoints.items()} if stops else {}
            if not self._advance(number):
                self.wave = number
                return Stop("fault", str(self.fault))
            for n, before in watched.items():
                point = self.watchpoints[n]
                after = point.value(self.machine)
                if after != before:
                    point.hits += 1
                    self.wave = number
                    return Stop("watchpoint", point.change(before, after), n)
            found = done(number)
            if found is not None:
                return found
        return Stop("limit", f"{limit:,} instructions have been run")

    def _breakpoint(self, number: int) -> Stop | None:
        if not self.breakpoints:
            return None
        place = self.machine.place(self.machine.waves[number])
        for point in self.breakpoints.values():
            if point.wave in (-1, number) and point.at(place, self._lines.get(number)):
                point.hits += 1
                return Stop("breakpoint", f"{point.text}: {place.text}", point.number)
        return None

    def _check_going(self) -> None:
        if self.fault is not None:
            raise UsageError("the kernel is at fault and cannot go on", hint="go back, or leave")
        if self.machine.waves and self.machine.waves[self.wave].state == ENDED and (living := self._living()):
            planned = self._planned_wave()
            self.wave = living[0] if planned is None else planned

    def step_instruction(self, count: int = 1) -> Stop:
        """Run so many instructions of this wavefront; others run where it waits for them."""
        return self._steps(count, lambda number: True)

    def step_line(self, count: int = 1) -> Stop:
        """Run to the next source line of this wavefront, so many times."""

        def new_line(before: Place, after: Place) -> bool:
            return after.line > 0 and (after.file, after.line) != (before.file, before.line)

        return self._to_place(count, new_line)

    def step_clause(self, count: int = 1) -> Stop:
        """Run to the end of this wavefront's clause (VLIW) or basic block (GCN), so many times."""
        return self._to_place(
            count, lambda before, after: after.clause != before.clause or after.address <= before.address
        )

    def _to_place(self, count: int, arrived: Callable[[Place, Place], bool]) -> Stop:
        self._check_going()
        before = self.place

        def here(number: int) -> bool:
            nonlocal before
            after = self.place
            if after is None or before is None or arrived(before, after):
                before = after
                return True
            return False

        return self._steps(count, here)

    def _steps(self, count: int, counts: Callable[[int], bool]) -> Stop:
        """Run until ``counts`` has been true so often of this wavefront's instructions, or it has ended."""
        if count < 1:
            raise UsageError(f"{count} steps: at least one is expected")
        self._check_going()
        left, group, wanted = count, self._begun, None

        def done(number: int) -> Stop | None:
            nonlocal left, group, wanted
            if self._begun != group or wanted is None:
                group, wanted = self._begun, self.wave
            if number != wanted:
                return None
            if self.machine.waves[number].state == ENDED:
                return self._end_of(number)
            left -= counts(number)
            return Stop("step") if not left else None

        return self._run(done)

    def _end_of(self, number: int) -> Stop:
        if self._living():
            return Stop("step", f"wavefront {number} has ended")
        if self.ended:
            return Stop("end", "all work-groups have ended")
        return Stop("group", f"work-group {self.group_text()} has ended")

    def to_barrier(self) -> Stop:
        """Run until this wavefront waits at a barrier, or has ended."""
        self._check_going()
        wanted = self.wave

        def done(number: int) -> Stop | None:
            state = self.machine.waves[number].state
            if number != wanted or state == RUNNING:
                return None
            return Stop("barrier", f"wavefront {number} waits at a barrier") if state != ENDED else self._end_of(number)

        return self._run(done)

    def to_group_end(self) -> Stop:
        """Run until all wavefronts of this work-group have ended."""
        self._check_going()
        return self._run(lambda number: None if self._living() else self._end_of(number))

    def resume(self) -> Stop:
        """Run to the next breakpoint or watchpoint, or to the end."""
        self._check_going()
        return self._run(lambda number: None)

    def finish(self, limit: int = LIMIT) -> Stop:
        """Run to the end, whatever breakpoints there are."""
        self._check_going()
        return self._run(lambda number: None, limit=limit, stops=False)

    def to_difference(self, first: int, second: int) -> Stop:
        """Run this wavefront until two of its lanes differ in a register in which they did not, or in EXEC."""
        for lane in (first, second):
            if not 0 <= lane < LANES:
                raise UsageError(f"there is no lane {lane}", hint=f"lanes are 0 to {LANES - 1}")
        self._check_going()
        wanted, known = self.wave, set(self.differences(first, second))

        def done(number: int) -> Stop | None:
            nonlocal known
            if number != wanted:
                return None
            now = set(self.differences(first, second))
            new, known = sorted(now - known), now
            if new:
                return Stop("difference", f"lanes {first} and {second} differ in {', '.join(new)}")
            return self._end_of(number) if self.machine.waves[number].state == ENDED else None

        return self._run(done)

    def differences(self, first: int, second: int) -> list[str]:
        """The registers in which two lanes of this wavefront differ, and "exec" if one of them executes."""
        wave, machine = self.machine.waves[self.wave], self.machine
        found = []
        for name, number in machine.vectors.items():
            values = machine.vector(wave, number)
            if values[first] != values[second]:
                found.append(name)
        mask = machine.active(wave)
        return found + (["exec"] if (mask >> first ^ mask >> second) & 1 else [])

    # ---- backwards

    def back_instruction(self, count: int = 1) -> Stop:
        """The state before the last instructions of this wavefront, so many."""
        if count < 1:
            raise UsageError(f"{count} steps: at least one is expected")
        position = self.position
        wanted = self.wave
        if self.fault is not None:
            count -= 1
        for _ in range(count):
            position = self._before(position, wanted)
        return self.go_to(position)

    def _before(self, position: int, wanted: int) -> int:
        """Where the last instruction of a wavefront before a position was run."""
        if position == 0:
            raise UsageError("this is the beginning of the launch")
        at = bisect_right(self._turns, position - 1, key=lambda turn: turn[0]) - 1
        end = position
        while at >= 0:
            start, wave = self._turns[at]
            if wave == wanted:
                return end - 1
            end = start
            at -= 1
        return 0

    def back_line(self) -> Stop:
        """The state when this wavefront came to its present source line, or if it has just done so, to the one
        before."""
        wanted = self.wave
        self.back_instruction()
        line = self.place
        while self.position and line is not None and not line.line:  # of no line, as waits are
            self.back_instruction()
            line = self.place
        came = self.position
        while self.position and line is not None:
            self.back_instruction()
            here = self.place
            if here is not None and (here.file, here.line) == (line.file, line.line):
                came = self.position
            elif here is None or here.line:
                break
        return self.go_to_wave(came, wanted)

    def go_to_wave(self, position: int, wave: int) -> Stop:
        """`go_to`, with this wavefront in view."""
        stop = self.go_to(position)
        if wave < len(self.machine.waves):
            self.wave = wave
        return stop

    def back(self) -> Stop:
        """Back to the last time that a breakpoint or watchpoint would have stopped a run, or to the beginning."""
        end = self.position
        at = bisect_right(self._snapshots, max(end - 1, 0), key=lambda one: one[0]) - 1
        while at >= 0:
            start = self._snapshots[at][0]
            with self._whole():
                self._restore(at)
                found = self._last_stop(end)
            if found is not None:
                position, wave, stop = found
                self.go_to_wave(position, wave)
                return self._stopped(stop)
            end = start
            at -= 1
        return self.go_to(0)

    def _last_stop(self, end: int) -> tuple[int, int, Stop] | None:
        """Where between here and a position something would have stopped a run for the last time."""
        found = None
        hits = {n: p.hits for n, p in self.breakpoints.items()}
        while self.position < end:
            self._interrupts.check()
            number = self._ready()
            if number is None:
                break
            stop = self._breakpoint(number)
            if stop is not None and self.position < end:
                found = self.position, number, stop
            watched = {n: point.value(self.machine) for n, point in self.watchpoints.items()}
            if not self._advance(number):
                break
            for n, before in watched.items():
                after = self.watchpoints[n].value(self.machine)
                if after != before and self.position < end:
                    change = self.watchpoints[n].change(before, after)
                    found = self.position, number, Stop("watchpoint", change, n)
        for n, count in hits.items():
            self.breakpoints[n].hits = count
        return found

    # ---- choosing

    def select(self, wave: int) -> None:
        """Steps are of this wavefront of the work-group from here on."""
        count = len(self.machine.waves)
        if not 0 <= wave < count:
            raise UsageError(f"the work-group has no wavefront {wave}", hint=f"it has {count}, counted from 0")
        if wave != self.wave:
            self._forget_plan()
            self.wave = wave

    def begin_group(self, group: Size) -> Stop:
        """Run this work-group to its end, and begin with another that has not been run yet."""
        machine = self.machine
        x, y, z = machine.groups
        places = [whole(at) for at in group] if isinstance(group, Sequence) else []
        inside = [at for at, count in zip(places, (x, y, z), strict=False) if at is not None and 0 <= at < count]
        if len(places) != 3 or len(inside) != 3:
            raise UsageError(f"there is no work-group {group!r:.60}", hint=f"there are {x} x {y} x {z}")
        group = (inside[0], inside[1], inside[2])
        number = (group[2] * y + group[1]) * x + group[0]
        if number >= machine.total:
            raise UsageError(f"there is no work-group {group}", hint=f"{machine.total} are drawn")
        if number in self._order[: self._begun]:
            if group == machine.group and self._living():
                return self.stop
            raise UsageError(f"work-group {group} has been run already", hint="go back to before it")
        self._check_going()
        while self._living():
            stop = self._run(lambda n: None if self._living() else self._end_of(n))
            if self._living():
                return stop
        self._forget_plan()
        self._order.append(number)
        self._ready()
        return self._stopped(Stop("group", f"work-group {self.group_text()} begins"))

    def add_breakpoint(self, where: str, wave: int = -1) -> Breakpoint:
        """A breakpoint: see `headwater.step.stops.breakpoint_at`."""
        made = breakpoint_at(self.machine, self._numbers + 1, where, wave)
        self._numbers += 1
        self.breakpoints[made.number] = made
        return made

    def add_watchpoint(self, what: str) -> Watchpoint:
        """A watchpoint on a register of this wavefront or on memory: see `headwater.step.stops.watchpoint_on`."""
        made = watchpoint_on(self.machine, self._numbers + 1, what, self.wave)
        self._numbers += 1
        self.watchpoints[made.number] = made
        return made

    def delete(self, number: int) -> None:
        """Do without a breakpoint or watchpoint. UsageError if there is none of that number."""
        if self.breakpoints.pop(number, None) is None and self.watchpoints.pop(number, None) is None:
            known = ", ".join(map(str, sorted([*self.breakpoints, *self.watchpoints])))
            raise UsageError(
                f"there is no breakpoint {number}", hint=f"there are {known}" if known else "there is none"
            )

    # ---- looking

    @property
    def place(self) -> Place | None:
        """The instruction that this wavefront is about to run; None if it has ended."""
        if not self.machine.waves:
            return None
        wave = self.machine.waves[self.wave]
        return None if wave.state == ENDED else self.machine.place(wave)

    def group_text(self) -> str:
        """The work-group's place in the grid."""
        return "({})".format(", ".join(map(str, self.machine.group)))

    def register(self, name: str) -> Any:
        """A register of this wavefront: 64 dwords of a vector register, a number of a scalar one. UsageError if it has
        none of that name."""
        machine = self.machine
        wave = machine.waves[self.wave]
        for known, number in machine.vectors.items():
            if known.lower() == name.lower():
                return machine.vector(wave, number).copy()
        for known in machine.scalars:
            if known.lower() == name.lower():
                return machine.scalar(wave, known)
        vectors = list(machine.vectors)
        hint = f"vector registers are {vectors[0]} to {vectors[-1]}; the others {', '.join(machine.scalars)}"
        raise UsageError(f"{machine.kernel} has no register {name}", hint=hint)

    def read(self, name: str, first: int = 0, count: int | None = None) -> Any:
        """Elements of memory by the name of an argument, or of "lds" as dwords: an array. UsageError for what is not
        there."""
        machine = self.machine
        if name == "lds":
            data, kind = machine.lds, _DWORDS
        else:
            memory = machine.memory(name)
            data, kind = memory.data, memory.element or _BYTES
        total = len(data) // kind.itemsize
        if first < 0 or first > total:
            raise UsageError(f"{name} has {total} elements, and none is number {first}")
        last = total if count is None else min(first + count, total)
        return np.frombuffer(bytes(data[first * kind.itemsize : last * kind.itemsize]), kind)

    def state(self, *, registers: bool = True, memory: int = 64) -> dict[str, Any]:
        """All that a page shows, as plain values for JSON: docs/step.md lists them. ``registers``: those of this
        wavefront among them; ``memory``: elements of each argument and dwords of local memory from their beginning."""
        machine = self.machine
        place = self.place
        found: dict[str, Any] = {
            "family": machine.family,
            "kernel": machine.kernel,
            "device": machine.device,
            "file": machine.filename,
            "position": self.position,
            "ended": self.ended,
            "stop": self.stop.as_json(),
            "fault": None if self.fault is None else {"message": self.fault.message, "hint": self.fault.hint},
            "global_size": list(machine.global_size),
            "local_size": list(machine.local_size),
            "groups": list(machine.groups),
            "group": list(machine.group),
            "wavefront": self.wave,
            "wavefronts": [self._wavefront(number) for number in range(len(machine.waves))],
            "place": None if place is None else place.as_json(),
            "breakpoints": [point.as_json() for point in self.breakpoints.values()],
            "watchpoints": [point.as_json() for point in self.watchpoints.values()],
        }
        if registers and machine.waves:
            wave = machine.waves[self.wave]
            found["vectors"] = {name: machine.vector(wave, n).tolist() for name, n in machine.vectors.items()}
            scalars = {name: machine.scalar(wave, name) for name in machine.scalars}
            found["scalars"] = {n: f"{v:#018x}" if n in _MASKS else v for n, v in scalars.items()}
        found["lds"] = {"nbytes": len(machine.lds), "dwords": self.read("lds", 0, memory).tolist()}
        found["memories"] = [
            {
                "name": one.name,
                "address": one.start,
                "nbytes": one.nbytes,
                "writable": one.writable,
                "type": None if one.element is None else one.element.name,
                "elements": [_plain(value) for value in self.read(one.name, 0, memory).tolist()],
            }
            for one in machine.memories
        ]
        return found

    def _wavefront(self, number: int) -> dict[str, Any]:
        wave = self.machine.waves[number]
        place = self.machine.place(wave) if wave.state != ENDED else None
        return {
            "number": number,
            "state": self.machine.state(wave),
            "exec": f"{self.machine.active(wave):#018x}",
            "label": "" if place is None else place.label,
            "line": 0 if place is None else place.line,
        }


def _plain(value: Any) -> Any:
    """A number that JSON has."""
    with suppress(TypeError):
        if value != value or value in (float("inf"), float("-inf")):
            return None
    return value
