"""Input: the option string of a Brook+ translation. Output: the settings that it stands for."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from headwater.errors import UsageError

_MACRO = re.compile(r"([A-Za-z_]\w*)(?:=(.*))?\Z", re.DOTALL)

_IGNORED = frozenset({"-k", "-r", "-s", "-b", "-f", "-e", "-l", "-v"})
"""Flags of the original compiler that change nothing in what is computed (it kept files, printed, debugged its
parser).
"""
_IGNORED_WITH_VALUE = frozenset({"-p", "-i", "-n"})


@dataclass(frozen=True)
class Options:
    """How to translate.

    ``macros``: names with replacement text, in order (``-D``). ``preprocess``: obey directives (``-pp``). ``weak``:
    C-like implicit
    conversions with warnings (``-a``). ``constant_arrays``: arrays with sizes live in constant memory (off: ``-c``).
    ``warnings_are_errors``: ``-x``. ``warning_level``: 0 keeps silent, 1 to 3 report (``-w``).
    """

    macros: tuple[tuple[str, str], ...] = ()
    preprocess: bool = False
    weak: bool = False
    constant_arrays: bool = True
    warnings_are_errors: bool = False
    warning_level: int = 3


def parse_options(text: str) -> Options:
    """Read options as the original compiler took them: ``-D name[=value] -pp -a -c -x -w level``.

    Its flags without influence on the result are accepted and ignored. Raises ``UsageError`` for any other.
    """
    try:
        words = shlex.split(text)
    except ValueError as fault:
        raise UsageError(f"cannot read the Brook+ options {text!r}: {fault}", hint="check the quotes") from None
    macros: list[tuple[str, str]] = []
    flags: set[str] = set()
    level = 3
    position = 0

    def value(flag: str) -> str:
        nonlocal position
        position += 1
        if position >= len(words):
            raise UsageError(f"option {flag} needs a value", hint="for example -D N=4 or -w 2")
        return words[position]

    while position < len(words):
        word = words[position]
        if word.startswith("-D"):
            macros.append(_macro(word[2:] or value("-D")))
        elif word.startswith("-w"):
            number = word[2:] or value("-w")
            if number not in {"0", "1", "2", "3"}:
                raise UsageError(f"warning level {number!r} is not one of 0, 1, 2, 3", hint="write -w 2, say")
            level = int(number)
        elif word in _IGNORED_WITH_VALUE:
            value(word)
        elif word in {"-pp", "-a", "-c", "-x"}:
            flags.add(word)
        elif word not in _IGNORED:
            raise UsageError(
                f"unknown Brook+ option {word!r}", hint="known are -D name[=value], -pp, -a, -c, -x and -w level"
            )
        position += 1
    return Options(
        macros=tuple(macros),
        preprocess="-pp" in flags,
        weak="-a" in flags,
        constant_arrays="-c" not in flags,
        warnings_are_errors="-x" in flags,
        warning_level=level,
    )


def _macro(text: str) -> tuple[str, str]:
    match = _MACRO.match(text)
    if match is None:
        raise UsageError(f"{text!r} does not define a macro", hint="write -D name or -D name=value")
    return match[1], "1" if match[2] is None else match[2]
