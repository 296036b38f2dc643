"""Nothing passes in; the executable passes out that holds clang and lld, from the package ``ziglang``."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path

from headwater.errors import DeviceError


def zig_path() -> Path:
    """The ``zig`` executable of the package ``ziglang``, which holds clang and lld; DeviceError if it is missing."""
    return _zig_path()


@functools.cache
def _zig_path() -> Path:
    spec = importlib.util.find_spec("ziglang")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for name in ("zig", "zig.exe"):
            path = Path(folder) / name
            if path.is_file():
                return path
    raise DeviceError(
        "compiling for the cpu device needs clang, which the package 'ziglang' provides, and it is not installed",
        hint="pip install ziglang==0.17.0 llvmlite==0.50.0, or run on an OpenCL device, whose driver has its compiler",
    )
