"""Input: a line of assembly text. Output: its words and numbers, with errors at their columns."""

from __future__ import annotations

import re
from typing import NoReturn

from headwater.errors import SourceError, Span
from headwater.isa.vliw import names

WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
NUMBER = re.compile(r"0[xX][0-9A-Fa-f]+|\d+")
MOST_DIGITS = 40
"""Longer numbers than any field has are not converted."""


class Scanner:
    """One line, read from left to right."""

    def __init__(self, text: str, whole: str, filename: str, number: int) -> None:
        self.text, self.whole, self.filename, self.number = text, whole, filename, number
        self.at = 0

    def fail(self, message: str, at: int | None = None, hint: str = "") -> NoReturn:
        """A SourceError at the next word, or at the place that a word had."""
        self.blanks()
        column = (self.at if at is None else at) + 1
        raise SourceError(message, Span(self.filename, self.number, column), source_line=self.whole, hint=hint)

    def blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in " \t":
            self.at += 1

    def done(self) -> bool:
        self.blanks()
        return self.at == len(self.text)

    def match(self, pattern: re.Pattern[str]) -> str:
        """What matches here, or an empty string."""
        self.blanks()
        found = pattern.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found[0]

    def take(self, words: str) -> bool:
        """Whether these very characters come next."""
        self.blanks()
        if not self.text.startswith(words, self.at):
            return False
        self.at += len(words)
        return True

    def take_word(self, word: str) -> bool:
        """Whether this word, not a longer one, comes next."""
        at = self.at
        if self.match(WORD) == word:
            return True
        self.at = at
        return False

    def expect(self, words: str) -> None:
        if not self.take(words):
            self.fail(f"expected {words!r}")

    def integer(self, what: str, most: int = 0xFFFFFFFF) -> int:
        self.blanks()
        at = self.at
        found = self.match(NUMBER)
        if not found:
            self.fail(f"expected {what}, a number")
        value = int(found, 0 if found[1:2] in ("x", "X") else 10) if len(found) <= MOST_DIGITS else most + 1
        if value > most:
            self.fail(f"{what} is at most {most}", at)
        return value

    def channel(self, what: str) -> int:
        if self.at < len(self.text) and self.text[self.at] in names.CHANNELS:
            self.at += 1
            return names.CHANNELS.index(self.text[self.at - 1])
        self.fail(f"expected {what}: x, y, z or w")
