"""Input: names of files that a command reads and writes. Output: an error if they cannot be read or written."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from headwater.base.writing import refuse_place
from headwater.errors import UsageError


def output_file(word: str) -> str:
    """The file of an output's ``[NAME=]FILE``."""
    name, equals, file = word.partition("=")
    return file if equals and name.isidentifier() else word


def refuse_overwriting(outputs: Iterable[str | Path | None], sources: Iterable[str | Path]) -> None:
    """UsageError if an output cannot be written, or would replace one of the command's own sources or another output.

    ``None``, and ``-`` for standard input or output, are no files.
    """
    taken = {os.path.realpath(source): "it is an input" for source in sources if str(source) != "-"}
    for output in outputs:
        if output is None or str(output) == "-":
            continue
        refuse_place(Path(output))
        place = os.path.realpath(output)
        if place in taken:
            raise UsageError(f"cannot write {output}: {taken[place]}", hint="give the output another name")
        taken[place] = "another output has that name"
