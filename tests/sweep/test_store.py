"""The store: what was written is there, whoever else writes, and what is damaged is named and not trusted."""

import json
import multiprocessing
import os
import random
import tracemalloc

import pytest

from headwater.errors import UsageError
from headwater.sweep import store as stores
from headwater.sweep.store import FAILED, JOB, PASSING, ROW, Record, Store, hashed, model_version
from headwater.sweep.table import table

SLOT, BASE = hashed("slot"), hashed("base")


def job(base=BASE, slot=SLOT, time_ns=0):
    return Record(JOB, slot, slot, base, model_version(), json.dumps({"of": base.hex()}).encode(), time_ns)


def row(number, kind=ROW, base=BASE, version=None, slot=SLOT):
    found = {"seconds": number / 7} if kind == ROW else {"error": "no"}
    payload = json.dumps({"at": {"n": number}, "found": found}).encode()
    return Record(kind, hashed(str(number), base, version or b""), slot, base, version or model_version(), payload)


def numbers(store):
    return sorted(one["at"]["n"] for one in store.rows())


def test_what_was_written_is_there_when_it_is_opened_again(tmp_path):
    store = Store(tmp_path / "s", create=True)
    store.write([job(), row(1), row(2, FAILED)])
    store.write([row(3)])
    again = Store(tmp_path / "s")
    assert numbers(again) == [1, 2, 3]
    assert row(1).key in again
    assert hashed("other") not in again
    assert next(iter(again.rows())) == {"at": {"n": 1}, "found": {"seconds": 1 / 7}}
    assert again.known(SLOT) == {BASE.hex(): BASE}
    counts = again.counts()
    assert (counts.done, counts.failed, counts.stale, counts.superseded, counts.damaged) == (2, 1, 0, 0, 0)


def test_many_files_are_merged_and_nothing_is_lost(tmp_path):
    store = Store(tmp_path, create=True)
    store.write([job()])
    for number in range(100):
        store.write([row(number)])
    assert len(list((tmp_path / "rows").iterdir())) < 40
    assert numbers(Store(tmp_path)) == list(range(100))
    store.compact()
    assert len(list((tmp_path / "rows").iterdir())) == 1
    assert numbers(store) == numbers(Store(tmp_path)) == list(range(100))


def _writer(path, first):
    store = Store(path, create=True)
    store.write([job()])
    for number in range(first, first + 80):
        store.write([row(number)])
        if number % 20 == 3:
            store.compact()


def test_many_writers_that_merge_each_others_files_lose_nothing(tmp_path):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_writer, args=(tmp_path, 80 * n)) for n in range(3)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
        assert one.exitcode == 0
    found = Store(tmp_path)
    assert numbers(found) == list(range(240))
    assert not found.damaged
    found.compact()
    assert numbers(found) == list(range(240))


def test_rows_of_another_model_or_of_other_code_are_marked_and_left_out(tmp_path, monkeypatch):
    store = Store(tmp_path, create=True)
    other = hashed("edited")
    store.write([job(time_ns=1), row(1), row(2), row(3, version=hashed("old model"))])
    assert numbers(store) == [1, 2]
    store.write([job(other, time_ns=2), row(1, base=other)])
    assert numbers(store) == [1]
    counts = store.counts()
    assert (counts.done, counts.stale, counts.superseded) == (1, 1, 2)
    assert sorted(one["state"] for one in store.rows(old=True)) == ["current", "stale", "superseded", "superseded"]
    monkeypatch.setattr(stores, "model_version", lambda: hashed("new model"))
    assert numbers(Store(tmp_path)) == []
    assert Store(tmp_path).counts().stale == 4


def test_a_row_with_figures_is_better_than_a_message(tmp_path):
    store = Store(tmp_path, create=True)
    store.write([job(), row(1), row(2, PASSING)])
    assert row(2).key not in store
    store.write([row(1, PASSING), row(2)])
    assert [one["found"] for one in Store(tmp_path).rows()] == [{"seconds": 1 / 7}, {"seconds": 2 / 7}]
    assert store.keys(SLOT) == {row(1).key, row(2).key}


