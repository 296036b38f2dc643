"""What Windows and macOS lack or forbid, taken away here: affinity, sysconf, /proc, a wake-up pipe, renames in use."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

import headwater as hw
from headwater.base import freshness, host
from headwater.base.cache import Cache
from headwater.native import pool
from headwater.runtime.cpu import device as cpu
from headwater.runtime.host import interrupt

SOURCE = """
kernel void vadd(global const float *a, global const float *b, global float *c, int n) {
  int i = get_global_id(0);
  if (i < n) c[i] = a[i] + b[i];
}
kernel void spin(global int *a) { while (a[get_global_id(0)] > 0) a[get_global_id(0)]--; }
"""


def test_threads_are_counted_without_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADWATER_THREADS", raising=False)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert pool.thread_count() == os.cpu_count()
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert pool.thread_count() == 1


def test_the_cpu_device_describes_itself_without_proc_and_sysconf(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> str:
        raise FileNotFoundError

    monkeypatch.delattr(os, "sysconf", raising=False)
    monkeypatch.setattr(Path, "read_text", missing)
    assert cpu.cpu_device().memory_bytes == 0
    assert cpu._processor_name.__wrapped__()
    assert host.caches_bytes.__wrapped__() == (1 << 20, 16 << 20)
    monkeypatch.setattr(cpu.platform, "system", lambda: "Darwin")
    assert list(cpu._processor_names())[1] == ""  # no sysctlbyname here, or no such name


def test_compiled_code_is_told_apart_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> object:
        raise FileNotFoundError

    with_proc = freshness.native_state.__wrapped__("headwater.opencl.host")
    monkeypatch.setattr(freshness, "open", missing, raising=False)
    without = freshness.native_state.__wrapped__("headwater.opencl.host")
    assert sys.platform in without
    assert without.splitlines()[-1] == with_proc.splitlines()[-1]


def test_launches_without_a_wake_up_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows loops that need not end run on the pool's threads, all others as everywhere."""
    monkeypatch.setattr(interrupt, "SUPPORTED", False)
    monkeypatch.setattr(interrupt, "begin", None)  # calling it is an error
    program = hw.compile(SOURCE, device="cpu")
    for n in (64, 100_000, 3_000_000):
        a, b, c = np.ones(n, np.float32), np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
        for _ in range(4):
            program.vadd[(n,), None](a, b, c, n)
            np.testing.assert_array_equal(c, a + b)
            c[:] = 0
    for _ in range(4):
        counts = np.full(256, 1000, np.int32)
        program.spin[(256,), None](counts)
        assert not counts.any()


def test_an_entry_appears_though_its_files_are_in_use_for_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename, refusals = os.rename, [1, 2]

    def busy(source: object, target: object) -> None:
        if refusals:
            refusals.pop()
            raise PermissionError(13, "used by another process")
        rename(source, target)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "rename", busy)
    monkeypatch.setattr(sys, "platform", "win32")
    store = Cache(tmp_path)
    entry = store.put("abcdef", {"kernel.dll": b"code"})
    assert not refusals
    assert entry == store.get("abcdef")
    assert not list((tmp_path / "v1" / "tmp").iterdir())


def test_entries_that_are_loaded_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows does not rename folders with a loaded library; neither clearing nor eviction may fail over it."""
    store = Cache(tmp_path, limit=100)
    first = store.put("aaaaaa", {"kernel.dll": b"1" * 80})

    def loaded(source: object, target: object) -> None:
        if str(source).endswith("aaaaaa"):
            raise PermissionError(13, "used by another process")
        os.replace(source, target)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "rename", loaded)
    second = store.put("bbbbbb", {"kernel.dll": b"2" * 80})
    assert store.get("aaaaaa") == first
    assert store.get("bbbbbb") == second
    assert store.clear() == 1
    assert store.get("aaaaaa") == first
    assert store.get("bbbbbb") is None
