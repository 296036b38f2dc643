"""Names and contents of files pass in; files on disk, all of them or none, pass out."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
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


def write_all(results: Mapping[Path, str | bytes]) -> None:
    """Write all files or, if one cannot be written, none: each is complete before any gets its name."""
    staged: list[tuple[Path, Path]] = []
    try:
        for path, content in results.items():
            if path.is_dir():
                raise UsageError(f"cannot write {path}: it is a directory")
            temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
            staged.append((temporary, path))
            data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
            temporary.write_bytes(data)
        while staged:
            os.replace(*staged[0])
            staged.pop(0)
    except OSError as error:
        raise UsageError(f"cannot write {staged[0][1]}: {error.strerror}") from None
    finally:
        for temporary, _ in staged:
            with contextlib.suppress(OSError):  # none there, or a folder that cannot be written
                temporary.unlink()
