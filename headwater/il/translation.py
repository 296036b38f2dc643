"""ATI IL's text passes in; its OpenCL C, and what the kernel there takes, pass out: translated now, or from the cache.

What knows IL is imported only where it has to be translated.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Literal

from headwater.base import cache
from headwater.errors import SourceError, Span

KERNEL = "il_kernel"
"""The kernel's name in OpenCL C."""
_FORMAT = "il to opencl 3"
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


class NotInOpenClError(SourceError):
    """What an IL program asks for that OpenCL C cannot say, though VLIW chips have it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A `NotInOpenClError`, as it is kept: devices that need no OpenCL C run the program."""

    message: str
    line: int
    column: int
    hint: str


@dataclass(frozen=True, slots=True)
class StepNeeded:
    """By what a program relies on the work-items of a wavefront being in step: a buffer, and the lines of two accesses
    that may be of one place of it. ``pixels``: it is a pixel shader."""

    buffer: str
    earlier: int
    later: int
    pixels: bool

    def __str__(self) -> str:
        lines = f"line {self.later}" if self.earlier == self.later else f"lines {self.earlier} and {self.later}"
        items = "pixels" if self.pixels else "work-items"
        return f"{items} of a wavefront may access the same place of {self.buffer} in {lines} without a fence between"


@dataclass(frozen=True, slots=True)
class Translation:
    """OpenCL C with one kernel, `KERNEL`; its parameters in order; a compute shader's work-group, else None.

    With a ``refusal`` there is no source. With ``step`` results are right where wavefronts are in step.
    """

    source: str
    parameters: tuple[Parameter, ...]
    group: tuple[int, int, int] | None
    refusal: Refusal | None = None
    step: StepNeeded | None = None

    def require(self, filename: str) -> str:
        """The source. NotInOpenClError where there is none."""
        if self.refusal is not None:
            known = self.refusal
            raise NotInOpenClError(known.message, Span(filename, known.line, known.column), hint=known.hint)
        return self.source


def translation_of(text: str, filename: str) -> Translation:
    """The translation of a program, or why there is none. SourceError for what is wrong in it, or not supported."""
    from headwater.base.freshness import code_state

    key = cache.key(_FORMAT, code_state(__name__), text, filename)
    entry = cache.get(key)
    if entry is None:
        from headwater.il.parser import parse
        from headwater.il.to_opencl import interface, to_opencl

        program = parse(text, filename)
        try:
            made = to_opencl(program, filename)
        except NotInOpenClError as error:
            at = error.span or Span(filename)
            made = replace(interface(program, filename), refusal=Refusal(error.message, at.line, at.column, error.hint))
        entry = cache.put(key, {_FILE: json.dumps(asdict(made)).encode()})
    found = json.loads((entry / _FILE).read_bytes())
    parameters = tuple(Parameter(**parameter) for parameter in found["parameters"])
    refusal = Refusal(**found["refusal"]) if found["refusal"] else None
    step = StepNeeded(**found["step"]) if found["step"] else None
    return Translation(found["source"], parameters, tuple(found["group"]) if found["group"] else None, refusal, step)
