"""Wrong calls give the error codes that OpenCL's specification names, and never end the host."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the library is run on Linux")


@pytest.mark.parametrize("devices", ["cpu,vega64", "vega64,cpu", "hd5870,cpu"])
def test_every_wrong_call_gives_the_error_that_the_specification_names(devices):
    program = Path(__file__).with_name("wrong_calls.py")
    environ = {**os.environ, "HEADWATER_ICD_DEVICES": devices, "HEADWATER_PYTHON": sys.executable}
    environ["HEADWATER_PYTHONPATH"] = str(program.parents[2])
    done = subprocess.run([sys.executable, program], env=environ, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
