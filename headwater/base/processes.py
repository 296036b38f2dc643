"""What other processes of Headwater's need in order to start."""

from __future__ import annotations

import os
from pathlib import Path


def import_path() -> str:
    """PYTHONPATH for a process that runs with no paths but these: where Headwater lies, and this process's own
    PYTHONPATH, in which the packages that Headwater needs may lie, made absolute."""
    own = str(Path(__file__).resolve().parents[2])
    given = [os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    return os.pathsep.join(dict.fromkeys([own, *given]))
