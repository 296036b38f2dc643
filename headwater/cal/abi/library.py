"""Input: a machine's name. Output: the folder of CAL's libraries and headers for programs in C."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

from headwater.base import cache
from headwater.bridge import host
from headwater.bridge.library import Shim
from headwater.cal.abi import functions, protocol
from headwater.cal.enums import C_NAMES, PREFIXES
from headwater.errors import DeviceError

FOLDER = Path(__file__).with_name("shim")
NAMES = ("libaticalrt.so", "libaticalcl.so")
"""The run-time and the compiler: one library, of two names."""
HEADERS = {
    "cal_ext.h": '#include "cal.h"\n',
    "cal_ext_counter.h": '#include "cal.h"\n',
    "calcl.h": '#include "cal.h"\n',
}
"""By these names programs include what our cal.h has."""


def constants() -> str:
    """CAL's numbers as enumerations of C: Brook+'s run-time has macros of the same names, with parameters."""
    kinds = [
        {prefix + name: int(number) for name, number in kind.__members__.items()} for prefix, kind in PREFIXES.items()
    ]
    lines = [f"  {name} = {number}," for kind in [*kinds, C_NAMES] for name, number in kind.items()]
    return "\n".join(["#pragma once", "enum {", *lines, "};", ""])


def generated() -> dict[str, str]:
    """The files that are made from tables, by name."""
    return {
        "cal_constants.h": constants(),
        "protocol.h": protocol.c_header(),
        "functions.c": functions.c_functions(),
    }


def shim() -> Shim:
    """The library's C."""
    return Shim("CAL library", NAMES[0], FOLDER, generated())


def build(machine: str = "") -> Path:
    """The library for a machine of this system: see `Shim.build`. DeviceError where there is none."""
    if sys.platform != "linux":
        raise DeviceError("CAL's C libraries are made for Linux", hint="headwater.cal offers the same in Python")
    return shim().build("linux", machine)


def machines() -> tuple[str, ...]:
    """Whose programs run on this machine: its own, and on x86-64 those of 32 bits."""
    own = platform.machine().lower()
    return ("x86_64", "i386") if own in ("x86_64", "amd64") else (own,)


def folder(machine: str) -> Path:
    """Where both libraries for a machine lie, beside the headers for programs in C."""
    built = build(machine)
    headers = {"cal.h": (FOLDER / "cal.h").read_text(encoding="utf-8"), "cal_constants.h": constants(), **HEADERS}
    key = cache.key("cal library 1", str(built), repr(headers))

    def fill(place: Path) -> None:
        (place / NAMES[0]).write_bytes(built.read_bytes())
        os.link(place / NAMES[0], place / NAMES[1])  # one file: a loader then loads it once
        for name, text in headers.items():
            (place / name).write_text(text, encoding="utf-8")

    return cache.get(key) or cache.put(key, fill)


def environment(device: str | None = None) -> dict[str, str]:
    """What makes a program load CAL's libraries, and which devices it finds."""
    places = [str(folder(machine)) for machine in machines()]
    before = os.environ.get("LD_LIBRARY_PATH", "")
    changes = {"LD_LIBRARY_PATH": os.pathsep.join([*places, *([before] if before else [])])}
    if device is not None:
        changes["HEADWATER_CAL_DEVICES"] = device
    return {**changes, **host.server_environment()}
