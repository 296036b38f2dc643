"""The disk cache of compiled results. Input: a key made of everything that matters. Output: the directory with the
files.

Entries are immutable directories named by their key. They appear by one rename, so a reader sees a whole entry or none;
a manifest with sizes and checksums tells a damaged entry from a good one, and a damaged one counts as absent. Several
processes may build the same entry at once: the first rename wins, the others use its result.

Entries hold code that is executed, so none is used that others could have written: `headwater.base.ownership` looks at
the cache's directory and at those above it once, `Cache.get` at the entry's directory and its files each time.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, cast

from headwater.base.ownership import examine, is_foreign, is_ours
from headwater.errors import HeadwaterError, ResourceError

DEFAULT_LIMIT = 1 << 30
_FORMAT = "v1"  # part of every path: a change of layout leaves old entries to `clear`
_MANIFEST = "manifest"
_RECORD = 20  # bytes of one record of the usage file: 19 digits and a newline
_COMPACT_RECORDS = 4096  # the usage file is rewritten by a full count after so many entries
_STALE_SECONDS = 3600.0  # temporary directories of crashed processes are removed after this age
_TEMPORARY = "tmp"
_READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"))
_OWN = "set HEADWATER_CACHE_DIR to a directory that only you can write"

Files = Mapping[str, bytes] | Callable[[Path], object]


class CacheStats(NamedTuple):
    """What the cache holds: ``path``, number of ``entries``, their size in ``bytes`` and the ``limit`` in bytes.

    ``path`` is None where the user has no home directory and names none.
    """

    path: Path | None
    entries: int
    bytes: int
    limit: int


def default_directory() -> Path | None:
    """``$HEADWATER_CACHE_DIR``, or ``headwater`` in the platform's directory for caches.

    None where that needs the user's home directory and there is none: HOME is not set, and no entry of the user
    database says it, as in containers that run as a number.
    """
    try:
        return _directory()
    except RuntimeError:  # of pathlib, which cannot tell a home directory
        return None


def _directory() -> Path:
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
    return _hash_function()()


@cache
def _hash_function() -> Callable[[], Any]:
    """Python's own SHA-256: ``hashlib`` loads OpenSSL, which takes longer than all the hashing here. Which module has
    it depends on Python's version; a search for one that is missing takes longer than a key."""
    for name in ("_sha2", "_sha256"):
        try:
            made: Callable[[], Any] = import_module(name).sha256
        except ImportError:
            continue
        return made
    return cast("Callable[[], Any]", import_module("hashlib").sha256)


def _last_use(entry: Path) -> float:
    try:
        return os.stat(entry / _MANIFEST).st_mtime
    except OSError:
        return 0.0


def _remove(directory: str | Path) -> None:
    from headwater.base import temporary  # only when something is written or removed

    temporary.remove(directory)


class _Foreign(Exception):
    """Something in the cache belongs to another user, or others can put things there."""


def _content(path: str) -> bytes:
    """A file of an entry. OSError if there is none, or it may have been written by others."""
    file = os.open(path, _READ)
    try:
        status = os.fstat(file)
        if is_foreign(status):
            raise _Foreign(f"{path} belongs to user {status.st_uid}")
        if not stat.S_ISREG(status.st_mode) or not is_ours(status):
            raise OSError(f"{path} is not a file that only its owner can write")
        parts = []
        while part := os.read(file, status.st_size + 1):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(file)


