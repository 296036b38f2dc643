"""Names and contents of files pass in; files on disk, all of them or none, pass out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from headwater.errors import UsageError


def write_all(results: Mapping[Path, str | bytes]) -> None:
    """Write all files or, if one cannot be written, none: each is complete before any gets its name."""
    staged: list[tuple[Path, Path]] = []
    try:
        for path, content in results.items():
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
            temporary.unlink(missing_ok=True)
