"""Input: a module's name, or files. Output: a text that changes whenever something made from them would change.

Cached results depend on the code that made them. `code_state` finds that code itself: the module's file, those of all
modules that it imports, and the data files that belong to their packages (C, OpenCL C, instruction tables, chips).
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, TypeVar

from headwater.base import cache, host, reading

T = TypeVar("T")

_ROOT: Final = Path(__file__).parents[1]
_PACKAGE: Final = _ROOT.name
_FORMAT: Final = "imports 1"
_LIST: Final = "files"
_IMPORT: Final = re.compile(
    r"^[ \t]*(?:from (headwater[\w.]*) import (\([^)]*\)|[^\n]*)|import (headwater[\w.]*))", re.M
)
_WORKER_CALL: Final = re.compile(r"\"((?:\w+\.)+\w+)(?::\w+)?\"")
"""What the compiler process loads and runs is named by text: ``package.module:function``."""


def digests(paths: Iterable[str]) -> dict[str, str]:
    """Path -> SHA-256 of what the file holds now, "" if it cannot be read."""
    return {path: _digest(path) for path in paths}


def unchanged(known: Mapping[str, str]) -> bool:
    """Whether all files are as they were when `digests` saw them."""
    return all(_digest(path) == digest for path, digest in known.items())


def fresh(key: str, read: Callable[[Path], tuple[Mapping[str, str], T]]) -> tuple[str, T | None]:
    """The cached result that still holds, as ``read`` from its entry, and its key; None and the key that it is to get.

    ``read`` also says the `digests` of the files that the result depends on. Entries do not change: where a file has,
    the result goes into another one, whose key is made of the first one's key and of what these files hold now.
    """
    while (entry := cache.get(key)) is not None:
        then, found = read(entry)
        now = digests(then)
        if now == then:
            return key, found
        key = cache.key(key, *(f"{path}\0{digest}" for path, digest in sorted(now.items())))
    return key, None


def _digest(path: str) -> str:
    try:
        return cache.digest(reading.contents(path))
    except (OSError, ValueError):
        return ""


@functools.cache
def code_state(module: str) -> str:
    """A text that changes when a file does that ``module``  or what it imports is made of."""
    files = _package_files()
    key = cache.key(_FORMAT, str(_ROOT), "\n".join(files.values()), module)
    entry = cache.get(key)
    if entry is not None:
        needed = (entry / _LIST).read_text(encoding="utf-8").splitlines()
    else:
        needed = sorted(files_of(module, files))
        cache.put(key, {_LIST: "\n".join(needed).encode()})
    return "\n".join(files[name] for name in needed)


@functools.cache
def content_state(module: str, packages: tuple[str, ...], without: tuple[str, str]) -> str:
    """`code_state` by what the files hold, so that it is the same for the same code on another machine: of those files
    in ``packages``, without the ones in the folder and of the suffix of ``without``."""
    key = cache.key("content 1", code_state(module), repr((packages, without)))
    entry = cache.get(key)
    if entry is not None:
        return (entry / _LIST).read_text(encoding="utf-8")
    folder, suffix = without
    chosen = [
        name
        for name in sorted(files_of(module, _package_files()))
        if name.partition("/")[0] in packages and not (name.startswith(folder) and name.endswith(suffix))
    ]
    state = cache.key(*(f"{name}\0{_digest(str(_ROOT / name))}" for name in chosen))
    cache.put(key, {_LIST: state.encode()})
    return state


def state_of(maker: object) -> str:
    """`code_state` of the module that an object's class is defined in; "" for None."""
    return "" if maker is None else code_state(type(maker).__module__)


@functools.cache
def native_state(module: str) -> str:
    """`code_state`, and what else native code depends on besides its source: system and instruction set."""
    return "\n".join([_processor() if host.level() == host.NATIVE else host.level(), sys.platform, code_state(module)])


@functools.cache
def _package_files() -> dict[str, str]:
    """Every file of the package: path from its folder, with slashes -> that path, its size and time of change."""
    found: dict[str, str] = {}
    folders = [""]
    while folders:
        folder = folders.pop()
        with os.scandir(_ROOT / folder) as items:
            for item in items:
                if item.is_dir():
                    if item.name != "__pycache__":
                        folders.append(f"{folder}{item.name}/")
                else:
                    state = item.stat()
                    name = folder + item.name
                    found[name] = f"{name} {state.st_size} {state.st_mtime_ns}"
    return dict(sorted(found.items()))


def files_of(module: str, files: Iterable[str]) -> set[str]:
    """The files of the package, of ``files``, that a module is made of, with all that it imports."""
    known = set(files)
    found: set[str] = set()
    wanted = [module]
    while wanted:
        name = wanted.pop()
        path = _file_of(name, known)
        if path is None or path in found:
            continue
        found.add(path)
        wanted += _imported((_ROOT / path).read_text(encoding="utf-8"), known)
        parent = name.rpartition(".")[0]
        if parent and parent != _PACKAGE:  # importing the whole package's __init__ imports nothing that code depends on
            wanted.append(parent)
    packages = {path.removesuffix("__init__.py") for path in known if path.endswith("/__init__.py")}
    owners = {path.rpartition("/")[0] + "/" for path in found} & packages
    return found | {path for path in known if not path.endswith(".py") and _owner(path, packages) in owners}


def _file_of(module: str, known: set[str]) -> str | None:
    path = module.removeprefix(_PACKAGE).lstrip(".").replace(".", "/")
    return next((file for file in (f"{path}.py", f"{path}/__init__.py") if file in known), None)


def _imported(text: str, known: set[str]) -> list[str]:
    found = []
    for source, names, whole in _IMPORT.findall(text):
        if whole:
            found.append(whole)
            continue
        found.append(source)
        parts = [part.split()[0] for part in names.strip("()").split(",") if part.split()]
        found += [f"{source}.{part}" for part in parts]
    found += [f"{_PACKAGE}.{name}" for name in _WORKER_CALL.findall(text)]
    return [name for name in found if _file_of(name, known) is not None]


def _owner(path: str, packages: set[str]) -> str:
    """The folder of the package that a data file belongs to: the nearest one around it that holds modules."""
    folder = path.rpartition("/")[0] + "/"
    while folder not in packages and folder != "/":
        folder = folder[:-1].rpartition("/")[0] + "/"
    return folder


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return "".join(sorted({x for x in file if x.startswith(("model name", "flags", "Features"))}))
    except OSError:
        import platform

        return platform.machine() + platform.processor()
