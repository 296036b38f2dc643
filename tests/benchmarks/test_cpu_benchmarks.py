"""The cpu comparison runs from end to end on small data and reports what it did."""

import json
import subprocess
import sys
from pathlib import Path

import cpu
import pytest
from suite import CASES

SCRIPT = Path(cpu.__file__)


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, timeout=240)


def test_report_and_record_of_a_small_run(tmp_path):
    file = tmp_path / "cpu.json"
    done = run("--quick", "--kernels", "add,hash", "--sides", "numpy,headwater", "--rounds", "2", "--json", str(file))
    assert done.returncode == 0, done.stderr
    assert "64 Mi floats" not in done.stdout  # the sizes are those that were measured
    assert f"| a + b, {CASES['add'].make(True)['a'].size} float32 |" in done.stdout
    assert "**geometric mean**" in done.stdout
    record = json.loads(file.read_text())
    assert set(record["kernels"]) == {"add", "hash"}
    assert len(record["kernels"]["hash"]["seconds"]["headwater"]["cpu"]["all"]) == 2


def test_unknown_kernels_are_refused():
    done = run("--kernels", "add,sort")
    assert done.returncode == 2
    assert "no sort; there are add" in done.stderr


def result_with(times):
    result = cpu.Result(CASES["add"])
    result.times = times
    return result


def test_ratio_takes_each_sides_best_version_by_median():
    result = result_with(
        {
            "headwater": {"cpu": [1.0, 2.0, 9.0]},
            "numba": {"a": [5.0, 6.0, 7.0], "b": [3.0, 4.0, 8.0]},
            "numpy": {"BLAS x": [0.1]},
        }
    )
    assert cpu.ratio(result, "numba") == pytest.approx(2.0)
    assert cpu.ratio(result, "numpy") is None
    assert cpu.ratio(result, "pocl") is None


def test_sides_that_are_missing_keep_their_column():
    side = cpu.Side("pocl", None, None, trouble="no PoCL platform")
    result = result_with({"headwater": {"cpu": [1.0]}})
    text = cpu.table([result], [cpu.Side("headwater", None, None, description="Headwater"), side])
    assert "| a + b, 64 Mi floats | 1000.00 | - |" in text
