"""Input: preprocessed text of a ``.br`` file. Output: the places of its kernels, structs and typedefs; the rest is host
C++.

Host code is never parsed, only skipped: brackets are matched outside strings. A stretch that does not close
(unbalanced by
conditional compilation) is given up at the next line that starts a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from headwater.brook.source import SourceText

_TOKEN = re.compile(r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.){1,8}'|[A-Za-z_]\w*|\.?\d[\w.]*|[^\s]""")
_QUALIFIERS = frozenset({"kernel", "reduce"})
_TYPE_WORDS = re.compile(
    r"(?:void|const|volatile|restrict|static|extern|inline|__inline|unsigned|signed|long|out|iter|shared|kernel|reduce|(?:u?(?:char|short|int)|float|double)[234]?)\Z"
)
_OPENERS = {"(": ")", "[": "]", "{": "}"}
_CLOSERS = frozenset(")]}")


@dataclass(frozen=True)
class Region:
    """A stretch of text, ``[start, end)`` in characters; ``name`` of what it defines where that is known."""

    start: int
    end: int
    name: str = ""


@dataclass(frozen=True)
class Regions:
    """What a file holds besides host code, each in source order."""

    kernels: tuple[Region, ...]
    structs: tuple[Region, ...]
    typedefs: tuple[Region, ...]


@dataclass(frozen=True)
class _Token:
    text: str
    start: int
    end: int

    @property
    def is_word(self) -> bool:
        return self.text[0].isalpha() or self.text[0] == "_"


