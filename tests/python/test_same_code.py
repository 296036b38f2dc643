"""The examples' kernels in Python become the same machine code as their OpenCL C."""

import importlib.util
from pathlib import Path

import pytest

import headwater as hw
from tests.python.machine_code import instructions

EXAMPLES = Path(__file__).parents[2] / "examples"
SOURCES = {
    "saxpy": "gcn/saxpy.cl",
    "black_scholes": "black_scholes/black_scholes.cl",
    "mandelbrot": "mandelbrot/mandelbrot.cl",
    "matmult_loops": "matmul/matmul.cl",
    "matmult": "matmul/matmul.cl",
    "matmult_tiled": "matmul/matmul.cl",
    "medianfilter_rgba": "median/median.cl",
    "step_bodies": "nbody/nbody.cl",
    "scan_blocks": "prefix_sum/prefix_sum.cl",
    "add_starts": "prefix_sum/prefix_sum.cl",
    "sum": "reduction/reduction.cl",
}


@pytest.fixture(scope="module")
def kernels():
    spec = importlib.util.spec_from_file_location("python_kernels", EXAMPLES / "python" / "kernels.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def steps(report):
    return instructions(report.analyses[0].code)


@pytest.mark.parametrize("chip", ["vega64", "hd5870"])
@pytest.mark.parametrize("name", SOURCES)
def test_machine_code_is_that_of_opencl_c(kernels, name, chip):
    theirs = steps(hw.analyze(EXAMPLES / SOURCES[name], device=chip, kernel=name))
    ours = steps(getattr(kernels, name).specialise().report(chip))
    assert len(theirs) > 10
    assert ours == theirs
