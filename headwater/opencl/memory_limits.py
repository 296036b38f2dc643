"""Input: the private or local memory that a kernel needs, and the limit. Output: an error at its largest variable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headwater.errors import LimitError, SourceError, Span
from headwater.llvm.types import LOCAL_SPACE

if TYPE_CHECKING:
    from headwater.opencl.unsupported import Variable

_WORDS = {
    "private": (
        "the private arrays of a work-item take {needed} bytes, {device} has {most} for them",
        "put large arrays into global memory, a part for each work-item",
    ),
    "local": (
        "a work-group takes {needed} bytes of local memory, {device} has {most}",
        "use a smaller tile, or global memory",
    ),
}


class MemoryLimitError(LimitError):
    """More private or local memory than a device has; ``space`` tells which."""

    space = ""


def exceeded(kernel: str, space: str, needed: int, most: int, device: str, filename: str) -> MemoryLimitError:
    """The error, whose place `located_at_largest` adds."""
    message, hint = _WORDS[space]
    error = MemoryLimitError(
        f"{kernel}: {message.format(needed=needed, most=most, device=device)}", Span(filename), hint=hint
    )
    error.space = space
    return error


@contextmanager
def located_at_largest(source: str, filename: str, options: str) -> Iterator[None]:
    """A `MemoryLimitError` inside gets the place of the program's largest variable in that memory."""
    try:
        yield
    except MemoryLimitError as error:
        error.span, error.source_line = largest(error.space, source, filename, options)
        raise


def largest(space: str, source: str, filename: str, options: str) -> tuple[Span, str]:
    """Where the largest variable is declared, and that line's text; the file alone where that cannot be determined."""
    from headwater.opencl import clang, unsupported
    from headwater.opencl.source_locations import Places

    if clang.is_hip(options):
        return Span(filename), ""
    try:
        module = clang.ir_with_places(source, filename, options)
    except SourceError:  # the machine that the program is for may define macros that this one does not
        return Span(filename), ""
    found = [v for v in unsupported.variables(module) if _space_of(v) == space]
    if not found:
        return Span(filename), ""
    return unsupported.declaration(max(found, key=lambda v: v.least_bytes))(Places(module, source, filename))


def _space_of(variable: Variable) -> str:
    """The memory that a variable of clang's spir64 is in."""
    if variable.function:
        return "private"
    return "local" if variable.space == LOCAL_SPACE else "other"
