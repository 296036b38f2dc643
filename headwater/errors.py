"""Input: faults in what a user gives. Output: messages with position and remedy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Span:
    """A place in a source file; ``line`` and ``column`` count from 1, 0 means unknown. Columns count characters."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        parts = [self.file]
        if self.line:
            parts.append(str(self.line))
            if self.column:
                parts.append(str(self.column))
        return ":".join(parts)


def span_of_bytes(file: str, line: int, column: int, text: str) -> Span:
    """The place that a compiler means whose columns count bytes of UTF-8; ``text``: the line."""
    before = text.encode("utf-8", "surrogateescape")[: max(column - 1, 0)]
    return Span(file, line, len(before.decode("utf-8", "replace")) + 1 if column else 0)


def _before_caret(text: str) -> str:
    """What stands before a caret so that a terminal shows it below the end of ``text``: tabs, whatever their width, and
    a blank for each cell, of which wide characters take two and those that combine with the one before none."""
    return "".join("\t" if c == "\t" else " " * _cells(c) for c in text)


def _cells(character: str) -> int:
    if character.isascii():
        return 1
    import unicodedata

    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class HeadwaterError(Exception):
    """Base of every error that Headwater raises on purpose; the command line prints it and exits with ``exit_code``."""

    exit_code = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message


class SourceError(HeadwaterError):
    """A fault in a kernel's source text, with its position and, where known, the line itself.

    ``details`` holds further messages of the same run (a compiler's later errors), already formatted.
    """

    def __init__(
        self, message: str, span: Span | None = None, *, hint: str = "", source_line: str = "", details: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.span = span
        self.source_line = source_line
        self.details = details

    def __str__(self) -> str:
        lines = [f"{self.span}: error: {self.message}" if self.span else f"error: {self.message}"]
        if self.source_line:
            lines.append(f"    {self.source_line.rstrip()}")
            if self.span and self.span.column:
                lines.append(f"    {_before_caret(self.source_line[: self.span.column - 1])}^")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        if self.details:
            lines.append(self.details.rstrip())
        return "\n".join(lines)


class UsageError(HeadwaterError):
    """Wrong arguments: count, type, shape, an unknown kernel, device or option."""


class LaunchError(UsageError):
    """A launch that cannot run as asked: sizes, groups, argument types."""


class GroupSizeError(LaunchError):
    """Work-groups of a size or shape that the kernel, the device or the global size does not allow."""


class DeviceError(HeadwaterError):
    """No such device, or the device or its driver failed."""


class ResourceError(HeadwaterError):
    """Out of memory, or a limit of the device exceeded."""


class OutOfMemoryError(ResourceError):
    """The host or the device has not the memory that a buffer or a launch needs."""


class LimitError(SourceError, ResourceError):
    """A limit of the device that a source exceeds, at the place of what does."""


class CodeObjectError(HeadwaterError):
    """A file that is no code object we can read: not ELF, foreign, truncated, corrupted, or lacking the kernel."""


class DecodeError(HeadwaterError):
    """Bytes that are no instruction of the GPU they are meant for; ``address`` is the instruction's."""

    def __init__(self, message: str, address: int, *, hint: str = "") -> None:
        super().__init__(f"address {address:#x}: {message}", hint=hint)
        self.address = address


class KernelFault(HeadwaterError):
    """A kernel did something illegal while running (found by ``check``), or was stopped by its time limit."""


class InternalError(HeadwaterError):
    """A defect of Headwater itself: LLVM aborted, generated code did not verify. Carries what to report."""

    exit_code = 70
