"""Input: the text of a constant array. Output: its bytes in memory.

It stays text: a program's table has millions of numbers, of which each would be a value of the model.
"""

from __future__ import annotations

import re

from headwater.llvm.text import string_bytes
from headwater.llvm.types import Type

_NUMBERS = {"i8": "i1", "i16": "<i2", "i32": "<i4", "i64": "<i8", "float": "<f4", "double": "<f8"}
_REPEATED = re.compile(
    r'(?P<type>\[[\d x\[]+(?:<\d+ x )?\w+>?\]+|<\d+ x \w+>) (?:zeroinitializer|(?P<text>c"[^"]*"))(?:, )?'
)
_OPENED = re.compile(r"\[[\d x\[]+(?:<\d+ x )?\w+>?\]+ \[|<\d+ x \w+> <|[\[\]<>]")
_COUNTS = re.compile(r"(\d+) x ")


def constant_bytes(ty: Type, body: str) -> bytes | None:
    """What a table holds; None where it is of a form that is rarely large: a vector of equal components, addresses, or
    what is no number."""
    size = 1
    while ty.kind == "array" and ty.elem is not None:
        size, ty = size * ty.count, ty.elem
    width = ty.count if ty.kind == "vec" else 1
    scalar = ty.scalar.text
    if scalar not in _NUMBERS or width not in (1, 2, 4, 8, 16):
        return None
    size *= width * int(_NUMBERS[scalar][-1])
    if body.startswith('c"'):
        data = string_bytes(body)
        return data if len(data) == size else None
    pieces: list[bytes] = []
    at = 0
    for repeated in _REPEATED.finditer(body):
        pieces.append(_numbers(body[at : repeated.start()], scalar))
        pieces.append(_repeated(repeated, scalar))
        at = repeated.end()
    pieces.append(_numbers(body[at:], scalar))
    data = b"".join(pieces)
    return data if len(data) == size else None


def _repeated(match: re.Match[str], scalar: str) -> bytes:
    """A part of a table that is zeros or a text."""
    if match["text"]:
        return string_bytes(match["text"])
    size = int(_NUMBERS[scalar][-1])
    for count in _COUNTS.findall(match["type"]):
        size *= int(count)
    return bytes(size)


def _numbers(text: str, scalar: str) -> bytes:
    """Numbers as they lie in memory; nothing where some text is none, which leaves the table too short."""
    import numpy as np

    listed = _OPENED.sub("", text).replace(f"{scalar} ", "").strip(", ")
    if not listed:
        return b""
    kind = np.dtype(_NUMBERS[scalar])
    words = listed.split(", ")
    try:
        if kind.kind == "i":
            return np.array([int(word) for word in words], np.int64).astype(kind).tobytes()
        # LLVM writes a number that has no short decimal form as the bits of a double.
        bits = np.array([int(word, 16) if word[:2] == "0x" else 0 for word in words], np.uint64)
        numbers = np.array([0.0 if word[:2] == "0x" else float(word) for word in words])
    except ValueError:
        return b""
    numbers = np.where(bits != 0, bits.view(np.float64), numbers)
    return b"" if np.isnan(numbers).any() else numbers.astype(kind).tobytes()
