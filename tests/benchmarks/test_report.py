"""The report's ratios, means and lost kernels are those of the measurements."""

import json
import sys

import pytest
import report


def seconds(**sides):
    return {side: {v: {"median": t, "all": [t]} for v, t in versions.items()} for side, versions in sides.items()}


@pytest.fixture
def record():
    kernels = {
        "add": {
            "title": "a + b",
            "work": 3.0,
            "unit": "GB/s",
            "seconds": seconds(
                headwater={"cpu": 0.1},
                pocl={"PoCL": 0.2},
                numba={"slow": 0.9, "fast": 0.4},
                c={"copy": 0.05, "add": 0.09},
            ),
            "failures": {},
            "wrong": [],
        },
        "matmul": {
            "title": "product",
            "work": 2.0,
            "unit": "GFLOP/s",
            "seconds": seconds(
                headwater={"cpu": 0.2}, pocl={"PoCL": 0.1}, numba={"loops": 0.2}, numpy={"BLAS x": 0.01}
            ),
            "failures": {"numba": "gave up"},
            "wrong": [],
        },
    }
    return {
        "benchmark": "cpu",
        "machine": "a machine",
        "date": "2020-01-01",
        "rounds": 5,
        "quick": False,
        "sides": {"headwater": "Headwater 1", "pocl": "PoCL 3", "numba": "missing: not there", "numpy": "NumPy 2"},
        "kernels": kernels,
    }


def test_ratios_use_the_fastest_version(record):
    assert "| a + b | 100.00 | 30 GB/s | 200.00 | 400.00 | – | 2.00 | 4.00 | – | 2.00 |" in report.cpu(record)


def test_means_are_geometric_and_library_calls_stay_apart(record):
    text = report.cpu(record)
    assert "| **geometric mean** |  |  |  |  |  | **1.00** | **2.00** | – |  |" in text
    assert "product: BLAS x takes 10.00 ms, 0.05 times as long as Headwater" in text


def test_lost_kernels_failures_and_limits_are_named(record):
    text = report.cpu(record)
    assert "Slower than the best other side: product: 0.50 of PoCL (PoCL)." in text
    assert "- product, numba: gave up" in text
    assert "- missing: not there" in text
    assert "| headwater | 30.0 | 75.0% | 90.0% |" in text
    assert "only reads" not in text
    reduction = {"title": "sum", "work": 4.0, "unit": "GB/s", "failures": {}, "wrong": []}
    reduction["seconds"] = seconds(headwater={"cpu": 0.25}, c={"sum": 0.3, "sum, 4 places at once": 0.2})
    text = report.cpu(record | {"kernels": record["kernels"] | {"reduction": reduction}})
    assert "Memory bandwidth that C reaches when it only reads (sum, 4 places at once): 20.0 GB/s." in text
    assert "| headwater | 16.0 | 80.0% |" in text


def test_command_writes_the_page_and_refuses_other_files(record, tmp_path, monkeypatch, capsys):
    good, bad, page = tmp_path / "cpu.json", tmp_path / "other.json", tmp_path / "page.md"
    good.write_text(json.dumps(record))
    bad.write_text(json.dumps({"benchmark": "else"}))
    monkeypatch.setattr(sys, "argv", ["report.py", str(good), "--output", str(page)])
    assert report.main() == 0
    assert page.read_text().startswith("# Benchmarks\n")
    monkeypatch.setattr(sys, "argv", ["report.py", str(bad), "--output", str(page)])
    with pytest.raises(SystemExit):
        report.main()
    assert "not made by one of the benchmarks" in capsys.readouterr().err


def test_launch_times_are_set_beside_pyopencl():
    record = {
        "cpu": {"device": "a processor", "arrays": 4.0},
        "opencl:0:0": {"device": "a GPU", "same": 3.0, "PyOpenCL same": 6.0},
    }
    assert report.kind(record) == "launch"
    text = report.launch(record)
    assert "| cpu, a processor | arrays | 4.00 | – | – |" in text
    assert "| opencl:0:0, a GPU | same | 3.00 | 6.00 | 0.50 |" in text


def test_the_page_has_the_figures_that_no_json_file_holds():
    assert report.PAGE.read_text(encoding="utf-8").endswith(report.wrapped(report.figures()) + "\n")


def test_lines_of_text_are_narrow_and_tables_are_not_cut():
    row, item = "| " + "x " * 90 + "|", "- " + "word " * 40
    text = report.wrapped(f"{row}\n{item.rstrip()}").split("\n")
    assert text[0] == row
    assert [line[:2] for line in text[1:]] == ["- ", "  "]
    assert all(len(line) <= 120 for line in text[1:])
