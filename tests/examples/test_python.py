"""The example of kernels in Python computes what NumPy computes."""

import sys


def test_results_are_numpys(example, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["run.py", "--device", "vega64"])
    example.main()
    assert capsys.readouterr().out.count("error") == 3
    assert example.over_work_items(1000, None) < 1e-6
    assert example.over_streams(16, "hd4870") < 1e-4
    assert example.reduced(1000, "hd5870") == 0
