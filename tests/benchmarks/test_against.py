"""Two versions of Headwater are compared by their own packages, in turn, and unknown names are refused."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import against


def test_each_side_is_measured_with_its_own_package(tmp_path: Path, capsys, monkeypatch) -> None:
    package = tmp_path / "headwater"
    package.mkdir()
    (package / "__init__.py").write_text("SECONDS = 2.0\n")
    paths = []

    def run(command, env, **_):
        paths.append(env["PYTHONPATH"])
        seconds = 1.0 if env["PYTHONPATH"] == str(against.HERE) else 2.0
        return subprocess.CompletedProcess(command, 0, json.dumps({"kernel": seconds, env["PYTHONPATH"]: 9.0}), "")

    monkeypatch.setattr(subprocess, "run", run)
    assert against.compare("timing", tmp_path, 2, tmp_path) == 0.5  # of what both measure
    here, other = str(against.HERE), str(tmp_path)
    assert paths == [other, here, here, other, other, here]
    assert "geometric mean 0.500 of 1" in capsys.readouterr().out


def test_the_package_that_is_measured_is_that_of_the_checkout(tmp_path: Path) -> None:
    (tmp_path / "headwater").mkdir()
    (tmp_path / "headwater" / "__init__.py").write_text("raise SystemExit(7)\n")
    command = [sys.executable, against.__file__, str(tmp_path), "timing", "--measure"]
    assert subprocess.run(command, env={"PYTHONPATH": str(tmp_path)}, capture_output=True).returncode == 7


def test_unknown_benchmarks_are_refused(monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.argv", ["against.py", str(against.HERE), "speed"])
    with pytest.raises(SystemExit):
        against.main()
    assert "no benchmark is called speed" in capsys.readouterr().err
