"""Runs a program. Input: its words and what to change of the environment. Output: its exit code."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence

from headwater.base import cache, processes
from headwater.errors import UsageError


def server_text() -> str:
    """What a library reads beside itself: the Python that runs the server, and where Headwater and the packages that
    it needs lie if they are not among its own."""
    return f"{sys.executable}\n{processes.import_path()}\n"


def server_environment() -> dict[str, str]:
    """The same for a program that loads a library with nothing beside it, and the cache that this process uses."""
    python, path = server_text().splitlines()
    return {"HEADWATER_PYTHON": python, "HEADWATER_PYTHONPATH": path, **cache.current().environment()}


def run(words: Sequence[str], changes: Mapping[str, str]) -> int:
    """Run a program; its exit code. On systems that can, it takes this process's place."""
    environ = {**os.environ, **changes}
    program = shutil.which(words[0], path=environ.get("PATH"))
    if program is None:
        raise UsageError(f"there is no program {words[0]!r}", hint="write its path, ./program for instance")
    sys.stdout.flush()
    try:
        if os.name == "posix":
            os.execve(program, list(words), environ)
        import subprocess

        return subprocess.run([program, *words[1:]], env=environ, check=False).returncode
    except OSError as error:
        raise UsageError(f"{program} cannot be run: {error.strerror}") from None
