"""Input: a kernel's launch. Output: a record of what its wavefronts did, in a file of a few bytes a wavefront. And back
again.

What is recorded and how the file is laid out is said in docs/trace.md. `Recording` writes, `read` reads.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headwater.base import reading
from headwater.base.arrays import Array, address, aligned_bytes
from headwater.base.writing import is_special
from headwater.emulate.watch import trace_format
from headwater.emulate.watch.staging import (
    CONTEXT_HOOK,
    KINDS,
    LDS_KIND,
    PATH_ROOM,
    SITE,
    Segment,
    Site,
    Staged,
    Tables,
    function_at_end,
    recorder_bytes,
    tables,
)
from headwater.emulate.watch.trace_format import (
    ACCESS,
    CHUNK,
    CHUNK_MAGIC,
    LANES_MASK,
    LANES_SHIFT,
    LIST,
    LIST_HEAD,
    MAGIC,
    MEMORY_RECORD,
    NARROW,
    OFTEN_SHIFT,
    OWN_LISTS,
    PATH_RECORD,
    REPEAT_BITS,
    REPEATED,
    VERSION,
)
from headwater.emulate.wave import layout
from headwater.emulate.wave.layout import LANES, round_up
from headwater.errors import InternalError, OutOfMemoryError, ResourceError, UsageError
from headwater.native.launch_block import STOP
from headwater.native.structure import Struct

if TYPE_CHECKING:
    from headwater.emulate.watch.hooks import AccessOrigin, LaneAccess, Region, Watched
    from headwater.emulate.wave.launched import SimulatedTask

FIRST_ADDRESS: Final = 1 << 20
"""Where the first allocation lies for the trace: the same in every run, unlike the host's addresses."""
PAGE_BYTES: Final = 4096
PRIVATE_ADDRESS: Final = 1 << 36
"""Where the wavefronts' private memory lies for the trace, behind all that a launch can allocate."""
_MEMORY_ROOM, _LINE_ROOM, _OUTPUT_ROOM = 2048, 8192, 1 << 18
_ALL_RUNS: Final = 13
"""How often what is known of a site in a wavefront is kept: now, and three times for each series."""
_SERIES_BYTES: Final = 2560
"""For what is known of wavefronts alike."""

_PATH: Final = Struct("path_record", ("u32", "key", 1), ("u32", "repeat", 1), align=0)
_RUN: Final = Struct("run", *((("u32", name, 1)) for name in ("packed", "first", "stride", "count")), align=0)
"""The accesses of a site that make one record, so far: ``packed`` is cycles of the address unit less 1, flags, from bit
16 on active lanes with NARROW, from bit 24 on the count of lines."""
_RANGE: Final = Struct("range", *((("u64", name, 1)) for name in ("start", "bytes", "address", "memory")), align=0)
"""Memory that the launch may touch, by the kernel's addresses; ``memory``: where it lies, if that is known."""
_CONTEXT: Final = Struct(
    "context",
    *((("u64", name, 1)) for name in ("recorders", "recorder_bytes", "recorder_count", "write")),
    *((("i32", name, 1)) for name in ("file", "unused")),
    *((("u32", name, 1)) for name in ("sites", "segments")),
    ("u64", "site_table", 1),  # u32: kind | bytes << 8
    ("u64", "ranges", 1),  # sorted by start
    ("u64", "range_count", 1),
    *((("u64", name, 1)) for name in ("private_address", "private_bytes")),  # of each wavefront, one behind the other
    ("u64", "lds_base", 1),
    *((("u32", name, 1)) for name in ("waves", "failed")),
    ("u32", "apart", 1),  # each wavefront of a group has a recorder, as they take turns
    *((("u32", name, 1)) for name in ("memory_room", "line_room", "output_room")),
    ("u32", "banks", 1),  # of the LDS
    ("u32", "quads", 1),  # whether the cycles of the address unit are VLIW chips'
)
"""What the launcher fills in for trace.c."""
SHARED: Final = (*trace_format.SHARED, _PATH, _RUN, _RANGE, _CONTEXT)
"""The structures that trace.c and Python share."""


