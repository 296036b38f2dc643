"""Compilations at once: what one of them meets, and what stays of their processes."""

import time

import numpy as np
import pytest

import headwater as hw
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


@pytest.mark.parametrize("defects", [1, 2])
def test_where_llvm_stops_code_has_narrower_vectors(defects, monkeypatch):
    call, asked = worker.Worker.call, []

    def stopping(self, called, *args, **named):
        if called == "opencl.codegen:build":
            halvings = named.get("halvings", 0)
            asked.append(halvings)
            if halvings < defects:
                raise InternalError("LLVM stopped while compiling the kernel (exit status -6): Assertion")
        return call(self, called, *args, **named)

    monkeypatch.setattr(worker.Worker, "call", stopping)
    factor = time.time_ns() % 1_000_000  # code that no cache has
    text = f"kernel void f(global int *x) {{ int i = get_global_id(0); x[i] = x[i] * {factor} + {defects}; }}"
    x = np.arange(1000, dtype=np.int32)
    hw.compile(text, device="cpu").f[1000](x)
    np.testing.assert_array_equal(x, np.arange(1000) * factor + defects)
    assert set(asked) == set(range(defects + 1))


def test_a_defect_that_narrower_vectors_have_too_is_told_once(monkeypatch):
    asked = []

    def stopping(self, called, *args, **named):
        asked.append(named.get("halvings", 0))
        raise InternalError(f"LLVM stopped {len(asked)}")

    monkeypatch.setattr(worker.Worker, "call", stopping)
    with pytest.raises(InternalError, match="LLVM stopped 1"):
        worker.WORKER.call_around_defects("opencl.codegen:build")
    assert asked == [0, 1, 2]
