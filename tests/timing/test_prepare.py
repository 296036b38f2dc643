"""What simulating for the first time on a machine compiles is compiled once, and before it is needed."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.emulate import recorded
from headwater.native import compile_c, pool
from headwater.runtime.vliw import launch as vliw_launch
from headwater.timing import Recorded, layout
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

    monkeypatch.setattr(compile_c, "_compile_c", compile_slowly)
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(compile_c.compile_c("int one;"))) for _ in range(4)]
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
    monkeypatch.setattr(compile_c, "_compile_c", lambda source, *options: compiled.append(source) or b"")
    for part in recorded.prerequisites(family is VLIW):
        part()
    assert ["hw_trace_end" in source for source in compiled] == [False, True]
    started: list[str] = []
    monkeypatch.setattr(layout, "engine", lambda family: started.append(family.name))
    monkeypatch.setattr(recorded, "prerequisites", lambda vliw: (lambda: started.append("recording"),))
    monkeypatch.setattr(pool, "prepare", lambda: started.append("launches"))
    layout.prepare.__wrapped__(family)
    given_up = time.monotonic() + 60
    while len(started) < 3 and time.monotonic() < given_up:  # threads that begin others: there is none to join for all
        time.sleep(0.01)
    assert sorted(started) == sorted([family.name, "launches", "recording"])


OPENCL = "kernel void twice(global float *a) { a[get_global_id(0)] *= 2; }"
BROOK = "kernel void twice(float a<>, out float b<>) { b = 2.0f * a; }"


@pytest.mark.parametrize(("language", "source"), [("opencl", OPENCL), ("brook", BROOK)])
def test_of_a_recorded_launch_only_the_code_that_records_is_compiled(
    language: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    observed: list[bool] = []
    made = vliw_launch.native_shader

    def noted(*args: Any, observer: Any = None, **named: Any) -> Any:
        observed.append(observer is not None)
        return made(*args, observer=observer, **named)

    monkeypatch.setattr(vliw_launch, "native_shader", noted)
    program = hw.compile(source, language=language, device="hd5870")
    ones = np.ones(128, np.float32)
    kernel = program.twice[(128,), (64,)] if language == "opencl" else program.twice
    recorded = Recorded(lambda: kernel(ones, device="hd5870"))
    assert len(recorded.launches) == 1
    assert observed == [True]
    kernel(ones, device="hd5870")
    assert observed == [True, False]
