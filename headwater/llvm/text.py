"""Lines of LLVM IR's text pass in; their parts pass out."""

from __future__ import annotations

import re
from collections.abc import Iterator

TELL = "__hw_told"
"""The function that code for checks calls for a finding (`headwater.opencl.checked`): with what it is, a file's number,
line and column, and a further line of that file or 0."""


_NARROW_ADDRESSES = re.compile(r'^target datalayout = "[^"]*\bp:32:', re.MULTILINE)


def address_bits(module: str) -> int:
    """The width of a module's addresses in the default address space, by its data layout: 32 or 64."""
    return 32 if _NARROW_ADDRESSES.search(module) else 64


def split(text: str) -> list[str]:
    """The parts of a list at its commas, those in brackets left alone."""

    def parts() -> Iterator[str]:
        depth = start = 0
        for position, mark in enumerate(text):
            depth += (mark in "<([{") - (mark in ">)]}")
            if mark == "," and depth == 0:
                yield text[start:position].strip()
                start = position + 1
        yield text[start:].strip()

    return list(parts())


_ESCAPED = re.compile(rb"\\(\\|[0-9A-Fa-f]{2})")


def string_bytes(text: str) -> bytes:
    """The bytes of a string, ``c"…"`` or what is between its quotation marks: a backslash is written as two, what
    cannot be printed as one and two digits (LLVM's printEscapedString)."""
    body = text[2:-1] if text.startswith('c"') else text
    return _ESCAPED.sub(lambda m: m[1] if m[1] == b"\\" else bytes((int(m[1], 16),)), body.encode("ascii"))
