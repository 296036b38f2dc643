"""Input: paths and contents. Output: files on disk, all of them or none.

Each file is complete under another name before the first gets its own. What is no regular file, such as ``/dev/null``
or a pipe, is written to and never replaced; a symbolic link stays one, and what it leads to is written.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from headwater.errors import UsageError


def is_special(path: Path) -> bool:
    """Whether there is something at this path that is neither a regular file nor a directory: a device, a pipe."""
    return path.exists() and not path.is_file() and not path.is_dir()


def refuse_place(path: Path) -> None:
    """UsageError if no file can be written there, before the work on it begins."""
    if not os.path.isdir(path.parent):
        raise UsageError(f"cannot write {path}: the directory {path.parent} does not exist")
    if os.path.isdir(path):
        raise UsageError(f"cannot write {path}: it is a directory")


class Staging:
    """Files on their way: ``with Staging() as staging``, write to what ``place`` returns, then ``finish``.

    What was not finished when the block ends leaves nothing behind. ``current`` is the path that an OSError in the
    block is about. OSErrors pass.
    """

    def __init__(self) -> None:
        self.current: Path | None = None
        self._staged: list[tuple[Path, Path]] = []

    def __enter__(self) -> Staging:
        return self

    def place(self, path: Path) -> Path:
        """Where to write what shall become the file at this path. It has the path's suffix."""
        self.current = path
        refuse_place(path)
        if is_special(path):
            handle, name = tempfile.mkstemp(path.suffix)
            os.close(handle)
            temporary = Path(name)
        else:
            path = Path(os.path.realpath(path))
            temporary = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
        self._staged.append((temporary, path))
        return temporary

    def finish(self) -> None:
        """Give every file its name."""
        while self._staged:
            temporary, self.current = self._staged[0]
            if is_special(self.current):
                with open(temporary, "rb") as source, open(self.current, "wb") as target:
                    shutil.copyfileobj(source, target)
                temporary.unlink()
            else:
                os.replace(temporary, self.current)
            self._staged.pop(0)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for temporary, _ in self._staged:
            with contextlib.suppress(OSError):  # none there, or a folder that cannot be written
                temporary.unlink()


def write(files: Mapping[Path, str | bytes]) -> None:
    """Write all files or, if one cannot be written, none. UsageError names that one. Texts become UTF-8."""
    with Staging() as staging:
        try:
            for path, content in files.items():
                data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
                staging.place(path).write_bytes(data)
            staging.finish()
        except OSError as error:
            raise UsageError(f"cannot write {staging.current}: {error.strerror}") from None
