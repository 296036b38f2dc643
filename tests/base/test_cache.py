"""The disk cache: whole entries or none, bounded, safe across processes, harmless when the disk is not writable."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from headwater.base import cache
from headwater.base.cache import Cache
from headwater.errors import ResourceError
from tests.counted import count_calls


@pytest.fixture
def store(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache", limit=10_000)


KEY = cache.key("a", "b")
ON_POSIX = pytest.mark.skipif(os.name != "posix", reason="only here files have an owner and a mode")


def test_entry_comes_back_as_it_was_put(store: Cache) -> None:
    assert store.get(KEY) is None
    path = store.put(KEY, {"x.so": b"code", "info.json": b"{}"})
    assert store.get(KEY) == path
    assert (path / "x.so").read_bytes() == b"code"
    assert (path / "info.json").read_bytes() == b"{}"


def test_a_private_cache_reads_the_other_and_writes_its_own(store: Cache, tmp_path: Path) -> None:
    path = store.put(KEY, {"x": b"theirs"})
    mine = Cache(store.directory, private=tmp_path)
    assert mine.get(KEY) == path
    other = cache.key("c")
    made = mine.put(other, {"x": b"ours"})
    mine.keep(cache.key("d"), {"x": b"ours, too"})
    assert made.is_relative_to(tmp_path / "v1")
    assert mine.get(other) == made
    assert store.get(other) is None
    assert store.get(cache.key("d")) is None
    assert mine.environment() == {
        "HEADWATER_CACHE_DIR": str(store.directory),
        "HEADWATER_CACHE_PRIVATE": str(tmp_path),
    }


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


def test_keys_look_for_no_modules(monkeypatch) -> None:
    """The search for a module that this version of Python does not have takes longer than the hashing."""
    monkeypatch.setattr(cache, "import_module", lambda name: pytest.fail(f"{name} is looked for"))
    assert cache.key("a", "b") == KEY


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


def _of_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, what this process's user has belongs to somebody else."""
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 12345)


def _written_by(part: str, path: Path) -> Path:
    """The part of an entry's path that a test makes writable."""
    return {"cache": path.parents[2], "format": path.parents[1], "shard": path.parent, "tmp": path.parents[1] / "tmp"}[
        part
    ]


@ON_POSIX
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
@pytest.mark.parametrize("part", ["cache", "format", "shard", "tmp"])
def test_directory_that_others_can_write_is_not_used(store: Cache, part: str, mode: int) -> None:
    path = store.put(KEY, {"x": b"code"})
    _written_by(part, path).chmod(mode)
    again = Cache(store.directory)
    with pytest.warns(RuntimeWarning, match=r"is not used, .* can be written by .* HEADWATER_CACHE_DIR") as told:
        assert again.get(KEY) is None
    rebuilt = again.put(KEY, {"x": b"code"})
    assert again.get(KEY) == rebuilt
    assert len(told) == 1
    assert store.directory not in rebuilt.parents
    assert stat.S_IMODE(rebuilt.parent.stat().st_mode) == 0o700
    with pytest.raises(ResourceError, match="nothing is removed"):
        again.clear()


