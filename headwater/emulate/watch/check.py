"""Input: a launch. Output: a `KernelFault` that names races, unwritten memory, bad barriers and misaligned accesses in
it.

What is looked for, and what is not, is said in docs/checks.md; check.c looks.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headwater.base.arrays import Array, address, aligned_bytes
from headwater.emulate.watch import unwritten
from headwater.emulate.watch.staging import (
    CONTEXT_HOOK,
    FLAT_KIND,
    KINDS,
    LDS_KIND,
    Staged,
    Tables,
    function_at_end,
    recorder_bytes,
    tables,
)
from headwater.emulate.wave.layout import LANES, round_up
from headwater.errors import InternalError, OutOfMemoryError, SourceError, Span
from headwater.native.faults import forbidden_hint
from headwater.native.structure import Struct
from headwater.opencl import units
from headwater.opencl.barrier_fences import GLOBAL, LOCAL, flags_at
from headwater.opencl.check_findings import fault, sentences

if TYPE_CHECKING:
    from headwater.emulate.watch.hooks import AccessOrigin, LaneAccess
    from headwater.emulate.watch.staging import Site
    from headwater.emulate.wave.builder import WaveBuilder
    from headwater.emulate.wave.launched import SimulatedTask, WavefrontLaunch
    from headwater.native.faults import Extent
    from headwater.opencl.access_locations import AccessPlaces

_FINDINGS: Final = (
    "RACE",
    "UNINITIALISED",
    "UNALIGNED",
    "BARRIER_LANES",
    "BARRIER_PLACES",
    "BARRIER_MISSED",
    "STRAY",
    "FORBIDDEN",
)
"""Kinds of findings, from 1 on."""
RACE, UNINITIALISED, UNALIGNED, BARRIER_LANES, BARRIER_PLACES, BARRIER_MISSED, STRAY, FORBIDDEN = range(
    1, 1 + len(_FINDINGS)
)
_FACTS: Final = ("WRITES", "IS_ATOMIC", "STILL", "COMPARES", "MASKS", "MONOTONE", "IN_LDS", "LOOKS_FIRST")
"""Facts of sites, which check_records.h explains: bits from 16 on."""
_WRITES, _ATOMIC, _STILL, _COMPARES, _MASKS, _MONOTONE, _IN_LDS, _LOOKS_FIRST = (
    1 << (16 + n) for n in range(len(_FACTS))
)
_OTHER_ACCESSES: Final = ("READ", "WROTE", "WROTE_ELSEWHERE")
"""What a finding says of a race's other access; the last: of other groups."""
_ELSEWHERE = _OTHER_ACCESSES.index("WROTE_ELSEWHERE")
_MANY, _WHO = 1 << 31, (1 << 31) - 1
_ROOM = 64
"""Findings that are kept apart; kernels with more places that are wrong are not thought of."""
_SERIAL_WAVES = 1024
"""Wavefronts of a launch up to which one thread runs its groups in order, so that findings are always the same."""
_WORD = (1 << 64) - 1
_LDS_BYTES = 1 << 16
"""Of a compute unit (AMD, GCN3 ISA, 2.2). No process has memory below that (Linux, vm.mmap_min_addr)."""
_GRANULES = 64
"""Of a record."""
_NO_READ, _NO_WRITE = 1, 2


def _numbers(kind: str, *names: str) -> tuple[tuple[str, str, int], ...]:
    return tuple((kind, name, 1) for name in names)