def c_header() -> str:
    """The declarations of trace.c's own, behind those of `headwater.emulate.watch.staging.c_header`."""
    own = "".join(one.declaration() for one in SHARED[len(trace_format.SHARED) :])
    return f"{trace_format.c_header()}{own}enum {{ SERIES_BYTES = {_SERIES_BYTES} }};\n"


class TraceObserver(Staged):
    """Writes code that reports to trace.c."""

    name = f"trace {VERSION}"
    library = ("trace_cycles.h", "trace_records.h", "trace.c")
    expects = True

    def declarations(self) -> str:
        return c_header()

    def __init__(self) -> None:
        super().__init__()
        self._leaders: dict[tuple[int, str, str, str, int], int] = {}

    def _is_covered(self, origin: AccessOrigin, site: int, kind: int, access: LaneAccess) -> bool:
        """Accesses to the LDS that differ by a constant number of bytes meet the same conflicts of banks."""
        at, lanes = access.at, access.lanes
        if kind != LDS_KIND or not at.low.startswith("%"):  # a constant has a base that is not
            return False
        if access.part == 0:
            # Addresses and lanes are the same if their values have the same names.
            one = self.sites[site]
            mask = lanes.whole or str(lanes.parts[0])
            key = self.segment_of[origin.member], origin.function, at.low, mask, one.nbytes
            leader = self._leaders.setdefault(key, site)
            if leader != site:
                self.sites[site] = replace(one, same_as=leader)
        return self.sites[site].same_as >= 0


@dataclass(frozen=True, slots=True)
class Totals:
    """What a launch did, summed.

    ``segments``, of shape (number, 4): how often each ran, with how many lanes in all, how often with all 64 and how
    often with none. ``sites``, of shape (number, 4): the accesses, their active lanes, their cache lines or LDS cycles,
    and the accesses whose lines did not follow each other.
    """

    segments: np.ndarray[Any, np.dtype[np.uint64]]
    sites: np.ndarray[Any, np.dtype[np.uint64]]


