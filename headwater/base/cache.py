"""Disk cache of compiled things: a key made of everything that matters goes in, the directory with the files comes out.

Entries are immutable directories named by their key. They appear by one rename, so a reader sees a whole entry or none;
a manifest with sizes and checksums tells a damaged entry from a good one, and a damaged one counts as absent. Several
processes may build the same entry at once: the first rename wins, the others use its result.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from headwater.errors import ResourceError

DEFAULT_LIMIT = 1 << 30
_FORMAT = "v1"  # part of every path: a change of layout leaves old entries to `clear`
_MANIFEST = "manifest"
_RECORD = 20  # bytes of one record of the usage file: 19 digits and a newline
_COMPACT_RECORDS = 4096  # the usage file is rewritten by a full count after so many entries
_STALE_SECONDS = 3600.0  # temporary directories of crashed processes are removed after this age

Files = Mapping[str, bytes] | Callable[[Path], object]


class CacheStats(NamedTuple):
    """What the cache holds: ``path``, number of ``entries``, their size in ``bytes`` and the ``limit`` in bytes."""

    path: Path
    entries: int
    bytes: int
    limit: int


def default_directory() -> Path:
    """``$HEADWATER_CACHE_DIR``, or ``headwater`` in the platform's directory for caches."""
    chosen = os.environ.get("HEADWATER_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "headwater" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "headwater"
    xdg = os.environ.get("XDG_CACHE_HOME")
    # The XDG base directory specification: relative paths are invalid and must be ignored.
    return (Path(xdg) if xdg and os.path.isabs(xdg) else Path.home() / ".cache") / "headwater"


def default_limit() -> int:
    """``$HEADWATER_CACHE_SIZE`` in bytes (suffixes K, M, G allowed), or 1 GiB."""
    text = os.environ.get("HEADWATER_CACHE_SIZE", "").strip()
    if not text:
        return DEFAULT_LIMIT
    number = text.upper().removesuffix("B").removesuffix("I")
    scale = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(number[-1:], 1)
    digits = number[:-1] if scale != 1 else number
    try:
        limit = int(float(digits) * scale)
    except (ValueError, OverflowError):
        limit = -1
    if limit < 0:
        _warn(f"HEADWATER_CACHE_SIZE={text!r} is not a size such as 500M or 2G; using 1G")
        return DEFAULT_LIMIT
    return limit


def key(*parts: str | bytes) -> str:
    """SHA-256 of the parts, each with its length, as 64 hex digits: ``key("host", version, source, options)``."""
    digest = _sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    result: str = digest.hexdigest()
    return result


def digest(data: bytes) -> str:
    """SHA-256 of ``data`` as 64 hex digits."""
    made = _sha256()
    made.update(data)
    result: str = made.hexdigest()
    return result


def _sha256() -> Any:
    """Python's own SHA-256: ``hashlib`` loads OpenSSL, which takes longer than all the hashing here."""
    for name in ("_sha2", "_sha256"):
        try:
            return import_module(name).sha256()
        except ImportError:
            continue
    return import_module("hashlib").sha256()


def _last_use(entry: Path) -> float:
    try:
        return os.stat(entry / _MANIFEST).st_mtime
    except OSError:
        return 0.0


def _remove(directory: str | Path) -> None:
    from shutil import rmtree  # only when something is written or removed

    rmtree(directory, ignore_errors=True)


class Cache:
    """A bounded directory of entries. ``limit`` in bytes; entries used longest ago go first when it is exceeded.

    If the directory cannot be written, entries live in a temporary directory until the process ends, after one warning.
    """

    def __init__(self, directory: Path, limit: int = DEFAULT_LIMIT) -> None:
        self.directory = directory
        self.limit = limit
        self._root = directory / _FORMAT
        self._fallback: Path | None = None
        self._serial = 0
        self._lock = Lock()

    # -- reading ---------------------------------------------------------------------------------------------------

    def get(self, key: str) -> Path | None:
        """The entry's directory, or None if there is none or it is damaged (it is then removed)."""
        for root in (self._root, self._fallback):
            if root is not None:
                found = self._check(self._entry(root, key))
                if found is not None:
                    return found
        return None

    def _check(self, entry: Path) -> Path | None:
        manifest = os.path.join(entry, _MANIFEST)
        try:
            with open(manifest, encoding="utf-8") as file:
                text = file.read()
        except FileNotFoundError:
            if os.path.isdir(entry):
                self._discard(entry)
            return None
        except (OSError, UnicodeDecodeError):
            self._discard(entry)
            return None
        if not self._intact(entry, text):
            self._discard(entry)
            return None
        try:
            os.utime(manifest)  # the access time that eviction goes by; file systems are often mounted noatime
        except FileNotFoundError:
            return None  # another process is evicting it
        except OSError:
            pass
        return entry

    @staticmethod
    def _intact(entry: Path, manifest: str) -> bool:
        lines = manifest.split("\n")
        if len(lines) < 2 or lines[-1] != "end":
            return False
        for line in lines[:-1]:
            checksum, _, name = line.partition(" ")
            try:
                with open(os.path.join(entry, name), "rb") as file:
                    if zlib.crc32(file.read()) != int(checksum, 16):
                        return False
            except (OSError, ValueError):
                return False
        return True

    # -- writing ---------------------------------------------------------------------------------------------------

    def put(self, key: str, files: Files) -> Path:
        """Add an entry and return its directory. ``files``: name -> contents, or a function that fills a directory.

        Whatever the function raises passes through and leaves nothing behind. If the entry exists, it is returned.
        """
        if self._fallback is None:
            try:
                staged = self._stage(self._root)
            except OSError as error:
                self._use_fallback(error)
        if self._fallback is not None:
            staged = self._stage(self._fallback)
        try:
            if callable(files):
                # Errors of the builder itself are the caller's, a full disk included: it cannot be told apart safely.
                files(staged)
            else:
                self._write(staged, files)
            size = self._seal(staged)
        except OSError as error:
            _remove(staged)
            if callable(files) or self._fallback is not None:
                raise
            self._use_fallback(error)
            return self.put(key, files)
        except BaseException:
            _remove(staged)
            raise
        root = self._fallback or self._root
        entry = self._publish(staged, self._entry(root, key))
        if self._fallback is None:
            self._account(size, keep=entry)
        return entry

    def _stage(self, root: Path) -> Path:
        """A fresh directory on the same file system as the entries."""
        with self._lock:
            self._serial += 1
            serial = self._serial
        staged = root / "tmp" / f"{os.getpid()}-{id(self):x}-{serial}-{time.time_ns():x}"
        if not root.is_dir():
            # Entries hold code that we run: nobody else may write here.
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
        staged.mkdir(mode=0o700, parents=True)
        return staged

    @staticmethod
    def _write(staged: Path, files: Mapping[str, bytes]) -> None:
        for name, data in files.items():
            if name in ("", ".", "..", _MANIFEST) or "/" in name or "\\" in name or "\n" in name:
                raise ValueError(f"not a file name for the cache: {name!r}")
            with open(staged / name, "wb") as file:
                file.write(data)

    @staticmethod
    def _seal(staged: Path) -> int:
        size = 0
        lines = []
        for name in sorted(os.listdir(staged)):
            with open(staged / name, "rb") as file:
                data = file.read()
            size += len(data)
            lines.append(f"{zlib.crc32(data):08x} {name}\n")
        if not lines:
            raise ValueError("a cache entry needs at least one file")
        text = "".join(lines) + "end"
        with open(staged / _MANIFEST, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        return size + len(text)

    def _publish(self, staged: Path, entry: Path) -> Path:
        entry.parent.mkdir(mode=0o700, exist_ok=True)
        for attempt in range(3):
            try:
                os.rename(staged, entry)
                return entry
            except OSError:
                # Another process was first, or a damaged entry is in the way; _check removes the latter.
                if self._check(entry) is not None:
                    _remove(staged)
                    return entry
                if sys.platform == "win32":
                    time.sleep(0.02 * (attempt + 1))  # a virus scanner may be looking at the new files
        return staged  # complete, though under a temporary name: good for this process

    def _use_fallback(self, error: OSError) -> None:
        from atexit import register
        from tempfile import mkdtemp

        with self._lock:
            if self._fallback is None:
                fallback = Path(mkdtemp(prefix="headwater-"))
                register(_remove, fallback)
                self._fallback = fallback
                _warn(
                    f"cannot write the cache in {self.directory} ({error.strerror or error}); compiled kernels are kept"
                    " for this process only; set HEADWATER_CACHE_DIR to a directory that can be written"
                )

    # -- bounding --------------------------------------------------------------------------------------------------

    def _account(self, size: int, keep: Path) -> None:
        """Note the new entry; count and evict when the notes say that the limit may be exceeded."""
        usage = self._root / "usage"
        try:
            with open(usage, "ab") as file:  # appends of one short record do not mix
                file.write(b"%019d\n" % size)
                records = file.tell() // _RECORD
            if records <= _COMPACT_RECORDS:
                with open(usage, "rb") as file:
                    data = file.read()
                total = sum(int(data[i : i + _RECORD]) for i in range(0, len(data) - _RECORD + 1, _RECORD))
                if total <= self.limit:
                    return
            self._evict(keep)
        except (OSError, ValueError):
            # The cache still works unbounded by notes; a bad usage file is rebuilt at the next count.
            try:
                os.unlink(usage)
            except OSError:
                pass

    def _evict(self, keep: Path) -> None:
        entries = sorted(self._entries(), key=lambda e: e[1])
        total = sum(size for _, _, size in entries)
        if total > self.limit:
            target = self.limit - self.limit // 8  # some slack, so that not every put evicts
            for path, used, size in entries:
                if total <= target:
                    break
                if path != keep and self._discard(path, used):
                    total -= size
        self._remove_stale()
        replacement = self._root / f"usage.{os.getpid()}"
        with open(replacement, "wb") as file:
            file.write(b"%019d\n" % total)
        os.replace(replacement, self._root / "usage")

    def _remove_stale(self) -> None:
        try:
            with os.scandir(self._root / "tmp") as temporary:
                for item in temporary:
                    if time.time() - item.stat().st_mtime > _STALE_SECONDS:
                        _remove(item.path)
        except OSError:
            pass

    def _entries(self) -> Iterator[tuple[Path, float, int]]:
        """Path, time of last use and size of every entry."""
        try:
            shards = [item.path for item in os.scandir(self._root) if len(item.name) == 2 and item.is_dir()]
        except OSError:
            return
        for shard in shards:
            try:
                for item in os.scandir(shard):
                    size, used = 0, 0.0
                    for file in os.scandir(item.path):
                        status = file.stat()
                        size += status.st_size
                        if file.name == _MANIFEST:
                            used = status.st_mtime
                    yield Path(item.path), used, size
            except OSError:
                continue  # another process is removing it

    def _discard(self, entry: Path, used: float | None = None) -> bool:
        """Make an entry vanish by one rename, then delete it; False if another process or the system forbids it, or
        if it was used after ``used``: who looked it up meanwhile is about to read it."""
        try:
            (self._root / "tmp").mkdir(mode=0o700, parents=True, exist_ok=True)
            grave = self._root / "tmp" / f"dead-{os.getpid()}-{time.time_ns():x}"
            if used is not None and _last_use(entry) > used:
                return False
            os.rename(entry, grave)
            if used is not None and _last_use(grave) > used:
                os.rename(grave, entry)
                return False
        except OSError:
            return False
        _remove(grave)
        return True

    # -- seeing and clearing -----------------------------------------------------------------------------------------

    def stats(self) -> CacheStats:
        """Count the entries (reads the whole directory)."""
        entries = list(self._entries())
        return CacheStats(self.directory, len(entries), sum(size for _, _, size in entries), self.limit)

    def clear(self) -> int:
        """Remove every entry; the number removed is returned. Kernels already loaded go on working.

        Those whose code is loaded stay on Windows. ResourceError if the system keeps all, which may be another user's.
        """
        entries = [path for path, _, _ in self._entries()]
        removed = sum(self._discard(path) for path in entries)
        if not removed and any(path.exists() for path in entries):
            raise ResourceError(
                f"the entries in {self.directory} cannot be removed",
                hint="see whose they are, or set HEADWATER_CACHE_DIR to a directory of your own",
            )
        try:
            os.unlink(self._root / "usage")
        except OSError:
            pass
        return removed

    @staticmethod
    def _entry(root: Path, key: str) -> Path:
        if len(key) < 3 or not key.replace("-", "").isalnum():
            raise ValueError(f"not a cache key: {key!r}")
        return root / key[:2] / key


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=3)


_current: Cache | None = None
_settings: tuple[str | None, str | None, str | None] | None = None


def current() -> Cache:
    """The process's cache, as the environment names it."""
    global _current, _settings
    settings = (
        os.environ.get("HEADWATER_CACHE_DIR"),
        os.environ.get("HEADWATER_CACHE_SIZE"),
        os.environ.get("XDG_CACHE_HOME"),
    )
    if _current is None or settings != _settings:
        _current = Cache(default_directory(), default_limit())
        _settings = settings
    return _current


def get(key: str) -> Path | None:
    """The directory of the entry ``key`` in the process's cache, or None."""
    return current().get(key)


def put(key: str, files: Files) -> Path:
    """Add an entry to the process's cache: see `Cache.put`."""
    return current().put(key, files)


def stats() -> CacheStats:
    """What the process's cache holds."""
    return current().stats()


def clear() -> int:
    """Empty the process's cache; the number of entries removed is returned."""
    return current().clear()
