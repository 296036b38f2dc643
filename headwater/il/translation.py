"""What an ATI IL program is in OpenCL C: its source and what the kernel takes, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headwater.errors import SourceError, Span

KERNEL = "il_kernel"
"""The kernel's name in OpenCL C."""
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