class Recording:
    """A `headwater.emulate.watch.hooks.Watcher` that writes a trace of one launch to ``path``; None: only the totals.

    After the launch has ended, `totals` is there and the file is complete; it has its final name only then.
    """

    checked_code = False
    notes_written = False

    def __init__(self, path: Path | str | None = None) -> None:
        self.observer = TraceObserver()
        self.path = None if path is None else Path(path)
        self.tables: Tables | None = None
        self.totals: Totals | None = None
        self.launch: Any = None  # a `Watched`: what it is more, its readers know
        self._file = -1
        self._regions: Sequence[Region] | None = None
        self._header: dict[str, Any] = {}
        if self.path is not None:
            if is_special(self.path):
                raise UsageError(f"cannot write the trace {path}: a trace is written to a regular file")
            self._target = os.path.realpath(self.path)
            folder, name = os.path.split(self._target)
            self._part = os.path.join(folder, f".{name}.{os.getpid()}.part")

    # ---- what headwater.emulate.watch.hooks.Watcher wants

    def hooks(self, launch: Watched) -> list[int]:
        self.launch = launch
        self.tables = found = tables(launch.native.observed)
        self._observed = "" if self.path is None else _json(launch.native.observed)
        self._recorder_bytes = round_up(
            _kept_bytes(found)
            + (PATH_ROOM + 2 + len(found.segments)) * _PATH.size_bytes
            + _MEMORY_ROOM * MEMORY_RECORD.size_bytes
            + _LINE_ROOM * 4
            + _OUTPUT_ROOM,
            64,
        )
        # Without barriers a group's wavefronts run one after the other, and one recorder stays in the cache.
        self._per_wavefront = found.barriers > 0
        # A thread that was called for an earlier launch may come late, and find something to do.
        threads = launch.tickets if launch.tickets == 1 else 2 * launch.tickets
        self._count = threads * (launch.waves if self._per_wavefront else 1)
        try:
            self._recorders = aligned_bytes(self._count * self._recorder_bytes, 64)
        except MemoryError:
            needed = self._count * self._recorder_bytes
            raise OutOfMemoryError(f"tracing needs {needed} bytes of memory") from None
        kinds = [KINDS.index(site.kind) | site.nbytes << 8 for site in found.sites]
        self._site_table = np.array(kinds or [0], np.uint32)
        self._context = aligned_bytes(_CONTEXT.size_bytes)
        return [address(self._context) if n == CONTEXT_HOOK else 0 for n in range(8)]

    def begin(self, launch: Watched, task: SimulatedTask) -> None:
        assert self.tables is not None
        self._recorders.reshape(self._count, self._recorder_bytes)[:, : _kept_bytes(self.tables)] = 0
        regions = launch.regions(task)
        if regions != self._regions:  # mostly a launch is repeated with the same arguments
            self._regions, self._places = regions, Places(regions)
        self._ranges = self._places.ranges
        self._file = self._open(launch, task, self._places)
        values = {
            "recorders": address(self._recorders),
            "recorder_bytes": self._recorder_bytes,
            "recorder_count": self._count,
            "write": _write_function(),
            "file": self._file,
            "sites": len(self.tables.sites),
            "segments": len(self.tables.segments),
            "site_table": address(self._site_table),
            "ranges": address(self._ranges),
            "range_count": len(self._ranges),
            "private_address": PRIVATE_ADDRESS,
            "private_bytes": launch.private_lane_bytes * LANES,
            "lds_base": 0,
            "waves": launch.waves,
            "failed": 0,
            "apart": int(self._per_wavefront),
            "memory_room": _MEMORY_ROOM,
            "line_room": _LINE_ROOM,
            "output_room": _OUTPUT_ROOM,
            "banks": launch.local_banks,
            "quads": int(launch.fetches_by_quads),
        }
        _CONTEXT.write(self._context, values)

    def end(self, launch: Watched, task: SimulatedTask) -> None:
        try:
            function_at_end(launch.native.library, "hw_trace_end")(address(self._context))
            failed = int(_CONTEXT.read(self._context, "failed"))
        finally:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1
        stopped = bool(task.block[STOP] or task.record[0])
        if self.path is not None and (failed or stopped):
            with suppress(FileNotFoundError):
                os.unlink(self._part)  # no part of a trace passes for one
        if failed == 1:
            raise ResourceError(f"cannot write the trace {self.path}", hint="is there room on the disk?")
        if failed:
            raise InternalError("a launch had more wavefronts at a time than the trace has recorders")
        self.totals = self._sum()
        if self.path is not None and not stopped:
            # Where a file takes the place of another, file systems write it to the disk first.
            with suppress(FileNotFoundError):
                os.unlink(self._target)
            os.replace(self._part, self._target)

    # ---- the file

    def _open(self, launch: Watched, task: SimulatedTask, places: Places) -> int:
        if self.path is None:
            return -1
        header = {
            "version": VERSION,
            "waves_per_group": launch.waves,
            "private_bytes": launch.private_lane_bytes,
            **launch.header(task, places.place),
            "allocations": places.described,
        }
        if header != self._header:
            text = (_json(header)[:-1] + "," + self._observed[1:]).encode()
            text += b" " * (-len(text) % 8)
            self._header, self._begun = header, MAGIC + len(text).to_bytes(8, "little") + text
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | getattr(os, "O_BINARY", 0)
        file = -1
        try:
            file = os.open(self._part, flags, 0o666)
            begun = self._begun
            while begun:
                begun = begun[os.write(file, begun) :]
        except OSError as error:
            if file >= 0:
                os.close(file)
            with suppress(OSError):
                os.unlink(self._part)
            raise UsageError(f"cannot write the trace {self.path}: {error.strerror}") from None
        return file

    def _sum(self) -> Totals:
        assert self.tables is not None
        sites, segments = len(self.tables.sites), len(self.tables.segments)
        per_site = np.zeros((sites, 4), np.uint64)
        per_segment = np.zeros((segments, 4), np.uint64)
        sums = SITE.offset["sums"]
        for n in range(self._count):
            one = self._recorders[n * self._recorder_bytes : (n + 1) * self._recorder_bytes]
            at = recorder_bytes(0)
            states = one[at : at + sites * SITE.size_bytes].reshape(sites, SITE.size_bytes)
            per_site += states[:, sums : sums + 32].copy().view(np.uint64).reshape(sites, 4)
            at = recorder_bytes(sites)
            per_segment += one[at : at + 32 * segments].view(np.uint64).reshape(segments, 4)
        for n, site in enumerate(self.tables.sites):
            if site.same_as >= 0:
                per_site[n] = per_site[site.same_as]
        return Totals(per_segment, per_site)


