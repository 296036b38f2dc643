"""The directory that keeps a sweep's rows, one for each point. Input: rows. Output: rows that were kept.

A file of a store is a sequence of records, each with a checksum, so that one damaged record costs no other. A file gets
its name by one rename when it is complete, and is never changed: any number of processes, on any number of machines,
may write to a directory. Files are merged by writing the merged one before the others are removed; a record that is
read twice meanwhile counts once.

A row's key names everything that it follows from: what ran (code and arguments: its `base`), the chip, and the version
of the model. A row is *current* if it was made by the model of today for what its place of the plan ran last.
"""

from __future__ import annotations

import functools
import json
import mmap
import os
import stat
import struct
import sys
import time
import zlib
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from headwater.base import cache, reading
from headwater.errors import ResourceError, UsageError

_MAGIC: Final = b"HWR1"
_HEAD: Final = struct.Struct("<4sIIIq16s16s16s16s")
"""Magic, bytes of the payload, checksum of what follows it, kind, nanoseconds since 1970; key, slot, base, version."""
_CHECKED: Final = 12
"""Bytes in front of what the checksum is of."""
_SUFFIX: Final = ".rows"
_ROWS: Final = "rows"
_FORMAT_FILE: Final = "format"
_FORMAT: Final = b"headwater sweep 1\n"
_MERGED: Final = 32
"""Files of about the same size that become one."""

_KINDS: Final = range(1, 5)
ROW, FAILED, PASSING, JOB = _KINDS
"""Kinds of records: a point's figures; the message of one that fails each time; the message of one that may not fail
again (no memory, a worker that died); what a job ran."""


class Record(NamedTuple):
    """``key``: of the row, or of a job its slot; ``slot``: the job's place in the plan; ``base``: what ran;
    ``version``: the model's; ``payload``: JSON."""

    kind: int
    key: bytes
    slot: bytes
    base: bytes
    version: bytes
    payload: bytes
    time_ns: int = 0


@dataclass(frozen=True, slots=True)
class Damaged:
    """A record that cannot be trusted: where it is, and what may be its key."""

    path: Path
    offset: int
    key: str

    def __str__(self) -> str:
        return f"{self.path.name}, byte {self.offset}: row {self.key} is damaged"


@functools.cache
def model_version() -> bytes:
    """Of the emulator and the cycle model: what a row follows from beside code, arguments and chip. 16 bytes that are
    the same wherever these files are."""
    from headwater.base.freshness import content_state

    parts = ("chips", "emulate", "isa", "native", "runtime", "timing")
    state = content_state("headwater.timing.simulate", parts, without=("chips/", ".toml"))
    return bytes.fromhex(cache.key("sweep 1", state))[:16]


def hashed(*parts: str | bytes) -> bytes:
    """16 bytes that name the parts."""
    return bytes.fromhex(cache.key(*parts))[:16]


def packed(record: Record) -> bytes:
    """A record as a file has it."""
    payload = record.payload + b" " * (-len(record.payload) % 8)
    stamp = record.time_ns or time.time_ns()
    rest = _HEAD.pack(
        _MAGIC, len(payload), 0, record.kind, stamp, record.key, record.slot, record.base, record.version
    )[_CHECKED:]
    check = zlib.crc32(payload, zlib.crc32(rest))
    return _MAGIC + struct.pack("<II", len(payload), check) + rest + payload


@dataclass(frozen=True, slots=True)
class Counts:
    """How many rows there are: ``done`` and ``failed`` are current; ``stale`` were made by another version of the
    model, ``superseded`` for what a place of the plan ran before."""

    done: int
    failed: int
    stale: int
    superseded: int
    damaged: int


