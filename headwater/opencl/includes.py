"""Input: an OpenCL C source and where its includes are looked for. Output: the files that its compilation depends on.

clang tells which files it has read, but not where it had looked in vain before: a header that appears there later is
the one that is included. And it waits for ever for a pipe, and takes a device for an empty file; both are refused here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from headwater.base import reading
from headwater.errors import SourceError, Span

# Patterns are compiled when a source that includes something is: a warm start looks for the words alone.
_WORDS = ("include", "embed", "import")
_COMMENT = r"""(?s)(?P<kept>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|<[^<>\n]*>)|//[^\n]*|/\*.*?(?:\*/|\Z)"""
_NAME = r"""(?:"(?P<quoted>[^"\n]+)"|<(?P<angled>[^<>\n]+)>|(?P<macro>[A-Za-z_]\w*))"""
_DIRECTIVE = (
    rf"(?m)^[ \t]*(?:\#|%:)[ \t]*(?:include_next|include|import|(?P<embed>embed))\b[ \t]*{_NAME}"
    rf"|\b__has_(?:include_next|include|embed)[ \t]*\([ \t]*{_NAME.replace('P<', 'P<has_')}"
)
_DEFINE = r"""(?m)^[ \t]*(?:\#|%:)[ \t]*define[ \t]+(\w+)[ \t]+("[^"\n]+"|<[^<>\n]+>)[ \t]*$"""
_ASSEMBLED = r"""(?m)^[^\n"#;]*\.(?:include|incbin)[ \t]+"([^"\n]+)\""""
_DEFINED = r"""-D(\w+)=("[^"\n]+"|<[^<>\n]+>)"""


class _Wanted(NamedTuple):
    """A file that a directive names: ``name`` as it is written, looked for beside the includer if it is ``quoted``;
    ``text``: what is in it is read as source."""

    name: str
    quoted: bool
    text: bool
    position: int


def present(source: str) -> bool:
    """Whether a source may include anything."""
    text = source.replace("\\\n", "")
    return any(word in text for word in _WORDS)


def place(source: str, filename: str) -> str:
    """What a cache's key needs besides source, name and options: where relative names lead from, if there are any."""
    return f"{os.path.abspath(filename)}\0{os.getcwd()}" if present(source) else ""


def looked_at(source: str, filename: str, flags: Sequence[str]) -> set[str]:
    """Every path where a file is, or was looked for in vain, that the source includes; ``flags``: clang's -I and -D.

    SourceError at the directive if what is there is neither a file nor a directory. Directives count that ``#if`` may
    leave out. Names that only macros with parameters make are not seen.
    """
    folder = os.path.dirname(os.path.abspath(filename))
    folders = [flag[2:] for flag in flags if flag.startswith("-I")]
    macros = {name: value for flag in flags for name, value in re.findall(_DEFINED, flag)}
    found: set[str] = set()
    pending = [(source, filename, folder)]
    while pending:
        text, name, folder = pending.pop()
        for wanted in _wanted(text, macros):
            near = [folder] if wanted.quoted else []
            for path in (os.path.normpath(os.path.join(place, wanted.name)) for place in [*near, *folders]):
                if path == os.devnull:
                    break  # an empty header
                known = path in found
                found.add(path)
                try:
                    mode = os.stat(path).st_mode
                except (OSError, ValueError):
                    continue
                if kind := reading.special(mode):
                    raise _refusal(text, name, wanted.name, wanted.position, f"is {kind}, not a file")
                if os.path.isfile(path):
                    if wanted.text and not known:
                        pending.append(("\n".join(reading.lines(path)), path, os.path.dirname(path)))
                    break
    return found


def refuse_assembled(source: str, filename: str) -> None:
    """SourceError if assembly includes what is neither a file nor a directory."""
    for match in re.finditer(_ASSEMBLED, source):
        try:
            kind = reading.special(os.stat(match[1]).st_mode)
        except (OSError, ValueError):
            continue
        if kind:
            raise _refusal(source, filename, match[1], match.start(1), f"is {kind}, not a file")


def embeds_nothing(source: str, filename: str) -> SourceError:
    """The error for a source that embeds a file that is not there, at its first ``#embed``."""
    first = next((wanted for wanted in _wanted(source, {}) if not wanted.text), None)
    if first is None:
        return SourceError("a file to embed is not found", Span(filename))
    return _refusal(source, filename, first.name, first.position, "file not found", "give its folder with -I")


def _wanted(source: str, macros: dict[str, str]) -> Iterator[_Wanted]:
    text = re.sub(_COMMENT, _blank, source)
    for name, value in re.findall(_DEFINE, text):
        macros[name] = value
    for match in re.finditer(_DIRECTIVE, text):
        part = {key.removeprefix("has_"): value for key, value in match.groupdict().items() if value is not None}
        name, quoted = part.get("quoted") or part.get("angled"), "quoted" in part
        if name is None:
            value = macros.get(part["macro"], "")
            name, quoted = value[1:-1], value.startswith('"')
        if name:
            yield _Wanted(name, quoted, not match["embed"], match.start())


def _blank(comment: re.Match[str]) -> str:
    """A comment's place, of the same length and lines."""
    return comment[0] if comment["kept"] else re.sub(r"[^\n]", " ", comment[0])


def _refusal(text: str, name: str, wanted: str, position: int, why: str, hint: str = "") -> SourceError:
    start = text.rfind("\n", 0, position) + 1
    line = text[start:].partition("\n")[0]
    return SourceError(
        f"{wanted!r} {why}",
        Span(name, text.count("\n", 0, start) + 1, max(line.find(wanted), 0) + 1),
        source_line=line,
        hint=hint,
    )