class Places:
    """Where the memory of a launch lies for the trace: ``ranges`` for the C code, sorted by the keys by which the
    kernel's code knows it; ``described`` for the file's header."""

    def __init__(self, regions: Sequence[Region]) -> None:
        place = FIRST_ADDRESS
        rows: list[tuple[int, int, int, int]] = []
        self.described: list[dict[str, Any]] = []
        for region in _outermost(regions):
            nbytes = max(size for _, size in region.keys)
            hosts = (region.host, *(0 for _ in region.keys[1:]))
            rows += [(key, size, place, host) for (key, size), host in zip(region.keys, hosts, strict=True)]
            self.described.append({"name": region.name, "address": place, "nbytes": nbytes})
            place += round_up(nbytes, PAGE_BYTES) + PAGE_BYTES
        self._rows = sorted(rows)
        self.ranges: Array = np.array(self._rows or [(0, 0, 0, 0)], np.uint64)

    def place(self, key: int) -> int:
        """The trace's address of a key; 0 if it is in no region."""
        at = bisect_right(self._rows, (key, 1 << 64, 0, 0)) - 1
        if at < 0 or key - self._rows[at][0] >= self._rows[at][1]:
            return 0
        return key - self._rows[at][0] + self._rows[at][2]


def _outermost(regions: Sequence[Region]) -> list[Region]:
    """Those that are not part of another, in the same order."""
    found: list[Region] = []
    for region in sorted(regions, key=lambda one: -one.keys[0][1]):  # of equals, the first stays the first
        start, nbytes = region.keys[0]
        if not any(key <= start and start + nbytes <= key + size for one in found for key, size in one.keys[:1]):
            found.append(region)
    return [region for region in regions if any(region is one for one in found)]


def _kept_bytes(found: Tables) -> int:
    """A recorder without its buffers."""
    counters = round_up(32 * len(found.segments), 64)
    return (
        recorder_bytes(len(found.sites))
        + counters
        + _ALL_RUNS * _RUN.size_bytes * round_up(len(found.sites), 4)
        + _SERIES_BYTES
    )


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


@functools.cache
def _write_function() -> int:
    """The address of the C library's ``write``."""
    library = ctypes.CDLL("msvcrt") if os.name == "nt" else ctypes.CDLL(None)
    function = library._write if os.name == "nt" else library.write
    return ctypes.cast(function, ctypes.c_void_p).value or 0


# ---- reading ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wave:
    """What one wavefront did.

    ``path``: `PATH_RECORD`, in order; ``memory``: `ACCESS`, in order for each site, but not between sites;
    ``lines``: what records with the flag `LIST` refer to.
    """

    group: int
    index: int
    path: np.ndarray[Any, Any]
    memory: np.ndarray[Any, Any]
    lines: np.ndarray[Any, np.dtype[np.uint32]]
    sites: tuple[Site, ...]

    def of_site(self, site: int) -> np.ndarray[Any, Any]:
        """The records of one site."""
        leader = self.sites[site].same_as
        found: np.ndarray[Any, Any] = self.memory[
            (self.memory["site"] & (LIST - 1)) == (site if leader < 0 else leader)
        ]
        return found


