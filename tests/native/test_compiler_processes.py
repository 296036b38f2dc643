"""Compilations at once: what one of them meets, and what stays of their processes."""

import pytest

from headwater.errors import InternalError, ResourceError
from headwater.native import worker


def test_calls_at_once_have_processes_that_end_with_them(monkeypatch):
    worker.WORKER.start("base.numbers")
    shared = worker.WORKER._process
    made = []

    class Recorded(worker.Worker):
        def __init__(self):
            super().__init__()
            made.append(self)

    monkeypatch.setattr(worker, "Worker", Recorded)
    assert worker.call_concurrently("base.numbers:natural", [("1",), ("2",)]) == [1, 2]
    with pytest.raises(InternalError, match="TypeError"):
        worker.call_concurrently("base.numbers:natural", [("1",), ("1", "2", "3", "4")])
    assert len(made) == 4
    assert all(one._process is None for one in made)
    assert worker.WORKER.call("base.numbers:natural", "3") == 3  # whatever another thread compiles goes on
    assert worker.WORKER._process is shared


def test_a_call_is_interrupted_before_its_process_has_begun():
    one = worker.Worker()
    one.interrupt()
    with pytest.raises(ResourceError, match="was killed"):
        one.call("base.numbers:natural", "3")
    one.stop()
