"""A text and a path pass in; a file that is there as a whole, or not at all, passes out."""

from __future__ import annotations

import os
from pathlib import Path

from headwater.errors import UsageError


def write(path: Path | str, text: str) -> None:
    """Write a file under a temporary name, then give it its own. UsageError if that is not possible."""
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
