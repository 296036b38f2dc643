"""Other processes of Headwater's find the packages that this one found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import headwater
from headwater.base import processes
from headwater.bridge import host


def test_paths_of_a_servers_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Packages may lie in another folder than Headwater: pip install --target, and PYTHONPATH."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "lies_elsewhere.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    path = host.server_environment()["HEADWATER_PYTHONPATH"]
    assert path == processes.import_path()
    program = "import headwater, lies_elsewhere; print(headwater.__file__)"
    ran = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": path}, cwd="/", capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == headwater.__file__
