"""Files that a result was made from pass in; whether it still holds passes out."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from headwater import cache, host


def digests(paths: Iterable[str]) -> dict[str, str]:
    """Path -> SHA-256 of what the file holds now, "" if it cannot be read."""
    return {path: _digest(path) for path in paths}


def unchanged(known: Mapping[str, str]) -> bool:
    """Whether all files are as they were when `digests` saw them."""
    return all(_digest(path) == digest for path, digest in known.items())


def _digest(path: str) -> str:
    try:
        return cache.digest(Path(path).read_bytes())
    except OSError:
        return ""


@functools.cache
def compiler_state() -> str:
    """A text that changes when a file of this package does: compiled code depends on the compiler's version."""
    here = Path(__file__).parent
    return folder_state(here, here / "spmd", here / "library", here / "library" / "gcn", here / "library" / "vliw")


@functools.cache
def folder_state(*folders: Path) -> str:
    """A text that changes when a file in one of these folders does."""
    parts = []
    for folder in folders:
        with os.scandir(folder) as found:
            for item in found:
                if item.is_file():
                    state = item.stat()
                    parts.append(f"{item.name} {state.st_size} {state.st_mtime_ns}")
    return "\n".join(sorted(parts))


@functools.cache
def identity() -> str:
    """What compiled code depends on besides the source: the instruction set it may use and this version's compiler."""
    return "\n".join([_processor() if host.level() == host.NATIVE else host.level(), sys.platform, compiler_state()])


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return "".join(sorted({x for x in file if x.startswith(("model name", "flags", "Features"))}))
    except OSError:
        import platform

        return platform.machine() + platform.processor()
