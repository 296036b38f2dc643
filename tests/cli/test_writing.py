"""Where outputs go that are no plain files: devices and pipes stay, links are followed."""

from __future__ import annotations

import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from headwater.base import writing
from headwater.errors import UsageError

KERNEL = "kernel void k(global float *a) { a[get_global_id(0)] = 1; }\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_pipe_is_written_to_and_stays(tmp_path, headwater, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("k.cl").write_text(KERNEL)
    os.mkfifo("out.hsaco")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(Path("out.hsaco").read_bytes()), daemon=True)
    reader.start()
    ran = headwater("compile", "k.cl", "--target", "gfx906", "-o", "out.hsaco")
    reader.join(30)
    assert ran.code == 0, ran.err
    assert read[0].startswith(b"\x7fELF")
    assert stat.S_ISFIFO(os.stat("out.hsaco").st_mode)
    assert sorted(os.listdir()) == ["k.cl", "out.hsaco"]


@pytest.mark.skipif(sys.platform == "win32", reason="links want a privilege there")
@pytest.mark.parametrize(
    "words", [["run", "k.cl", "zeros:4", "-o"], ["stats", "k.cl", "zeros:4", "-d", "vega64", "--trace"]]
)
def test_a_link_is_followed(tmp_path, headwater, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    Path("k.cl").write_text(KERNEL)
    os.mkdir("there")
    os.symlink("there/real.npy", "link.npy")
    for _ in range(2):  # where the file is not there yet, and where it is
        ran = headwater(*words, "link.npy")
        assert ran.code == 0, ran.err
        assert os.path.islink("link.npy")
        assert os.path.getsize("there/real.npy") > 16
        assert os.listdir("there") == ["real.npy"]


def test_the_trace_of_a_run_goes_to_a_file(tmp_path, headwater, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("k.cl").write_text(KERNEL)
    ran = headwater("stats", "k.cl", "zeros:4", "-d", "vega64", "--trace", os.devnull)
    assert ran.code == 2
    assert "a trace is written to a regular file" in ran.err
    assert not os.path.isfile(os.devnull)


def test_all_or_none(tmp_path):
    with pytest.raises(UsageError, match="directory"):
        writing.write({tmp_path / "a.txt": "x", tmp_path: "y"})
    with pytest.raises(UsageError, match=r"cannot write .*nowhere"):
        writing.write({tmp_path / "a.txt": "x", tmp_path / "nowhere" / "b.txt": "y"})
    assert os.listdir(tmp_path) == []
