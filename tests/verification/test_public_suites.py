"""The runner of public suites, on a suite made up here; ``python -m verification.suites`` runs the real ones."""

import os
import time

import numpy as np
import pytest

from verification import isolated
from verification.suites import CASES, run
from verification.suites.case import Case, Launch, differences, floats, zeros

SOURCE = """kernel void scale(global const float *in, global float *out, float factor, int n) {
  int i = get_global_id(0);
  if (i < n) out[i] = factor * in[i];
}
"""


def scaling(**changes):
    given = {
        "name": "made-up/scale",
        "file": "suite/scale.cl",
        "arrays": {"in": floats(100), "out": zeros(100)},
        "steps": [Launch("scale", (128,), (64,), ("in", "out", 2.5, 100))],
        "outputs": ("out",),
        "expected": lambda d: {"out": 2.5 * d["in"].astype(np.float64)},
    }
    return Case(**{**given, **changes})


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "scale.cl").write_text(SOURCE)
    return tmp_path


def outcome(case, checkout, monkeypatch):
    monkeypatch.setattr(run, "CASES", (case,))
    return run.compare(case.name, checkout, ["cpu"], check=False)


def test_a_right_answer(checkout, monkeypatch):
    found = outcome(scaling(), checkout, monkeypatch)
    assert found.problems == []
    assert list(found.seconds) == ["cpu"]


def test_a_wrong_answer_is_told(checkout, monkeypatch):
    wrong = scaling(expected=lambda d: {"out": 2.5 * d["in"] + (np.arange(100) == 7)})
    (problem,) = outcome(wrong, checkout, monkeypatch).problems
    assert problem.startswith("out of NumPy on cpu: 1 of 100 differ by more than 2e-05, most at (7,)")


def test_a_failing_launch_is_told(checkout, monkeypatch):
    (problem,) = outcome(scaling(options="-Dn=1"), checkout, monkeypatch).problems
    assert problem.startswith("cpu: SourceError")


def test_tolerance_is_relative_to_the_array_or_to_the_element():
    expected, found = np.array([1e-6, 1.0]), np.array([2e-6, 1.0])
    assert differences(expected, found, 1e-5) == ""
    assert differences(expected, found, 1e-5, elementwise=True).startswith("1 of 2 differ")
    assert differences(np.array([np.nan]), np.array([1.0]), 1e-5) != ""


def test_suites_describe_more_than_sixty_kernels():
    assert len({(case.file, kernel) for case in CASES for kernel in case.kernels}) > 100
    assert len({case.name for case in CASES}) == len(CASES)


def awkward(item):
    if item == "crash":
        os._exit(3)
    if item == "hang":
        time.sleep(30)
    return item.upper()


def test_crashes_and_hangs_are_results():
    found = dict(isolated.each(awkward, ["a", "crash", "b", "hang", "c"], limit_seconds=3))
    died = isolated.Died
    assert found == {
        "a": "A",
        "crash": died("the process ended with status 3"),
        "b": "B",
        "hang": died("the process took longer than 3 s"),
        "c": "C",
    }