class Cache:
    """A bounded directory of entries. ``limit`` in bytes; entries used longest ago go first when it is exceeded.

    Where the directory cannot be written or is not ours alone, entries live in a temporary directory until the process
    ends, after one warning; so they do where there is none. With ``private``, a directory that exists, new entries go
    there, and those of the cache are only read: for who runs code that must not leave anything to others.
    """

    def __init__(self, directory: Path | None, limit: int = DEFAULT_LIMIT, private: Path | None = None) -> None:
        self.directory = directory
        self.limit = limit
        self._root = None if directory is None else directory / _FORMAT
        self._examined = False
        self._fault = ""
        self._private = private
        self._fallback: Path | None = None if private is None else private / _FORMAT
        self._serial = 0
        self._lock = Lock()

    # -- whose it is -------------------------------------------------------------------------------------------------

    def _open(self) -> Path | None:
        """Where the entries are; None if nowhere yet, or in a place that others can change: that is reported once."""
        if self._examined or self._root is None or self.directory is None:
            return self._root
        place = examine(os.fspath(self.directory))
        if place.fault:
            self._refuse(place.fault)
        elif place.exists:
            root = Path(place.path, _FORMAT)
            try:
                self._is_fit(root / _TEMPORARY)
                if self._is_fit(root):
                    self._root, self._examined = root, True
                    return root
            except _Foreign as error:
                self._refuse(str(error))
        return None

    @staticmethod
    def _is_fit(folder: str | Path) -> bool:
        """Whether there is such a directory; _Foreign if others can change what is in it."""
        try:
            status = os.lstat(folder)
        except OSError:
            return False
        if is_foreign(status):
            raise _Foreign(f"{folder} belongs to user {status.st_uid}")
        if not is_ours(status):
            raise _Foreign(f"{folder} can be written by others")
        return stat.S_ISDIR(status.st_mode)

    def _refuse(self, fault: str) -> None:
        with self._lock:
            if self._root is None:
                return
            self._root, self._fault = None, fault
        _warn(
            f"the cache in {self.directory} is not used, as others could put code there: {fault}; compiled kernels are"
            f" kept for this process only; {_OWN}"
        )

    # -- reading ---------------------------------------------------------------------------------------------------

    def get(self, key: str) -> Path | None:
        """The entry's directory, or None if there is none or it is damaged (it is then removed)."""
        _refuse_name(key)
        for root in (self._open(), self._fallback):
            if root is not None:
                found = self._check(root, key)
                if found is not None:
                    return found
        return None

    def _check(self, root: Path, key: str) -> Path | None:
        entry = self._entry(root, key)
        manifest = os.path.join(entry, _MANIFEST)
        try:
            if not self._is_fit(os.path.dirname(entry)):
                return None
            try:
                status = os.lstat(entry)
            except FileNotFoundError:
                return None
            if is_foreign(status):
                raise _Foreign(f"{entry} belongs to user {status.st_uid}")
            if not is_ours(status) or not self._intact(entry, _content(manifest).decode("utf-8")):
                self._discard(root, entry)
                return None
        except _Foreign as error:
            self._refuse(str(error))
            return None
        except (OSError, UnicodeDecodeError):
            self._discard(root, entry)
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
                if zlib.crc32(_content(os.path.join(entry, name))) != int(checksum, 16):
                    return False
            except (OSError, ValueError):
                return False
        return True

    # -- writing ---------------------------------------------------------------------------------------------------

    def put(self, key: str, files: Files) -> Path:
        """Add an entry and return its directory. ``files``: name -> contents, or a function that fills a directory.

        Whatever the function raises passes through and leaves nothing behind. If the entry exists, it is returned.
        ResourceError if neither the cache nor a temporary directory can be written.
        """
        root = self._writable()
        while True:
            try:
                staged = self._stage(root)
            except OSError as error:
                root = self._use_fallback(error, root)
                continue
            try:
                return self._fill(root, staged, key, files)
            except OSError as error:
                # Errors of the builder itself are the caller's, a full disk included: they cannot be distinguished
                # safely.
                if callable(files):
                    raise
                root = self._use_fallback(error, root)

    def keep(self, key: str, files: Mapping[str, bytes]) -> None:
        """Add an entry for later, which the caller does not need now; where it cannot be written, it is not kept."""
        try:
            root = self._writable() if self._fallback else self._make()
            self._fill(root, self._stage(root), key, files)
        except (OSError, HeadwaterError):
            pass

    def _fill(self, root: Path, staged: Path, key: str, files: Files) -> Path:
        try:
            if callable(files):
                files(staged)
            else:
                self._write(staged, files)
            size = self._seal(staged)
        except BaseException:
            _remove(staged)
            raise
        entry = self._publish(root, staged, key)
        if root != self._fallback:
            self._account(root, size, keep=entry)
        return entry

    def _writable(self) -> Path:
        """Where new entries go."""
        if self._fallback is not None:
            if self._private is not None:
                (self._fallback / _TEMPORARY).mkdir(mode=0o700, parents=True, exist_ok=True)
            return self._fallback
        try:
            root = self._make()
            if not os.access(root / _TEMPORARY, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return root
        except OSError as error:
            return self._use_fallback(error)

    def _make(self) -> Path:
        """The directory of the entries, made where there is none. OSError if it cannot be made or must not be used."""
        root = self._open()
        if root is None and self.directory is not None and not self._fault:
            # Others may write none of these, whatever the umask: entries hold code that we run.
            for folder in [x for x in reversed(self.directory.parents) if not x.exists()]:
                folder.mkdir(mode=0o755, exist_ok=True)
            for folder in (self.directory, self.directory / _FORMAT):
                folder.mkdir(mode=0o700, exist_ok=True)
            root = self._open()
        if root is None:
            homeless = "this user has no home directory to keep compiled kernels in"
            raise OSError(self._fault or ("it is not a directory" if self.directory else homeless))
        (root / _TEMPORARY).mkdir(mode=0o700, exist_ok=True)
        return root

    def _stage(self, root: Path) -> Path:
        """A fresh directory on the same file system as the entries."""
        with self._lock:
            self._serial += 1
            serial = self._serial
        staged = root / _TEMPORARY / f"{os.getpid()}-{id(self):x}-{serial}-{time.time_ns():x}"
        staged.mkdir(mode=0o700)
        return staged

    @staticmethod
    def _write(staged: Path, files: Mapping[str, bytes]) -> None:
        for name, data in files.items():
            if name in ("", ".", "..", _MANIFEST) or "/" in name or "\\" in name or "\n" in name:
                raise ValueError(f"not a file name for the cache: {name!r}")
            with open(staged / name, "wb", opener=_private) as file:
                file.write(data)

    @staticmethod
    def _seal(staged: Path) -> int:
        size = 0
        lines = []
        for name in sorted(os.listdir(staged)):
            with open(staged / name, "rb") as file:
                data = file.read()
                if not is_ours(os.fstat(file.fileno())):
                    os.chmod(staged / name, 0o600)  # made under a careless umask
            size += len(data)
            lines.append(f"{zlib.crc32(data):08x} {name}\n")
        if not lines:
            raise ValueError("a cache entry needs at least one file")
        text = "".join(lines) + "end"
        with open(staged / _MANIFEST, "w", encoding="utf-8", newline="\n", opener=_private) as file:
            file.write(text)
        return size + len(text)

    def _publish(self, root: Path, staged: Path, key: str) -> Path:
        entry = self._entry(root, key)
        entry.parent.mkdir(mode=0o700, exist_ok=True)
        for attempt in range(3):
            try:
                if self._is_fit(entry.parent):
                    os.rename(staged, entry)
                    return entry
            except _Foreign as error:
                self._refuse(str(error))
                break
            except OSError:
                # Another process was first, or a damaged entry is in the way; _check removes the latter.
                if self._check(root, key) is not None:
                    _remove(staged)
                    return entry
                if sys.platform == "win32":
                    time.sleep(0.02 * (attempt + 1))  # a virus scanner may be looking at the new files
        return staged  # complete, though under a temporary name: good for this process

    def _use_fallback(self, error: OSError, failed: Path | None = None) -> Path:
        """The temporary directory instead of ``failed``, made and told of where there is none yet. ResourceError if
        there can be none, or that is what failed."""
        from headwater.base import temporary

        reason = error.strerror or str(error)
        with self._lock:
            if self._fallback is not None and self._fallback != failed:
                return self._fallback  # of another thread
            if self._fallback is not None:
                raise ResourceError(
                    f"cannot write compiled code into {self._fallback}: {reason}",
                    hint="make room, or set HEADWATER_CACHE_DIR to a directory on a disk with room",
                ) from error
            what = f"cannot write the cache in {self.directory}: {reason}" if self.directory else reason
            try:
                fallback = Path(temporary.make(), _FORMAT)
            except ResourceError as none:
                raise ResourceError(f"{what}; and {none.message}", hint=f"{_OWN}, on a disk with room") from None
            fallback.mkdir(mode=0o700)
            (fallback / _TEMPORARY).mkdir(mode=0o700)
            self._fallback = fallback
        if not self._fault:
            _warn(
                f"{what}; compiled kernels are kept for this process only; set HEADWATER_CACHE_DIR to a directory that"
                " can be written"
            )
        return fallback

    # -- bounding --------------------------------------------------------------------------------------------------

    def _account(self, root: Path, size: int, keep: Path) -> None:
        """Note the new entry; count and evict when the notes say that the limit may be exceeded."""
        usage = root / "usage"
        try:
            with open(usage, "ab") as file:  # appends of one short record do not mix
                file.write(b"%019d\n" % size)
                records = file.tell() // _RECORD
            if records <= _COMPACT_RECORDS:
                with open(usage, "rb") as file:
                    data = file.read()
                total = sum(map(int, data[: len(data) // _RECORD * _RECORD].split()))
                if total <= self.limit:
                    return
            self._evict(root, keep)
        except (OSError, ValueError):
            # The cache still works unbounded by notes; a bad usage file is rebuilt at the next count.
            try:
                os.unlink(usage)
            except OSError:
                pass

    def _evict(self, root: Path, keep: Path) -> None:
        entries = sorted(self._entries(root), key=lambda e: e[1])
        total = sum(size for _, _, size in entries)
        if total > self.limit:
            target = self.limit - self.limit // 8  # some slack, so that not every put evicts
            for path, used, size in entries:
                if total <= target:
                    break
                if path != keep and self._discard(root, path, used):
                    total -= size
        self._remove_stale(root)
        replacement = root / f"usage.{os.getpid()}"
        with open(replacement, "wb") as file:
            file.write(b"%019d\n" % total)
        os.replace(replacement, root / "usage")

    @staticmethod
    def _remove_stale(root: Path) -> None:
        try:
            with os.scandir(root / _TEMPORARY) as temporary:
                for item in temporary:
                    if time.time() - item.stat(follow_symlinks=False).st_mtime > _STALE_SECONDS:
                        _remove(item.path)
        except OSError:
            pass

    @staticmethod
    def _entries(root: Path) -> Iterator[tuple[Path, float, int]]:
        """Path, time of last use and size of every entry."""
        try:
            found = [item for item in os.scandir(root) if len(item.name) == 2]
            shards = [item.path for item in found if item.is_dir(follow_symlinks=False)]
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

    @staticmethod
    def _discard(root: Path, entry: Path, used: float | None = None) -> bool:
        """Make an entry vanish by one rename, then delete it; False if another process or the system forbids it, or
        if it was used after ``used``: who looked it up meanwhile is about to read it."""
        try:
            (root / _TEMPORARY).mkdir(mode=0o700, exist_ok=True)
            grave = root / _TEMPORARY / f"dead-{os.getpid()}-{time.time_ns():x}"
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
        """Count the entries (reads the whole directory); none where others could have put them there."""
        root = self._open()
        entries = [] if root is None else list(self._entries(root))
        return CacheStats(self.directory, len(entries), sum(size for _, _, size in entries), self.limit)

    def clear(self) -> int:
        """Remove every entry; the number removed is returned. Kernels already loaded go on working.

        Those whose code is loaded stay on Windows. ResourceError if the system keeps all, or if others can change the
        directory: what is removed would be theirs to say.
        """
        root = self._open()
        if self._fault:
            raise ResourceError(f"nothing is removed in {self.directory}: {self._fault}", hint=_OWN)
        if root is None:
            return 0
        entries = [path for path, _, _ in self._entries(root)]
        removed = sum(self._discard(root, path) for path in entries)
        if not removed and any(path.exists() for path in entries):
            raise ResourceError(
                f"the entries in {self.directory} cannot be removed", hint=f"check their owner, or {_OWN}"
            )
        try:
            os.unlink(root / "usage")
        except OSError:
            pass
        return removed

    def environment(self) -> dict[str, str]:
        """What makes another process that we start use the same directory, also where it is a temporary one."""
        if self._private is not None and self.directory is not None:
            return {"HEADWATER_CACHE_DIR": os.fspath(self.directory), _PRIVATE: os.fspath(self._private)}
        return {"HEADWATER_CACHE_DIR": os.fspath(self._writable().parent)}

    @staticmethod
    def _entry(root: Path, key: str) -> Path:
        _refuse_name(key)
        return root / key[:2] / key


def _refuse_name(key: str) -> None:
    if len(key) < 3 or not key.replace("-", "").isalnum():
        raise ValueError(f"not a cache key: {key!r}")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=3)


_current: Cache | None = None
_settings: tuple[str | None, ...] | None = None
_PRIVATE = "HEADWATER_CACHE_PRIVATE"
"""Names the directory of new entries for a process whose cache is only read, and for those that it starts."""
_SETTINGS = ("HEADWATER_CACHE_DIR", "HEADWATER_CACHE_SIZE", "XDG_CACHE_HOME", "HOME", _PRIVATE)


def current() -> Cache:
    """The process's cache, as the environment names it."""
    global _current, _settings
    settings = tuple(map(os.environ.get, _SETTINGS))
    if _current is None or settings != _settings:
        private = os.environ.get(_PRIVATE)
        _current = Cache(default_directory(), default_limit(), Path(private) if private else None)
        _settings = settings
    return _current


def get(key: str) -> Path | None:
    """The directory of the entry ``key`` in the process's cache, or None."""
    return current().get(key)


def put(key: str, files: Files) -> Path:
    """Add an entry to the process's cache: see `Cache.put`."""
    return current().put(key, files)


def keep(key: str, files: Mapping[str, bytes]) -> None:
    """Add an entry to the process's cache if it can be written: see `Cache.keep`."""
    current().keep(key, files)


def environment() -> dict[str, str]:
    """Variables for a process that shall use this process's cache: see `Cache.environment`."""
    return current().environment()


def stats() -> CacheStats:
    """What the process's cache holds."""
    return current().stats()


def clear() -> int:
    """Empty the process's cache; the number of entries removed is returned."""
    return current().clear()