class _Scanner:
    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.tokens = [_Token(m[0], m.start(), m.end()) for m in _TOKEN.finditer(source.text)]
        self.close = _match_brackets(self.tokens)
        self.kernels: list[Region] = []
        self.structs: list[Region] = []
        self.typedefs: list[Region] = []

    def scan(self) -> Regions:
        at = 0
        while at < len(self.tokens):
            at = self._chunk(at)
        return Regions(tuple(self.kernels), tuple(self.structs), tuple(self.typedefs))

    def _chunk(self, first: int) -> int:
        """Pass one top-level declaration or definition that starts at token ``first``; the token after it."""
        tokens = self.tokens
        at = first
        while at < len(tokens):
            text = tokens[at].text
            if text in _QUALIFIERS and self._is_qualifier(at):
                return self._kernel(first, at)
            if text == ";":
                if tokens[first].text == "typedef":
                    self._typedef(first, at)
                return at + 1
            if text == "}":
                return at + 1
            if text == "{":
                if self._is_transparent(first, at):
                    return at + 1
                end = self.close.get(at)
                if end is None:
                    return self._resume(at)
                if self._is_function(first, at):
                    return end + 1
                at = end + 1
                if (at < len(tokens) and tokens[at].text == ";") or tokens[first].text == "typedef":
                    at = self._to_semicolon(at)
                    self._struct(first, at)
                    return at + 1
                continue
            if text in _OPENERS:
                end = self.close.get(at)
                if end is None:
                    return self._resume(at)
                at = end + 1
                continue
            at += 1
        return at

    def _to_semicolon(self, at: int) -> int:
        while at < len(self.tokens) and self.tokens[at].text not in {";", "}", "{"}:
            at += 1
        return at

    def _is_qualifier(self, at: int) -> bool:
        return at + 1 < len(self.tokens) and self.tokens[at + 1].is_word

    def _is_transparent(self, first: int, at: int) -> bool:
        """``namespace name {`` and ``extern "C" {`` hold top-level code."""
        words = [token.text for token in self.tokens[first:at]]
        return words[:1] == ["namespace"] or (len(words) == 2 and words[0] == "extern" and words[1][0] == '"')

    def _is_function(self, first: int, brace: int) -> bool:
        words = [token.text for token in self.tokens[first:brace]]
        return (
            ")" in words
            and words[0] != "typedef"
            and "=" not in words
            and not {"struct", "class", "union"} & {words[0]}
        )

    def _resume(self, at: int) -> int:
        """After brackets that never close: the next line that starts with a kernel, else the end."""
        for later in range(at + 1, len(self.tokens)):
            token = self.tokens[later]
            line_start = self.source.text.rfind("\n", 0, token.start) + 1
            if (
                (token.text in _QUALIFIERS and self._is_qualifier(later)) or token.text == "Attribute"
            ) and not self.source.text[line_start : token.start].strip():
                return later
        return len(self.tokens)

    def _kernel(self, first: int, qualifier: int) -> int:
        tokens = self.tokens
        start = qualifier
        while start > first and _TYPE_WORDS.match(tokens[start - 1].text):
            start -= 1
        if start == first + 1 and tokens[first].is_word:
            start = first
        if start > first and tokens[start - 1].text == "]":
            for opener in range(start - 2, first, -1):
                if self.close.get(opener) == start - 1:
                    if tokens[opener - 1].text == "Attribute":
                        start = opener - 1
                    break
        name = ""
        at = qualifier + 1
        while at < len(tokens):
            text = tokens[at].text
            if text == "(" and not name:
                name = tokens[at - 1].text
            if text == ";":
                return at + 1  # a prototype: nothing to translate
            if text == "{":
                end = self.close.get(at)
                if end is None:
                    message = f"kernel {name!r} is never closed" if name else "this kernel is never closed"
                    return self._fault(message, at, "add the missing }", name)
                self.kernels.append(Region(tokens[start].start, tokens[end].end, name))
                return end + 1
            if text in _OPENERS:
                closer = self.close.get(at)
                if closer is None:
                    return self._fault(f"this {text!r} is never closed", at, f"add {_OPENERS[text]!r}", name)
                at = closer + 1
                continue
            if text in _CLOSERS:
                break
            at += 1
        return self._fault(
            "this kernel has no body", qualifier, "write kernel void name(parameters) { statements }", name
        )

    def _fault(self, message: str, at: int, hint: str, name: str) -> int:
        """Report a fault of a kernel at token ``at``; where to go on."""
        self.source.faults.report(self.source.offset_error(message, self.tokens[at].start, hint))
        self.source.faults.lost.add(name)
        return self._resume(at)

    def _typedef(self, first: int, semicolon: int) -> None:
        name = self.tokens[semicolon - 1].text
        self.typedefs.append(Region(self.tokens[first].start, self.tokens[semicolon].end, name))

    def _struct(self, first: int, semicolon: int) -> None:
        words = [token.text for token in self.tokens[first:semicolon]]
        if semicolon < len(self.tokens) and ("struct" in words[:2]):
            region = Region(
                self.tokens[first].start, self.tokens[semicolon].end, words[-1] if words[0] == "typedef" else words[1]
            )
            self.structs.append(region)


def find_regions(source: SourceText) -> Regions:
    """Find the kernels, structs and typedefs of a file. Reports kernels that never close."""
    return _Scanner(source).scan()


def keep(text: str, regions: Sequence[Region]) -> str:
    """The text with everything outside ``regions`` blanked, so that places stay the same."""
    pieces: list[str] = []
    done = 0
    for region in regions:
        pieces += [re.sub(r"[^\n]", " ", text[done : region.start]), text[region.start : region.end]]
        done = region.end
    return "".join(pieces)


def _match_brackets(tokens: list[_Token]) -> dict[int, int]:
    """Opening token index to closing token index. A closer of the wrong kind gives up the openers it skips."""
    close: dict[int, int] = {}
    open_ones: list[int] = []
    places: dict[str, list[int]] = {"(": [], "[": [], "{": []}  # of each kind, where in open_ones
    for index, token in enumerate(tokens):
        if token.text in _OPENERS:
            places[token.text].append(len(open_ones))
            open_ones.append(index)
        elif token.text in _CLOSERS:
            kind = {")": "(", "]": "[", "}": "{"}[token.text]
            if not places[kind] or (kind != "{" and places["{"] and places["{"][-1] > places[kind][-1]):
                continue
            depth = places[kind][-1]
            close[open_ones[depth]] = index
            for opener in open_ones[depth:]:
                places[tokens[opener].text].pop()
            del open_ones[depth:]
    return close
