"""Input: a trace and a chip. Output: what the engine counted while it replayed the one on the other."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headwater.base.arrays import address, aligned_bytes
from headwater.chips.checks import check
from headwater.chips.occupancy import Occupancy, occupancy
from headwater.errors import InternalError, ResourceError, UsageError
from headwater.timing.layout import FAILURES, HAPPENING, LAUNCH, SEGMENT, TRACE, c_functions, engine, filled

if TYPE_CHECKING:
    from headwater.chips import Chip
    from headwater.emulate.watch.trace import Trace
    from headwater.timing.machine import Machine, Steps

_STEP_INSTRUCTIONS: Final = 1 << 21
"""How many are replayed at a time, between which Ctrl-C is looked at: about 0.1 s."""
_SHORT, _STUCK = range(1, 1 + len(FAILURES))


@dataclass(frozen=True, slots=True)
class Counted:
    """What the engine found.

    ``sums`` by the names of the family's, cycles and bytes; ``simd_causes``: cycles of all SIMDs by its causes;
    ``wave_causes``: of all wavefronts. ``counts``, ``spent`` and ``stalled`` of each op: how often, wavefront-cycles,
    and those of them in which it waited. ``occupancy``: wavefront-cycles, ``traffic``: bytes from and to memory, in
    steps of so many cycles. ``happenings``: `HAPPENING`, of the compute units asked for, as many as there was
    room for; ``happened``: how many there were in each of these. ``complete``: False if it was
    interrupted.
    """

    sums: dict[str, int]
    simd_causes: dict[str, int]
    wave_causes: dict[str, int]
    counts: np.ndarray[Any, np.dtype[np.uint64]]
    spent: np.ndarray[Any, np.dtype[np.uint64]]
    stalled: np.ndarray[Any, np.dtype[np.uint64]]
    occupancy: np.ndarray[Any, np.dtype[np.uint64]]
    traffic: np.ndarray[Any, np.dtype[np.uint64]]
    happenings: np.ndarray[Any, Any]
    happened: np.ndarray[Any, Any]
    complete: bool


class Replayer:
    """A trace, opened for any number of replays on chips of its instruction set."""

    def __init__(self, trace: Trace, machine: Machine) -> None:
        self.trace = trace
        self.machine = machine
        self.family = machine.family
        header = trace.header
        if machine.digest != header["code"]:
            raise UsageError(f"{trace.path} is the trace of other machine code", hint="record it again")
        self.global_size: tuple[int, ...] = tuple(header["global_size"])
        self.local_size: tuple[int, ...] = tuple(header["local_size"])
        self.waves_per_group = int(header["waves_per_group"])
        self.groups = machine.groups(trace)
        self._engine = engine(machine.family)
        self._index()

    def _index(self) -> None:
        trace = self.trace
        self._data = np.memmap(trace.path, np.uint8, "r")
        waves = self.groups * self.waves_per_group
        self._same = np.array([site.same_as for site in trace.sites] or [-1], np.int32)
        values: dict[str, Any] = {
            "data": self._data.ctypes.data,
            "start": trace.start,
            "bytes": len(self._data),
            "chunks": 0,
            "offset": 0,
            "next": 0,
            "first": 0,
            "waves": waves,
            "same": address(self._same),
            "waves_per_group": self.waves_per_group,
            "sites": len(trace.sites),
            "segments": len(trace.segments),
        }
        first = filled(TRACE, values)
        chunks = int(self._engine.chunks(address(first)))
        if chunks == 2**64 - 1:
            raise UsageError(f"{trace.path}: the trace is damaged", hint="record it again")
        self._offset = np.zeros(max(chunks, 1), np.uint64)
        self._next = np.zeros(max(chunks, 1), np.uint32)
        self._first = np.zeros(waves, np.uint32)
        values.update(chunks=chunks, offset=address(self._offset), next=address(self._next), first=address(self._first))
        self._trace = filled(TRACE, values)
        scratch = np.zeros(waves, np.uint32)
        missing = int(self._engine.index(address(self._trace), address(scratch)))
        if missing:
            raise UsageError(
                f"{trace.path}: {missing} of {waves} wavefronts are missing or incomplete",
                hint="the launch was stopped; record it again",
            )

    def held(self, chip: Chip) -> Occupancy:
        """How many work-groups a compute unit of the chip takes; LaunchError if none. UsageError for a chip that cannot
        be: see `headwater.chips.checks`."""
        check(chip)
        return occupancy(chip, self.machine.needs(self.trace))

    def table(self, chip: Chip) -> Steps:
        """What the instructions cost on the chip. UsageError if it has another instruction set, or cannot be."""
        check(chip)
        return self.machine.table(self.trace, chip)

    def run(
        self,
        chip: Chip,
        table: Steps,
        *,
        groups: int | None = None,
        timeline: int = 0,
        units: range = range(1),
        progress: Callable[[float], None] | None = None,
    ) -> Counted:
        """Replay the first ``groups`` work-groups, by default all, on the chip.

        ``timeline``: room for so many happenings of the compute units ``units``. ``progress`` is called with the
        part that is done; a KeyboardInterrupt ends the replay, and what was found up to there is returned.
        """
        wanted = self.groups if groups is None else min(groups, self.groups)
        numbers = self.machine.numbers(self.trace, chip, self.held(chip))
        library = self._engine
        try:
            memory = aligned_bytes(int(library.nbytes(address(numbers))), 4096)
            memory[:] = 0
        except MemoryError:
            raise ResourceError("there is no memory for the chip's state") from None
        ops = np.ascontiguousarray(table.ops)
        segments = np.ascontiguousarray(table.segments, SEGMENT.dtype)
        counters = np.zeros((3, max(len(ops), 1)), np.uint64)
        happenings = np.zeros(max(timeline, 1), HAPPENING.dtype)
        happened = np.zeros(max(len(units), 1), np.uint64)
        allocate, release = c_functions()
        launch = filled(
            LAUNCH,
            {
                "chip": address(numbers),
                "trace": address(self._trace),
                "ops": address(ops),
                "segments": address(segments),
                "counters": address(counters),
                "op_count": counters.shape[1],
                "groups": wanted,
                "happenings": address(happenings),
                "room": timeline,
                "first_unit": units.start,
                "units": len(units),
                "happened": address(happened),
                "allocate": allocate,
            },
        )
        gpu = library.begin(address(launch), address(memory))
        family = self.family
        result = np.zeros(1, family.result.dtype)
        complete, state = True, 1
        try:
            while state == 1:
                state = int(library.run(gpu, _STEP_INSTRUCTIONS))
                if progress is not None:
                    library.result(gpu, address(result))
                    progress(int(result["groups"][0]) / max(wanted, 1))
        except KeyboardInterrupt:
            complete = False
        finally:
            library.result(gpu, address(result))
            library.end(gpu, ctypes.c_void_p(release))
        found = {name: int(result[name][0]) for name in family.sums}
        if found["failed"] == _SHORT:
            raise UsageError(f"{self.trace.path}: the trace ends before its wavefronts do", hint="record it again")
        if found["failed"] == _STUCK:
            raise InternalError(f"{self.trace.kernel} stopped making progress in the cycle model")
        causes = [cause for _, cause in family.causes]
        return Counted(
            found,
            dict(zip(causes, result["cause"][0].tolist(), strict=True)),
            dict(zip(causes, result["wave_cause"][0].tolist(), strict=True)),
            counters[0],
            counters[1],
            counters[2],
            result["occupancy"][0],
            result["traffic"][0],
            happenings[: found["happenings"]],
            happened,
            complete,
        )
