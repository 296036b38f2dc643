import importlib.util
import sys

import numpy as np
import pytest

from headwater.brook.brcc import generate
from tests.brook import corpus_files


def imported(name, folder):
    made = generate(corpus_files.read(name), f"{name}.br", corpus_files.options(name))
    (folder / f"{name}.cl").write_text(made.opencl, encoding="utf-8")
    path = folder / f"{name}.py"
    path.write_text(made.python, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"made_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", corpus_files.NAMES)
def test_the_python_module_compiles(name):
    made = generate(corpus_files.read(name), f"{name}.br", corpus_files.options(name))
    compile(made.python, f"{name}.py", "exec")
    assert made.opencl.startswith("/* OpenCL C translated from ")


def test_the_functions_run_the_kernels(tmp_path):
    made = imported("elementwise", tmp_path)
    a = np.arange(9, dtype=np.float32)
    np.testing.assert_array_equal(made.sum(a, a), a + a)
    low, high = made.split(np.arange(9, dtype=np.int32), 4)
    assert low.max() == 4
    assert high.max() == 4
    assert made.sum.__annotations__["a"] == "ArrayLike | Stream"
    assert "stream of float" in made.sum.__doc__


def test_running_them_needs_no_parser(tmp_path):
    made = imported("reduce", tmp_path)
    before = set(sys.modules)
    assert made.total(np.ones(100, np.float32)) == 100
    assert not any(name.split(".")[0] == "lark" for name in set(sys.modules) - before)


def test_structs_come_as_dtypes(tmp_path):
    made = imported("structs", tmp_path)
    assert made.Particle.itemsize == 40
    assert made.Particle["charge"] == made.Pair


def test_python_words_are_kept_away_from():
    made = generate(
        "kernel void lambda(float shape<>, float class_<>, out float del<>) { del = shape + class_; }", "x.br"
    )
    assert "def lambda_(" in made.python
    assert "    shape_: ArrayLike | Stream," in made.python
