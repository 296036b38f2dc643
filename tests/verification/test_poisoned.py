"""The allocator that overwrites what is freed: what it finds, and that tests without faults pass under it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import ctypes
import threading
import numpy as np

def address_of_what_is_freed():
    return np.full(40, 7, np.uint8).__array_interface__["data"][0]

def test_reads_what_is_freed():
    assert ctypes.string_at(address_of_what_is_freed(), 40) == bytes([7]) * 40

def test_reads_what_nobody_wrote():
    assert bytes(np.empty(40, np.uint8)) == bytes(40)

def test_reads_what_is_freed_in_a_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(ctypes.string_at(address_of_what_is_freed(), 40)))
    thread.start()
    thread.join()
    assert found == [bytes([7]) * 40]

def test_writes_what_is_freed():
    ctypes.memset(address_of_what_is_freed(), 7, 1)

def test_writes_beyond_an_end():
    made = np.zeros(40, np.uint8)
    ctypes.memset(made.ctypes.data + 40, 0, 1)

def test_does_neither():
    made = [np.zeros(1000, np.uint8) for _ in range(1000)]
    made = [np.resize(one, 2000) for one in made]
    assert not any(one.any() for one in made)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the allocator is made for Linux and macOS")
def test_uses_of_freed_memory_fail(tmp_path) -> None:
    (tmp_path / "test_uses.py").write_text(TESTS)
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "verification.poisoned",
            "-q",
            "-p",
            "no:cacheprovider",
            f"--rootdir={tmp_path}",
            tmp_path,
        ],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
    )
    failed = {line.split("::")[1].split()[0] for line in done.stdout.splitlines() if line.startswith("FAILED")}
    assert failed == {
        "test_reads_what_is_freed",
        "test_reads_what_nobody_wrote",
        "test_reads_what_is_freed_in_a_thread",
        "test_writes_what_is_freed",
        "test_writes_beyond_an_end",
    }, done.stdout + done.stderr
    assert "1 written afterwards, 1 written beyond an end" in done.stdout
    assert "5 failed, 1 passed" in done.stdout
