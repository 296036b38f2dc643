"""Names of files that a command reads and writes pass in; a refusal passes out where they cannot be that."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from headwater.errors import UsageError


def refuse_overwriting(outputs: Iterable[str | Path | None], sources: Iterable[str | Path]) -> None:
    """UsageError if an output would replace one of the command's own sources, or another of its outputs.

    ``None``, and ``-`` for standard input or output, are no files.
    """
    taken = {os.path.realpath(source): "it is an input" for source in sources if str(source) != "-"}
    for output in outputs:
        if output is None or str(output) == "-":
            continue
        place = os.path.realpath(output)
        if place in taken:
            raise UsageError(f"cannot write {output}: {taken[place]}", hint="give the output another name")
        taken[place] = "another output has that name"