@dataclass(frozen=True)
class Trace:
    """A trace file: what its header says, and the wavefronts one after the other."""

    path: Path
    header: dict[str, Any]
    sites: tuple[Site, ...]
    segments: tuple[Segment, ...]
    start: int

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return str(self.header["kernel"])

    def __iter__(self) -> Iterator[Wave]:
        """All wavefronts, by group and by number in the group. UsageError if the file is damaged."""
        data = np.memmap(self.path, np.uint8, "r")
        waves_per_group = int(self.header["waves_per_group"])
        index: dict[int, list[tuple[int, int]]] = {}
        at = self.start
        while at < len(data):
            head = _chunk(self.path, data, at)
            number, step = int(head["group"]) * waves_per_group + int(head["wave"]), int(head["step"])
            for turn in range(int(head["waves"])):
                index.setdefault(number + turn * step, []).append((at, turn))
            at += _chunk_bytes(head)
        for number in sorted(index):
            yield _wave(self, data, *divmod(number, waves_per_group), index[number])


def _chunk(path: Path, data: Any, at: int) -> Any:
    if at + CHUNK.size_bytes > len(data):
        raise UsageError(f"{path}: the trace ends in the middle of a record", hint="record it again")
    head = data[at : at + CHUNK.size_bytes].view(CHUNK.dtype)[0]
    if head["magic"] != CHUNK_MAGIC or at + _chunk_bytes(head) > len(data):
        raise UsageError(f"{path}: no record at byte {at}: the trace is damaged", hint="record it again")
    return head


def _chunk_bytes(head: Any) -> int:
    path, memory, lines = (int(head[n]) for n in ("path", "memory", "lines"))
    deltas = memory if head["waves"] > 1 else 0
    return CHUNK.size_bytes + 4 * path + memory * MEMORY_RECORD.size_bytes + 4 * (lines + deltas)


def _wave(trace: Trace, data: Any, group: int, wave: int, chunks: list[tuple[int, int]]) -> Wave:
    """``chunks``: the wavefront's, each with its turn among those that the chunk is for."""
    parts: list[list[Any]] = [[], [], []]
    word = np.dtype("<u4")
    for start, turn in chunks:
        head = _chunk(trace.path, data, start)
        at = start + CHUNK.size_bytes
        for part, (dtype, count) in zip(
            parts, ((word, head["path"]), (MEMORY_RECORD.dtype, head["memory"]), (word, head["lines"])), strict=True
        ):
            size = dtype.itemsize * int(count)
            part.append(np.frombuffer(bytearray(data[at : at + size]), dtype))
            at += size
        if turn:  # before what each has of its own
            deltas = np.frombuffer(data[at : at + 4 * int(head["memory"])].tobytes(), "<u4")
            parts[1][-1]["first"] += deltas * np.uint32(turn)
        if head["last"] & OWN_LISTS:
            parts[2][-1] = _own_lists(trace.path, parts[1][-1], parts[2][-1], turn)
    records, lists = (np.concatenate(part) for part in parts[1:])
    path = np.concatenate([_path(trace.path, words) for words in parts[0]])
    memory = np.zeros(len(records), ACCESS)
    for name in MEMORY_RECORD.offset:
        memory[name] = records[name]
    memory["repeat"] &= (1 << REPEAT_BITS) - 1
    memory["cycles"] = (records["repeat"] >> REPEAT_BITS) + 1
    memory["active"] &= NARROW - 1
    return Wave(group, wave, path, memory, _lines(trace.path, records, lists), trace.sites)