_RECORD: Final = Struct(
    "record",
    *_numbers("u64", "writer", "reader"),  # identities that go by a rule
    *_numbers("u64", "written", "read"),  # the granules that they are of
    *_numbers("u64", "writers", "readers"),  # the granules whose identities are in `more`
    *_numbers("u64", "several", "groups"),  # granules that several work-items, or several groups, have read
)
_LOCAL: Final = Struct(
    "local",
    ("u64", "crowd", 1),  # granules that several lanes read at once in `crowd_epoch`
    *_numbers("u32", "crowd_epoch", "crowd_site"),
    *_numbers("u32", "wrote_epoch", "read_epoch"),  # the last with writes, and reads by no crowd; plus 1, or 0
    align=0,
)
"""Of a record of local memory, beside it."""
_SHADOW: Final = Struct(
    "shadow",
    ("struct record *", "records", 1),
    ("u64 *", "more", 1),  # the writers of BLOCK granules, their readers, the writers of the next
    ("u64 *", "unwritten", 1),  # the granules of memory without data, or none
    ("struct local *", "local", 1),
    ("u64 *", "plain", 1),  # the last plain write's identity of granules whose writer is an atomic function, or 0
    ("u64", "count", 1),  # of granules, of which a record has 1 << record_shift
    *_numbers("u64", "shared", "record_shift"),
)
_RANGE: Final = Struct(
    "range",
    *_numbers("u64", "start", "bytes"),
    ("u64", "shadow", 1),  # 0 of memory that the launch does not write, so that nobody's reads matter
    ("u64", "move", 1),  # is added to an address for where it is on the host
    ("u64", "forbidden", 1),  # not 0: what the kernel may not do, `_NO_READ` or `_NO_WRITE`
    align=0,
)
_FINDING: Final = Struct(
    "finding",
    *_numbers("u32", "kind", "site", "other_site", "other_tag", "tag", "count"),
    *_numbers("u64", "address", "detail"),
    align=0,
)
_SITE_FACTS: Final = Struct(
    "site_facts",
    ("u32", "facts", 1),
    ("u32", "next", 1),  # of the sites that are reported as one with this one, `delta` bytes further; 0: none
    *_numbers("u32", "delta", "leader"),
    align=0,
)
_CONTEXT: Final = Struct(
    "context",
    *_numbers("u64", "teams", "team_bytes", "recorder_bytes", "site_table", "ranges", "range_count", "findings"),
    *_numbers("u32", "finding_count", "finding_room", "waves", "granule_shift", "local_granules", "team_count"),
    *_numbers("u32", "exhausted", "lost", "failed", "lock"),
    ("u32", "in_step", 1),  # groups are of one wavefront by declaration
    ("u32", "unaligned", 1),  # bytes of local memory that may be accessed at any address
    ("u32", "atomics", 1),  # there are atomic functions
    ("u64", "partial", 1),  # barriers that order one kind of memory: addresses of instructions, each with `LOCAL` or
    ("u64", "partial_count", 1),  # `GLOBAL` of `headwater.opencl.barrier_fences`; their number
)
_TEAM: Final = Struct(
    "team",
    (_SHADOW, "local", 1),
    ("u64", "barrier_pc", 1),
    ("u64", "owner", 1),  # the structure of its thread's first wavefront
    *_numbers("u32", "open", "begun", "barrier_epoch", "barrier_tag"),
)
"""What a thread keeps: of the group that it runs, of local memory (records, then ``more``), of each wavefront."""
SHARED: Final = (_RECORD, _LOCAL, _SHADOW, _RANGE, _FINDING, _SITE_FACTS, _CONTEXT, _TEAM)
"""The structures that check.c and Python share."""
_MORE_BYTES: Final = 16
_PLAIN_BYTES: Final = 8
"""Of a granule in ``more`` and in ``plain``."""


def c_header() -> str:
    """The declarations of check.c's own, behind those of `headwater.emulate.watch.staging.c_header`."""
    kinds = ", ".join(f"{name} = {number}" for number, name in enumerate(_FINDINGS, 1))
    facts = ", ".join(f"{name} = 1 << {number}" for number, name in enumerate(_FACTS, 16))
    others = ", ".join(_OTHER_ACCESSES)
    numbers = f"enum {{ {kinds} }};\nenum {{ {facts} }};\nenum {{ {others} }};\n"
    numbers += f"enum {{ GRANULES = {_GRANULES}, MANY = {_MANY}u, NO_READ = {_NO_READ}, NO_WRITE = {_NO_WRITE} }};\n"
    numbers += f"enum {{ ORDERS_LOCAL = {LOCAL}, ORDERS_GLOBAL = {GLOBAL} }};\n"
    return numbers + "".join(one.declaration() for one in SHARED)


