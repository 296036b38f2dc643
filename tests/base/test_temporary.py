"""Temporary folders go with their process, in whatever way it ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.base import temporary

ROOT = Path(temporary.__file__).parents[2]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="nothing tells there whose process has ended")
WAITS = """
import os, sys
from headwater.base import temporary
print(temporary.make(), flush=True)
if "fork" in sys.argv and not os.fork():
    print(temporary.make(), flush=True)
sys.stdin.read()
"""


def started(place: Path, *words: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(place)}
    return subprocess.Popen(
        [sys.executable, "-c", WAITS, *words],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def made_by(process: subprocess.Popen[str]) -> Path:
    assert process.stdout is not None
    return Path(process.stdout.readline().strip())


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_what_a_killed_process_left_is_removed_and_nothing_else(place: Path) -> None:
    living, killed = started(place), started(place)
    kept, left = made_by(living), made_by(killed)
    (left / "trace").write_bytes(b"1")
    other = place / "headwater-mine"
    other.mkdir()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert left.exists()
    temporary.remove_abandoned()
    assert not left.parent.exists()
    assert kept.is_dir()
    assert other.is_dir()
    living.communicate()
    assert sorted(place.iterdir()) == [other]


def test_a_process_removes_what_another_left_when_it_first_makes_a_folder(place: Path) -> None:
    killed = started(place)
    left = made_by(killed)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    next_one = started(place)
    assert made_by(next_one).is_dir()
    assert not left.parent.exists()
    next_one.communicate()
    assert list(place.iterdir()) == []


def test_a_forked_child_has_folders_of_its_own_and_keeps_none_of_its_parent(place: Path) -> None:
    parent = started(place, "fork")
    first, second = made_by(parent), made_by(parent)
    assert first.parent != second.parent
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    temporary.remove_abandoned()
    assert not first.parent.exists()
    assert second.is_dir()
    parent.communicate()


def test_a_folder_that_was_tidied_away_is_made_again(place: Path) -> None:
    first = Path(temporary.make())
    temporary.remove(first.parent)
    second = Path(temporary.make())
    assert second.is_dir()
    temporary.remove(second.parent)
