"""Makes folders for temporary files that no other user can change.

What compilers write there is loaded as code, so that a place for temporary files that others control is passed over.

All folders of a process lie in one that is its own, with a file that it keeps locked. A process that is killed leaves
it behind, unlocked: the next process that makes a folder in that place removes it.
"""

from __future__ import annotations

import atexit
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from headwater.base.ownership import examine, is_ours
from headwater.errors import ResourceError

_PLACES = ("/tmp", "/var/tmp", "/dev/shm")  # the last is memory, there also where no disk can be written
_HINT = "set TMPDIR to a folder that only you can write, on a disk with room"

_PROBE_BYTES = 64 << 10  # about the object code of a small kernel

_PREFIX = "headwater-"
_LOCK = ".lock"

_refused: set[str] = set()
_lock = threading.Lock()
_homes: dict[str, tuple[str, int | None]] = {}
"""Place -> this process's folder there, and the descriptor of its locked file."""


def make() -> str:
    """A new folder, which the caller removes, or else the end of the process. ResourceError if there is no place for
    one."""
    reasons = []
    for place in _places():
        found = examine(place, shared=True)
        if found.fault and found.path not in _refused:
            _refused.add(found.path)
            warnings.warn(f"temporary files do not go into {place}: {found.fault}", RuntimeWarning, stacklevel=2)
        if found.fault or not found.exists:
            reasons.append(f"{place}: {found.fault or 'no such folder'}")
            continue
        try:
            with _lock:
                home = _home(found.path)
            path = os.path.join(home, os.urandom(8).hex())
            os.mkdir(path, 0o700)
            _probe(path)
            return path
        except OSError as error:
            _leave(found.path)
            reasons.append(f"{place}: {error.strerror}")
    raise ResourceError(f"there is no place for temporary files ({'; '.join(reasons)})", hint=_HINT)


def _home(place: str) -> str:
    """This process's folder in a place."""
    if place in _homes and os.path.isdir(_homes[place][0]):  # no program that tidies up has removed it
        return _homes[place][0]
    remove_abandoned(place)
    path = os.path.join(place, f"{_PREFIX}{os.urandom(8).hex()}")
    os.mkdir(path, 0o700)
    _homes[place] = path, None
    if os.name == "posix":  # on Windows nothing tells whose process has ended
        import fcntl

        made = os.path.join(path, "new")  # renamed once it is locked: nobody finds an unlocked one meanwhile
        descriptor = os.open(made, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        _homes[place] = path, descriptor
        with suppress(OSError):  # a file system without locks, where the folder of a killed process stays
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(made, os.path.join(path, _LOCK))
    return path


def _leave(place: str) -> None:
    """Remove this process's folder in a place."""
    with _lock:
        path, descriptor = _homes.pop(place, (None, None))
    if path is not None:
        remove(path)
    if descriptor is not None:
        os.close(descriptor)


def remove_abandoned(place: str | None = None) -> None:
    """Remove what processes of this user left in a place, or in all of them, when they were killed."""
    if os.name != "posix":
        return
    for folder in (place,) if place is not None else _places():
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
                    with suppress(OSError):
                        _remove_if_abandoned(entry.path)


def _remove_if_abandoned(path: str) -> None:
    """OSError if there is a process that uses it, or it is nothing of ours."""
    if not is_ours(os.lstat(path)):
        return
    import fcntl

    descriptor = os.open(os.path.join(path, _LOCK), os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove(path)
    finally:
        os.close(descriptor)


def _probe(path: str) -> None:
    """OSError if there is no room for files: full disks still make folders."""
    name = os.path.join(path, "probe")
    with open(name, "wb") as file:
        file.write(bytes(_PROBE_BYTES))
    os.unlink(name)


@contextmanager
def folder() -> Iterator[str]:
    """A folder that goes when the block ends, or the process that a thread is in such a block."""
    path = make()
    try:
        yield path
    finally:
        remove(path)


@atexit.register
def leave_all() -> None:
    """Remove this process's folders: what its end does, unless it is by `os._exit`."""
    for place in list(_homes):
        _leave(place)


def _forget() -> None:
    """In a child, whose end is not the end of its parent's folders, nor keeps them."""
    for _, descriptor in _homes.values():
        if descriptor is not None:
            os.close(descriptor)
    _homes.clear()
    global _lock
    _lock = threading.Lock()  # a thread of the parent may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def remove(path: str | os.PathLike[str]) -> None:
    """Remove a folder and what is in it, as far as the system lets us."""
    from shutil import rmtree  # it imports much, and warm starts make no folder

    rmtree(path, ignore_errors=True)


def _places() -> list[str]:
    """Where temporary files may go, the user's choice first."""
    if os.name != "posix":
        from tempfile import gettempdir

        return [gettempdir()]
    chosen = (os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    return list(dict.fromkeys([name for name in chosen if name] + list(_PLACES)))
