"""The disk cache: whole entries or none, bounded, safe across processes, harmless when the disk is not writable."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from headwater.base import cache
from headwater.base.cache import Cache
from headwater.errors import ResourceError


@pytest.fixture
def store(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache", limit=10_000)


KEY = cache.key("a", "b")


def test_entry_comes_back_as_it_was_put(store: Cache) -> None:
    assert store.get(KEY) is None
    path = store.put(KEY, {"x.so": b"code", "info.json": b"{}"})
    assert store.get(KEY) == path
    assert (path / "x.so").read_bytes() == b"code"
    assert (path / "info.json").read_bytes() == b"{}"


def test_key_depends_on_every_part_and_on_where_parts_end() -> None:
    keys = {cache.key("ab", "c"), cache.key("a", "bc"), cache.key("abc"), cache.key("abc", ""), cache.key(b"\0")}
    assert len(keys) == 5
    assert cache.key("ab", "c") == cache.key(b"ab", b"c")


@pytest.mark.parametrize("damage", ["truncate", "flip", "delete", "manifest", "no manifest"])
def test_damaged_entry_is_absent_and_can_be_rebuilt(store: Cache, damage: str) -> None:
    path = store.put(KEY, {"x": b"0123456789", "y": b"more"})
    if damage == "truncate":
        (path / "x").write_bytes(b"0123")
    elif damage == "flip":
        (path / "x").write_bytes(b"0123456780")
    elif damage == "delete":
        (path / "y").unlink()
    elif damage == "manifest":
        (path / "manifest").write_text((path / "manifest").read_text()[:-8])
    else:
        (path / "manifest").unlink()
    assert store.get(KEY) is None
    again = store.put(KEY, {"x": b"0123456789", "y": b"more"})
    assert store.get(KEY) == again
    assert (again / "x").read_bytes() == b"0123456789"


def test_put_replaces_a_damaged_entry_without_a_get(store: Cache) -> None:
    path = store.put(KEY, {"x": b"good"})
    (path / "x").write_bytes(b"bad!")
    path = store.put(KEY, {"x": b"good"})
    assert (path / "x").read_bytes() == b"good"


def test_lost_race_uses_the_winner(store: Cache) -> None:
    def slow(directory: Path) -> None:
        (directory / "x").write_bytes(b"loser")
        store.put(KEY, {"x": b"winner"})

    path = store.put(KEY, slow)
    assert (path / "x").read_bytes() == b"winner"
    assert os.listdir(store.directory / "v1" / "tmp") == []


def test_failed_builder_leaves_nothing(store: Cache) -> None:
    def fail(directory: Path) -> None:
        (directory / "half").write_bytes(b"half")
        raise RuntimeError("builder")

    with pytest.raises(RuntimeError, match="builder"):
        store.put(KEY, fail)
    assert store.get(KEY) is None
    assert os.listdir(store.directory / "v1" / "tmp") == []


def test_size_is_bounded_and_least_recently_used_goes_first(store: Cache) -> None:
    keys = [cache.key(str(i)) for i in range(30)]
    for i, k in enumerate(keys):
        path = store.put(k, {"data": bytes(1000)})
        os.utime(path / "manifest", (i + 1000, i + 1000))
        if i >= 1:
            store.get(keys[0])  # stays in use
    stats = store.stats()
    assert stats.bytes <= 10_000
    assert stats.entries >= 5
    assert store.get(keys[0]) is not None
    assert store.get(keys[1]) is None
    assert store.get(keys[-1]) is not None


def test_entry_larger_than_the_limit_still_serves_its_maker(store: Cache) -> None:
    path = store.put(KEY, {"data": bytes(50_000)})
    assert (path / "data").stat().st_size == 50_000


def test_clear_and_stats(store: Cache) -> None:
    for i in range(3):
        store.put(cache.key(str(i)), {"data": b"x" * 10})
    assert store.stats().entries == 3
    assert store.clear() == 3
    assert store.stats().entries == 0
    assert store.stats().bytes == 0


def test_what_cannot_be_removed_is_told(store: Cache, monkeypatch) -> None:
    for i in range(3):
        store.put(cache.key(str(i)), {"data": b"x" * 10})

    def refuse(source, target):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(ResourceError, match=r"the entries in .* cannot be removed"):
        store.clear()
    assert store.stats().entries == 3


def test_stale_temporary_directories_are_removed(store: Cache) -> None:
    store.put(KEY, {"data": b"x"})
    stale = store.directory / "v1" / "tmp" / "crashed"
    stale.mkdir()
    os.utime(stale, (1, 1))
    for i in range(12):
        store.put(cache.key(str(i)), {"data": bytes(1000)})
    assert not stale.exists()


def test_unwritable_directory_works_with_one_warning(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("not a directory")
    store = Cache(blocker / "cache")
    with pytest.warns(RuntimeWarning, match="HEADWATER_CACHE_DIR"):
        path = store.put(KEY, {"x": b"1"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.put(cache.key("second"), {"x": b"2"})
    assert (path / "x").read_bytes() == b"1"
    assert store.get(KEY) == path


def test_full_disk_works_with_one_warning(store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Cache._write
    calls = []

    def full(staged: Path, files: object) -> None:
        calls.append(staged)
        if len(calls) == 1:
            raise OSError(28, "No space left on device")
        real(staged, files)  # type: ignore[arg-type]

    monkeypatch.setattr(Cache, "_write", staticmethod(full))
    with pytest.warns(RuntimeWarning, match="No space left"):
        path = store.put(KEY, {"x": b"1"})
    assert store.get(KEY) == path


@pytest.mark.parametrize("name", ["../evil", "a/b", "manifest", ""])
def test_bad_names_are_refused(store: Cache, name: str) -> None:
    with pytest.raises(ValueError, match="file name"):
        store.put(KEY, {name: b""})


def test_bad_keys_are_refused(store: Cache) -> None:
    with pytest.raises(ValueError, match="cache key"):
        store.get("../../etc")


@pytest.mark.parametrize(("text", "limit"), [("500M", 500 << 20), ("2g", 2 << 30), ("1.5GiB", 3 << 29), ("4096", 4096)])
def test_size_setting(monkeypatch: pytest.MonkeyPatch, text: str, limit: int) -> None:
    monkeypatch.setenv("HEADWATER_CACHE_SIZE", text)
    assert cache.default_limit() == limit


def test_bad_size_setting_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_CACHE_SIZE", "lots")
    with pytest.warns(RuntimeWarning, match="lots"):
        assert cache.default_limit() == 1 << 30


def test_directory_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))
    assert cache.default_directory() == tmp_path
    monkeypatch.delenv("HEADWATER_CACHE_DIR")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.default_directory() == tmp_path / "xdg" / "headwater"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache.default_directory() == Path.home() / ".cache" / "headwater"


HAMMER = """
import sys
from pathlib import Path
from headwater.base.cache import Cache, key
store = Cache(Path(sys.argv[1]), limit=20_000)
for i in range(150):
    k = key(str(i % 23))
    want = (str(i % 23) * 500).encode()
    path = store.get(k) or store.put(k, {"data": want})
    try:
        got = (path / "data").read_bytes()
    except FileNotFoundError:
        continue  # evicted by another process
    assert got == want, (i, got[:20])