class CheckObserver(Staged):
    """Writes code that reports to check.c."""

    name = "check 21"
    library = ("check_records.h", "check_patterns.h", "check.c")
    takes_segments = False
    takes_values = True
    takes_tiles = False
    takes_pointers = True

    def declarations(self) -> str:
        return c_header()

    def __init__(self) -> None:
        super().__init__()
        self._barrier_addresses: list[int] = []
        self._leaders: dict[tuple[int, int, str, int], tuple[int, int]] = {}
        self._stores = 0
        """To local memory, so far."""
        self._written: frozenset[int] | None = None
        self._known_still: frozenset[int] = frozenset()
        self.still: set[int] = set()
        """Sites that are reported so: see `_is_still`."""

    def pointers(self, written: frozenset[int], still: frozenset[int]) -> None:
        """Races need a write: of what no pointer that may be written through points to, reads need not be known."""
        self._written, self._known_still = written, still

    def facts(self) -> Any:
        """``written``: the numbers of the arguments through which may be written, None if they are not known;
        ``still``: the sites that read through others; ``barrier_addresses``: of the instructions."""
        written = None if self._written is None else sorted(self._written)
        places = sorted(set(self._barrier_addresses))
        return {**super().facts(), "written": written, "still": sorted(self.still), "barrier_addresses": places}

    def on_barrier(self, b: WaveBuilder, address: int, exec_: str) -> None:
        super().on_barrier(b, address, exec_)
        self._barrier_addresses.append(address)

    def _is_still(self, origin: AccessOrigin, site: int) -> bool:
        if origin.address not in self._known_still:
            return False
        self.still.add(site)
        return True

    def in_step(self, b: WaveBuilder) -> None:
        b.declare("declare hidden void @hw_in_step(ptr) nounwind")
        b.line("call void @hw_in_step(ptr %w)")

    def _is_covered(self, origin: AccessOrigin, site: int, kind: int, access: LaneAccess) -> bool:
        """Reads of local memory by the same address but for a constant are reported as one, if no store is between."""
        at, writes = access.at, access.writes
        if writes and kind in (LDS_KIND, FLAT_KIND):
            self._stores += 1
        if writes or kind != LDS_KIND or not at.low.startswith("%"):  # a constant has a base that is not
            return False
        one = self.sites[site]
        if access.part == 0:
            key = self.segment_of[origin.member], self._stores, at.low, one.nbytes
            leader, offset = self._leaders.setdefault(key, (site, at.offset))
            if leader != site:
                self.sites[site] = replace(one, same_as=leader, delta=at.offset - offset & 0xFFFFFFFF)
        return self.sites[site].same_as >= 0


@dataclass(frozen=True, slots=True)
class Shadow:
    """What check.c knows of an extent of memory: a structure, and the arrays that it points to.

    ``unwritten``: a bit for each granule, in words of 64; empty if there is data. ``others``: the records, and what is
    not touched where neighbours access neighbours.
    """

    memory: Array
    unwritten: Array
    others: tuple[Array, ...]

    @staticmethod
    def of(
        count: int, room: int, unwritten: Array, *, shared: bool, atomics: bool, earlier: Shadow | None = None
    ) -> Shadow:
        """Of ``count`` granules that nobody has accessed, ``room`` in a record; ``shared``: by several threads;
        ``atomics``: also by atomic functions.

        ``earlier``: of a launch that has ended, as large: its memory is used again.
        """
        number = _records(count, room)
        if earlier is None:
            records = aligned_bytes(number * _RECORD.size_bytes)
            more = aligned_bytes(number * room * _MORE_BYTES)  # never read before written, and mostly neither
            plain = aligned_bytes(number * room * _PLAIN_BYTES if atomics else 0)  # likewise
        else:
            records, more, plain = earlier.others
        records[:] = 0
        arrays = {"records": records, "more": more, "unwritten": unwritten}
        memory = _SHADOW.filled(
            {
                **{name: address(array) if array.size else 0 for name, array in arrays.items()},
                "plain": address(plain) if atomics else 0,
                "count": count,
                "shared": int(shared),
                "record_shift": room.bit_length() - 1,
            }
        )
        return Shadow(memory, unwritten, (records, more, plain))


