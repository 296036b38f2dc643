"""Input: the text of a ``.br`` file. Output: the same text without comments and directives, its macros replaced.

Lines keep their numbers. The directives obeyed under ``-pp`` are those of Brook+ 1.4 (Brook+ Programming Guide,
"Preprocessor"):
``#define NAME text`` without parameters, ``#undef``, ``#if`` with an integer or a name, ``#ifdef``, ``#ifndef``,
``#else`` and ``#endif``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from headwater.brook.options import Options
from headwater.brook.source import SourceText
from headwater.errors import SourceError

_PIECE = re.compile(
    r"""(?P<line_comment>//(?:[^\n\\]|\\.|\\\n)*)
      | (?P<block_comment>/\*.*?\*/)
      | (?P<open_comment>/\*)
      | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.){1,8}')""",
    re.DOTALL | re.VERBOSE,
)
_DIRECTIVE = re.compile(r"[ \t\f\v]*#[ \t]*(\w*)(.*)\Z", re.DOTALL)
_DEFINE = re.compile(r"\s*([A-Za-z_]\w*)(\()?(.*)\Z", re.DOTALL)
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*\Z")
_WORD = re.compile(r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.){1,8}'|[A-Za-z_]\w*|\.?\d[\w.]*""")
_INTEGER = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\Z")

_LONGEST_LINE = 100_000
"""Characters a line may grow to by macro replacement: macros that double each other would fill the memory."""

_REFUSED = {
    "include": "leave host code and its #include in another file, or translate without -pp",
    "elif": "write #else with a nested #if",
    "line": "remove it",
    "error": "remove it",
    "pragma": "remove it",
    "warning": "remove it",
}


@dataclass
class _Condition:
    line: int
    column: int
    outer_active: bool
    active: bool
    seen_else: bool = False


