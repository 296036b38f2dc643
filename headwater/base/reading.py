"""Input: a path. Output: the file's contents, or immediately the reason why it cannot be read.

Only regular files are read: opening a pipe waits for whoever writes it, and devices such as ``/dev/zero`` have no end.
"""

from __future__ import annotations

import errno
import os
import stat

_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY"))
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def special(mode: int) -> str:
    """What something of this ``st_mode`` is that is neither a file nor a directory: ``"a pipe"``; else empty."""
    return "" if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else _KINDS.get(stat.S_IFMT(mode), "no file")


def contents(path: str | os.PathLike[str], most: int = -1) -> bytes:
    """The bytes of a file, of the first ``most`` if that is given. OSError if it cannot be read or is no regular file,
    MemoryError if there is no room for it."""
    _refuse(path, os.stat(path).st_mode)  # before it is opened, which does something to some devices
    with open(os.open(path, _FLAGS), "rb") as file:
        _refuse(path, os.fstat(file.fileno()).st_mode)
        return file.read(most)


def text(path: str | os.PathLike[str], errors: str = "strict") -> str:
    """A file's text, in UTF-8 with or without a mark of it, each line ended by a line feed. OSError as `contents`, and
    for what is no text."""
    data = contents(path)
    if b"\0" in data:
        raise OSError(errno.EINVAL, "it is not a text file", os.fspath(path))
    return data.decode("utf-8-sig", errors).replace("\r\n", "\n").replace("\r", "\n")


def lines(path: str | os.PathLike[str]) -> list[str]:
    """The lines of a source that a message is to show: none where it cannot be read."""
    try:
        return contents(path, _SHOWN_BYTES).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return []


_SHOWN_BYTES = 1 << 24  # a source with more is made by a program: nobody reads its lines


def _refuse(path: str | os.PathLike[str], mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if kind := special(mode):
        raise OSError(errno.EINVAL, f"it is {kind}, not a file", os.fspath(path))