def _records(granules: int, room: int = _GRANULES) -> int:
    return -(-granules // room)


class CheckedFamily(ABC):
    """What a check asks of launches of one family, besides what it knows of any."""

    has_cmpxchg_loops = False
    """Whether compilers make loops around cmpxchg of atomic functions that the hardware lacks."""

    def observer(self) -> CheckObserver:
        """What writes the code that reports."""
        return CheckObserver()

    def order(self, launch: Any, same: bool) -> str:
        """What would order work-items, of the ``same`` group or of two."""
        return "a barrier between them orders them" if same else "work-groups run in any order; use atomic functions"

    @abstractmethod
    def name(self, launch: Any) -> str:
        """The kernel's name."""

    def in_step(self, launch: Any) -> bool:
        """Whether lanes run in step though the code does not say so."""
        return False

    def unaligned(self, launch: Any) -> int:
        """Bytes of local memory that plain accesses may be to at any address."""
        return 0

    @abstractmethod
    def group_width(self, launch: Any) -> int:
        """Work-items of a row of a group."""

    @abstractmethod
    def extents(self, launch: Any, task: SimulatedTask) -> list[Extent]:
        """The memory whose accesses are reported, by the addresses that they are reported with."""

    @abstractmethod
    def host(self, extent: Extent) -> int:
        """Where memory of `extents` lies."""

    @abstractmethod
    def written(self, launch: Any, task: SimulatedTask) -> set[int] | None:
        """Addresses in all memory that the kernel may write, as far as pointers are followed; None if they are not."""

    def further(self, launch: Any, in_lds: set[int]) -> list[str]:
        """Findings in the machine code; ``in_lds``: addresses of instructions that have accessed local memory."""
        return []

    @abstractmethod
    def ids(self, launch: Any, group: int, lane: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The global id of a work-item, and its group's, by the numbers of the group and of its lane there."""

    @abstractmethod
    def place(self, launch: Any, pc: int) -> Span | None:
        """Where an instruction comes from, if it is known."""

    @abstractmethod
    def instruction(self, launch: Any, pc: int) -> str:
        """An instruction's text."""

    @abstractmethod
    def front(self, launch: Any) -> str:
        """The front end's IR of the kernel's program."""

    def fences(self, launch: Any) -> dict[Span, int]:
        """Of the program's source, see `barrier_fences`."""
        from headwater.opencl.barrier_fences import barrier_fences

        kernel = launch.kernel
        if "barrier" not in kernel.program_source:
            return {}
        try:
            return barrier_fences(self.front(launch), kernel.program_source, kernel.program_filename)
        except SourceError:
            return {}

    def source_places(self, launch: Any) -> AccessPlaces:
        """What the program's source has to say of accesses."""
        from headwater.opencl.access_locations import AccessPlaces, access_places

        kernel = launch.kernel
        if not kernel.program_source:
            return AccessPlaces()
        try:
            return access_places(self.front(launch), kernel.program_source, kernel.program_filename)
        except SourceError:  # a file that it includes is not there any more
            return AccessPlaces()


class Checker:
    """A `headwater.emulate.watch.hooks.Watcher` whose launches, of one ``family``, end in a KernelFault if anything
    was found."""

    checked_code = True
    notes_written = True

    def __init__(self, family: CheckedFamily) -> None:
        self._family = family
        self.observer = family.observer()
        self._source: AccessPlaces | None = None
        self._kept: dict[int, list[Shadow]] = {}
        """Shadows of the launch before, by their granules."""

    # ---- what headwater.emulate.watch.hooks.Watcher wants

    def hooks(self, launch: WavefrontLaunch) -> list[int]:
        if launch.total * launch.waves <= _SERIAL_WAVES:
            launch.tickets = 1
        found = tables(launch.native.observed)
        self.tables: Tables = found
        watched = [site for site in found.sites if site.kind in ("global", "lds", "flat")]
        sizes = [1 if site.operation == "mskor" else site.nbytes for site in watched]
        self._granule = min([4, *(size & -size for size in sizes)])
        self._atomics = any(site.atomic for site in watched)
        self._waves = launch.waves
        # Rows of a narrow group are accessed together, and by other groups than what lies beside them.
        row = self._family.group_width(launch) * 4 // self._granule
        self._room = next((room for room in (16, 32) if row <= room), _GRANULES)
        self._recorder_bytes = recorder_bytes(len(found.sites))
        self._site_table = _site_table(found.sites)
        self._site_table[launch.native.observed.get("still", []), 0] |= _STILL
        self._begins = self._beginnings(launch) if self._family.has_cmpxchg_loops else {}
        self._site_table[list(self._begins), 0] |= _ATOMIC
        self._partial = self._partial_barriers(launch)
        self._findings = np.zeros(_ROOM, _FINDING.dtype)
        self._context = aligned_bytes(_CONTEXT.size_bytes)
        return [address(self._context) if n == CONTEXT_HOOK else 0 for n in range(8)]

    def begin(self, launch: WavefrontLaunch, task: SimulatedTask) -> None:
        local = -(-launch.group_bytes // self._granule)
        team_bytes = _TEAM.size_bytes + self._waves * self._recorder_bytes
        each = _MORE_BYTES + (_PLAIN_BYTES if self._atomics else 0)
        team_bytes += round_up(_records(local) * (_RECORD.size_bytes + _GRANULES * each + _LOCAL.size_bytes), 64)
        # A thread that was called for an earlier launch may come late, and find something to do.
        count = launch.tickets if launch.tickets == 1 else 2 * launch.tickets
        try:
            self._teams = aligned_bytes(count * team_bytes)
            shared = launch.tickets > 1
            self._memory = self._family.extents(launch, task)
            known = _outermost(self._memory)
            still = self._still(launch, task, known)
            self._shadows = [(extent, self._shadow(extent, shared)) for extent in known if extent not in still]
        except MemoryError:
            raise OutOfMemoryError("too little memory for checking this launch", hint="make it smaller") from None
        self._teams[:] = 0
        shadows = {extent: address(shadow.memory) for extent, shadow in self._shadows}
        rows = sorted(
            (
                extent.start,
                extent.end - extent.start,
                shadows.get(extent, 0),
                self._family.host(extent) - extent.start & _WORD,
                {"": 0, "read": _NO_READ, "write": _NO_WRITE}[extent.forbidden],
            )
            for extent in known
        )
        self._ranges = np.array(rows or [(0, 0, 0, 0, 0)], np.uint64)
        values = {
            "teams": address(self._teams),
            "team_bytes": team_bytes,
            "recorder_bytes": self._recorder_bytes,
            "site_table": address(self._site_table),
            "ranges": address(self._ranges),
            "range_count": len(rows),
            "findings": address(self._findings),
            "finding_room": _ROOM,
            "waves": self._waves,
            "granule_shift": self._granule.bit_length() - 1,
            "local_granules": local,
            "team_count": count,
            "in_step": int(self._family.in_step(launch)),
            "unaligned": self._family.unaligned(launch),
            "atomics": int(self._atomics),
            "partial": address(self._partial) if len(self._partial) else 0,
            "partial_count": len(self._partial),
        }
        self._context[:] = 0
        _CONTEXT.write(self._context, values)

    def end(self, launch: WavefrontLaunch, task: SimulatedTask) -> None:
        function_at_end(launch.native.library, "hw_check_end")(address(self._context))
        self._kept = {}
        for extent, shadow in self._shadows:
            self._note_written(extent, shadow)
            self._kept.setdefault(self._granules(extent), []).append(shadow)
        if task.record[0]:
            return  # a fault, which is reported
        if self._field("failed"):
            raise InternalError("a launch had more threads at a time than its check has room for")
        found = [one for one in self._findings[: self._field("finding_count")] if not self._is_harmless(launch, one)]
        texts = [self._text(launch, one, self._memory) for one in found if not self._is_repeated(one, found)]
        texts += sentences(task.printed, launch.kernel, launch.work_dim)
        texts += self._family.further(launch, self._in_lds())
        if texts:
            raise fault(texts)

    # ---- memory

    def _field(self, name: str) -> int:
        return int(_CONTEXT.read(self._context, name))

    def _still(self, launch: WavefrontLaunch, task: SimulatedTask, known: list[Extent]) -> set[Extent]:
        """The extents that hold data and that the launch's code does not write, as far as that is known."""
        pointers = self._family.written(launch, task)
        if pointers is None:
            return set()
        own = [self._on_host(e) for e in self._memory if any(e.start <= p < e.end for p in pointers)]
        return {
            extent
            for extent in known
            if unwritten.words(self._family.host(extent)) is None
            and extent.forbidden != "read"
            and not any(
                one.start < here.stop and here.start < one.stop for here in (self._on_host(extent),) for one in own
            )
        }

    def _on_host(self, extent: Extent) -> range:
        """The host's addresses of an extent: two may be the same memory."""
        start = self._family.host(extent)
        return range(start, start + extent.end - extent.start)

    def _shadow(self, extent: Extent, shared: bool) -> Shadow:
        count = self._granules(extent)
        known = unwritten.words(self._family.host(extent))
        words = np.zeros(0, np.uint64)
        if extent.forbidden and known is None:
            words = np.zeros(_records(count, self._room), np.uint64)  # each access is looked at
        elif known is not None:
            granules = np.zeros((_records(count, self._room), _GRANULES), np.bool_)
            missing = np.zeros(len(granules) * self._room, np.bool_)
            repeated = np.repeat(~known, unwritten.WORD_BYTES // self._granule)[: len(missing)]
            missing[: len(repeated)] = repeated
            granules[:, : self._room] = missing.reshape(-1, self._room)
            words = np.packbits(granules.reshape(-1), bitorder="little").view(np.uint64)
        earlier = self._kept.get(count)
        one = earlier.pop() if earlier else None
        return Shadow.of(count, self._room, words, shared=shared, atomics=self._atomics, earlier=one)

    def _granules(self, extent: Extent) -> int:
        """Those of an allocation: the last may be of a dword that ends beyond (`layout.WHOLE_DWORDS`)."""
        return -(-(extent.end - extent.start) // max(self._granule, 4)) * max(self._granule, 4) // self._granule

    def _note_written(self, extent: Extent, shadow: Shadow) -> None:
        known = unwritten.words(self._family.host(extent))
        if known is None:
            return
        each = unwritten.WORD_BYTES // self._granule
        bits = np.unpackbits(shadow.unwritten.view(np.uint8), bitorder="little")
        missing = bits.reshape(-1, _GRANULES)[:, : self._room].reshape(-1)
        padded = np.zeros(len(known) * each, np.bool_)
        done = missing[: len(padded)] == 0
        padded[: len(done)] = done
        known |= padded.reshape(-1, each).any(1)
        if known.all():
            unwritten.written(self._family.host(extent))

    def _partial_barriers(self, launch: WavefrontLaunch) -> Array:
        """The rows of ``partial`` in `_CONTEXT`."""
        addresses = launch.native.observed.get("barrier_addresses", [])
        known = self._family.fences(launch) if addresses else {}
        rows = []
        for address_ in addresses if known else ():
            place = self._family.place(launch, address_)
            flags = flags_at(known, place) if place is not None else 0
            if flags in (LOCAL, GLOBAL):
                rows.append((address_, flags))
        return np.array(rows, np.uint64).reshape(-1, 2)

    # ---- what is no finding

    def _beginnings(self, launch: WavefrontLaunch) -> dict[int, int]:
        """The loads that begin atomic functions which compilers make loops around cmpxchg of, where the hardware has no
        instruction: they come from the same place in the source. By number, the cmpxchg's."""
        sites = self.tables.sites
        loops = {
            place: n
            for n, site in enumerate(sites)
            if site.operation == "cmpxchg"
            for place in [self._family.place(launch, site.address)]
        }
        loops.pop(None, None)
        if not loops:
            return {}
        loads = [n for n, site in enumerate(sites) if not site.writes and site.kind in ("global", "lds", "flat")]
        return {n: loops[place] for n in loads if (place := self._family.place(launch, sites[n].address)) in loops}

    def _is_repeated(self, one: Any, found: list[Any]) -> bool:
        """Whether a finding is of such a load, and there is one of its cmpxchg, too."""
        loop = self._begins.get(int(one["site"]))
        return loop is not None and any(o["kind"] == one["kind"] and o["site"] == loop for o in found)

    def _is_harmless(self, launch: WavefrontLaunch, one: Any) -> bool:
        """Whether a finding is a plain read beside an atomic function that looks whether that is worth while (loops
        around cmpxchg begin so, and it may be read before a maximum is raised or a bit set), or is volatile. Or of
        atomic_load and atomic_store, or bytes of a copied structure that are no member's."""
        if one["kind"] == UNINITIALISED:
            return self._is_gap(launch, self.tables.sites[int(one["site"])], int(one["detail"]))
        if one["kind"] != RACE:
            return False
        numbers = int(one["site"]), int(one["other_site"])
        sites = [self.tables.sites[number] for number in numbers]
        plain = [n for n in numbers if not _is_update(self.tables.sites[n])]
        if len(plain) == 2:
            return all(self._at(launch, site, "atomic") for site in sites)
        if not plain:
            return False
        site = self.tables.sites[plain[0]]
        if not site.writes and (site.volatile or self._site_table[plain[0], 0] & _LOOKS_FIRST):
            return True
        return bool(self._at(launch, site, "atomic")) or (not site.writes and bool(self._at(launch, site, "volatile")))

    def _is_gap(self, launch: WavefrontLaunch, site: Site, missing: int) -> bool:
        """Whether the missing bytes that a site reads belong to no member of a structure that is copied there."""
        copies = self._at(launch, site, "copies")
        if not any(layout.is_gap(missing, site.nbytes) for layout in copies):
            return False
        # A copy is made by several accesses: if there is nothing in any of them, there is nothing to copy.
        place = self._family.place(launch, site.address)
        parts = {
            n: other
            for n, other in enumerate(self.tables.sites)
            if other.kind == site.kind and not other.writes and self._family.place(launch, other.address) == place
        }
        found = self._findings[: self._field("finding_count")]
        gone = {int(f["site"]): int(f["detail"]) for f in found if f["kind"] == UNINITIALISED}
        return not all(gone.get(n, 0) == (1 << other.nbytes) - 1 for n, other in parts.items())

    def _at(self, launch: WavefrontLaunch, site: Site, what: str) -> list[Any]:
        """What the program has of ``what``, a field of `AccessPlaces`, where a site is."""
        place = self._family.place(launch, site.address)
        if place is None:
            return []
        if self._source is None:
            self._source = self._family.source_places(launch)
        found = []
        for other, value in getattr(self._source, what).items():
            same = os.path.basename(other.file) == os.path.basename(place.file) and other.line == place.line
            if same and place.column in (0, other.column):  # code for VLIW chips has no columns
                found += value
        return found

    # ---- words

    def _text(self, launch: WavefrontLaunch, one: Any, extents: list[Extent]) -> str:
        kind, tag, other = int(one["kind"]), int(one["tag"]), int(one["other_tag"])
        who = self._who(launch, tag)
        times = f" ({int(one['count']):,} times in all)" if one["count"] > 1 else ""
        if kind in (BARRIER_LANES, BARRIER_PLACES):
            return self._barrier(launch, one, who)
        if kind == BARRIER_MISSED:
            first, second = self._wavefront(tag), self._wavefront(other)
            return (
                f"{self._family.name(launch)}: wavefront {first} ends without having been at barrier number "
                f"{int(one['detail'])}, where wavefront {second} of its group {self._group_text(launch, tag)} was\n"
                "  hint: all work-items of a group must reach a barrier, or none"
            )
        site = self.tables.sites[int(one["site"])]
        local = site.kind == "lds" or (site.kind == "flat" and int(one["address"]) < _LDS_BYTES)
        place = _where(int(one["address"]), site.nbytes, local, extents)
        if kind == UNALIGNED:
            message = f"{who} {_verb(site)} {site.nbytes} bytes {place}, which is not aligned{times}"
            return self._located(
                launch, site.address, message, "local memory and atomic functions need aligned addresses"
            )
        if kind == STRAY:
            message = f"{who} {_verb(site)} {site.nbytes} bytes {place}, by a pointer to another buffer{times}"
            return self._located(
                launch, site.address, message, "the index is out of the bounds of the buffer it is used with"
            )
        if kind == FORBIDDEN:
            message = f"{who} {_verb(site)} {site.nbytes} bytes {place}{times}"
            return self._located(launch, site.address, message, forbidden_hint("write" if site.writes else "read"))
        if kind == UNINITIALISED:
            owner = "no work-item of its group has written" if local else "nothing has been written"
            message = f"{who} reads {site.nbytes} bytes {place}, where {owner}{times}"
            return self._located(launch, site.address, message, "")
        earlier = self.tables.sites[int(one["other_site"])]
        wrote = "wrote" if int(one["detail"]) else "reads"
        if _is_update(earlier):
            wrote = "updates"
        many = other & _MANY and other & _WHO == tag
        whom = "other work-items" if many else self._who(launch, other, short=True)
        verb = {"wrote": "writes", "reads": "reads", "updates": "updates"}[wrote]
        if many:
            verb = verb.removesuffix("s") if verb != "reads" else "read"
        message = f"data race: {who} {_verb(site)} {site.nbytes} bytes {place}, which {whom} {verb} too{times}"
        where = self._line(launch, earlier.address)
        message += f"\n    the other access: {where}" if where else ""
        same = self._group(tag) == self._group(other) and one["detail"] != _ELSEWHERE
        hint = self._family.order(launch, same)
        if same and len(self._partial):
            hint = f"a barrier with {self._flag(launch, site, local)} between them orders them"
        return self._located(launch, site.address, message, hint)

    def _flag(self, launch: WavefrontLaunch, site: Site, local: bool) -> str:
        """What a barrier's flags call memory, in the language of an access."""
        place = self._family.place(launch, site.address)
        if place is not None and place.file.endswith(".py"):
            return "global_memory=True"  # local memory is ordered by all
        return f"CLK_{'LOCAL' if local else 'GLOBAL'}_MEM_FENCE"

    def _barrier(self, launch: WavefrontLaunch, one: Any, who: str) -> str:
        other = self._who(launch, int(one["other_tag"]), short=True)
        if int(one["kind"]) == BARRIER_LANES:
            message = f"{who} does not reach a barrier where {other} of its group waits"
        else:
            where = self._line(launch, int(one["address"]))
            message = f"{who} waits at a barrier while {other} of its group waits at another"
            message += f"\n    the other barrier: {where}" if where else ""
        hint = "all work-items of a group must reach the same barrier, or none"
        return self._located(launch, int(one["detail"]), message, hint)

    def _in_lds(self) -> set[int]:
        """Addresses of instructions that have accessed local memory."""
        sites = zip(self.tables.sites, self._site_table[:, 0], strict=False)
        return {site.address for site, facts in sites if facts & _IN_LDS}

    def _group(self, tag: int) -> int:
        return (tag & _WHO) // LANES // self._waves

    def _wavefront(self, tag: int) -> int:
        return (tag & _WHO) // LANES % self._waves

    def _group_text(self, launch: WavefrontLaunch, tag: int) -> str:
        return f"({', '.join(map(str, self._ids(launch, tag)[1]))})"

    def _ids(self, launch: WavefrontLaunch, tag: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """A work-item's global id and its group's."""
        return self._family.ids(launch, self._group(tag), self._wavefront(tag) * LANES + tag % LANES)

    def _who(self, launch: WavefrontLaunch, tag: int, *, short: bool = False) -> str:
        item, _ = self._ids(launch, tag)
        text = f"work-item ({', '.join(map(str, item))})"
        return text if short else f"{text} of {self._family.name(launch)}"

    def _line(self, launch: WavefrontLaunch, pc: int) -> str:
        """Where an instruction comes from: file, line, and its text."""
        place = self._family.place(launch, pc)
        if place is None:
            return self._family.instruction(launch, pc)
        return f"{place.file}:{place.line}: {self._source_line(launch, place).strip()}".rstrip(": ")

    def _located(self, launch: WavefrontLaunch, pc: int, message: str, hint: str) -> str:
        place = self._family.place(launch, pc)
        if place is None:
            return f"{message}\n    {self._line(launch, pc)}" + (f"\n  hint: {hint}" if hint else "")
        return str(SourceError(message, place, hint=hint, source_line=self._source_line(launch, place)))

    def _source_line(self, launch: WavefrontLaunch, place: Span) -> str:
        mine = launch.kernel.program_filename
        file = mine if mine.endswith(f"/{place.file}") else place.file
        return units.line_of(launch.kernel.program_source, mine, file, place.line)


def _site_table(sites: Sequence[Site]) -> Array:
    """Rows of facts, the next site that is reported with this one, its distance, and the one that reports."""
    table = np.zeros((max(len(sites), 1), _SITE_FACTS.size_bytes // 4), np.uint32)
    last: dict[int, int] = {}
    for n, site in enumerate(sites):
        leader = n if site.same_as < 0 else site.same_as
        table[n] = _site_word(site), 0, site.delta, leader
        if leader in last:
            table[last[leader], 1] = n
        last[leader] = n
    return table


def _site_word(site: Site) -> int:
    flags = (_WRITES if site.writes else 0) | (_ATOMIC if site.atomic else 0)
    if site.operation in ("cmpxchg", "min", "max", "and", "or"):
        flags |= _MONOTONE
    flags |= {"cmpxchg": _COMPARES, "mskor": _MASKS}.get(site.operation, 0)
    return KINDS.index(site.kind) | site.nbytes << 8 | flags


_OWN = ("the code object", "the kernarg", "the dispatch", "the queue", "the printf", "the memory of calls to the host")


def _outermost(extents: list[Extent]) -> list[Extent]:
    """The extents without those that lie in others, where nothing is forbidden that one of them allows, and without the
    launch's own: what kernels only read, and printf's memory and that of calls to the host, in whose protocols
    wavefronts wait for each other by atomic functions."""
    kept: list[Extent] = []
    for extent in sorted(extents, key=lambda e: (e.start, -e.end)):
        if extent.name.startswith(_OWN):
            continue
        if not kept or extent.start >= kept[-1].end:
            kept.append(extent)
        elif extent.forbidden != kept[-1].forbidden:
            kept[-1] = kept[-1]._replace(forbidden="")
    return kept


def _verb(site: Site) -> str:
    return "updates" if _is_update(site) else "writes" if site.writes else "reads"


def _is_update(site: Site) -> bool:
    """Whether it is an atomic function: bytes are written by an atomic instruction on VLIW chips."""
    return site.atomic and site.operation != "mskor"


def _where(where: int, nbytes: int, local: bool, extents: list[Extent]) -> str:
    if local:
        return f"at byte {where} of local memory"
    for extent in extents:
        if extent.start <= where < extent.end:
            return f"at byte {where - extent.start} of {extent.name}"
    return f"at address {where:#x}"


__all__ = ["CheckObserver", "CheckedFamily", "Checker"]
