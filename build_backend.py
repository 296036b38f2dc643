"""Builds packages as hatchling does; a wheel contains the C libraries of every system, compiled, in addition."""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
COMPILERS = ("numpy", "ziglang")
"""What must be importable where the libraries are compiled."""
Settings = dict[str, Any] | None


def get_requires_for_build_sdist(settings: Settings = None) -> list[str]:
    """What an archive of the sources needs."""
    from hatchling import build

    return list(build.get_requires_for_build_sdist(settings))


def build_sdist(folder: str, settings: Settings = None) -> str:
    """An archive of the sources."""
    from hatchling import build

    return str(build.build_sdist(folder, settings))


def get_requires_for_build_editable(settings: Settings = None) -> list[str]:
    """What an installation of this folder needs: libraries are compiled at their first use."""
    from hatchling import build

    return list(build.get_requires_for_build_editable(settings))


def build_editable(folder: str, settings: Settings = None, metadata: str | None = None) -> str:
    """An installation of this folder."""
    from hatchling import build

    return str(build.build_editable(folder, settings, metadata))


def get_requires_for_build_wheel(settings: Settings = None) -> list[str]:
    """What a wheel needs: Headwater compiles the libraries, with the compiler that it depends on."""
    from hatchling import build

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    compilers = [one for one in project["dependencies"] if one.startswith(COMPILERS)]
    return [*build.get_requires_for_build_wheel(settings), *compilers]


def build_wheel(folder: str, settings: Settings = None, metadata: str | None = None) -> str:
    """A wheel with the libraries."""
    from hatchling import build

    sys.path.insert(0, str(ROOT))
    from headwater.bridge.library import SHIPPED

    try:
        write_libraries(SHIPPED)
        return str(build.build_wheel(folder, settings, metadata))
    finally:
        shutil.rmtree(SHIPPED, ignore_errors=True)
        sys.path.remove(str(ROOT))


def write_libraries(folder: Path) -> None:
    """Compile the libraries into a folder. What cannot be compiled is said and left out, as Headwater compiles it where
    it is first used: nobody's installation is to fail for other systems' libraries. Without what compiles them, as
    ``pip wheel --no-build-isolation`` may be, there are none."""
    missing = [name for name in COMPILERS if find_spec(name) is None]
    if missing:
        _say(f"{' and '.join(missing)} cannot be imported, so this wheel lacks the compiled C libraries")
        return
    from headwater.errors import HeadwaterError

    def write(place: str, compiled: Callable[[], bytes]) -> None:
        try:
            data = compiled()
        except HeadwaterError as error:
            _say(f"this wheel lacks {place}: {error}")
            return
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    found = libraries()
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(write, found.keys(), found.values()))


def _say(what: str) -> None:
    print(
        f"headwater: {what}; headwater icd and headwater cal compile theirs at their first use",
        file=sys.stderr,
    )


def libraries() -> dict[str, Callable[[], bytes]]:
    """What compiles each library, by its place below `headwater.bridge.library.SHIPPED`."""
    from headwater.bridge.library import TARGETS
    from headwater.cal.abi import library as cal
    from headwater.icd import library as icd

    made: dict[str, Callable[[], bytes]] = {}
    for system, machine in TARGETS:
        for shim in [icd.shim(system), *([cal.shim()] if system == "linux" else [])]:
            place = os.path.join(shim.key(system, machine), shim.name)
            made[place] = lambda shim=shim, where=(system, machine): shim.compile(*where)  # type: ignore[misc]
    return made
