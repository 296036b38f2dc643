"""Input: the path of a shared library that was compiled here. Output: its functions.

Paths are of the cache's entries (`headwater.cache`), which has made sure that nobody else could write them.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from headwater.errors import ResourceError

_HINT = "run headwater cache clear, or set HEADWATER_CACHE_DIR to a directory in which programs may be executed"


def function(library: Path, name: str, result: Any, arguments: Sequence[Any]) -> Callable[..., Any]:
    """A function of a library, with ctypes' types of its result and arguments. ResourceError if it cannot be loaded."""
    try:
        found = getattr(_load(str(library)), name)
    except AttributeError:
        raise ResourceError(
            f"the compiled code {library} has no function {name}: it was replaced or is damaged", hint=_HINT
        ) from None
    found.restype, found.argtypes = result, tuple(arguments)
    return cast("Callable[..., Any]", found)


def share(library: Path) -> None:
    """Load a library whose variables those that are loaded later shall use as theirs. Before `function` is called."""
    _load(str(library), ctypes.RTLD_GLOBAL)


_loaded: dict[str, ctypes.CDLL] = {}


def _load(path: str, mode: int = ctypes.DEFAULT_MODE) -> ctypes.CDLL:
    found = _loaded.get(path)
    if found is None:
        found = _loaded[path] = _opened(path, mode)
    return found


def _opened(path: str, mode: int) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(path, mode)
    except OSError as error:
        try:
            return _from_memory(path, mode)
        except OSError:
            raise ResourceError(f"cannot load the compiled code {path}: {error}", hint=_HINT) from None


def _from_memory(path: str, mode: int) -> ctypes.CDLL:
    """The library from a file in memory: nothing can be loaded from file systems that are mounted ``noexec``, as
    containers' folders for temporary files often are. OSError if that is not why, or there are no such files."""
    if not hasattr(os, "ST_NOEXEC") or not os.statvfs(path).f_flag & os.ST_NOEXEC:
        raise OSError("it may be executed there")
    data = Path(path).read_bytes()
    file = os.memfd_create("headwater")
    with open(file, "wb", closefd=False) as target:
        target.write(data)
    # It stays open: the loader knows libraries by their names, and another file must not come by this one.
    return ctypes.CDLL(f"/proc/self/fd/{file}", mode)
