"""Lines of LLVM IR's text pass in; their parts pass out."""

from __future__ import annotations

from collections.abc import Iterator


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
