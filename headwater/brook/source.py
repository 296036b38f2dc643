"""Input: a source text and what has been done to it. Output: positions and error messages in terms of what the user
wrote.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from headwater.base.faults import Faults
from headwater.errors import SourceError, Span


@dataclass
class SourceText:
    """The text of one file while it is being prepared for parsing.

    ``text`` keeps the lines of the original; macro replacement may shift columns, which ``columns`` undoes: for a
    line, pairs of
    (0-based column in ``text``, 0-based column as written, whether columns advance in step from there).
    """

    filename: str
    original: tuple[str, ...]
    text: str
    columns: dict[int, list[tuple[int, int, bool]]] = field(default_factory=dict)
    directives: dict[int, str] = field(default_factory=dict)
    """Lines that hold a directive which was passed over, with the directive's name."""
    includes: dict[int, str] = field(default_factory=dict)
    """Lines that include a file, which was passed over, with the file as it is written."""
    macro_names: dict[str, int] = field(default_factory=dict)
    """Macros that the file defines but that were not obeyed, with their lines."""
    comments: dict[int, str] = field(default_factory=dict)
    """Comments by the line on which they end."""
    faults: Faults = field(default_factory=Faults)
    """What is wrong with the file, as far as it has been found."""

    def span(self, line: int, column: int) -> Span:
        """The place in the user's file of a 1-based line and column of ``text``."""
        marks = self.columns.get(line)
        if marks:
            at = bisect_right(marks, column - 1, key=lambda mark: mark[0]) - 1
            if at >= 0:
                start, written, in_step = marks[at]
                column = written + 1 + ((column - 1 - start) if in_step else 0)
        return Span(self.filename, line, column)

    def source_line(self, line: int) -> str:
        """The line as the user wrote it."""
        return self.original[line - 1] if 0 < line <= len(self.original) else ""

    def error(self, message: str, line: int, column: int, hint: str = "") -> SourceError:
        """An error at a place of ``text``."""
        return SourceError(message, self.span(line, column), hint=hint, source_line=self.source_line(line))

    def warning(self, message: str, line: int, column: int) -> str:
        """A formatted warning at a place of ``text``."""
        return f"{self.span(line, column)}: warning: {message}"

    def offset_error(self, message: str, offset: int, hint: str = "") -> SourceError:
        """An error at a character offset of ``text``."""
        line, column = self.place(offset)
        return self.error(message, line, column, hint)

    def place(self, offset: int) -> tuple[int, int]:
        """The 1-based line and column of a character offset of ``text``."""
        return self.text.count("\n", 0, offset) + 1, offset - (self.text.rfind("\n", 0, offset) + 1) + 1
