"""A launch in; a `KernelFault` that names races, unwritten memory, bad barriers and misaligned accesses in it, out.

What is looked for, and what is not, is said in docs/checks.md; check.c looks.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headwater.emulate import unwritten, waitcnt
from headwater.emulate.layout import LANES, Struct
from headwater.emulate.staging import CONTEXT_HOOK, KINDS, Staged, Tables, recorder_bytes, tables
from headwater.errors import KernelFault, SourceError, Span
from headwater.runtime.arrays import Array, address, aligned_bytes

if TYPE_CHECKING:
    from headwater.emulate.staging import Site
    from headwater.runtime.faults import Extent
    from headwater.runtime.simulated_launch import SimulatedLaunch, SimulatedTask

RACE, UNINITIALISED, UNALIGNED, BARRIER_LANES, BARRIER_PLACES, BARRIER_MISSED = range(1, 7)
_WRITES, _ATOMIC = 1 << 16, 1 << 17
_MULTI, _STEP_MASK = 1 << 31, (1 << 24) - 1
_UNWRITTEN = 1
_ROOM = 64
"""Findings that are kept apart; kernels with more places that are wrong are not thought of."""

FINDING: Final = np.dtype(
    [
        *((name, "<u4") for name in ("kind", "site", "other_site", "other_tag", "tag", "count")),
        *((name, "<u8") for name in ("address", "detail")),
    ]
)
_SHADOW: Final = Struct("shadow", *((("u64", name, 1)) for name in ("writer", "reader", "wrote", "read", "count")))
_CONTEXT: Final = Struct(
    "context",
    *((("u64", name, 1)) for name in ("recorders", "recorder_bytes", "site_table", "ranges", "range_count")),
    *((("u64", name, 1)) for name in ("lds_shadow", "starts", "findings", "barrier_pc")),
    *((("u32", name, 1)) for name in ("finding_count", "finding_room", "waves", "granule_shift", "next")),
    *((("u32", name, 1)) for name in ("group_first", "begun", "exhausted", "barrier_epoch", "barrier_tag")),
    *((("u32", name, 1)) for name in ("lost", "open")),
)
_TYPES: Final = {"u64": np.uint64, "u32": np.uint32, "i32": np.int32}


class _CheckObserver(Staged):
    name = "check 5"
    library = "check.c"
    tells_segments = False
    takes_values = True


@dataclass(frozen=True, slots=True)
class Shadow:
    """What check.c knows of an extent of memory: a structure, and the arrays that it points to."""

    memory: Array
    writer: Array
    others: tuple[Array, ...]

    @staticmethod
    def of(nbytes: int, granule: int) -> Shadow:
        """Of memory that nobody has accessed."""
        count = -(-nbytes // granule)
        writer, reader = np.zeros(count, np.uint32), np.zeros(count, np.uint32)
        wrote, read = np.zeros(count, np.uint16), np.zeros(count, np.uint16)
        memory = aligned_bytes(_SHADOW.size_bytes)
        places = [address(array) for array in (writer, reader, wrote, read)]
        memory[:40].view(np.uint64)[:] = [*places, count]
        return Shadow(memory, writer, (reader, wrote, read))


class Checker:
    """A `headwater.emulate.hooks.Watcher` whose launches end in a KernelFault if anything was found."""

    def __init__(self) -> None:
        self.observer = _CheckObserver()

    # ---- what headwater.emulate.hooks.Watcher wants

    def hooks(self, launch: SimulatedLaunch) -> list[int]:
        launch._tickets = 1
        found = tables(launch.native.observed)
        self.tables: Tables = found
        sizes = [site.nbytes for site in found.sites if site.kind in ("global", "lds", "flat")]
        self._granule = min([4, *(size & -size for size in sizes)])
        self._recorders = aligned_bytes(launch._waves * recorder_bytes(len(found.sites)))
        self._site_table = np.array([_site_word(site) for site in found.sites] or [0], np.uint32)
        self._starts = np.zeros(max(launch._total, 1), np.uint32)
        self._findings = np.zeros(_ROOM, FINDING)
        self._context = aligned_bytes(_CONTEXT.size_bytes)
        return [address(self._context) if n == CONTEXT_HOOK else 0 for n in range(8)]

    def begin(self, launch: SimulatedLaunch, task: SimulatedTask) -> None:
        self._recorders[:] = 0
        self._starts[:] = 0
        self._lds = Shadow.of(max(launch._frames, self._granule), self._granule)
        self._shadows = [(extent, self._shadow(extent)) for extent in _apart(task.extents)]
        rows = sorted(
            (extent.start, extent.end - extent.start, address(shadow.memory)) for extent, shadow in self._shadows
        )
        self._ranges = np.array(rows or [(0, 0, 0)], np.uint64)
        values = {
            "recorders": address(self._recorders),
            "recorder_bytes": recorder_bytes(len(self.tables.sites)),
            "site_table": address(self._site_table),
            "ranges": address(self._ranges),
            "range_count": len(rows),
            "lds_shadow": address(self._lds.memory),
            "starts": address(self._starts),
            "findings": address(self._findings),
            "finding_room": _ROOM,
            "waves": launch._waves,
            "granule_shift": self._granule.bit_length() - 1,
            "next": 1,
        }
        for kind, name, _ in _CONTEXT.fields:
            at, dtype = _CONTEXT.offset[name], _TYPES[kind]
            self._context[at : at + np.dtype(dtype).itemsize].view(dtype)[0] = values.get(name, 0)

    def end(self, launch: SimulatedLaunch, task: SimulatedTask) -> None:
        library = ctypes.CDLL(str(launch.native.library))
        library.hw_check_end.argtypes = (ctypes.c_void_p,)
        library.hw_check_end.restype = None
        library.hw_check_end(address(self._context))
        for extent, shadow in self._shadows:
            self._note_written(extent, shadow)
        if task.record[0]:
            return  # a fault, which is told
        texts = [self._text(launch, one, task.extents) for one in self._findings[: self._field("finding_count")]]
        texts += waitcnt.texts(launch)
        if self._field("exhausted") and not texts:
            return
        if texts:
            more = f"\n\nand {len(texts) - 1} more:\n\n" if len(texts) > 1 else ""
            raise KernelFault(texts[0] + more + "\n\n".join(texts[1:]))

    # ---- memory

    def _field(self, name: str) -> int:
        at = _CONTEXT.offset[name]
        return int(self._context[at : at + 4].view(np.uint32)[0])

    def _shadow(self, extent: Extent) -> Shadow:
        shadow = Shadow.of(extent.end - extent.start, self._granule)
        known = unwritten.words(extent.start)
        if known is not None:
            words = np.repeat(known, unwritten.WORD_BYTES // self._granule)[: len(shadow.writer)]
            shadow.writer[: len(words)][~words] = _UNWRITTEN
        return shadow

    def _note_written(self, extent: Extent, shadow: Shadow) -> None:
        known = unwritten.words(extent.start)
        if known is None:
            return
        each = unwritten.WORD_BYTES // self._granule
        done = shadow.writer != _UNWRITTEN
        padded = np.zeros(len(known) * each, np.bool_)
        padded[: len(done)] = done
        known |= padded.reshape(-1, each).any(1)
        if known.all():
            unwritten.written(extent.start)

    # ---- words

    def _text(self, launch: SimulatedLaunch, one: Any, extents: list[Extent]) -> str:
        kind, tag, other = int(one["kind"]), int(one["tag"]), int(one["other_tag"])
        who = self._who(launch, tag)
        times = f" ({int(one['count']):,} times in all)" if one["count"] > 1 else ""
        if kind in (BARRIER_LANES, BARRIER_PLACES):
            return self._barrier(launch, one, who)
        if kind == BARRIER_MISSED:
            first, second = self._wavefront(tag), self._wavefront(other)
            return (
                f"{launch.machine_kernel.name}: wavefront {first} ends without having been at barrier number "
                f"{int(one['detail'])}, where wavefront {second} of its group {self._group_text(launch, tag)} was\n"
                "  hint: all work-items of a group must reach a barrier, or none"
            )
        site = self.tables.sites[int(one["site"])]
        local = site.kind == "lds" or (site.kind == "flat" and int(one["address"]) < 1 << 32)
        place = _place(int(one["address"]), site.nbytes, local, extents)
        if kind == UNALIGNED:
            message = f"{who} {_verb(site)} {site.nbytes} bytes {place}, which is not aligned{times}"
            return _located(launch, site.address, message, "local memory and atomic functions need aligned addresses")
        if kind == UNINITIALISED:
            owner = "no work-item of its group has written" if local else "nothing has been written"
            message = f"{who} reads {site.nbytes} bytes {place}, where {owner}{times}"
            return _located(launch, site.address, message, "")
        earlier = self.tables.sites[int(one["other_site"])]
        wrote = "wrote" if int(one["detail"]) else "reads"
        if earlier.atomic:
            wrote = "updates"
        many = other & _MULTI and (other & 0x3FFFFFFF) == (tag & 0x3FFFFFFF)
        whom = "other work-items" if many else self._who(launch, other, short=True)
        verb = {"wrote": "writes", "reads": "reads", "updates": "updates"}[wrote]
        if many:
            verb = verb.removesuffix("s") if verb != "reads" else "read"
        message = f"data race: {who} {_verb(site)} {site.nbytes} bytes {place}, which {whom} {verb} too{times}"
        where = _line(launch, earlier.address)
        message += f"\n    the other access: {where}" if where else ""
        same = self._group(tag) == self._group(other)
        hint = "a barrier between them orders them" if same else "work-groups run in any order; use atomic functions"
        return _located(launch, site.address, message, hint)

    def _barrier(self, launch: SimulatedLaunch, one: Any, who: str) -> str:
        other = self._who(launch, int(one["other_tag"]), short=True)
        if int(one["kind"]) == BARRIER_LANES:
            message = f"{who} does not reach a barrier where {other} of its group waits"
        else:
            where = _line(launch, int(one["address"]))
            message = f"{who} waits at a barrier while {other} of its group waits at another"
            message += f"\n    the other barrier: {where}" if where else ""
        hint = "all work-items of a group must reach the same barrier, or none"
        return _located(launch, int(one["detail"]), message, hint)

    def _group(self, tag: int) -> int:
        step = tag >> 6 & _STEP_MASK
        begun = self._starts[self._starts > 0]
        return int(np.searchsorted(begun, step, "right")) - 1

    def _wavefront(self, tag: int) -> int:
        step = tag >> 6 & _STEP_MASK
        waves = len(self._recorders) // recorder_bytes(len(self.tables.sites))
        return (step - int(self._starts[self._group(tag)])) % waves

    def _group_text(self, launch: SimulatedLaunch, tag: int) -> str:
        return f"({', '.join(map(str, self._ids(launch, tag)[1]))})"

    def _ids(self, launch: SimulatedLaunch, tag: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """A work-item's global id and its group's."""
        global_size, local_size, offset = launch._sizes
        groups = [-(-g // size) for g, size in zip(global_size, local_size, strict=True)]
        number = self._group(tag)
        group = number % groups[0], number // groups[0] % groups[1], number // prod(groups[:2])
        size = [min(local_size[n], global_size[n] - group[n] * local_size[n]) for n in range(3)]
        flat = self._wavefront(tag) * LANES + (tag & 63)
        local = flat % size[0], flat // size[0] % size[1], flat // (size[0] * size[1])
        item = tuple(offset[n] + group[n] * local_size[n] + local[n] for n in range(3))
        return item[: launch._work_dim], group[: launch._work_dim]

    def _who(self, launch: SimulatedLaunch, tag: int, *, short: bool = False) -> str:
        item, _ = self._ids(launch, tag)
        text = f"work-item ({', '.join(map(str, item))})"
        return text if short else f"{text} of {launch.machine_kernel.name}"


def _site_word(site: Site) -> int:
    flags = (_WRITES if site.writes else 0) | (_ATOMIC if site.atomic else 0)
    return KINDS.index(site.kind) | site.nbytes << 8 | flags


def _apart(extents: list[Extent]) -> list[Extent]:
    """The extents without those that lie in others, and without what kernels only read by themselves."""
    kept: list[Extent] = []
    for extent in sorted(extents, key=lambda e: (e.start, -e.end)):
        own = extent.name.startswith(("the code object", "the kernarg", "the dispatch", "the queue", "the printf"))
        if not own and not (kept and extent.start < kept[-1].end):
            kept.append(extent)
    return kept


def _verb(site: Site) -> str:
    return "updates" if site.atomic else "writes" if site.writes else "reads"


def _place(where: int, nbytes: int, local: bool, extents: list[Extent]) -> str:
    if local:
        return f"at byte {where} of local memory"
    for extent in extents:
        if extent.start <= where < extent.end:
            return f"at byte {where - extent.start} of {extent.name}"
    return f"at address {where:#x}"


def _line(launch: SimulatedLaunch, pc: int) -> str:
    """Where an instruction comes from: file, line, and its text."""
    place = launch.code.line_of(pc)
    if place is None or not place[1]:
        from headwater.runtime.simulated_faults import instruction_text

        return instruction_text(launch, pc)
    return f"{place[0]}:{place[1]}: {_source_line(launch, place[0], place[1]).strip()}".rstrip(": ")


def _source_line(launch: SimulatedLaunch, file: str, line: int) -> str:
    source = launch.kernel.program_source.splitlines()
    mine = file == launch.kernel.program_filename or launch.kernel.program_filename.endswith(f"/{file}")
    return source[line - 1] if mine and 0 < line <= len(source) else ""


def _located(launch: SimulatedLaunch, pc: int, message: str, hint: str) -> str:
    place = launch.code.line_of(pc)
    if place is None or not place[1]:
        where = _line(launch, pc)
        return f"{message}\n    {where}" + (f"\n  hint: {hint}" if hint else "")
    file, line, column = place
    span = Span(file, line, column)
    return str(SourceError(message, span, hint=hint, source_line=_source_line(launch, file, line)))


__all__ = ["Checker"]
