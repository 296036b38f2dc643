"""Files are read; what would be waited for, or has no end, is told at once."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from headwater.base import reading

ON_POSIX = pytest.mark.skipif(os.name != "posix", reason="pipes have no names there")


def test_contents_and_text(tmp_path: Path) -> None:
    file = tmp_path / "k.cl"
    file.write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert reading.contents(file) == b"\xef\xbb\xbfa\r\nb\rc\n"
    assert reading.contents(file, 4) == b"\xef\xbb\xbfa"
    assert reading.text(file) == "a\nb\nc\n"
    assert reading.lines(file) == ["\ufeffa", "b", "c"]


def test_lines_of_what_cannot_be_read_are_none(tmp_path: Path) -> None:
    assert reading.lines(tmp_path / "none") == []
    assert reading.lines("a\0b") == []


@ON_POSIX
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)  # the names of sockets are short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for path, kind in (("pipe", "a pipe"), ("socket", "a socket"), (os.devnull, "a device")):
            with pytest.raises(OSError, match=f"it is {kind}, not a file"):
                reading.contents(path)
            assert reading.lines(path) == []
    with pytest.raises(IsADirectoryError):
        reading.contents(tmp_path)