def preprocess(text: str, filename: str, options: Options) -> SourceText:
    """Blank comments, obey (``-pp``) or pass over directives, and replace macros; faults are reported."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    source = SourceText(filename, tuple(text.split("\n")), text)
    source.text = _blank_comments(source)
    macros = dict(options.macros)
    conditions: list[_Condition] = []
    lines = source.text.split("\n")
    number = 0
    while number < len(lines):
        first = number
        line = lines[number]
        match = _DIRECTIVE.match(line)
        if match is None:
            if conditions and not conditions[-1].active:
                lines[number] = ""
            elif macros:
                lines[number] = _replace(source, line, number + 1, macros)
            number += 1
            continue
        while line.endswith("\\") and number + 1 < len(lines):
            number += 1
            line = line[:-1] + lines[number]
        match = _DIRECTIVE.match(line)
        assert match is not None
        for blank in range(first, number + 1):
            lines[blank] = ""
        number += 1
        column = match.start(1) + 1
        if options.preprocess:
            try:
                if number - first > 1 and (not conditions or conditions[-1].active):
                    raise source.error(
                        "a directive must stand on one line",
                        first + 1,
                        column,
                        "join the lines continued by a backslash",
                    )
                _obey(source, match[1], match[2], first + 1, column, macros, conditions)
            except SourceError as fault:
                source.faults.report(fault)
                defined = _DEFINE.match(match[2])
                if match[1] == "define" and defined is not None:
                    source.faults.lost.add(defined[1])
        else:
            for passed in range(first + 1, number + 1):
                source.directives[passed] = match[1]
            defined = _DEFINE.match(match[2])
            if match[1] == "define" and defined is not None:
                source.macro_names.setdefault(defined[1], first + 1)
            if match[1] == "include":
                source.includes[first + 1] = match[2].strip()
    if conditions:
        open_one = conditions[-1]
        source.faults.report(source.error("this condition has no #endif", open_one.line, open_one.column, "add #endif"))
    source.text = "\n".join(lines)
    return source


def _blank_comments(source: SourceText) -> str:
    def blank(match: re.Match[str]) -> str:
        if match["string"] is not None:
            return match[0]
        if match["open_comment"] is not None:
            raise source.offset_error("this comment is never closed", match.start(), "add */")
        last = source.text.count("\n", 0, match.end()) + 1
        source.comments[last] = match[0]
        return re.sub(r"[^\n]", " ", match[0])

    return _PIECE.sub(blank, source.text)


def _obey(
    source: SourceText,
    name: str,
    rest: str,
    line: int,
    column: int,
    macros: dict[str, str],
    conditions: list[_Condition],
) -> None:
    active = not conditions or conditions[-1].active
    if name in {"ifdef", "ifndef", "if"}:
        condition = _Condition(line, column, active, active)
        conditions.append(condition)
        if active:
            condition.active = _holds(source, name, rest, line, column, macros)
    elif name == "else":
        if not conditions:
            raise source.error("#else without #if", line, column, "remove it, or add the #if it belongs to")
        innermost = conditions[-1]
        if innermost.seen_else:
            raise source.error("a second #else for the same #if", line, column, "remove one of them")
        innermost.seen_else = True
        innermost.active = innermost.outer_active and not innermost.active
    elif name == "endif":
        if not conditions:
            raise source.error("#endif without #if", line, column, "remove it, or add the #if it belongs to")
        conditions.pop()
    elif not active:
        if name == "elif":
            raise _refused(source, name, line, column)
    elif name == "define":
        match = _DEFINE.match(rest)
        if match is None:
            raise source.error("#define needs a name", line, column, "write #define NAME text")
        if match[2]:
            raise source.error(
                f"macro {match[1]!r} has parameters, which Brook+'s preprocessor does not know",
                line,
                column,
                "make it a kernel with a return type, or write it out",
            )
        macros[match[1]] = match[3].strip()
    elif name == "undef":
        match = _NAME.match(rest)
        if match is None:
            raise source.error("#undef needs one name", line, column, "write #undef NAME")
        macros.pop(match[1], None)
    elif name:
        raise _refused(source, name, line, column)


def _refused(source: SourceText, name: str, line: int, column: int) -> SourceError:
    hint = _REFUSED.get(name, "known are #define, #undef, #if, #ifdef, #ifndef, #else and #endif")
    return source.error(f"Brook+'s preprocessor does not know #{name}", line, column, hint)


def _holds(source: SourceText, name: str, rest: str, line: int, column: int, macros: dict[str, str]) -> bool:
    if name != "if":
        match = _NAME.match(rest)
        if match is None:
            raise source.error(f"#{name} needs one name", line, column, f"write #{name} NAME")
        return (match[1] in macros) == (name == "ifdef")
    word = rest.strip()
    for _ in range(len(macros) + 1):
        if word not in macros:
            break
        word = macros[word].strip()
    if not word:
        raise source.error("#if needs an integer or a name", line, column, "write #if 1, or use #ifdef NAME")
    integer = _INTEGER.match(word)
    if integer is not None:
        return int(integer[1], 16 if integer[1][:2] in {"0x", "0X"} else 10) != 0
    if _NAME.match(word):
        return False
    raise source.error(
        f"#if takes an integer or a name, not {rest.strip()!r}",
        line,
        column,
        "use nested #ifdef instead of an expression",
    )


def _replace(source: SourceText, line: str, number: int, macros: dict[str, str]) -> str:
    pieces: list[str] = []
    marks: list[tuple[int, int, bool]] = [(0, 0, True)]
    length = 0
    done = 0
    for match in _WORD.finditer(line):
        if match[0] not in macros:
            continue
        expanded = _expand(source, match[0], macros, (), number, match.start() + 1)
        pieces += [line[done : match.start()], expanded]
        length += match.start() - done
        marks.append((length, match.start(), False))
        length += len(expanded)
        marks.append((length, match.end(), True))
        done = match.end()
        if length > _LONGEST_LINE:
            raise source.error(
                "macro replacement makes this line endless", number, match.start() + 1, "simplify the macro"
            )
    if len(marks) == 1:
        return line
    source.columns[number] = marks
    return "".join(pieces) + line[done:]


def _expand(
    source: SourceText, name: str, macros: dict[str, str], within: tuple[str, ...], line: int, column: int
) -> str:
    """A macro's text with the macros in it replaced; a macro within itself stays as it is, as in C."""
    parts: list[str] = []
    length = 0
    done = 0
    body = macros[name]
    within = (*within, name)
    for match in _WORD.finditer(body):
        if match[0] not in macros or match[0] in within:
            continue
        inner = _expand(source, match[0], macros, within, line, column)
        parts += [body[done : match.start()], inner]
        length += match.start() - done + len(inner)
        done = match.end()
        if length > _LONGEST_LINE:
            raise source.error(f"macro {name!r} expands without end", line, column, "simplify the macro")
    return "".join(parts) + body[done:]
