"""What simulating for the first time on a machine compiles is compiled once, and before it is needed."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from headwater.emulate import native, trace
from headwater.timing import layout
from headwater.timing.layout import GCN
from headwater.timing.vliw_layout import VLIW


def test_threads_that_want_the_same_code_compile_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))
    compiled: list[str] = []
    under_way = threading.Event()

    def compile_slowly(source: str) -> bytes:
        compiled.append(source)
        under_way.wait(0.2)
        return source.encode()

    monkeypatch.setattr(native, "_compile_c", compile_slowly)
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(native.compile_c("int one;"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert compiled == ["int one;"]
    assert found == [b"int one;"] * 4


@pytest.mark.parametrize("family", [GCN, VLIW], ids=lambda family: family.name)
def test_the_engine_and_what_recording_needs_are_compiled_beforehand(
    family: layout.Family, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))
    compiled: list[str] = []
    monkeypatch.setattr(native, "_compile_c", lambda source: compiled.append(source) or b"")
    for part in trace.parts(family is VLIW):
        part()
    assert ["hw_trace_end" in source for source in compiled] == [False, True]
    started: list[str] = []
    monkeypatch.setattr(layout, "engine", lambda family: started.append(family.name))
    monkeypatch.setattr(trace, "parts", lambda vliw: (lambda: started.append("recording"),))
    before = set(threading.enumerate())
    layout.prepare.__wrapped__(family)
    for thread in set(threading.enumerate()) - before:
        thread.join()
    assert sorted(started) == sorted([family.name, "recording"])