def test_a_damaged_record_costs_no_other_and_is_named(tmp_path):
    store = Store(tmp_path, create=True)
    store.write([job(), *map(row, range(50))])
    (path,) = (tmp_path / "rows").iterdir()
    whole = path.read_bytes()
    draw = random.Random(1)
    for _ in range(150):
        data = bytearray(whole)
        at = draw.randrange(len(data))
        data[at] ^= 1 << draw.randrange(8)
        path.write_bytes(data)
        found = Store(tmp_path)
        assert len(found.damaged) == 1
        assert len(found) >= 49
        assert str(found.damaged[0]).startswith(f"{path.name}, byte ")
    path.write_bytes(whole[:-30])
    found = Store(tmp_path)
    assert numbers(found) == list(range(49))
    assert found.damaged
    found.compact()
    assert numbers(Store(tmp_path)) == list(range(49))
    assert not Store(tmp_path).damaged


@pytest.mark.parametrize(
    "put",
    [
        lambda path: path.mkdir(),
        lambda path: path.symlink_to("."),
        lambda path: os.mkfifo(path),
    ],
)
def test_what_is_no_file_does_no_harm(tmp_path, put):
    store = Store(tmp_path, create=True)
    store.write([job(), row(1)])
    put(tmp_path / "rows" / "other.rows")
    found = Store(tmp_path)
    assert numbers(found) == [1]
    found.compact()
    assert numbers(Store(tmp_path)) == [1]


@pytest.mark.parametrize("data", [b"", b"\0" * 500, b"HWR1" * 100, b"x" * 3])
def test_files_that_others_put_there_do_no_harm(tmp_path, data):
    store = Store(tmp_path, create=True)
    store.write([job(), row(1)])
    (tmp_path / "rows" / "other.rows").write_bytes(data)
    assert numbers(Store(tmp_path)) == [1]


def test_a_checksum_that_is_right_on_what_is_no_row_does_no_harm(tmp_path):
    store = Store(tmp_path, create=True)
    texts = (
        "[]",
        "{",
        "3",
        '{"at": 1}',
        "[" * 100_000,
        '{"at": {"n": [1]}, "found": {}}',
        '{"at": {"n": 2}, "found": {"seconds": {}}}',
        '{"at": {"n": 1%s}, "found": {}}' % ("0" * 400),
    )
    odd = [Record(ROW, hashed(text), SLOT, BASE, model_version(), text.encode()) for text in texts]
    no_job = Record(JOB, SLOT, SLOT, BASE, model_version(), b"[" * 100_000)
    store.write([job(), no_job, row(1), row(2)._replace(kind=9), *odd])
    found = Store(tmp_path)
    assert numbers(found) == [1]
    assert table(found)["n"] == [1]
    assert len(found.damaged) == 1


def test_several_processes_may_make_a_store_at_once(tmp_path):
    (tmp_path / "rows").mkdir()
    (tmp_path / ".format.1234-abcd.part").write_bytes(b"headwater")
    Store(tmp_path, create=True).write([job(), row(1)])
    assert numbers(Store(tmp_path)) == [1]


def test_a_directory_that_is_no_store_is_left_alone(tmp_path):
    with pytest.raises(UsageError, match="is no store"):
        Store(tmp_path)
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(UsageError, match="has other files"):
        Store(tmp_path, create=True)
    assert {one.name for one in tmp_path.iterdir()} == {"thesis.tex"}
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "format").write_bytes(b"headwater sweep 0\n")
    with pytest.raises(UsageError, match="another version"):
        Store(tmp_path / "b")
    with pytest.raises(UsageError, match=r"for results: .*thesis\.tex is no directory"):
        Store(tmp_path / "thesis.tex", create=True)
    store = Store(tmp_path / "c", create=True)
    (store.path / "rows").rmdir()
    with pytest.raises(UsageError, match="has no directory rows"):
        Store(store.path)
    (store.path / "rows").write_text("x")
    with pytest.raises(UsageError, match=r"cannot read .*rows: Not a directory"):
        Store(store.path)


def test_memory_does_not_grow_with_what_rows_hold(tmp_path):
    store = Store(tmp_path, create=True)
    long = json.dumps({"at": {"n": 1}, "found": {"text": "x" * 20_000}}).encode()
    store.write([job(), *(row(n)._replace(payload=long) for n in range(2000))])
    assert sum(one.stat().st_size for one in (tmp_path / "rows").iterdir()) > 40_000_000
    tracemalloc.start()
    again = Store(tmp_path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(again) == 2000
    assert most < 4_000_000
