"""Loads an example's script as a module, so that tests call the functions that its users run."""

import importlib.util
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def example(request):
    """The module of the example that the test file is named after: test_median.py has examples/median/run.py."""
    name = request.path.stem.removeprefix("test_")
    module_name = f"example_{name}"
    if module_name not in sys.modules:
        spec = importlib.util.spec_from_file_location(module_name, EXAMPLES / name / "run.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        spec.loader.exec_module(module)
    return sys.modules[module_name]


@pytest.fixture
def run_main(example, monkeypatch, tmp_path, capsys):
    """Runs the example's ``main`` with arguments, its picture in a temporary file; gives its text and the file."""

    def run(*arguments):
        picture = tmp_path / "picture.png"
        monkeypatch.setattr(sys, "argv", ["run.py", "--output", str(picture), *arguments])
        example.main()
        return capsys.readouterr().out, picture

    return run