@ON_POSIX
def test_directory_of_another_user_is_not_used(store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(KEY, {"x": b"code"})
    again = Cache(store.directory)
    _of_another_user(monkeypatch)
    with pytest.warns(RuntimeWarning, match="belongs to user"):
        assert again.get(KEY) is None


@ON_POSIX
@pytest.mark.parametrize("part", ["entry", "file", "manifest"])
def test_part_of_an_entry_of_another_user_ends_the_use_of_the_cache(
    store: Cache, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    path = store.put(KEY, {"x": b"code"})
    name = os.fspath({"entry": path, "file": path / "x", "manifest": path / "manifest"}[part])
    real_lstat, real_open, opened = os.lstat, os.open, {}

    def foreign(status: os.stat_result) -> os.stat_result:
        fields = list(status)
        fields[stat.ST_UID] += 1
        return os.stat_result(fields)

    def noting(path: str, *more: int) -> int:
        file = real_open(path, *more)
        opened[file] = os.fspath(path)
        return file

    real_fstat = os.fstat
    monkeypatch.setattr(os, "open", noting)
    monkeypatch.setattr(
        os, "fstat", lambda file: foreign(real_fstat(file)) if opened.get(file) == name else real_fstat(file)
    )
    monkeypatch.setattr(
        os, "lstat", lambda path: foreign(real_lstat(path)) if os.fspath(path) == name else real_lstat(path)
    )
    with pytest.warns(RuntimeWarning, match=f"{name} belongs to user"):
        assert store.get(KEY) is None


@ON_POSIX
@pytest.mark.parametrize("part", ["entry", "file", "manifest"])
def test_part_of_an_entry_that_others_can_write_is_damaged(store: Cache, part: str) -> None:
    path = store.put(KEY, {"x": b"code"})
    {"entry": path, "file": path / "x", "manifest": path / "manifest"}[part].chmod(0o777)
    assert store.get(KEY) is None
    assert not path.exists()
    assert store.get(KEY) is None
    store.put(KEY, {"x": b"code"})
    assert store.get(KEY) == path


@ON_POSIX
@pytest.mark.parametrize("file", ["link", "pipe"])
def test_entry_with_what_is_no_file_is_damaged(store: Cache, tmp_path: Path, file: str) -> None:
    path = store.put(KEY, {"x": b"code"})
    (tmp_path / "elsewhere").write_bytes(b"code")
    (path / "x").unlink()
    if file == "link":
        (path / "x").symlink_to(tmp_path / "elsewhere")
    else:
        os.mkfifo(path / "x")
    assert store.get(KEY) is None


@ON_POSIX
def test_entries_are_ours_alone_under_any_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = Cache(tmp_path / "a" / "b" / "cache")
        path = store.put(KEY, lambda folder: (folder / "x").write_bytes(b"code"))
        other = store.put(cache.key("other"), {"y": b"code"})
    finally:
        os.umask(before)
    assert Cache(store.directory).get(KEY) == path
    assert Cache(store.directory).get(cache.key("other")) == other
    for folder, _, files in os.walk(tmp_path / "a"):
        for name in [".", *files]:
            assert not os.stat(os.path.join(folder, name)).st_mode & 0o022 or name == "usage"


@ON_POSIX
def test_relative_directory_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = Cache(Path("cache"))
    path = store.put(KEY, {"x": b"code"})
    monkeypatch.chdir("/")
    assert store.get(KEY) == path == tmp_path / "cache" / "v1" / KEY[:2] / KEY


@ON_POSIX
def test_user_without_a_home_directory_has_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEADWATER_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda number: {}[number])
    assert cache.default_directory() is None
    monkeypatch.setenv("HEADWATER_CACHE_DIR", "~/cache")
    assert cache.default_directory() is None
    store = Cache(cache.default_directory())
    assert store.get(KEY) is None
    with pytest.warns(RuntimeWarning, match="no home directory"):
        path = store.put(KEY, {"x": b"1"})
    assert store.get(KEY) == path
    assert store.stats().path is None
    assert store.clear() == 0


def test_no_place_at_all_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("not a directory")
    monkeypatch.setattr("headwater.base.temporary._places", lambda: [str(blocker)])
    with pytest.raises(ResourceError, match=r"cannot write the cache .* no place for temporary files"):
        Cache(blocker / "cache").put(KEY, {"x": b"1"})


def test_full_temporary_directory_is_told(store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(staged: Path, files: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Cache, "_write", staticmethod(full))
    with (
        pytest.warns(RuntimeWarning, match="No space left"),
        pytest.raises(ResourceError, match=r"cannot write compiled code into .*: No space left"),
    ):
        store.put(KEY, {"x": b"1"})
    store.keep(KEY, {"x": b"1"})
    assert store.get(KEY) is None


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
    listed = list(store._entries(store.directory / "v1"))
    found = store.get(cache.key("a"))  # by another process, while this one counts
    monkeypatch.setattr(store, "_entries", lambda root: iter(listed))
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


def test_import_brings_no_large_modules() -> None:
    check = "import headwater.base.cache, sys; print('numpy' in sys.modules or 'tempfile' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", check], timeout=30).strip() == b"False"


def test_get_is_quick(store: Cache) -> None:
    store.put(KEY, {"x.so": bytes(100_000)})
    assert count_calls(store.get, KEY) < 300  # 117 as it was written, and more where the folder lies deeper