class Store:
    """A directory of rows. ``create``: make it where there is none. UsageError for a directory that is no store.

    What others add later is there after `reload`.
    """

    def __init__(self, path: Path | str, *, create: bool = False) -> None:
        self.path = Path(path)
        self._rows = self.path / _ROWS
        self._writer = f"{os.getpid():x}-{os.urandom(4).hex()}"
        self._serial = 0
        self._own: dict[int, list[Path]] = {}
        self._open(create)
        self.reload()

    def _open(self, create: bool) -> None:
        marker = self.path / _FORMAT_FILE
        try:
            if create:
                self.path.mkdir(parents=True, exist_ok=True)
                made = marker.exists()
                if not made:
                    # Another process may be making the same store.
                    own = (_ROWS, _FORMAT_FILE, f".{_FORMAT_FILE}.")
                    if not all(one.name.startswith(own) for one in self.path.iterdir()):
                        raise UsageError(
                            f"{self.path} has other files: it is no store of a sweep", hint="name an empty directory"
                        )
                self._rows.mkdir(exist_ok=True)
                if not made:
                    self._place(marker, _FORMAT)
            found = reading.contents(marker)
        except FileNotFoundError:
            raise UsageError(
                f"{self.path} is no store of a sweep", hint="headwater sweep PLAN --results DIR makes one"
            ) from None
        except FileExistsError as error:
            raise UsageError(f"cannot use {self.path} for results: {error.filename} is no directory") from None
        except OSError as error:
            raise UsageError(f"cannot use {self.path} for results: {error.strerror}") from None
        except ValueError as error:  # a name with a null character
            raise UsageError(f"cannot use {str(self.path)!r} for results: {error}") from None
        if found != _FORMAT:
            raise UsageError(
                f"{self.path} is a store of another version of Headwater: {found[:40]!r}, not {_FORMAT!r}",
                hint="name another directory",
            )

    # -- reading -------------------------------------------------------------------------------------------------------

    def reload(self) -> None:
        """Read what is there now."""
        for _ in range(100):
            try:
                self._read()
                return
            except FileNotFoundError:
                if not self._rows.is_dir():
                    break
                continue  # somebody merged files after they were listed: what they held is in another one
            except OSError as error:
                raise UsageError(f"cannot read {error.filename}: {error.strerror}") from None
        else:
            raise ResourceError(f"the files in {self._rows} vanish while they are read")
        raise UsageError(f"{self.path} is no store of a sweep: it has no directory {_ROWS}")

    def _read(self) -> None:
        self._files: list[tuple[Path, Any]] = []
        self._heads: dict[bytes, tuple[int, bytes, bytes, bytes, int]] = {}
        """Key -> kind, slot, base, version and place of a row: its file's number and its offset there, in one."""
        self._same: dict[bytes, bytes] = {}
        self._jobs: dict[bytes, tuple[int, bytes]] = {}
        self._known: dict[bytes, dict[str, bytes]] = {}
        self.damaged: list[Damaged] = []
        names = sorted(one.name for one in os.scandir(self._rows) if one.name.endswith(_SUFFIX))
        for name in names:
            self._add(self._rows / name)

    def _add(self, path: Path) -> None:
        view = _mapped(path)
        number = len(self._files)
        self._files.append((path, view))
        for offset, record in self._records(path, view):
            self._note(record, number << 40 | offset)

    def _note(self, record: Record, place: int) -> None:
        if record.kind == JOB:
            self._note_job(record)
            return
        before = self._heads.get(record.key)
        # What has figures is better than a message, and of the same the later one.
        if before is None or (record.kind, -record.time_ns) < (before[0], -self.time_of(record.key)):
            same = self._same
            slot, base, version = (same.setdefault(name, name) for name in record[2:5])
            self._heads[record.key] = (record.kind, slot, base, version, place)

    def time_of(self, key: bytes) -> int:
        """When a row was made, in nanoseconds since 1970."""
        return self._record(key).time_ns

    def _note_job(self, record: Record) -> None:
        before = self._jobs.get(record.slot)
        if before is None or record.time_ns >= before[0]:
            self._jobs[record.slot] = (record.time_ns, record.base)
        try:
            name = str(json.loads(record.payload)["of"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return
        self._known.setdefault(record.slot, {})[name] = record.base

    def _records(self, path: Path, view: Any) -> Iterator[tuple[int, Record]]:
        """The records of a file, each with its offset; what is damaged is noted, and passed over."""
        at, size = 0, len(view)
        head_bytes, crc = _HEAD.size, zlib.crc32
        unpack, checked = _HEAD.unpack_from, _CHECKED
        while at < size:
            if at + head_bytes <= size:
                magic, length, check, kind, stamp, key, slot, base, version = unpack(view, at)
                end = at + head_bytes + length
                if magic == _MAGIC and end <= size and kind in _KINDS and crc(view[at + checked : end]) == check:
                    payload = view[at + head_bytes : end] if kind == JOB else b""
                    yield at, Record(kind, key, slot, base, version, bytes(payload), stamp)
                    at = end
                    continue
            else:
                key = b""
            self.damaged.append(Damaged(path, at, key.hex() or "?"))
            at = _next(view, at + 1)

    def _record(self, key: bytes) -> Record:
        place = self._heads[key][4]
        view = self._files[place >> 40][1]
        return _record_at(view, place & (1 << 40) - 1)

    def __contains__(self, key: bytes) -> bool:
        """Whether the row of a point is here, with figures or a message that it would get again."""
        found = self._heads.get(key)
        return found is not None and found[0] != PASSING

    def __iter__(self) -> Iterator[bytes]:
        """The keys of all rows."""
        return iter(self._heads)

    def __len__(self) -> int:
        return len(self._heads)

    def keys(self, slot: bytes, *, failed: bool = True) -> set[bytes]:
        """The keys of the rows of a job that need not be computed again; without those that failed, if so wanted."""
        most = FAILED if failed else ROW
        return {key for key, (kind, of, *_) in self._heads.items() if of == slot and kind <= most}

    def keys_by_slot(self, *, failed: bool = True) -> dict[bytes, set[bytes]]:
        """`keys` of all jobs."""
        most = FAILED if failed else ROW
        found: dict[bytes, set[bytes]] = {}
        for key, (kind, slot, *_) in self._heads.items():
            if kind <= most:
                found.setdefault(slot, set()).add(key)
        return found

    def known(self, slot: bytes) -> dict[str, bytes]:
        """What is known of a job's place: source, arguments and compiler, hashed -> the base of its rows."""
        return self._known.get(slot, {})

    def base(self, slot: bytes) -> bytes | None:
        """What a job's place ran last."""
        found = self._jobs.get(slot)
        return None if found is None else found[1]

    def _state(self, slot: bytes, base: bytes, version: bytes) -> str:
        if version != model_version():
            return "stale"
        return "current" if self.base(slot) == base else "superseded"

    def current(self, slots: Container[bytes]) -> int:
        """How many rows of jobs are current."""
        heads = self._heads.values()
        return sum(one[1] in slots and self._state(*one[1:4]) == "current" for one in heads)

    def counts(self) -> Counts:
        """How many rows there are of each kind."""
        found = {"stale": 0, "superseded": 0, "current": 0}
        failed = 0
        for kind, slot, base, version, _ in self._heads.values():
            state = self._state(slot, base, version)
            found[state] += 1
            failed += state == "current" and kind != ROW
        return Counts(found["current"] - failed, failed, found["stale"], found["superseded"], len(self.damaged))

    def rows(self, *, old: bool = False) -> Iterator[dict[str, Any]]:
        """The current rows: ``at``, the values of the point, and ``found``, its figures, or ``error``, its message.
        With ``old``, all rows, each with its ``state``: current, superseded or stale."""
        for key, (_, slot, base, version, _) in self._heads.items():
            state = self._state(slot, base, version)
            if state != "current" and not old:
                continue
            row = self.row(key)
            if row is not None:
                yield {**row, "state": state} if old else row

    def row(self, key: bytes) -> dict[str, Any] | None:
        """A row by its key, None if there is none. What is none although its checksum is right is no writer's of
        ours."""
        if key not in self._heads:
            return None
        try:
            row: Any = json.loads(self._record(key).payload)
        except (ValueError, RecursionError):
            return None
        return row if _is_row(row) else None

    # -- writing -------------------------------------------------------------------------------------------------------

    def write(self, records: Iterable[Record]) -> None:
        """Keep records: when this returns they are in a file of their own. ResourceError if there is no room."""
        records = list(records)
        if not records:
            return
        path = self._named()
        self._place(path, b"".join(map(packed, records)))
        self._add(path)
        self._own.setdefault(0, []).append(path)
        level = 0
        while len(self._own.get(level, ())) >= _MERGED:
            merged = self._merge(self._own.pop(level))
            level += 1
            self._own.setdefault(level, []).append(merged)

    def compact(self) -> None:
        """Merge all files into one, and leave out what is damaged."""
        self.reload()
        if len(self._files) > 1 or self.damaged:
            self._merge([path for path, _ in self._files])
            self._own = {}
            self.reload()

    def _named(self) -> Path:
        self._serial += 1
        return self._rows / f"{self._writer}-{self._serial:06d}{_SUFFIX}"

    def _merge(self, paths: list[Path]) -> Path:
        """One file of several, which are removed when it is there, and on the disk."""
        path = self._named()

        views = []
        for one in paths:
            try:
                views.append((one, _mapped(one)))
            except FileNotFoundError:
                continue  # merged by another process
        noted, self.damaged = self.damaged, []
        latest: dict[tuple[int, bytes, bytes], tuple[int, int, int]] = {}
        for number, (one, view) in enumerate(views):
            for offset, record in self._records(one, view):
                name = record.kind, record.key, record.base
                if name not in latest or record.time_ns > latest[name][0]:
                    latest[name] = record.time_ns, number, offset
        self.damaged = noted
        chosen = ((views[number][1], offset) for _, number, offset in latest.values())
        self._place(path, (bytes(view[offset : _end(view, offset)]) for view, offset in chosen))
        for one in paths:
            if one != path:
                try:
                    one.unlink()
                except OSError:
                    pass  # another process was first, or Windows keeps what is open: what is there twice counts once
        return path

    def _place(self, path: Path, data: bytes | Iterable[bytes]) -> None:
        part = path.with_name(f".{path.name}.{self._writer}.part")
        try:
            with open(part, "wb") as file:
                for one in (data,) if isinstance(data, bytes) else data:
                    file.write(one)
                if not isinstance(data, bytes):  # what it was merged of is removed: it may not be lost with the machine
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(part, path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise ResourceError(f"cannot write {path}: {error.strerror}") from None
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def _is_row(row: Any) -> bool:
    """Whether it has what tables take: numbers that a float can be, texts, and where figures are none."""
    parts = (row.get("at"), row.get("found")) if isinstance(row, dict) else ()
    return bool(parts) and all(isinstance(one, dict) and _are_plain(list(one.values())) for one in parts)


def _are_plain(values: list[Any]) -> bool:
    kinds = {*map(type, values)}
    return kinds <= _PLAIN and all(abs(one) <= sys.float_info.max for one in values if type(one) is int)


_PLAIN: Final = {int, float, str, bool, type(None)}


def _mapped(path: Path) -> Any:
    """The bytes of a file; none of what is no file, such as a directory or a pipe."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        return memoryview(b"")
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _end(view: Any, at: int) -> int:
    return at + _HEAD.size + int(_HEAD.unpack_from(view, at)[1])


def _record_at(view: Any, at: int) -> Record:
    _, length, _, kind, stamp, key, slot, base, version = _HEAD.unpack_from(view, at)
    start = at + _HEAD.size
    return Record(kind, key, slot, base, version, bytes(view[start : start + length]), stamp)


def _next(view: Any, at: int) -> int:
    """Where the next record may begin."""
    chunk = 1 << 20
    while at < len(view):
        found = bytes(view[at : at + chunk + len(_MAGIC)]).find(_MAGIC)
        if found >= 0:
            return at + found
        at += chunk
    return len(view)