"""


def test_processes_share_a_cache_under_eviction(tmp_path: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", HAMMER, str(tmp_path / "c")], stderr=subprocess.PIPE) for _ in range(3)
    ]
    for process in running:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err.decode()
    assert Cache(tmp_path / "c").stats().bytes <= 40_000


def test_what_was_just_looked_up_is_not_evicted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Cache(tmp_path)
    for name in "abc":
        os.utime(store.put(cache.key(name), {"x": bytes(900)}) / "manifest", (1, 1))
    listed = list(store._entries())
    found = store.get(cache.key("a"))  # by another process, while this one counts
    monkeypatch.setattr(store, "_entries", lambda: iter(listed))
    store.limit = 2000
    store.put(cache.key("d"), {"x": bytes(900)})
    assert found is not None
    assert (found / "x").read_bytes() == bytes(900)
    assert store.get(cache.key("b")) is None


def test_killed_writer_leaves_no_entry(tmp_path: Path) -> None:
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom headwater.base.cache import Cache, key\n"
        "def build(d):\n (d / 'x').write_bytes(b'half'); os._exit(9)\n"
        "Cache(Path(sys.argv[1])).put(key('k'), build)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], timeout=30, check=False).returncode == 9
    assert Cache(tmp_path).get(cache.key("k")) is None


def test_import_is_quick() -> None:
    code = (
        "import pathlib, time, typing, sys, headwater\n"
        "t = time.process_time(); import headwater.base.cache; print(time.process_time() - t)"
    )
    best = min(float(subprocess.check_output([sys.executable, "-c", code], timeout=30)) for _ in range(5))
    assert best < 0.02  # 2 ms on an idle machine; the rest is room for a loaded one
    check = "import headwater.base.cache, sys; print('numpy' in sys.modules or 'tempfile' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", check], timeout=30).strip() == b"False"


def test_get_is_quick(store: Cache) -> None:
    store.put(KEY, {"x.so": bytes(100_000)})
    start = time.thread_time()
    for _ in range(20):
        store.get(KEY)
    assert (time.thread_time() - start) / 20 < 0.01
