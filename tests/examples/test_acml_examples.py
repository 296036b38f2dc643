"""The examples of the Core Math Library say what they computed, and it is right."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("scipy")
ROOT = Path(__file__).resolve().parents[2]


def run(name, *arguments):
    script = ROOT / "examples" / "acml" / f"{name}.py"
    ran = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, timeout=200, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("arguments", [(), ("--device", "vega64", "--size", "24")])
def test_convolution(arguments, tmp_path):
    text = run("convolution", *arguments, "-o", str(tmp_path / "blurred.png"))
    assert float(re.search(r"precision: (\S+) of 255", text)[1]) < 1e-3
    assert (tmp_path / "blurred.png").exists()


def test_conjugate_gradients():
    text = run("conjugate_gradients", "-n", "80")
    assert float(re.search(r"residual (\S+)", text)[1]) < 1e-7
    assert int(re.search(r"(\d+) steps", text)[1]) < 80


def test_options():
    price, error, exact = map(
        float, re.search(r": (\S+) ± (\S+); Black and Scholes: (\S+)", run("options", "--paths", "100000")).groups()
    )
    assert abs(price - exact) < 4 * error < 1


@pytest.mark.parametrize("arguments", [("--sizes", "50,200"), ("--sizes", "70", "--device", "cpu")])
def test_linpack(arguments):
    rows = run("linpack", *arguments).splitlines()[1:]
    assert len(rows) == len(arguments[1].split(","))
    assert all(row.endswith("passed") for row in rows)
