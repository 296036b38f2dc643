"""Input: a system's name. Output: the shared library that an OpenCL loader takes."""

from __future__ import annotations

import sys
from pathlib import Path

from headwater.bridge.library import Shim
from headwater.icd import constants, protocol

FOLDER = Path(__file__).with_name("shim")


def library_name(system: str = sys.platform) -> str:
    """The file name of the platform's library."""
    return {"darwin": "libheadwater_icd.dylib", "win32": "headwater_icd.dll"}.get(system, "libheadwater_icd.so")


def generated() -> dict[str, str]:
    """The headers that are made from tables, by name."""
    return {"cl_constants.h": "#pragma once\n" + constants.c_definitions(), "protocol.h": protocol.c_header()}


def shim(system: str = sys.platform) -> Shim:
    """The platform's C."""
    return Shim("OpenCL platform", library_name(system), FOLDER, generated())


def build(system: str = sys.platform, machine: str = "") -> Path:
    """The library for a system, from the wheel, the cache or the compiler. InternalError if it does not compile."""
    return shim(system).build(system, machine)
