"""Input: a folder's path. Output: where it really is, and which other users could change its contents.

Whoever can write a file that we load as code, or replace a folder on the way to it, runs code as us. On Windows nothing
is looked at: there folders inherit who may write them from the user's profile.
"""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_MOST_LINKS = 40  # as Linux follows in one path (path_resolution(7))


class Place(NamedTuple):
    """``path`` without links, whether a folder is there, and why others could change what it holds ("": they cannot).

    Where there is no such folder, ``path`` is what would have to be made, in a folder that others cannot change.
    """

    path: str
    exists: bool
    fault: str


def is_ours(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to this process's user, and nobody else may write it."""
    return os.name != "posix" or (status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE)


def is_foreign(status: os.stat_result) -> bool:
    """Whether it belongs to another user."""
    return os.name == "posix" and status.st_uid != os.geteuid()


def examine(path: str, *, shared: bool = False) -> Place:
    """Look at a folder, at each one above it and at the links on the way, from the top down.

    The folder itself must be ours, and nobody else may write it; those above must belong to us or to root, and others
    may write them only if they are sticky. What was found good can then be changed by us and root alone, so that what
    is looked at first is still there when the next step is. ``shared``: the folder need only be as those above it are,
    as ``/tmp`` is.
    """
    if os.name != "posix":
        return Place(os.path.abspath(path), os.path.isdir(path), "")
    user, top = os.geteuid(), os.lstat("/")
    # In a user namespace root may have another number; whoever has "/" can change all the rest anyway.
    trusted = {user, 0, top.st_uid}
    pending = os.path.join(os.getcwd(), path).split("/")[::-1]
    current, status, links = "/", top, 0
    while pending:
        name = pending.pop()
        if name in ("", "."):
            continue
        if name == "..":
            current = os.path.dirname(current)
            status = os.lstat(current)
            continue
        step = os.path.join(current, name)
        if not stat.S_ISDIR(status.st_mode):
            return Place(step, False, "")
        if fault := _fault(current, status, trusted):
            return Place(current, True, fault)
        try:
            found = os.lstat(step)
            if stat.S_ISLNK(found.st_mode):
                links += 1
                if found.st_uid not in trusted:
                    return Place(step, True, f"the link {step} belongs to {_user(found.st_uid)}")
                target = os.readlink(step)
                if links > _MOST_LINKS:
                    return Place(step, False, "")  # whoever uses it learns of the loop
                if target.startswith("/"):
                    current, status = "/", top
                pending += target.split("/")[::-1]
                continue
        except OSError:
            return Place("/".join([step, *reversed(pending)]), False, "")
        current, status = step, found
    if not stat.S_ISDIR(status.st_mode):
        return Place(current, False, "")
    return Place(current, True, _fault(current, status, trusted) if shared else _own_fault(current, status))


def _own_fault(path: str, status: os.stat_result) -> str:
    if is_foreign(status):
        return f"{path} belongs to {_user(status.st_uid)}"
    return "" if is_ours(status) else f"{path} can be written by {_writers(status)}"


def _fault(path: str, status: os.stat_result, trusted: set[int]) -> str:
    if status.st_uid not in trusted:
        return f"{path} belongs to {_user(status.st_uid)}"
    if not status.st_mode & _OTHERS_WRITE or status.st_mode & stat.S_ISVTX:
        return ""
    if not status.st_mode & stat.S_IWOTH and _is_private(status.st_gid):
        return ""
    return f"{path} can be written by {_writers(status)}"


def _writers(status: os.stat_result) -> str:
    return "everybody" if status.st_mode & stat.S_IWOTH else "its group"


def _user(number: int) -> str:
    try:
        import pwd

        return f"user {pwd.getpwuid(number).pw_name}"
    except (ImportError, KeyError):
        return f"user {number}"


def _is_private(group: int) -> bool:
    """Whether a group is this user's alone, as many systems make one for each and let it write the user's folders."""
    try:
        import grp
        import pwd

        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except (ImportError, KeyError):
        return False
    return user.pw_gid == group and found.gr_name == user.pw_name and set(found.gr_mem) <= {user.pw_name}