def _own_lists(path: Path, records: Array, words: Array, turn: int) -> Array:
    """The lists of one of several wavefronts that have their own; what begins them is put into the records."""
    kept: list[Array] = []
    at = 0
    for n in range(turn + 1):
        for one in np.flatnonzero(records["site"] & LIST):
            if at + LIST_HEAD > len(words):
                raise UsageError(f"{path}: the trace is damaged", hint="record it again")
            begin, first = words[at : at + LIST_HEAD]
            count, narrow = int(begin >> 24), int(begin >> 16) & NARROW
            at += LIST_HEAD + _list_words(count, bool(narrow))
            if n < turn:
                continue
            kept.append(words[at - _list_words(count, bool(narrow)) : at])
            cycles = (begin & 63) << np.uint32(REPEAT_BITS)
            repeat = records["repeat"][one] & ((1 << REPEAT_BITS) - 1)
            active = records["active"][one] & (NARROW - 1) | narrow
            records[one] = records["site"][one], active, count, first, records["stride"][one], repeat | cycles
    return np.concatenate(kept) if kept else words[:0]


def _list_words(count: int, narrow: bool) -> int:
    return 1 + (count + 1) // 2 if narrow else count


def _path(path: Path, words: Array) -> Array:
    """`PATH_RECORD` from the words of a chunk."""
    often = words >> OFTEN_SHIFT
    two, begins = often == 0, np.ones(len(words), np.bool_)
    for at in np.flatnonzero(two):  # or what looks so and is such a number itself
        if begins[at] and at + 1 < len(words):
            begins[at + 1] = False
            often[at] = words[at + 1]
    found = np.zeros(len(words), PATH_RECORD)
    found["segment"] = words & 0xFFFF
    found["active"] = words >> LANES_SHIFT & LANES_MASK
    found["repeat"] = often
    repeats = np.flatnonzero(begins & (found["active"] == REPEATED))
    parts: list[Array] = []
    done = 0
    for end in map(int, repeats):
        start = end - int(found["segment"][end])
        if start < done or start == end:
            raise UsageError(f"{path}: the trace is damaged", hint="record it again")
        parts.append(found[done:end][begins[done:end]])
        parts.append(np.tile(found[start:end][begins[start:end]], int(often[end])))
        done = end + 1 + int(two[end])
    parts.append(found[done:][begins[done:]])
    return np.concatenate(parts)


def _lines(path: Path, records: Array, lists: Array) -> Array:
    """The lists one after the other, all in 32 bits, from the file's."""
    found: list[Array] = []
    at = 0
    for one in records[records["site"] & LIST != 0]:
        count, narrow = int(one["count"]), bool(one["active"] & NARROW)
        size = _list_words(count, narrow)
        some = lists[at : at + size]
        if len(some) < size:
            raise UsageError(f"{path}: the trace is damaged", hint="record it again")
        found.append(some[0] + some[1:].view("<u2")[:count] if narrow else some)
        at += size
    return np.concatenate(found) if found else np.zeros(0, np.uint32)


def read(path: Path | str) -> Trace:
    """Open a trace. UsageError if the file is no trace, or one of another version."""
    path = Path(path)
    try:
        start = reading.contents(path, 16)
        if start[:7] != MAGIC[:7]:
            raise UsageError(f"{path} is not a trace", hint="headwater stats --trace FILE writes one")
        if start[:8] != MAGIC:
            found = start[7:8].decode("latin-1")
            raise UsageError(f"{path} is a trace of version {found}, this is {VERSION}", hint="record it again")
        size = int.from_bytes(start[8:16], "little")
        text = reading.contents(path, 16 + size)[16:] if size < 1 << 30 else b""
    except OSError as error:
        raise UsageError(f"cannot read the trace {path}: {error.strerror}") from None
    with suppress(ValueError, KeyError, TypeError):
        header = json.loads(text)
        if header["version"] != VERSION:
            raise UsageError(f"{path} is a trace of version {header['version']}, this is {VERSION}")
        found_tables = tables(header)
        return Trace(path, header, found_tables.sites, found_tables.segments, 16 + size)
    raise UsageError(f"{path}: the trace's header is damaged", hint="record it again")


__all__ = ["Recording", "Totals", "Trace", "Wave", "layout", "read"]
