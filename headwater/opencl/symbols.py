"""Names of a program pass in; the symbols that LLVM IR has for them, of plain characters only, pass out, and back.

LLVM prints names with other characters than letters of ASCII, digits, ``_``, ``.`` and ``-`` within quotes, each byte
of UTF-8 escaped. All that reads IR here reads plain names, so that such characters (``$`` is one) are written by their
number between dots, two before it, which no name of C has.
"""

from __future__ import annotations

import re

_ESCAPED = re.compile(r'([@%])"((?:[\w.$-]|\\[89A-F][0-9A-F])+)"', re.ASCII)
_BYTE = re.compile(rb"\\([0-9A-Fa-f]{2})")
_OTHER = re.compile(r"[^\w.-]", re.ASCII)
_LETTER = re.compile(r"\.\.u([0-9a-f]{2,6})\.")


def symbol_of(name: str) -> str:
    """A function's symbol: its name, but ``größe`` is ``gr..uf6...udf.e``."""
    return _OTHER.sub(lambda m: f"..u{ord(m[0]):x}.", name)


def name_of(symbol: str) -> str:
    """The way back from `symbol_of`."""
    return _LETTER.sub(lambda m: chr(int(m[1], 16)), symbol) if "..u" in symbol else symbol


def with_plain_symbols(ir: str) -> str:
    """IR text as clang prints it, with the symbols of `symbol_of`."""
    if '@"' not in ir and '%"' not in ir:
        return ir
    return _ESCAPED.sub(lambda m: m[1] + symbol_of(unescaped(m[2])), ir)


def unescaped(text: str) -> str:
    """What is meant by a text between quotes in IR, whose bytes may be escaped."""
    if "\\" not in text:
        return text
    return _BYTE.sub(lambda m: bytes((int(m[1], 16),)), text.encode()).decode("utf-8", "replace")
