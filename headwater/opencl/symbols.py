"""Input: names of a program. Output: the symbols that LLVM IR has for them, of plain characters only, and back.

LLVM prints names with other characters than letters of ASCII, digits, ``_``, ``.`` and ``-`` within quotes, each byte
of UTF-8 escaped. All that reads IR here reads plain names, so that such characters (``$`` is one) are written by their
number between dots, two before it, which no name of C has.
"""

from __future__ import annotations

import re

_OTHER = re.compile(r"[^\w.-]", re.ASCII)
_LETTER = re.compile(r"\.\.u([0-9a-f]{2,6})\.")


def symbol_of(name: str) -> str:
    """A function's symbol: its name, but ``größe`` is ``gr..uf6...udf.e``."""
    return _OTHER.sub(lambda m: f"..u{ord(m[0]):x}.", name)


def name_of(symbol: str) -> str:
    """The way back from `symbol_of`."""
    return _LETTER.sub(lambda m: chr(int(m[1], 16)), symbol) if "..u" in symbol else symbol
