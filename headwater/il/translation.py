"""ATI IL's text passes in; its OpenCL C, and what the kernel there takes, pass out: translated now, or from the cache.

What knows IL is imported only where it has to be translated.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from headwater import cache

KERNEL = "il_kernel"
"""The kernel's name in OpenCL C."""
_FORMAT = "il to opencl 1"
_FILE = "translation.json"
Role = Literal["resource", "constant", "global", "uav", "output"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """An array that the kernel takes: IL's name for it, what it is for, and its size in elements where IL says so.

    In the kernel each is a pointer, followed by an int4: width and height in elements, lanes of an element, bytes.
    """

    name: str
    role: Role
    dimensions: int = 1
    elements: int = 0


@dataclass(frozen=True, slots=True)
class Translation:
    """OpenCL C with one kernel, `KERNEL`; its parameters in order; a compute shader's work-group, else None."""

    source: str
    parameters: tuple[Parameter, ...]
    group: tuple[int, int, int] | None


def translation_of(text: str, filename: str) -> Translation:
    """The translation of a program. SourceError for what is wrong in it, or not supported."""
    from headwater.opencl.freshness import folder_state

    key = cache.key(_FORMAT, folder_state(Path(__file__).parent), text, filename)
    entry = cache.get(key)
    if entry is None:
        from headwater.il.parser import parse
        from headwater.il.to_opencl import to_opencl

        made = to_opencl(parse(text, filename), filename)
        entry = cache.put(key, {_FILE: json.dumps(asdict(made)).encode()})
    found = json.loads((entry / _FILE).read_bytes())
    parameters = tuple(Parameter(**parameter) for parameter in found["parameters"])
    return Translation(found["source"], parameters, tuple(found["group"]) if found["group"] else None)
