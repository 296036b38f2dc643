"""Input: where an OpenCL loader looks. Output: the library and the ``.icd`` file that registers the platform.

On Windows loaders read no such files, but the registry, where administrators alone may write what they look at, and
``OCL_ICD_FILENAMES``.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from headwater.base import cache
from headwater.bridge import host
from headwater.errors import ResourceError, UsageError
from headwater.icd import library

FILE = "headwater.icd"
SYSTEM = Path("/etc/OpenCL/vendors")
"""Where loaders look by default on Linux (cl_khr_icd, "Linux vendor enumeration")."""


class Installed(NamedTuple):
    """``library``, the ``.icd`` file that names it (None on Windows), and the variables that a program needs to see
    it: none where loaders find it by themselves."""

    library: Path
    icd: Path | None
    variables: Mapping[str, str]


def folder() -> Path:
    """Where the library is kept for good: the user's directory for data. UsageError without a home directory."""
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA", "")
        base = Path(root) if root else Path.home()
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        given = os.environ.get("XDG_DATA_HOME", "")
        try:
            base = Path(given) if given else Path.home() / ".local" / "share"
        except RuntimeError:
            raise UsageError(
                "this user has no home directory to keep the library in",
                hint="set XDG_DATA_HOME, or use headwater icd run",
            ) from None
    return base / "headwater" / "icd"


def places(vendors: str | None = None) -> list[Path]:
    """Where an ``.icd`` file may go, the best first: what was asked for; the system's directory if it may be written;
    one of the user's own, which a variable has to name."""
    if vendors is not None:
        return [Path(vendors)]
    own = folder() / "vendors"
    prefix = os.environ.get("CONDA_PREFIX", "")  # conda's loader looks there
    found = [Path(prefix, "etc", "OpenCL", "vendors")] if prefix else []
    if SYSTEM.is_dir() or os.access(SYSTEM.parent.parent, os.W_OK):
        found.append(SYSTEM)
    return [*(place for place in found if os.access(_existing(place), os.W_OK)), own]


def _existing(path: Path) -> Path:
    return path if path.exists() or path == path.parent else _existing(path.parent)


def install(vendors: str | None = None) -> Installed:
    """Compile the library, keep it for the user, and tell loaders of it. ResourceError if a file cannot be written,
    UsageError for ``vendors`` on Windows."""
    _refuse_on_windows(vendors)
    built = library.build(sys.platform)
    kept = _kept()
    try:
        _write(kept, built.read_bytes())
        _write(kept.with_name(kept.name + ".server"), host.server_text().encode())
        if sys.platform == "win32":
            return _installed(kept, None)
        place = places(vendors)[0]
        _write(place / FILE, f"{kept}\n".encode())
        if place == folder() / "vendors":
            _add_others(place)
    except OSError as error:
        raise ResourceError(f"cannot write {error.filename}: {error.strerror}") from None
    return _installed(kept, place)


def _refuse_on_windows(vendors: str | None) -> None:
    if vendors is not None and sys.platform == "win32":
        raise UsageError("loaders read no .icd files on Windows", hint="leave out --vendors")


def _kept() -> Path:
    return folder() / library.library_name(sys.platform)


def _installed(kept: Path, place: Path | None) -> Installed:
    if place is None:
        return Installed(kept, None, {"OCL_ICD_FILENAMES": str(kept)})
    return Installed(kept, place / FILE, {} if _is_found(place) else _variables(place))


def _write(path: Path, data: bytes) -> None:
    """By a rename: programs may have the old library loaded."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_name(f"{path.name}.{os.getpid()}")
    made.write_bytes(data)
    os.replace(made, path)


def _add_others(place: Path) -> None:
    """The variable that names a directory hides the system's: its files are copied there."""
    for other in sorted(SYSTEM.glob("*.icd")) if SYSTEM.is_dir() else []:
        if other.name != FILE:
            shutil.copyfile(other, place / other.name)


def _is_found(place: Path) -> bool:
    prefix = os.environ.get("CONDA_PREFIX", "")
    return place == SYSTEM or (bool(prefix) and place == Path(prefix, "etc", "OpenCL", "vendors"))


def status(vendors: str | None = None) -> Installed | None:
    """What is installed; None if nothing is."""
    _refuse_on_windows(vendors)
    if sys.platform == "win32":
        return _installed(_kept(), None) if _kept().is_file() else None
    for place in [*places(vendors), SYSTEM]:
        file = place / FILE
        if file.is_file():
            return _installed(Path(file.read_text(encoding="utf-8").strip()), place)
    return None


def uninstall(vendors: str | None = None) -> list[Path]:
    """Remove what `install` wrote; the files that were removed. ResourceError if one cannot be."""
    _refuse_on_windows(vendors)
    removed = []
    kept = _kept()
    files = [place / FILE for place in {*places(vendors), SYSTEM, folder() / "vendors"}]
    for file in [*files, kept, kept.with_name(kept.name + ".server")]:
        try:
            file.unlink()
            removed.append(file)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise ResourceError(f"cannot remove {file}: {error.strerror}") from None
    if vendors is None and folder().is_dir():
        shutil.rmtree(folder(), ignore_errors=True)
    return removed


def _variables(directory: Path) -> dict[str, str]:
    """What makes loaders look in a directory: Khronos's and ocl-icd's, and older ones of the latter."""
    return {"OCL_ICD_VENDORS": str(directory), "OPENCL_VENDOR_PATH": str(directory)}


def environment() -> dict[str, str]:
    """What makes a program see the platform, and no other, with nothing installed.

    Khronos's loader puts the libraries that ``OCL_ICD_FILENAMES`` names before those of all directories.
    """
    built = library.build(sys.platform)
    if sys.platform == "win32":
        return {"OCL_ICD_FILENAMES": str(built), **host.server_environment()}
    text = f"{built}\n".encode()
    key = cache.key("icd vendors 1", text)
    entry = cache.get(key) or cache.put(key, {FILE: text})
    return {**_variables(entry), "OCL_ICD_FILENAMES": "", **host.server_environment()}


def run(words: Sequence[str], changes: dict[str, str]) -> int:
    """Run a program that sees the platform; its exit code."""
    return host.run(words, {**environment(), **changes})
