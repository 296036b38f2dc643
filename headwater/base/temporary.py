"""Makes folders for temporary files that no other user can change.

What compilers write there is loaded as code, so that a place for temporary files that others control is passed over.
"""

from __future__ import annotations

import atexit
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from headwater.base.ownership import examine
from headwater.errors import ResourceError

_PLACES = ("/tmp", "/var/tmp", "/dev/shm")  # the last is memory, there also where no disk can be written
_HINT = "set TMPDIR to a folder that only you can write, on a disk with room"

_PROBE_BYTES = 64 << 10  # about the object code of a small kernel

_refused: set[str] = set()


def make() -> str:
    """A new folder, which the caller removes. ResourceError if there is no place for one."""
    reasons = []
    for place in _places():
        found = examine(place, shared=True)
        if found.fault and found.path not in _refused:
            _refused.add(found.path)
            warnings.warn(f"temporary files do not go into {place}: {found.fault}", RuntimeWarning, stacklevel=2)
        if found.fault or not found.exists:
            reasons.append(f"{place}: {found.fault or 'no such folder'}")
            continue
        path = os.path.join(found.path, f"headwater-{os.urandom(8).hex()}")
        try:
            os.mkdir(path, 0o700)
            _probe(path)
            return path
        except OSError as error:
            remove(path)
            reasons.append(f"{place}: {error.strerror}")
    raise ResourceError(f"there is no place for temporary files ({'; '.join(reasons)})", hint=_HINT)


def _probe(path: str) -> None:
    """OSError if there is no room for files: full disks still make folders."""
    name = os.path.join(path, "probe")
    with open(name, "wb") as file:
        file.write(bytes(_PROBE_BYTES))
    os.unlink(name)


@contextmanager
def folder() -> Iterator[str]:
    """A folder that goes when the block ends, or the process that a thread is in such a block."""
    path = until_exit()
    try:
        yield path
    finally:
        remove(path)
        _open.discard(path)


def until_exit() -> str:
    """A folder that goes when the process ends."""
    path = make()
    _open.add(path)
    return path


_open: set[str] = set()


@atexit.register
def _remove_open() -> None:
    for path in list(_open):
        remove(path)


if hasattr(os, "register_at_fork"):  # a child's end is not the end of its parent's folders
    os.register_at_fork(after_in_child=_open.clear)


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
