"""``headwater icd run`` and ``cal run``: what is wrong with its options is said before the program starts."""

import sys

import pytest

from headwater.cli import main

PROGRAM = ["--", sys.executable, "-c", "raise SystemExit(9)"]


@pytest.mark.parametrize("devices", ["nosuch", "vega64,nosuch"])
def test_a_device_that_there_is_not_is_refused_at_once(capsys, devices):
    assert main(["icd", "run", "--devices", devices, *PROGRAM]) == 2
    assert "error: --devices: no device 'nosuch'" in capsys.readouterr().err


def test_a_cal_device_that_there_is_not_is_refused_at_once(capsys):
    assert main(["cal", "run", "--device", "hd4870,nosuch", *PROGRAM]) == 2
    assert "error: no device 'nosuch'" in capsys.readouterr().err
